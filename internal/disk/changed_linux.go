package disk

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt is when a file, its name or its mode was last changed: nobody can set that, as they can its ModTime.
func changedAt(info fs.FileInfo) time.Time {
	at := info.ModTime()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if c := time.Unix(st.Ctim.Unix()); c.After(at) {
			return c
		}
	}
	return at
}
