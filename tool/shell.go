package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Shell is a tool that runs a command in a folder. Its arguments are either command, a program and its arguments, which
// no shell interprets, or script, which `sh -c` does.
//
// The result has exit, stdout and stderr; bytes of these that are not UTF-8 are replaced. It is marked as text from
// somebody not trusted. A command that exits with another number than 0 is a failed outcome. At the deadline the
// command is killed: nobody knows how far it got, so if it is of class once the effect is in doubt, and else the
// outcome is timed-out. The same holds when somebody else kills it, and when the agent is paused or ended meanwhile.
// Nothing it started outlives it, or this process, unless that has moved itself to a process group of its own;
// Survivors finds such, and while one runs the effect cannot be settled.
//
// It is no sandbox: a command can do what the user of this process can. Allow says which programs may be run, not what
// they do with their arguments.
type Shell struct {
	Name    string   // zero: shell
	Dir     string   // the working folder; must be set
	Exclude []string // files and folders Dir must not be in, such as the home of the node
	// the programs that may be run, as a command names them; "*" is any. A script needs sh. None: nothing runs
	Allow       []string
	Env         []string       // the variables a command gets: NAME as this process has it, or NAME=value. None: PATH
	Timeout     time.Duration  // zero: DefaultTimeout
	OutputLimit int            // bytes kept of each output, half of them from its end; zero: DefaultOutput
	Effect      perdure.Effect // zero: perdure.Once
}

// KeyVariable is the environment variable in which a command finds the idempotency key of its call.
const KeyVariable = "PERDURE_KEY"

type shellArgs struct {
	Command []string `json:"command,omitempty" jsonschema:"the program and its arguments; no shell interprets them"`
	Script  string   `json:"script,omitempty" jsonschema:"a script for sh, in place of command"`
}

// shellSchema is the schema of the arguments of every Shell.
var shellSchema = sync.OnceValues(schemaOf[shellArgs])

// Spec implements perdure.Tool.
func (s Shell) Spec() perdure.Spec {
	s = s.withDefaults()
	spec := perdure.Spec{Name: s.Name, Description: s.description(), Effect: s.Effect, Deadline: s.Timeout}
	if schema, err := shellSchema(); err == nil {
		spec.Args = schema.data
	}
	return spec
}

// CheckArgs implements perdure.ArgumentChecker: the program is named in one way, see cleanProgram.
func (s Shell) CheckArgs(args perdure.Data) error {
	if len(args) == 0 {
		return nil
	}
	fields, _ := args.Value().(map[string]any)
	argv, _ := fields["command"].([]any)
	for i, a := range argv {
		word, ok := a.(string)
		if _, raw := a.([]byte); raw { // they would become text on the way to the program, and policy saw bytes
			return errors.New("field command: want texts, got bytes")
		}
		if ok && i == 0 {
			if err := cleanProgram(word); err != nil {
				return fmt.Errorf("field command: %w", err)
			}
		}
		if strings.ContainsRune(word, 0) {
			return errors.New("field command: a NUL byte cannot be passed to a program")
		}
	}
	if script, _ := fields["script"].(string); strings.ContainsRune(script, 0) {
		return errors.New("field script: a NUL byte cannot be passed to a program")
	}
	return nil
}

// Call implements perdure.Tool.
func (s Shell) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	s = s.withDefaults()
	schema, err := shellSchema()
	if err != nil {
		return perdure.Result{}, err
	}
	var args shellArgs
	err = schema.decode(c.Args, &args)
	if err == nil {
		err = s.CheckArgs(c.Args)
	}
	if err != nil {
		return refused("arguments of %s: %v", s.Name, err), nil
	}
	return s.call(ctx, c, args)
}

// withDefaults is s with every zero field set.
func (s Shell) withDefaults() Shell {
	if s.Name == "" {
		s.Name = "shell"
	}
	if s.Timeout == 0 {
		s.Timeout = DefaultTimeout
	}
	if s.OutputLimit == 0 {
		s.OutputLimit = DefaultOutput
	}
	if s.Effect == 0 {
		s.Effect = perdure.Once
	}
	if s.Env == nil {
		s.Env = []string{"PATH"}
	}
	return s
}

func (s *Shell) description() string {
	switch {
	case slices.Contains(s.Allow, "*"):
		return "runs a command in the working folder"
	case len(s.Allow) == 0:
		return "runs commands in the working folder; none is allowed here"
	}
	return "runs a command in the working folder; the programs are " + strings.Join(s.Allow, ", ")
}

// call checks a call and runs its command.
func (s *Shell) call(ctx context.Context, c perdure.Call, args shellArgs) (perdure.Result, error) {
	if s.Dir == "" {
		return refused("%s has no folder to run commands in: set Dir where it is made", s.Name), nil
	}
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return refused("%s: its folder %s is not there", s.Name, s.Dir), nil
	}
	if newExclusions(s.Exclude).surround(s.Dir) {
		return refused("%s: its folder %s is in the home of the node, or in another place kept out of: set another Dir",
			s.Name, s.Dir), nil
	}
	argv := args.Command
	if args.Script != "" {
		if len(argv) > 0 {
			return refused("arguments of %s: give command or script, not both", s.Name), nil
		}
		argv = []string{"sh", "-c", args.Script}
	}
	if len(argv) == 0 || argv[0] == "" {
		return refused("arguments of %s: field command: give the program and its arguments, or a script", s.Name), nil
	}
	if !slices.Contains(s.Allow, "*") && !slices.Contains(s.Allow, argv[0]) {
		return refused("%s: program %q is not allowed here; allowed are %q", s.Name, argv[0], s.Allow), nil
	}
	return s.run(ctx, c, argv)
}

// run runs a command until it ends or its time is up.
func (s *Shell) run(ctx context.Context, c perdure.Call, argv []string) (perdure.Result, error) {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...)
	if cmd.Err != nil {
		return refused("%s: %v; is it installed, and on the PATH of this node?", s.Name, cmd.Err), nil
	}
	r := redactorOf(ctx)
	stdout, stderr := newOutput(s.OutputLimit, r.margin()), newOutput(s.OutputLimit, r.margin())
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.Dir, s.environ(c.Key), stdout, stderr, waitOutput
	// a process that stood still has timers that have not fired
	if at, ok := ctx.Deadline(); ok && !time.Now().Round(0).Before(at) {
		return refused("%s: not begun: its deadline had passed", s.Name), nil
	}
	if err := startGroup(cmd); err != nil {
		if ctx.Err() != nil {
			return perdure.Result{}, ctx.Err()
		}
		return refused("%s: %v", s.Name, err), nil
	}
	_ = cmd.Wait() // of a command that was done as its time ran out it says only that: the state of the process counts
	killGroup(cmd)
	res, dataErr := s.result(cmd, r, stdout, stderr)
	if dataErr != nil {
		return res, dataErr
	}
	switch {
	case cmd.ProcessState == nil || !cmd.ProcessState.Exited():
		if errors.Is(ctx.Err(), context.Canceled) && s.Effect.Repeatable() {
			return res, ctx.Err() // whoever stopped it knows why
		}
		why, late := whyKilled(ctx, limited)
		return s.killed(res, why, late, r.cutOff(stdout.text(r))+r.cutOff(stderr.text(r)))
	case !cmd.ProcessState.Success():
		res.Signal, res.Note = perdure.Failed, fmt.Sprintf("%s: %v", argv[0], cmd.ProcessState)
	}
	return res, nil
}

// whyKilled is why a command did not end by itself, and whether its time had run out.
func whyKilled(ctx, limited context.Context) (why string, late bool) {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		if cause := context.Cause(ctx); cause != context.Canceled {
			return "killed: " + cause.Error(), false
		}
		return "killed: this node was told to stop", false
	case limited.Err() != nil:
		return "killed: it had not ended in time", true
	}
	return "killed by somebody else", false
}

// killed is what came of a command that did not end by itself.
func (s *Shell) killed(res perdure.Result, why string, late bool, said string) (perdure.Result, error) {
	if !s.Effect.Repeatable() {
		if said = strings.TrimSpace(said); said != "" {
			why += fmt.Sprintf("; it had written %q", said)
		}
		return perdure.Result{}, inDoubt("%s", why)
	}
	res.Signal, res.Note = perdure.Silent, why
	if late {
		res.Signal = perdure.TimedOut
	}
	return res, nil
}

// result is what a command left behind.
func (s *Shell) result(cmd *exec.Cmd, r *redactor, stdout, stderr *output) (perdure.Result, error) {
	v := map[string]any{"stdout": stdout.text(r), "stderr": stderr.text(r)}
	if cmd.ProcessState == nil || !cmd.ProcessState.Exited() { // it may have been in the middle of a value
		v["stdout"], v["stderr"] = r.cutOff(stdout.text(r)), r.cutOff(stderr.text(r))
	}
	if cmd.ProcessState != nil {
		v["exit"] = cmd.ProcessState.ExitCode()
	}
	if stdout.Truncated() || stderr.Truncated() {
		v["truncated"] = true
	}
	data, err := perdure.DataOf(v)
	res := perdure.Result{Data: data, Taint: true}
	if v["truncated"] != nil {
		res.Signal, res.Note = perdure.Partial, "some of its output is left out: it is too long"
	}
	return res, err
}

// environ is the environment of a command.
func (s *Shell) environ(key string) []string {
	env := make([]string, 0, len(s.Env)+1)
	for _, e := range s.Env {
		if strings.Contains(e, "=") {
			env = append(env, e)
		} else if v, ok := os.LookupEnv(e); ok {
			env = append(env, e+"="+v)
		}
	}
	return append(env, KeyVariable+"="+key)
}
