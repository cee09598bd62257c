package term

import (
	"io"

	"golang.org/x/sys/windows"
)

// WidthOf is how many columns the terminal has that w is; zero if it is none.
func WidthOf(w io.Writer) int {
	var info windows.ConsoleScreenBufferInfo
	if !IsTerminal(w) || windows.GetConsoleScreenBufferInfo(windows.Handle(fdOf(w)), &info) != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}
