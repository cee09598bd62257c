//go:build unix

package bench

import "syscall"

// tmpfsMagic is how Linux marks a file system in memory.
const tmpfsMagic = 0x01021994

// inMemory reports whether a folder is known to be on a file system in memory.
func inMemory(dir string) bool {
	var disk syscall.Statfs_t
	err := syscall.Statfs(dir, &disk)
	return err == nil && int64(disk.Type) == tmpfsMagic //nolint:unconvert // the types differ between systems
}
