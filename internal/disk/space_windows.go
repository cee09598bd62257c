package disk

import "golang.org/x/sys/windows"

// Free is how many bytes a user can still write to the disk of a folder.
func Free(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}

// InMemory reports whether a folder is known to be on a file system in memory.
func InMemory(string) bool { return false }
