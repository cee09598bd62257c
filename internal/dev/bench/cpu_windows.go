package bench

import (
	"time"

	"golang.org/x/sys/windows"
)

// CPUTime is the processor time this process has used.
func CPUTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	const tick = 100 * time.Nanosecond
	amount := func(t windows.Filetime) time.Duration {
		return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * tick
	}
	return amount(kernel) + amount(user)
}
