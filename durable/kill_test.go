//go:build unix

package durable_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/store/sqlite"
)

// killEnv tells a process that these tests started in which folder to work, at which level, and where to kill itself.
const killEnv = "PERDURE_DURABLE_KILL"

// world is what steps do: each writes a line with its name and key to a file, which nobody takes back.
type world struct {
	t     testing.TB
	dir   string
	level sqlite.Sync
	point string // where to die

	beside sync.WaitGroup // a and c
}

func (w *world) act(ctx context.Context, name string) (string, error) {
	if w.point == "before "+name {
		w.die()
	}
	f, err := os.OpenFile(filepath.Join(w.dir, "world"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(f, "%s %s\n", name, durable.Key(ctx)); err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	switch w.point + " " + name {
	case "together a", "together c":
		w.beside.Done()
	case "together b": // what runs beside it has acted by now, and may be on record or not
		w.beside.Wait()
		w.die()
	case "after " + name + " " + name:
		w.die()
	}
	return name + " done", nil
}

// die ends this process as nothing else does. The rest of it waits for that.
func (w *world) die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (w *world) lines() []string {
	b, err := os.ReadFile(filepath.Join(w.dir, "world"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// open is a process: a store, and a node with the function.
func (w *world) open() (*sqlite.Store, *perdure.Node) {
	s, err := sqlite.Open(context.Background(), filepath.Join(w.dir, "store.db"), sqlite.Options{Sync: w.level})
	if err != nil {
		w.t.Fatal(err)
	}
	key, err := keyfile.Read(filepath.Join(w.dir, "key"))
	if err != nil {
		w.t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: key, Policy: durable.AllowAll}
	durable.Handle(n, "job", w.job)
	return s, n
}

// job does a step, three beside each other, one of which must not be repeated, and a last one.
func (w *world) job(r *durable.Run, _ string) (string, error) {
	step := func(name string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) { return w.act(ctx, name) }
	}
	if _, err := durable.Step(r, "first", step("first")); err != nil {
		return "", err
	}
	pending := []*durable.Pending[string]{durable.Go(r, "a", step("a")), durable.Go(r, "b", step("b")),
		durable.GoOnce(r, "c", step("c"))}
	said := ""
	for _, p := range pending {
		s, err := p.Wait()
		if err != nil {
			return "", err
		}
		said += s + ", "
	}
	last, err := durable.Once(r, "last", step("last"))
	return said + last, err
}

func TestKilledProcess(t *testing.T) {
	task := os.Getenv(killEnv)
	if task == "" {
		t.Skip("it is started by TestEffectClassesHoldWhenAProcessIsKilled")
	}
	args := strings.Split(task, "\n")
	level, err := sqlite.ParseSync(args[1])
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: args[0], level: level, point: args[2]}
	w.beside.Add(2)
	_, n := w.open()
	id, err := durable.StartAs(t.Context(), n, "job", "job-1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func TestEffectClassesHoldWhenAProcessIsKilled(t *testing.T) {
	for _, c := range []struct {
		point string
		twice string // the steps that may have acted twice
		doubt string // the step nobody knows the outcome of
	}{
		{point: "nowhere"},
		{point: "before first"},
		{point: "after first", twice: "first"},
		{point: "before last", doubt: "last"},
		{point: "after last", doubt: "last"},
		{point: "together", twice: "a b", doubt: "c"},
	} {
		for _, level := range []sqlite.Sync{sqlite.Full, sqlite.Normal} {
			t.Run(c.point+" "+level.String(), func(t *testing.T) {
				t.Parallel()
				w := killed(t, level, c.point)
				settled := w.goOn(c.doubt)
				w.check(c.twice, c.doubt, settled)
			})
		}
	}
}

// killed is the world a process leaves that was killed at a point.
func killed(t *testing.T, level sqlite.Sync, point string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), level: level}
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	if err := keyfile.Write(filepath.Join(w.dir, "key"), key); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), killEnv+"="+strings.Join([]string{w.dir, level.String(), point}, "\n"))
	out, err := cmd.CombinedOutput()
	if dead := strings.Contains(fmt.Sprint(err), "killed"); dead != (point != "nowhere") {
		t.Fatalf("the process ended with %v: %s", err, out)
	}
	return w
}

// goOn is the process after it: it goes on with the same run, and a person says that what is in doubt happened. It
// returns how it ended.
func (w *world) goOn(doubt string) string {
	w.t.Helper()
	ctx := w.t.Context()
	s, n := w.open()
	defer func() { _ = s.Close() }()
	if err := s.Reclaim(ctx); err != nil {
		w.t.Fatal(err)
	}
	id, err := durable.StartAs(ctx, n, "job", "job-1", "")
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := n.RunAgent(ctx, id); err != nil {
		w.t.Fatal(err)
	}
	a, err := n.Load(ctx, id)
	if err != nil {
		w.t.Fatal(err)
	}
	under := ""
	for _, o := range a.Fold().Open {
		under += strings.TrimSuffix(perdure.CallOf(o.Action), "#0")
	}
	if under != doubt {
		w.t.Fatalf("got %q under way, want %q", under, doubt)
	}
	if doubt != "" {
		data, err := perdure.DataOf("settled")
		if err != nil {
			w.t.Fatal(err)
		}
		settle := perdure.Settle{Decision: a.Fold().Open[0].Decision, Signal: perdure.OK, Result: data}
		if _, err := n.Tell(ctx, id, perdure.Event{Name: "settled", Notice: settle}); err != nil {
			w.t.Fatal(err)
		}
		if _, err := n.RunAgent(ctx, id); err != nil {
			w.t.Fatal(err)
		}
	}
	got, err := durable.Await[string](ctx, n, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// check holds what was done against the classes of the steps.
func (w *world) check(twice, doubt, got string) {
	w.t.Helper()
	want := "a done, b done, c done, last done"
	if doubt != "" {
		want = strings.Replace(want, doubt+" done", "settled", 1)
	}
	if got != want {
		w.t.Errorf("it ended with %q, want %q", got, want)
	}
	times, keys := map[string]int{}, map[string]string{}
	for _, line := range w.lines() {
		name, key, _ := strings.Cut(line, " ")
		times[name]++
		if keys[name] != "" && keys[name] != key || key == "" {
			w.t.Errorf("%s acted under the keys %q and %q", name, keys[name], key)
		}
		keys[name] = key
	}
	for _, name := range []string{"first", "a", "b", "c", "last"} {
		most := 1
		if strings.Contains(" "+twice+" ", " "+name+" ") {
			most = 2
		}
		if n := times[name]; n > most || n == 0 && name != doubt {
			w.t.Errorf("%s acted %d times, want at most %d", name, n, most)
		}
	}
}
