//go:build unix

package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// program builds the real thing, once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "perdure-torture-bin-")
	if err != nil {
		return "", err
	}
	atExit = append(atExit, func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "perdure")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/perdure/perdure/cmd/perdure").
		CombinedOutput(); err != nil {
		return "", fmt.Errorf("build perdure: %w\n%s", err, out)
	}
	return path, nil
})

// atExit is done after all tests.
var atExit []func()

// needsProgram says why the real binary cannot be used.
func needsProgram() string {
	if _, err := exec.LookPath("go"); err != nil {
		return "there is no go command to build perdure with"
	}
	return ""
}

// commandLimit is how long a command may take, on a busy machine.
const commandLimit = 3 * time.Minute

// home is a home of the real program, with agents whose turns run scripts. Each turn writes a line to the ledger, which
// lies elsewhere.
type home struct {
	r      *round
	dir    string
	store  string   // the home
	folder string   // where the agents are: the home, or a folder of files
	names  []string // of the agents
	env    []string
}

// allowAll is a policy.
const allowAll = "@id(\"torture.all\")\npermit (principal, action, resource);\n"

// newHome makes a home in a store of the given kind below a folder, or in it.
func newHome(r *round, at, kind string) *home {
	h := &home{r: r, dir: r.t.TempDir()}
	if at == "" {
		at = h.dir
	}
	h.store = filepath.Join(at, "home")
	r.must(errors.Join(os.Mkdir(h.file("work"), 0o700), os.MkdirAll(h.file("user"), 0o700),
		os.WriteFile(h.file("all.cedar"), []byte(allowAll), 0o600)))
	h.folder = h.store
	where := h.store
	if kind == "dir" {
		h.folder = filepath.Join(at, folderName)
		where = "dir:" + h.folder
	}
	h.env = []string{"HOME=" + h.file("user"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + h.dir, "NO_COLOR=1",
		"PERDURE_STORE=" + where, "XDG_DATA_HOME=" + h.file("user")}
	return h
}

func (h *home) file(name string) string { return filepath.Join(h.dir, name) }

// agent makes an agent that runs scripts, one a turn; in them NAME and TURN stand for its name and the number of the
// turn.
func (h *home) agent(name string, turns ...string) {
	h.r.t.Helper()
	text := "turns:\n"
	for i, script := range turns {
		script = strings.NewReplacer("NAME", name, "TURN", fmt.Sprint(i)).Replace(script)
		text += fmt.Sprintf("  - execute: {tool: shell, args: {script: %q}}\n", script)
	}
	h.r.must(os.WriteFile(h.file(name+".yaml"), []byte(text+"  - end: {note: over}\n"), 0o600))
	h.names = append(h.names, name)
	h.ok("new", "write lines", "--name", name, "--advisor", name)
}

// node is the command line of a node that can do what the agents want.
func (h *home) node(args ...string) []string {
	args = append(args, "--files", h.file("work"), "--program", "sh", "--policy", h.file("all.cedar"))
	for _, name := range h.names {
		args = append(args, "--advisor", name+"=script:"+h.file(name+".yaml"))
	}
	return args
}

// command is the real program.
func (h *home) command(ctx context.Context, args ...string) *exec.Cmd {
	path, err := program()
	h.r.must(err)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// try runs a command and returns what it printed.
func (h *home) try(args ...string) (string, error) {
	if _, err := program(); err != nil { // before the time runs
		return "", err
	}
	ctx, stop := context.WithTimeout(context.Background(), commandLimit)
	defer stop()
	cmd := h.command(ctx, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("perdure %s: %w: %s %s", strings.Join(args, " "), err, out.String(),
			said.String())
	}
	return out.String(), nil
}

// ok runs a command that must work.
func (h *home) ok(args ...string) string {
	h.r.t.Helper()
	out, err := h.try(args...)
	h.r.must(err)
	return out
}

// running is a command under way.
type running struct {
	*exec.Cmd
	said  bytes.Buffer
	ended chan error
}

// start starts a command. Kill it.
func (h *home) start(args ...string) *running {
	h.r.t.Helper()
	p := &running{Cmd: h.command(context.Background(), args...), ended: make(chan error, 1)}
	p.Stderr = &p.said
	h.r.must(p.Start())
	go func() { p.ended <- p.Wait() }()
	return p
}

// kill kills the command, as kill -9 does: not what it started.
func (p *running) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

// ledger is the lines that agents wrote, and how often each.
func (h *home) ledger() map[string]int {
	lines := map[string]int{}
	b, err := os.ReadFile(h.file("work/ledger"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.r.must(err)
	}
	for line := range strings.Lines(string(b)) {
		lines[strings.TrimSpace(line)]++
	}
	return lines
}

// copyTree copies a folder with everything it is.
func copyTree(from, to string) error {
	out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}

// until waits until something is so.
func (h *home) until(what string, is func() bool) bool {
	for end := time.Now().Add(commandLimit); !is(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			h.r.Wrong("not so after %v: %s", commandLimit, what)
			return false
		}
	}
	return true
}

const (
	// effects without an outcome: nobody is at work on them once the node is dead
	open    = ".open[]?"
	inDoubt = `.waits[]? | select(.kind == "in-doubt")` // those a person is asked about
)

// waits reports whether a decision is still without an outcome: a node that lives may have recorded one meanwhile.
func (h *home) waits(name, which, decision string) bool {
	out, err := h.try("show", name, "--jq", which+" | .decision")
	return err != nil || strings.Contains(out, decision)
}

// settle plays the person who looks into the ledger and says what came of effects.
func (h *home) settle(which string) {
	h.r.t.Helper()
	for _, name := range h.names {
		out, err := h.try("show", name, "--jq", which+` | "\(.decision) \(.action.execute.args.script)"`)
		if err != nil {
			h.r.Wrong("%v", err)
			continue
		}
		for line := range strings.Lines(out) {
			decision, script, _ := strings.Cut(strings.TrimSpace(line), " ")
			signal := "failed"
			for happened := range h.ledger() {
				if strings.Contains(script, "echo "+happened+" ") {
					signal = "ok"
				}
			}
			_, err := h.try("settle", name, decision, "--signal", signal)
			if err != nil && h.waits(name, which, decision) {
				h.r.Wrong("%v", err)
			}
		}
	}
}
