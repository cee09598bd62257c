package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Command runs a program for each event, with the event as JSON on its standard input. It gets no secrets: of the
// environment, it has where programs and the user's files are, and the language.
type Command struct {
	Argv    []string
	Dir     string        // where it runs; none: where this process does
	Timeout time.Duration // zero: 30 s
}

// commandEnv is what of the environment a command gets.
var commandEnv = []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
	"XDG_RUNTIME_DIR", "SystemRoot"}

// Send implements Sender.
func (c *Command) Send(ctx context.Context, e *Event) error {
	body, err := json.Marshal(e)
	if err != nil {
		return &Failure{Err: err, Final: true}
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = sendTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir = c.Dir
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	for _, name := range commandEnv {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second
	asGroup(cmd)
	switch err := cmd.Run(); {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("it took longer than %s", timeout)
	case errors.Is(err, exec.ErrNotFound):
		return &Failure{Err: err, Final: true}
	default:
		return fmt.Errorf("%w: %s", err, clip(oneLine(said.String()), 200))
	}
}

// tail keeps the beginning of what a program says.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if left := maxAnswer - t.Len(); left > 0 {
		t.Buffer.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}
