//go:build !unix

package tool

import "io/fs"

// names1 reports whether a file is known to have one name only. Here that is not known.
func names1(fs.FileInfo) bool { return false }
