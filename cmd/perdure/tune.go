package main

import (
	"os"
	"runtime/debug"
)

// gcPercent lets the heap grow to four times what is live before it is swept. An agent under way makes much short-lived
// data and holds little, so this buys a third more steps a second for memory a node has to spare.
const gcPercent = 300

// streamPercent is for commands that read or write a whole agent, however large, and hold little of it.
const streamPercent = 50

// stream keeps the heap small for such a command.
func stream() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(streamPercent)
	}
}

func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
