// Command perdure runs and inspects agents whose execution state lives inside the agent itself.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/workspace/ralph"
)

// guardWord is the first argument of a process that perdure ralph starts to see how a command ends. People do not type
// it.
const guardWord = "ralph-guard"

func main() {
	if a := os.Args; len(a) > 4 && a[1] == guardWord && a[3] == "--" {
		if err := ralph.Guard(a[2], a[4:]); err != nil {
			fmt.Fprintln(os.Stderr, "perdure:", err)
			os.Exit(exitFailure)
		}
		return
	}
	log.SetOutput(io.Discard) // an SDK writes there what is said in its place
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

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

// version is set by the build: -ldflags '-X main.version=v1.2.3'.
var version = "devel"

func versionCommand() *cobra.Command {
	c := command("version", cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return say(c, struct {
			Version string `json:"version"`
			Format  int    `json:"format"`
			Unicode string `json:"unicode"`
			Go      string `json:"go"`
			OS      string `json:"os"`
			Arch    string `json:"arch"`
		}{version, perdure.FormatVersion, canon.UnicodeVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH},
			"%s\n", versionText())
	}
	return c
}

// versionText is the version in one line.
func versionText() string {
	return fmt.Sprintf("perdure %s, format %d, Unicode %s, %s %s/%s",
		version, perdure.FormatVersion, canon.UnicodeVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
