//go:build !unix

package tool

import "io/fs"

// links is how many names a file has; zero: that is not known, as here.
func links(fs.FileInfo) int { return 0 }
