package bench

// inMemory reports whether a folder is known to be on a file system in memory.
func inMemory(string) bool { return false }
