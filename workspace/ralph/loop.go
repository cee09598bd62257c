package ralph

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// Attempt is one run of the command at one task.
type Attempt struct {
	Task    tasks.Task
	Number  int
	Nonce   string
	Context string // what the command is told
}

// Ended is how a command ended.
type Ended struct {
	Code   int    // its exit code; -1: a signal killed it
	Output string // the end of what it wrote
	Result string // what it wrote to the file of its result
	Late   bool   // its time was over, and it was ended
}

// Command runs attempts.
type Command interface {
	// Run runs an attempt and returns how it ended. It is called only after the attempt is durable. When ctx ends, it
	// ends the command first.
	Run(ctx context.Context, a Attempt) (Ended, error)
	// Find is how an attempt ended that another process began which has died since. It waits while the command still
	// runs, and calls waits before. Without an end nobody knows what became of it.
	Find(ctx context.Context, nonce string, waits func()) (end Ended, known bool, err error)
}

// Loop works through a list. Reader, File, Name, Place and Command must be set; zero bounds are none.
type Loop struct {
	Reader  *workspace.Reader // of the role whose memory it is
	File    string            // the list
	Name    string            // of the list, in memory; see NameOf
	Place   string            // names the machine and folder where attempts leave their traces
	Command Command

	MaxIterations int
	MaxFailures   int // of one task, in a row
	MaxTime       time.Duration
	Backoff       time.Duration // the first wait for a limit that names no time; zero: a minute
	LimitCodes    []int         // exit codes that mean a limit
	ExitZero      bool          // exit code 0 means done, whatever was said
	Again         bool          // tasks that were given up before this run begin with no failures
	Take          bool          // restart attempts that began elsewhere and are not known to be done

	// Look checks whether a task was done of which nobody said so; nil: nobody looks. ErrUnsure: it could not tell.
	Look func(ctx context.Context, t tasks.Task) (bool, error)
	// Commit keeps what was done, and says by what name; nil: nothing is committed.
	Commit func(ctx context.Context, message string) (string, error)
	// Report is told what happens; nil: nobody is.
	Report func(Step)

	forgiven map[string]bool    // tasks whose failures Again has forgotten
	kill     func(point string) // in tests: dies here
}

// Step is something that happened.
type Step struct {
	Time    time.Time `json:"time"`
	Task    string    `json:"task"`
	Title   string    `json:"title"`
	Attempt int       `json:"attempt"`
	State   State     `json:"state"`
	Note    string    `json:"note,omitempty"`
}

// Result is how a loop ended.
type Result struct {
	Done       int      `json:"done"` // by this run
	Left       int      `json:"left"` // not done
	Iterations int      `json:"iterations"`
	GivenUp    []string `json:"given_up,omitempty"` // tasks that failed too often
	Stopped    string   `json:"stopped,omitempty"`  // the bound that was met
}

// String is the step in a line, for people.
func (s Step) String() string {
	line := fmt.Sprintf("%s  %-11s %s", s.Time.Local().Format("15:04:05"), s.State, view.OneLine(s.Title, 60))
	if s.Attempt > 1 {
		line += fmt.Sprintf(" (attempt %d)", s.Attempt)
	}
	if s.Note != "" {
		line += ": " + view.OneLine(s.Note, 120)
	}
	return line
}

// String is the end in lines, for people.
func (r *Result) String() string {
	text := fmt.Sprintf("%d done in %s, %d left", r.Done, view.Several(int64(r.Iterations), "iteration"), r.Left)
	if r.Stopped != "" {
		text += ": " + r.Stopped
	}
	for _, t := range r.GivenUp {
		text += "\ngiven up: " + view.OneLine(t, 80)
	}
	if len(r.GivenUp) > 0 {
		text += "\nthey failed too often in a row; try them again with perdure ralph --again -- COMMAND"
	}
	return text
}

// NameOf is the name of a list in memory.
func NameOf(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err == nil {
		if real, e := filepath.EvalSymlinks(abs); e == nil {
			abs = real
		}
	}
	sum := sha256.Sum256([]byte(abs))
	return hex.EncodeToString(sum[:6]), err
}

// at is for tests that die at every point.
func (l *Loop) at(point string) {
	if l.kill != nil {
		l.kill(point)
	}
}

func (l *Loop) report(r *record, note string) { l.tell(r, r.state, note) }

// waits tells what the loop waits for.
func (l *Loop) waits(r *record, note string) { l.tell(r, "waits", note) }

func (l *Loop) tell(r *record, state State, note string) {
	if l.Report != nil {
		l.Report(Step{Time: time.Now(), Task: r.id, Title: r.title, Attempt: r.attempt, State: state, Note: note})
	}
}

// load reads the list.
func (l *Loop) load() (*tasks.List, error) {
	b, err := disk.ReadFile(l.File, tasks.MaxSize+1)
	if err != nil {
		return nil, err
	}
	return tasks.Parse(filepath.Base(l.File), b)
}

// Run works through the list until all is done or a bound is met. Only one may run on a list at a time.
func (l *Loop) Run(ctx context.Context) (*Result, error) {
	res := &Result{}
	list, err := l.load()
	if err != nil {
		return res, err
	}
	if len(list.Tasks) == 0 {
		return res, perdure.Invalid(fmt.Errorf("%s: it has no tasks: want lines such as - [ ] what to do", l.File))
	}
	end := time.Time{}
	if l.MaxTime > 0 {
		end = time.Now().Add(l.MaxTime)
	}
	if err := l.settle(ctx, res); err != nil {
		return res, err
	}
	for {
		t, r, err := l.next(ctx, res)
		switch {
		case err != nil || t == nil:
			return res, err
		case l.MaxIterations > 0 && res.Iterations >= l.MaxIterations:
			res.Stopped = "it may run no more iterations"
			return res, nil
		case !end.IsZero() && !time.Now().Before(end):
			res.Stopped = fmt.Sprintf("%v have passed", l.MaxTime)
			return res, nil
		}
		if time.Now().Before(r.until) {
			if !end.IsZero() && r.until.After(end) {
				res.Stopped = fmt.Sprintf("a limit lasts until %s, longer than %v allow", r.until.Format(time.RFC3339),
					l.MaxTime)
				return res, nil
			}
			l.waits(r, "for a limit, until "+r.until.Local().Format("2006-01-02 15:04:05"))
			if err := sleepUntil(ctx, r.until); err != nil {
				return res, err
			}
			continue // the list may be another by now
		}
		res.Iterations++
		if err := l.try(ctx, t, r, res); err != nil {
			return res, err
		}
	}
}

// sleepUntil waits, by the clock on the wall: a machine may sleep meanwhile.
func sleepUntil(ctx context.Context, t time.Time) error {
	for {
		left := time.Until(t.Round(0))
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(left, time.Minute)):
		}
	}
}

// next is the first task that is not done and not given up; nil: there is none.
func (l *Loop) next(ctx context.Context, res *Result) (*tasks.Task, *record, error) {
	list, err := l.load()
	if err != nil {
		return nil, nil, err
	}
	var first *tasks.Task
	var its *record
	res.Left, res.GivenUp = 0, nil
	for i := range list.Tasks {
		t := &list.Tasks[i]
		if t.Done {
			continue
		}
		if res.Left++; first != nil {
			continue
		}
		r, err := l.read(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		if r.state == Ticked { // somebody took the tick away: it is to be done again
			r.failures, r.waits = 0, 0
		}
		if l.MaxFailures > 0 && r.failures >= l.MaxFailures && l.Again && !l.forgiven[t.ID] {
			r.failures = 0
		}
		if l.MaxFailures > 0 && r.failures >= l.MaxFailures {
			res.GivenUp = append(res.GivenUp, t.Title)
			continue
		}
		first, its = t, r
	}
	return first, its, nil
}

// try makes one attempt at a task.
func (l *Loop) try(ctx context.Context, t *tasks.Task, r *record, res *Result) error {
	if r.state == Begun || r.state == Done { // settle has dealt with those: somebody else is at it
		return fmt.Errorf("%w: another loop works on %q", perdure.ErrConflict, t.Title)
	}
	text, err := l.context(ctx, t, r)
	if err != nil {
		return err
	}
	if l.forgiven == nil {
		l.forgiven = map[string]bool{}
	}
	l.forgiven[t.ID] = true // what fails from here on counts
	r.attempt++
	r.state, r.nonce, r.place, r.until = Begun, nonce(), l.Place, time.Time{}
	r.say(time.Now(), "begun")
	l.at("before begun")
	if err := l.write(ctx, r); err != nil { // from here on it is in doubt until its end is recorded
		return err
	}
	l.at("begun")
	l.report(r, "")
	ended, err := l.Command.Run(ctx, Attempt{Task: *t, Number: r.attempt, Nonce: r.nonce,
		Context: text + endings(r.nonce)})
	l.at("ended")
	if err != nil {
		var not *NotStarted
		if errors.As(err, &not) {
			return errors.Join(err, l.close(ctx, r, Interrupted, "it was not started: "+err.Error(), "", res))
		}
		if errors.Is(err, ErrUnknown) {
			return l.doubt(ctx, r, res)
		}
		return err // it stays in doubt, and the next run finds out
	}
	return l.judge(ctx, t, r, ended, res)
}

// ErrUnknown says that nobody saw the end of a command.
var ErrUnknown = errors.New("nobody saw how the command ended")

// NotStarted says that a command did not begin at all.
type NotStarted struct{ Err error }

func (n *NotStarted) Error() string { return n.Err.Error() }
func (n *NotStarted) Unwrap() error { return n.Err }

func nonce() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// judge records how an attempt ended.
func (l *Loop) judge(ctx context.Context, t *tasks.Task, r *record, e Ended, res *Result) error {
	says := said(e, r.nonce)
	if err := l.learn(ctx, t, says.learned); err != nil {
		return err
	}
	l.at("learned")
	ticked, err := l.ticked(t.ID)
	if err != nil {
		return err
	}
	switch {
	case ticked:
		return l.close(ctx, r, Done, "its box was ticked", "", res)
	case says.failed != "":
		return l.close(ctx, r, Failed, says.failed, e.Output, res)
	case says.done:
		return l.close(ctx, r, Done, "it said so", "", res)
	case l.ExitZero && e.Code == 0:
		return l.close(ctx, r, Done, "it exited with 0", "", res)
	}
	was, err := l.look(ctx, t)
	switch {
	case err != nil && !errors.Is(err, ErrUnsure): // make exits with 2 if a test fails: that is no yes
		return err
	case was:
		return l.close(ctx, r, Done, "a look says that it was done", "", res)
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), l.close(ctx, r, Interrupted, "it was interrupted", "", res))
	}
	if until, ok := l.limited(e, r.waits); ok {
		r.until = until
		return l.close(ctx, r, Waiting, oneLine(tail(e.Output, 300), 200), "", res)
	}
	note := fmt.Sprintf("it exited with %d", e.Code)
	switch e.Code {
	case 0:
		note = "it exited with 0 and did not say that the task is done"
	case -1:
		note = "it was killed"
		if e.Late {
			note = "it took longer than the timeout permits, and was killed"
		}
	}
	return l.close(ctx, r, Failed, note, e.Output, res)
}

// ErrUnsure is what a look returns that ended and said neither that a task was done nor that it was not. It counts as
// no where the command is known to have ended without a word; an attempt in doubt is not begun again on it.
var ErrUnsure = errors.New("the look cannot tell")

// look finds out in the world whether a task was done of which nobody said so.
func (l *Loop) look(ctx context.Context, t *tasks.Task) (bool, error) {
	if l.Look == nil {
		return false, nil
	}
	was, err := l.Look(context.WithoutCancel(ctx), *t)
	if err != nil {
		return false, fmt.Errorf("look whether %q was done: %w", t.Title, err)
	}
	l.at("looked")
	return was, nil
}

// ticked reports whether the list says that a task is done.
func (l *Loop) ticked(id string) (bool, error) {
	list, err := l.load()
	if err != nil {
		return false, err
	}
	t := list.Find(id)
	return t != nil && t.Done, nil
}

// limited reports whether a command met a limit, and until when; zero: it does not say.
// Words are not believed more than maxWaits times in a row.
func (l *Loop) limited(e Ended, waits int) (time.Time, bool) {
	until, ok := Limited(tail(e.Output, 4<<10), time.Now())
	for _, code := range l.LimitCodes {
		if e.Code == code {
			return until, true
		}
	}
	return until, ok && e.Code != 0 && waits < maxWaits
}

// maxBackoff is the longest wait for a limit that names no time.
const maxBackoff = time.Hour

// close records the end of an attempt, and does what follows from it.
func (l *Loop) close(ctx context.Context, r *record, state State, note, output string, res *Result) error {
	ctx = context.WithoutCancel(ctx) // what has happened is recorded, whoever wants to leave
	now := time.Now()
	note, output = l.clean(note), l.clean(output)
	r.state = state
	switch state {
	case Failed:
		r.failures++
		r.waits = 0
		r.errors = tail(fmt.Sprintf("%s\n\n### Attempt %d, %s\n\n%s\n\n%s", r.errors, r.attempt,
			now.UTC().Format(time.RFC3339), oneLine(note, 300), indented(tail(output, 2<<10))), maxErrors)
		if err := l.complain(ctx, r, note, output, now); err != nil {
			return err
		}
		l.at("complained")
	case Waiting:
		if r.waits++; r.until.IsZero() {
			wait := l.Backoff
			if wait <= 0 {
				wait = time.Minute
			}
			for i := 1; i < r.waits && wait < maxBackoff; i++ {
				wait *= 2
			}
			r.until = now.Add(min(wait, maxBackoff))
		}
		note = "a limit until " + r.until.Format(time.RFC3339) + ": " + note
	case Done:
		r.failures, r.waits = 0, 0
	case Begun, Ticked, Lost, Interrupted:
	}
	r.say(now, "%s: %s", state, note)
	l.at("before end")
	if err := l.write(ctx, r); err != nil {
		return err
	}
	l.at("end")
	l.report(r, note)
	if state != Done {
		return nil
	}
	res.Done++
	return l.finish(ctx, r)
}

// clean is a text that may be in memory.
func (l *Loop) clean(text string) string {
	if g := l.Reader.Node.Guard; g != nil && g.Check([]byte(text)) != nil {
		return "(left out: it holds a secret)"
	}
	return text
}

// finish ticks a task that is done, commits, and records that.
func (l *Loop) finish(ctx context.Context, r *record) error {
	if err := l.tick(r.id); err != nil {
		return err
	}
	l.at("box")
	note := "its box is ticked"
	if l.Commit != nil {
		name, err := l.Commit(ctx, l.message(r))
		switch {
		case err != nil:
			note += "; not committed: " + err.Error()
		case name != "":
			note += ", commit " + name
		}
	}
	l.at("committed")
	r.state = Ticked
	r.say(time.Now(), "%s", note)
	if err := l.write(ctx, r); err != nil {
		return err
	}
	l.at("ticked")
	l.report(r, note)
	return nil
}

// tick ticks a box in the list, unless it is gone, and those above it that are done with it, whoever ticked it.
func (l *Loop) tick(id string) error {
	list, err := l.load()
	if err != nil {
		return err
	}
	b, changed, err := list.Tick(id)
	if errors.Is(err, tasks.ErrNoTask) || err == nil && !changed {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(l.File)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(l.File)
	if err == nil {
		err = disk.Write(real+".perdure-part", b, info.Mode().Perm())
	}
	if err == nil {
		err = disk.Rename(real+".perdure-part", real)
	}
	if err != nil {
		return fmt.Errorf("tick a box: %w", err)
	}
	return disk.Sync(filepath.Dir(real))
}
