package ralph

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// killed is what a process dies of in these tests.
type killed struct{ point string }

// world is what outlasts every process: the store, the list, what commands did, and how they ended.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	reader *workspace.Reader
	file   string
	did    map[string]int   // how often each task was done
	ends   map[string]Ended // what guards wrote down, by attempt
	runs   map[string]bool  // attempts whose command still runs
	kills  int
	calls  int
	points map[string]bool // where it was killed
}

func newWorld(t *testing.T, seed uint64, list string) *world {
	t.Helper()
	dir := t.TempDir()
	ix, err := workspace.OpenIndex(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	key, err := perdure.GenerateSigner("ann")
	if err != nil {
		t.Fatal(err)
	}
	store := new(perdure.MemStore)
	trust := perdure.NewTrust(perdure.Trustee{Key: key.Key(), Name: key.Name, Rights: perdure.MayOwn,
		Scope: perdure.AnyScope})
	ws := &workspace.Workspace{Store: store, Node: &perdure.Node{Store: store, Key: key, Trust: trust}, Index: ix,
		Allow: func(a *perdure.Agent, x workspace.Access) perdure.Verdict {
			return policy.Default().Document(a, policy.Document{Write: x.Write, Path: x.Path, Kind: x.Kind,
				Tier: string(x.Tier), Scope: x.Scope}, time.Now())
		}}
	r, err := ws.As(t.Context(), "ralph")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), reader: r, file: filepath.Join(dir, "TASKS.md"),
		did: map[string]int{}, ends: map[string]Ended{}, runs: map[string]bool{}, points: map[string]bool{}}
	if err := os.WriteFile(w.file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// loop is a new process over the world.
func (w *world) loop() *Loop {
	return &Loop{Reader: w.reader, File: w.file, Name: "list", Place: "here", Command: w, Backoff: time.Microsecond,
		LimitCodes: []int{75}}
}

// Run implements Command: a coding agent that fails, meets limits, and is killed at random.
func (w *world) Run(_ context.Context, a Attempt) (Ended, error) {
	w.calls++
	if len(w.runs) > 0 {
		w.t.Fatalf("a command was begun while another ran")
	}
	switch w.rng.IntN(8) {
	case 0: // it fails, and did nothing
		w.ends[a.Nonce] = Ended{Code: 1, Output: "compile error"}
	case 1:
		w.ends[a.Nonce] = Ended{Code: 1, Output: "Claude AI usage limit reached"}
	case 2:
		w.ends[a.Nonce] = Ended{Code: 75}
	case 3: // it is killed with its guard: before it did anything, or after; nobody sees the end
		if w.rng.IntN(2) == 0 {
			w.did[a.Task.ID]++
		}
		return Ended{}, ErrUnknown
	case 4: // it ticks the box itself
		w.did[a.Task.ID]++
		w.tick(a.Task.ID)
		w.ends[a.Nonce] = Ended{Code: w.rng.IntN(2), Output: "PERDURE-LEARNED to tick"}
	case 5: // the process dies while the command goes on
		w.runs[a.Nonce] = true
		w.die("running")
	default:
		w.did[a.Task.ID]++
		w.ends[a.Nonce] = Ended{Output: "PERDURE-LEARNED a thing\nPERDURE-DONE " + a.Nonce + "\n"}
	}
	return w.ends[a.Nonce], nil
}

// Find implements Command.
func (w *world) Find(_ context.Context, nonce string, _ func()) (Ended, bool, error) {
	if w.runs[nonce] { // it goes on, and ends
		delete(w.runs, nonce)
		for _, r := range w.list().Tasks {
			rec, err := w.loop().read(w.t.Context(), &r)
			if err != nil {
				w.t.Fatal(err)
			}
			if rec.nonce == nonce {
				w.did[r.ID]++
				w.ends[nonce] = Ended{Result: "done\nlearned: it went on\n"}
			}
		}
	}
	e, ok := w.ends[nonce]
	return e, ok, nil
}

func (w *world) list() *tasks.List {
	b, err := os.ReadFile(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := tasks.Parse("TASKS.md", b)
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) tick(id string) {
	b, _, err := w.list().Tick(id)
	if err == nil {
		err = os.WriteFile(w.file, b, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) die(point string) {
	w.kills++
	w.points[point] = true
	panic(killed{point})
}

// live runs one process until it ends or is killed.
func (w *world) live(l *Loop) (res *Result, err error, died bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(killed); !ok {
				panic(p)
			}
			died = true
		}
	}()
	res, err = l.Run(w.t.Context())
	return res, err, false
}

func TestEachTaskIsDoneExactlyOnceWhateverIsKilled(t *testing.T) {
	t.Parallel()
	const list = "# Work\n\n- [ ] one\n- [ ] two\n  - [ ] two a\n  - [ ] two b\n- [x] three\n- [ ] four\n"
	runs := uint64(200)
	if n, err := strconv.ParseUint(os.Getenv("PERDURE_RALPH_RUNS"), 10, 32); err == nil {
		runs = n
	} else if testing.Short() {
		runs = 40
	}
	kills, calls, points := 0, 0, map[string]bool{}
	for seed := range runs {
		w := newWorld(t, seed, list)
		for life := 0; ; life++ {
			if life > 2000 {
				t.Fatalf("seed %d: it does not end", seed)
			}
			l := w.loop()
			l.Look = func(_ context.Context, t tasks.Task) (bool, error) { return w.did[t.ID] > 0, nil }
			l.kill = func(point string) {
				if w.rng.IntN(10) == 0 {
					w.die(point)
				}
			}
			res, err, died := w.live(l)
			if died {
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if res.Left != 0 || res.Stopped != "" {
				t.Fatalf("seed %d: got %+v, want nothing left", seed, res)
			}
			break
		}
		l := w.list()
		for _, task := range l.Tasks {
			want := 1
			if task.Title == "three" {
				want = 0
			}
			if w.did[task.ID] != want || !task.Done {
				t.Errorf("seed %d: %s was done %d times, ticked %t; want %d", seed, task.Title, w.did[task.ID],
					task.Done, want)
			}
		}
		for _, state := range []State{Begun, Done} {
			if open, err := w.loop().records(t.Context(), state); err != nil || len(open) > 0 {
				t.Errorf("seed %d: %d records are %s at the end, %v", seed, len(open), state, err)
			}
		}
		kills, calls = kills+w.kills, calls+w.calls
		for p := range w.points {
			points[p] = true
		}
	}
	t.Logf("%d runs, %d commands, %d kills at %d points", runs, calls, kills, len(points))
	for _, p := range []string{"before begun", "begun", "ended", "learned", "complained", "before end", "end", "box",
		"committed", "ticked", "found", "looked", "running"} {
		if !points[p] {
			t.Errorf("it was never killed at %q: the test shows nothing about that", p)
		}
	}
}

// fixed is a command that ends as it is told.
type fixed struct {
	ends []Ended
	told []Attempt
}

func (f *fixed) Run(_ context.Context, a Attempt) (Ended, error) {
	f.told = append(f.told, a)
	e := f.ends[min(len(f.told), len(f.ends))-1]
	e.Output = strings.ReplaceAll(e.Output, "NONCE", a.Nonce)
	return e, nil
}

func (f *fixed) Find(context.Context, string, func()) (Ended, bool, error) {
	return Ended{}, false, nil
}

func TestContextHoldsTheTaskItsErrorsAndWhatWasLearned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, "## Shop\n- [ ] pay\n  by card\n- [ ] ship\n")
	_, err := w.reader.Write(t.Context(), workspace.Draft{Path: workspace.StatePath("ralph"), Text: "We sell rye."})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixed{ends: []Ended{{Code: 2, Output: "PERDURE-LEARNED cards expire\nno such module"},
		{Output: "PERDURE-DONE NONCE"},
		{Output: "PERDURE-FAILED NONCE: no label"}}}
	l := w.loop()
	l.Command, l.MaxFailures = f, 2
	res, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.Done != 1 || res.Left != 1 || len(res.GivenUp) != 1 || res.GivenUp[0] != "ship" || res.Iterations != 4 {
		t.Errorf("got %+v", res)
	}
	for i, want := range [][]string{{"pay", "by card", "We sell rye.", "Shop"}, {"no such module", "cards expire"},
		{"ship", "cards expire", "Recent errors of other tasks", "pay: it exited with 2"}, {"no label"}} {
		for _, text := range want {
			if !strings.Contains(f.told[i].Context, text) {
				t.Errorf("attempt %d was not told %q", i+1, text)
			}
		}
	}
	// an echo of what it was told is not its word
	for _, a := range f.told {
		if s := said(Ended{Output: a.Context}, a.Nonce); s.done || s.failed != "" || len(s.learned) > 0 {
			t.Errorf("an echo counts as %+v", s)
		}
	}
}

// ticker is a command that ticks the box of its task itself.
type ticker struct{ file string }

func (c ticker) Run(_ context.Context, a Attempt) (Ended, error) {
	b, err := os.ReadFile(c.file)
	if err == nil {
		b = []byte(strings.Replace(string(b), "[ ] "+a.Task.Title, "[x] "+a.Task.Title, 1))
		err = os.WriteFile(c.file, b, 0o600)
	}
	return Ended{Output: "PERDURE-LEARNED " + a.Nonce + ": ticks count\n"}, err
}

func (ticker) Find(context.Context, string, func()) (Ended, bool, error) { return Ended{}, false, nil }

// A box is ticked when all below it are, also those the command ticked; what was learned is kept without the nonce.
func TestABoxIsDoneWithThoseBelowIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, "- [ ] shop\n  - [ ] pay\n  - [ ] ship\n")
	l := w.loop()
	l.Command = ticker{w.file}
	if res, err := l.Run(t.Context()); err != nil || res.Done != 2 {
		t.Fatalf("got %+v, %v", res, err)
	}
	if b, err := os.ReadFile(w.file); err != nil || strings.Contains(string(b), "[ ]") {
		t.Errorf("the list is %q, %v; want every box ticked", b, err)
	}
	path := workspace.PrivatePath("ralph", "learnings/"+time.Now().UTC().Format("2006-01")+".md")
	d, err := w.reader.Read(t.Context(), path, nil)
	if err != nil || !strings.Contains(d.Text, "ticks count") ||
		regexp.MustCompile(`[0-9a-f]{8}: ticks`).MatchString(d.Text) {
		t.Errorf("learned: %+v, %v; want no nonce", d, err)
	}
}

func TestBoundsAndTheWordOfOthersStopALoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, "- [ ] one\n- [ ] two\n")
	l := w.loop()
	l.Command, l.MaxIterations = &fixed{ends: []Ended{{Code: 1}}}, 3
	if res, err := l.Run(t.Context()); err != nil || res.Iterations != 3 || res.Stopped == "" || res.Left != 2 {
		t.Errorf("got %+v, %v", res, err)
	}
	// exit code 0 alone is no word that it is done, unless somebody said so
	l.Command, l.MaxIterations = &fixed{ends: []Ended{{}}}, 1
	if res, _ := l.Run(t.Context()); res.Done != 0 {
		t.Errorf("got %+v", res)
	}
	l.ExitZero, l.MaxIterations = true, 0
	if res, err := l.Run(t.Context()); err != nil || res.Done != 2 || res.Left != 0 {
		t.Errorf("got %+v, %v", res, err)
	}
	// a person takes a tick away: it is done again
	b, _ := os.ReadFile(w.file)
	if err := os.WriteFile(w.file, []byte(strings.Replace(string(b), "[x] one", "[ ] one", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if res, err := l.Run(t.Context()); err != nil || res.Done != 1 {
		t.Errorf("got %+v, %v", res, err)
	}
	// a limit that lasts longer than there is time
	w = newWorld(t, 1, "- [ ] one\n")
	l = w.loop()
	l.Command, l.MaxTime = &fixed{ends: []Ended{{Code: 1, Output: "rate limit, try again in 3 hours"}}}, time.Minute
	if res, err := l.Run(t.Context()); err != nil || !strings.Contains(res.Stopped, "a limit lasts until") {
		t.Errorf("got %+v, %v", res, err)
	}
}

// A test command says no in its own way: what make exits with is no reason to stop. Nor is it a reason to begin an
// attempt again of which nobody knows how it ended.
func TestALookThatCannotTellIsNoYes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, "- [ ] one\n")
	l := w.loop()
	l.Look = func(context.Context, tasks.Task) (bool, error) { return false, ErrUnsure }
	l.Command, l.MaxIterations = &fixed{ends: []Ended{{}, {Output: "PERDURE-DONE NONCE"}}}, 2
	if res, err := l.Run(t.Context()); err != nil || res.Done != 1 || res.Iterations != 2 {
		t.Errorf("got %+v, %v, want the second attempt to be done", res, err)
	}
	w = newWorld(t, 1, "- [ ] one\n")
	l = w.loop()
	l.Look = func(context.Context, tasks.Task) (bool, error) { return false, ErrUnsure }
	f := new(unseen)
	l.Command, l.MaxIterations = f, 3
	if res, err := l.Run(t.Context()); !errors.Is(err, ErrUnsure) || f.runs != 1 {
		t.Errorf("got %+v, %v, and %d attempts, want one", res, err, f.runs)
	}
}

// unseen is a command of which nobody sees the end.
type unseen struct {
	fixed
	runs int
}

func (u *unseen) Run(context.Context, Attempt) (Ended, error) {
	u.runs++
	return Ended{}, ErrUnknown
}

func TestAnAttemptBegunElsewhereIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, "- [ ] one\n")
	there := w.loop()
	there.Place = "there"
	there.kill = func(point string) {
		if point == "begun" {
			w.die(point)
		}
	}
	if _, _, died := w.live(there); !died {
		t.Fatal("it was not killed")
	}
	l := w.loop()
	l.Command = &fixed{ends: []Ended{{Output: "PERDURE-DONE NONCE"}}}
	if _, err := l.Run(t.Context()); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	l.Take = true
	if res, err := l.Run(t.Context()); err != nil || res.Done != 1 {
		t.Fatalf("got %+v, %v", res, err)
	}
}

func TestLimitsAreRecognised(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"Claude AI usage limit reached|1772380800":                  "2026-03-01T16:00:00Z",
		"You've hit your limit · resets 3pm (UTC)":                  "2026-03-01T15:00:00Z",
		"You've hit your session limit · resets 1:30am (UTC)":       "2026-03-02T01:30:00Z",
		`{"error":{"type":"rate_limit_error"}} retry-after: 30`:     "2026-03-01T14:00:30Z",
		"Rate limit reached for gpt-5. Please try again in 1.5s.":   "2026-03-01T14:00:01Z",
		"429 Too Many Requests, try again in 2 hours and 5 minutes": "2026-03-01T16:05:00Z",
		"quota exceeded until 2026-03-01T18:00:00+01:00":            "2026-03-01T17:00:00Z",
		"API Error: overloaded_error":                               "none",
		"usage limit, try again at 2020-01-01T00:00:00Z":            "none",
		"cannot find package limits in any of these":                "",
		"the build took 3 hours; see line 4291":                     "",

		"Weekly limit reached ∙ resets Mar 4 at 3am":                       "2026-03-04T03:00:00Z",
		"You've hit your limit · resets Mar 4, 3:30pm (Europe/Berlin)":     "2026-03-04T14:30:00Z",
		"You've hit your usage limit. Try again at Mar 2nd, 2026 4:11 AM.": "2026-03-02T04:11:00Z",
		"usage limit, try again on March 3":                                "2026-03-03T00:00:00Z",
		"usage limit, resets 3 March at 14:05":                             "2026-03-03T14:05:00Z",
		"usage limit, try again at Feb 30th, 2026 4:11 AM":                 "none",
		"[API Error: Your quota will reset after 3h20m5s.]":                "2026-03-01T17:20:05Z",
		"API Error: 529 {}": "none",

		"--- FAIL: TestRateLimit (0.01s): want 429, rate limit not enforced": "",
		"FAILED tests/test_api.py::test_rate_limit - AssertionError: 429":    "",
		"  ● api › answers 429 when there is a rate limit":                   "",
		"limit_test.go:17: got 200, want 429 Too Many Requests":              "",
		"test rate_limit ... FAILED":                                         "",
		"--- FAIL: TestQuota (0.01s)\nClaude AI usage limit reached":         "none",
		"rate limit of the shop: 3\n" + strings.Repeat("built a part\n", 30): "",
	} {
		until, ok := Limited(text, now)
		got := ""
		if ok {
			got = "none"
		}
		if !until.IsZero() {
			got = until.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// What speaks of a limit each time is a failure in the end, so that the other tasks are not kept waiting for ever.
func TestALimitWithoutEndIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, "- [ ] one\n- [ ] two\n")
		l := w.loop()
		l.MaxFailures = 1
		ends := slices.Repeat([]Ended{{Code: 1, Output: "rate limit reached, retry-after: 30"}}, maxWaits+1)
		l.Command = &fixed{ends: append(ends, Ended{Output: "PERDURE-DONE NONCE"})}
		res, err := l.Run(t.Context())
		if err != nil || res.Done != 1 {
			t.Errorf("got %+v, %v", res, err)
		}
		if b, err := os.ReadFile(w.file); err != nil || !strings.Contains(string(b), "[x] two") {
			t.Errorf("the list: %s, %v", b, err)
		}
	})
}
