//go:build unix

package disk

import "syscall"

// Free is how many bytes a user can still write to the disk of a folder.
func Free(dir string) (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, err
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), nil //nolint:unconvert // the types differ between systems
}

// tmpfsMagic is how Linux marks a file system in memory.
const tmpfsMagic = 0x01021994

// InMemory reports whether a folder is known to be on a file system in memory.
func InMemory(dir string) bool {
	var disk syscall.Statfs_t
	err := syscall.Statfs(dir, &disk)
	return err == nil && int64(disk.Type) == tmpfsMagic //nolint:unconvert // the types differ between systems
}
