// Command perdure runs and inspects agents whose execution state lives inside the agent itself.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
