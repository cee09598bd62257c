package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// run is the program: it performs one command line and returns its exit code. The first interrupt ends the command, the
// second the process.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := untilStopped()
	defer stop()

	root := newRoot()
	out, beside := term.NewDoor(stdout), term.NewDoor(stderr) // everything for people goes through these
	inForce.root, inForce.unknown = root, nil
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(beside)
	c, err := root.ExecuteContextC(ctx)
	err = errors.Join(err, inForce.unknown, out.Flush())
	report(beside, err, c.CommandPath(), wantsJSON(args))
	_ = beside.Flush() // there is nowhere left to say that this did not work
	return exitCode(err)
}

// errTerminated is the cause of a context that SIGTERM or SIGHUP ended.
var errTerminated = errors.New("terminated")

// terminations are the signals that ask a command to end. That its terminal is gone is one, unless whoever started it
// said, as nohup does, that it outlives the terminal.
func terminations() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// untilStopped is a context that the first interrupt, SIGTERM or SIGHUP ends. After that they have their usual effect.
func untilStopped() (context.Context, func()) {
	ctx, end := context.WithCancelCause(context.Background())
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, append(terminations(), os.Interrupt)...)
	stop := func() {
		signal.Stop(caught)
		end(nil)
	}
	go func() {
		select {
		case s := <-caught:
			signal.Stop(caught)
			if s != os.Interrupt {
				end(errTerminated)
			}
			end(nil)
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// newRoot builds the whole command tree.
func newRoot() *cobra.Command {
	root := command("perdure", nil)
	root.SilenceErrors, root.SilenceUsage, root.Version = true, true, versionText()
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().Bool("json", false, "print results, and errors, as JSON")
	remoteFlags(root)
	root.AddCommand(
		// agents and their past
		initCommand(), newCommand(), lsCommand(), showCommand(), logCommand(), tailCommand(), stateCommand(),
		diffCommand(), forkCommand(),
		runCommand(), chatCommand(), nodeCommand(), serveCommand(), mcpCommand(), toolsCommand(), // what runs them
		// people
		sendCommand(), inboxCommand(), answerCommand(), approveCommand(), denyCommand(), settleCommand(),
		pauseCommand(), resumeCommand(), endCommand(), grantCommand(), editCommand(),
		docCommand(), sessionCommand(), searchCommand(), filesCommand(), ralphCommand(), // memory across sessions
		// integrity
		exportCommand(), importCommand(), seatCommand(), backupCommand(), copyCommand(),
		exchangeCommand("push", exchange.Push), exchangeCommand("pull", exchange.Pull),
		exchangeCommand("sync", exchange.Both), nodesCommand(),
		verifyCommand(), gcCommand(), eraseCommand(), keyCommand(), doctorCommand(),
	)
	root.AddCommand(notifyCommand(), tokenCommand(), policyCommand(), lodeCommand(), canonCommand(), demoCommand(),
		benchCommand(), manCommand(), versionCommand())
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
			inForce.unknown = runGroup(c, args)
			return
		}
		// cobra takes no error from help
		_, _ = io.WriteString(c.OutOrStdout(), helpText(c, term.StyleOf(c.OutOrStdout())))
	})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return perdure.Invalid(term.PlainFlag(err, c.Flags()))
	})
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	prepare(root)
	root.InitDefaultVersionFlag()
	root.Flags().Lookup("version").Usage = "say which version this is"
	return root
}

// prepare gives a command and those below it what all have: misuse that exits with 2, and a group that says which
// commands it has.
func prepare(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				wrong := perdure.Invalid(fmt.Errorf("%s %s; %s", strings.Join(path(c), " "), argsOf(c),
					term.Given(args)))
				if with := new(perdure.Hint); errors.As(err, &with) {
					return perdure.WithHint(wrong, with.Do)
				}
				return wrong
			}
			if at := c.ArgsLenAtDash(); at >= 0 { // what follows is for another program
				args = args[:at]
			}
			return perdure.Invalid(term.FilledArgs(strings.TrimPrefix(argsOf(c), "wants "), args))
		}
	}
	if !c.Runnable() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = runGroup
	} else if do := c.RunE; do != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			if f := c.Flags().Lookup("store"); f != nil {
				inForce.store = home.Shown(f.Value.String())
				if v, ok := f.Value.(storeValue); ok {
					inForce.home = v.home
				}
			}
			if err := errors.Join(term.FilledFlags(c.Flags()), refuseServer(c)); err != nil {
				return perdure.Invalid(err)
			}
			if err := unserved(c); err != nil {
				return err
			}
			return do(c, args)
		}
	}
	c.InitDefaultHelpFlag()
	if f := c.Flags().Lookup("help"); f != nil {
		f.Usage = "show this help"
	}
	for _, sub := range c.Commands() {
		prepare(sub)
	}
}

// argsOf is what a command wants after its name, as its help says.
func argsOf(c *cobra.Command) string {
	_, args, _ := strings.Cut(strings.ReplaceAll(c.Use, " [flags]", ""), " ")
	args, _, _ = strings.Cut(args, " | ") // or without any
	if args == "" {
		return "takes no arguments"
	}
	return "wants " + args
}

// otherNames are what other programs call what is called otherwise here.
var otherNames = map[string]string{"list": "ls", "create": "new", "start": "run", "status": "show", "delete": "end",
	"remove": "end", "rm": "end", "kill": "end", "logs": "log", "stop": "pause", "watch": "tail"}

// runGroup answers a command that only holds others.
func runGroup(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		meant := near.Words(args[0], commandNames(c))
		if other := otherNames[args[0]]; slices.Contains(commandNames(c), other) {
			meant = []string{other}
		}
		err := fmt.Errorf("unknown command %q", strings.Join(append(path(c), args[0]), " "))
		if len(meant) > 0 {
			err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(meant, " or "))
		} else if show, _, _ := c.Find([]string{"show"}); show != c && c.HasParent() {
			err = fmt.Errorf("%w; did you mean %s %s?", err, show.CommandPath(), view.Pasted(args[0]))
		}
		return perdure.Invalid(err)
	}
	if !c.HasParent() {
		return c.Help()
	}
	return perdure.Invalid(fmt.Errorf("%s needs a command: %s", strings.Join(path(c), " "),
		strings.Join(commandNames(c), ", ")))
}

// commandNames are the commands below one.
func commandNames(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	return names
}

// path names a command by its words after the program's.
func path(c *cobra.Command) []string { return strings.Fields(c.CommandPath())[1:] }

// wantsJSON reports whether the command line asks for JSON, which must be known even when it cannot be parsed.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	for i, a := range args {
		if (a == "-o" || a == "--output") && i+1 < len(args) {
			a = "-o" + args[i+1]
		}
		switch a {
		case "--json", "--json=true", "-ojson", "-ojsonl", "-o=json", "-o=jsonl", "--output=json", "--output=jsonl":
			return true
		}
	}
	return false
}

// jsonFlag reports whether the command was given --json.
func jsonFlag(c *cobra.Command) bool {
	on, err := c.Flags().GetBool("json")
	return on && err == nil
}
