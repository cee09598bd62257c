//go:build unix

package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/perdure/perdure"
)

// world is what lies outside the agents: a folder with one file an agent, in which each line is an effect that
// happened. It does not care whether an effect has happened before: that it does not happen twice is what is tested.
type world struct{ dir string }

// act is one line: an effect that happened, or one that was called off and will not.
type act struct {
	tool string
	step int64
	key  string
	off  bool
}

// with calls f with what has happened to an agent, while nobody else looks or adds, and adds what f returns.
func (w world) with(id perdure.AgentID, f func(past []act) *act) (err error) {
	file, err := os.OpenFile(filepath.Join(w.dir, id.String()), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	past, err := readActs(file)
	if err != nil {
		return err
	}
	if a := f(past); a != nil {
		if _, err := fmt.Fprintf(file, "%s %d %s %t\n", a.tool, a.step, a.key, a.off); err != nil {
			return err
		}
		return file.Sync()
	}
	return nil
}

// readActs reads what has happened. A line without an end is of somebody who was killed while writing it: it did not
// happen, and goes.
func readActs(f *os.File) ([]act, error) {
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	whole := bytes.LastIndexByte(b, '\n') + 1
	if whole < len(b) {
		if err := f.Truncate(int64(whole)); err != nil {
			return nil, err
		}
	}
	var past []act
	for line := range strings.Lines(string(b[:whole])) {
		var a act
		if _, err := fmt.Sscan(line, &a.tool, &a.step, &a.key, &a.off); err != nil {
			return nil, fmt.Errorf("line %q of %s: %w", line, f.Name(), err)
		}
		past = append(past, a)
	}
	return past, nil
}

// acts is what has happened, by agent.
func (w world) acts() (map[perdure.AgentID][]act, error) {
	files, err := os.ReadDir(w.dir)
	if err != nil {
		return nil, err
	}
	all := map[perdure.AgentID][]act{}
	for _, f := range files {
		h, err := perdure.ParseHash(f.Name())
		if err != nil {
			return nil, err
		}
		if err := w.with(perdure.AgentID(h), func(past []act) *act {
			all[perdure.AgentID(h)] = past
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// errCalledOff says that somebody found the effect had not happened and saw to it that it will not.
var errCalledOff = errors.New("called off")

// do makes an effect happen unless it was called off.
func (w world) do(c perdure.Call, tool string) error {
	off := false
	err := w.with(c.Agent, func(past []act) *act {
		for _, a := range past {
			off = off || a.off && a.key == c.Key
		}
		if off {
			return nil
		}
		return &act{tool: tool, step: stepOf(c.Args), key: c.Key}
	})
	if off {
		return errCalledOff
	}
	return err
}

// find says whether an effect happened; if it did not, it will not.
func (w world) find(id perdure.AgentID, tool, key string, args perdure.Data) (happened bool, err error) {
	err = w.with(id, func(past []act) *act {
		off := false
		for _, a := range past {
			happened = happened || a.key == key && !a.off
			off = off || a.key == key && a.off
		}
		if happened || off {
			return nil
		}
		return &act{tool: tool, step: stepOf(args), key: key, off: true}
	})
	return happened, err
}

// tool acts upon the world. It takes its time, and now and then more than it has.
type tool struct {
	spec  perdure.Spec
	world world
	big   bool // returns more than a store keeps in its main file
}

func (t *tool) Spec() perdure.Spec { return t.spec }

func (t *tool) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	if err := pause(ctx, rand.N(2*time.Millisecond)); err != nil {
		return perdure.Result{}, err
	}
	if err := t.world.do(c, t.spec.Name); err != nil {
		return perdure.Result{}, err
	}
	wait := rand.N(2 * time.Millisecond)
	if t.spec.Effect == perdure.Once && rand.N(50) == 0 {
		wait = time.Minute // hangs with the effect done: cut off at its deadline, in doubt
	}
	if err := pause(ctx, wait); err != nil {
		return perdure.Result{}, err
	}
	res := perdure.Result{Set: done(t.spec.Name, c.Args)}
	if t.big && rand.N(20) == 0 {
		data, err := perdure.DataOf(strings.Repeat("x", perdure.InlineBody+rand.N(1000)))
		res.Data = data
		return res, err
	}
	return res, nil
}

// checked is a tool that can be asked what happened.
type checked struct{ tool }

func (t *checked) Reconcile(_ context.Context, c perdure.Call) (perdure.Result, error) {
	happened, err := t.world.find(c.Agent, t.spec.Name, c.Key, c.Args)
	if err != nil {
		return perdure.Result{}, err
	}
	if !happened {
		return perdure.Result{Signal: perdure.Failed, Note: "it did not happen"}, nil
	}
	return perdure.Result{Set: done(t.spec.Name, c.Args)}, nil
}

// pause lets time pass.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// must is for what cannot fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// stepOf is the step a call is about.
func stepOf(args perdure.Data) int64 {
	n, _ := args.Value().(int64)
	return n
}

// done is what an agent keeps of a step: that a tool has done it.
func done(tool string, args perdure.Data) map[string]perdure.Data {
	return map[string]perdure.Data{tool: args}
}
