//go:build !unix

package tool

import "os/exec"

// startGroup starts the command as it is: this system has no process groups, and only the command itself is killed at
// its deadline.
func startGroup(cmd *exec.Cmd) error { return cmd.Start() }

func killGroup(*exec.Cmd) {}
