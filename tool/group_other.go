//go:build !unix

package tool

import "os/exec"

// ownGroup leaves the command as it is: this system has no process groups, and only the command itself is killed at its deadline.
func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
