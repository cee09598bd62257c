package main

import "golang.org/x/sys/windows"

// freeSpace is how many bytes a user can still write to the disk of a folder.
func freeSpace(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}
