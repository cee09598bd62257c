//go:build !linux

package disk

import (
	"io/fs"
	"time"
)

// changedAt is when a file was last written to, as far as this system tells everywhere.
func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }
