//go:build unix

package main

import "syscall"

// freeSpace is how many bytes a user can still write to the disk of a folder.
func freeSpace(dir string) (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, err
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), nil //nolint:unconvert // the types differ between systems
}
