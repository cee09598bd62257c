package pgtest

import "syscall"

// dieWithParent has a process end when this one does, however that ends.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
