// Command perdure runs and inspects agents whose execution state lives inside the agent itself.
package main

import (
	"fmt"
	"os"

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
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
