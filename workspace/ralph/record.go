package ralph

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// State is how a task stands by its record.
type State string

// The states of a task.
const (
	Begun       State = "begun"       // its command was about to start: what became of it must be found out
	Done        State = "done"        // it is done, and will be ticked and committed
	Ticked      State = "ticked"      // it is done, and the list says so
	Failed      State = "failed"      // its command did not do it
	Waiting     State = "waiting"     // its command met a limit
	Lost        State = "lost"        // its command was killed with its guard, and nothing says that it was done
	Interrupted State = "interrupted" // a person stopped it
)

// record is what is known of a task. Its tags are what the loop reads; its text is for people.
type record struct {
	id, title string
	state     State
	attempt   int       // how many were begun
	failures  int       // how many failed since it was last done
	waits     int       // how many limits were met in a row
	nonce     string    // of the last attempt
	place     string    // where that was begun
	until     time.Time // no attempt before this
	lines     []string  // what happened
	errors    string    // how the last attempts failed

	version perdure.Hash
}

// Bounds of what a record keeps. Older lines are in its earlier versions.
const (
	maxLines  = 40
	maxErrors = 6 << 10
)

func (r *record) tags() []string {
	tags := []string{"task:" + r.id, "state:" + string(r.state), "attempt:" + strconv.Itoa(r.attempt),
		"failures:" + strconv.Itoa(r.failures), "waits:" + strconv.Itoa(r.waits), "nonce:" + r.nonce,
		"place:" + r.place}
	if !r.until.IsZero() {
		tags = append(tags, "until:"+r.until.UTC().Format(time.RFC3339Nano))
	}
	return tags
}

// recordOf reads a record from its document.
func recordOf(d *workspace.Document) *record {
	r := &record{title: d.Title, version: d.Version}
	for _, tag := range d.Tags {
		name, value, _ := strings.Cut(tag, ":")
		n, _ := strconv.Atoi(value) // what is no number counts as none
		switch name {
		case "task":
			r.id = value
		case "state":
			r.state = State(value)
		case "attempt":
			r.attempt = n
		case "failures":
			r.failures = n
		case "waits":
			r.waits = n
		case "nonce":
			r.nonce = value
		case "place":
			r.place = value
		case "until":
			r.until, _ = time.Parse(time.RFC3339Nano, value)
		}
	}
	head, errors, _ := strings.Cut(d.Text, errorsHead)
	for line := range strings.Lines(head) {
		if line = strings.TrimRight(line, "\n"); strings.HasPrefix(line, "- ") {
			r.lines = append(r.lines, line)
		}
	}
	r.errors = strings.TrimSpace(errors)
	return r
}

const errorsHead = "\n## Errors\n"

func (r *record) text() string {
	text := "# " + r.title + "\n\n" + strings.Join(r.lines, "\n") + "\n"
	if r.errors != "" {
		text += errorsHead + "\n" + r.errors + "\n"
	}
	return text
}

// say adds a line.
func (r *record) say(at time.Time, format string, args ...any) {
	line := oneLine(fmt.Sprintf(format, args...), 300)
	r.lines = append(r.lines, fmt.Sprintf("- %s attempt %d (%s): %s", at.UTC().Format(time.RFC3339), r.attempt, r.nonce,
		line))
	r.lines = r.lines[max(0, len(r.lines)-maxLines):]
}

// oneLine is a text in one line.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// tail is the end of a text, from the beginning of a line.
func tail(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "…\n" + strings.ToValidUTF8(s, "")
}

// path is where something of this list is kept.
func (l *Loop) path(parts ...string) string {
	return workspace.PrivatePath(l.Reader.Role(), "ralph/"+strings.Join(parts, "/"))
}

// read is the record of a task; one of a task that was never begun is empty.
func (l *Loop) read(ctx context.Context, t *tasks.Task) (*record, error) {
	d, err := l.Reader.Read(ctx, l.path(l.Name, t.ID+".md"), nil)
	if errors.Is(err, perdure.ErrNotFound) {
		return &record{id: t.ID, title: t.Title}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of %q: %w", t.Title, err)
	}
	if len(d.Beside) > 0 {
		return nil, perdure.WithHint(fmt.Errorf("%w: the record of %q has several versions: two loops were at it in "+
			"stores that were apart", perdure.ErrConflict, t.Title), "see perdure doc read "+d.Path+
			", and write the one that counts with --base for each")
	}
	return recordOf(d), nil
}

// write makes a record durable. It is refused if anybody wrote it since it was read.
func (l *Loop) write(ctx context.Context, r *record) error {
	d := workspace.Draft{Path: l.path(l.Name, r.id+".md"), Kind: tasks.KindAttempts, Title: oneLine(r.title, 120),
		Text: r.text(), Tags: r.tags()}
	if d.New = r.version.IsZero(); !d.New {
		d.Base = []perdure.Hash{r.version}
	}
	doc, err := l.Reader.Write(context.WithoutCancel(ctx), d)
	if err != nil {
		return fmt.Errorf("record attempt %d at %q: %w", r.attempt, r.title, err)
	}
	r.version = doc.Version
	return nil
}

// records are those of this list that stand in a state.
func (l *Loop) records(ctx context.Context, state State) ([]*record, error) {
	var all []*record
	after := ""
	for {
		docs, err := l.Reader.List(ctx, workspace.Listed{Prefix: l.path(l.Name) + "/", Tag: "state:" + string(state),
			Limit: 500, After: after})
		if err != nil {
			return nil, err
		}
		full, err := l.Reader.Texts(ctx, docs)
		if err == nil && len(full) < len(docs) {
			err = perdure.Missing("the text of a record of " + l.Name + " is gone: it has expired, or was pruned")
		}
		if err != nil {
			return nil, err
		}
		for _, d := range full {
			all = append(all, recordOf(d))
		}
		if len(docs) < 500 {
			return all, nil
		}
		after = docs[len(docs)-1].Path
	}
}
