package tool

import "syscall"

// dieWithParent has the system kill a command when the thread that started it ends; see starter.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
