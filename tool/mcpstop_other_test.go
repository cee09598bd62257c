//go:build !unix

package tool_test

// stopProcess makes a process stand still, which this system cannot.
func stopProcess(int) bool { return false }
