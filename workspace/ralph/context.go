package ralph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// Bounds of what a command is told.
const (
	maxLearned = 8 << 10
	maxRecent  = 3
	recentDays = 7
)

// context is what a command is told: the task, the current state, what was learned, and what went wrong.
func (l *Loop) context(ctx context.Context, t *tasks.Task, r *record) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "You work on one task of %s. This is a fresh session: all you know of earlier ones is below.\n\n",
		filepath.Base(l.File))
	fmt.Fprintf(&b, "# Task\n\n%s\n", t.Text)
	if t.Under != "" {
		fmt.Fprintf(&b, "\nIt is part of: %s\n", t.Under)
	}
	section := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(&b, "\n# %s\n\n%s\n", title, text)
		}
	}
	state, err := l.document(ctx, workspace.StatePath(l.Reader.Role()))
	if err != nil {
		return "", err
	}
	section("Current state", tail(state, workspace.MaxState))
	now := time.Now().UTC()
	learned := ""
	for _, month := range []time.Time{now.AddDate(0, 0, 1-now.Day()).AddDate(0, -1, 0), now} {
		text, err := l.document(ctx, l.learnings(month))
		if err != nil {
			return "", err
		}
		learned += text
	}
	section("Learnings", tail(learned, maxLearned))
	section("Errors of earlier attempts at this task", r.errors)
	recent, err := l.recentErrors(ctx, t, now)
	if err != nil {
		return "", err
	}
	section("Recent errors of other tasks", recent)
	return b.String(), nil
}

// endings tell a command how to say what came of its task. They are within sentences, so that an echo of them is not
// taken for the word of the command.
func endings(nonce string) string {
	return fmt.Sprintf(`
# How to end

- Do this task only, then stop. You need not tick its box, nor commit: that is done for you.
- When it is done and checked, print one line that holds only PERDURE-DONE %[1]s, or write the line
  "done" to the file that $PERDURE_RESULT names.
- If you cannot do it, print a line that begins with PERDURE-FAILED %[1]s and says why.
- For whatever the next session should know, print a line that begins with PERDURE-LEARNED and says it.
`, nonce)
}

// document is the text of a document; empty if there is none.
func (l *Loop) document(ctx context.Context, path string) (string, error) {
	d, err := l.Reader.Read(ctx, path, nil)
	if errors.Is(err, perdure.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return d.Text, nil
}

// learnings is where what was learned in a month is kept: one text would cost ever more to add to.
func (l *Loop) learnings(month time.Time) string {
	return workspace.PrivatePath(l.Reader.Role(), "learnings/"+month.Format("2006-01")+".md")
}

// learn adds to what was learned what is not there yet.
func (l *Loop) learn(ctx context.Context, t *tasks.Task, learned []string) error {
	path := l.learnings(time.Now().UTC())
	for _, text := range learned {
		line := fmt.Sprintf("- %s (%s)\n", l.clean(oneLine(text, 1000)), oneLine(t.Title, 80))
		was, err := l.document(ctx, path)
		if err != nil {
			return err
		}
		if strings.Contains(was, line) {
			continue
		}
		d := workspace.Draft{Path: path, Kind: workspace.KindPractice, Title: "Learnings", Text: line}
		if _, err := l.Reader.Append(context.WithoutCancel(ctx), d); err != nil {
			return fmt.Errorf("record what was learned: %w", err)
		}
	}
	return nil
}

// errorPath is where an error is kept: by time, so that recent ones are found without the rest.
func (l *Loop) errorPath(at time.Time, name string) string {
	return workspace.PrivatePath(l.Reader.Role(), "errors/"+at.UTC().Format("20060102T150405Z")+name)
}

// complain records an error. A second record of the same attempt, after a crash, is as good as one.
func (l *Loop) complain(ctx context.Context, r *record, note, output string, now time.Time) error {
	text := fmt.Sprintf("# %s\n\nAttempt %d (%s): %s\n\n%s\n", r.title, r.attempt, r.nonce, oneLine(note, 300),
		indented(tail(output, 16<<10)))
	_, err := l.Reader.Write(ctx, workspace.Draft{Path: l.errorPath(now, "-"+r.nonce+".md"),
		Kind:  workspace.KindIncident,
		Title: oneLine(r.title+": "+note, 120), Text: text, Tags: []string{"task:" + r.id, "error"},
		Links: []string{l.path(l.Name, r.id+".md")}})
	if err != nil {
		return fmt.Errorf("record an error: %w", err)
	}
	return nil
}

// recentErrors are the last errors of other tasks, in a line each.
func (l *Loop) recentErrors(ctx context.Context, t *tasks.Task, now time.Time) (string, error) {
	docs, err := l.Reader.List(ctx, workspace.Listed{Prefix: l.errorPath(now, "")[:len(l.errorPath(now, ""))-16],
		After: l.errorPath(now.AddDate(0, 0, -recentDays), ""), Tag: "error", Limit: 1000})
	if err != nil {
		return "", err
	}
	var lines []string
	for _, d := range docs {
		if !strings.Contains(strings.Join(d.Tags, "\n")+"\n", "task:"+t.ID+"\n") {
			lines = append(lines, "- "+d.Title)
		}
	}
	return strings.Join(lines[max(0, len(lines)-maxRecent):], "\n"), nil
}

// indented is a text as Markdown shows it unread.
func indented(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ")
}

// word is what a command said about its task.
type word struct {
	done    bool
	failed  string
	learned []string
}

// said is what a command said, on its output and in the file of its result.
func said(e Ended, nonce string) word {
	var w word
	for line := range strings.Lines(e.Output) {
		line = strings.TrimRight(strings.TrimLeft(line, "`*_"), "`*_ \t\r\n") // not what is indented: that is quoted
		if line == "PERDURE-DONE "+nonce {
			w.done = true
		} else if why, ok := strings.CutPrefix(line, "PERDURE-FAILED "+nonce); ok {
			w.failed = cmp.Or(strings.Trim(why, " :"), "it said that it failed")
		} else if text, ok := strings.CutPrefix(line, "PERDURE-LEARNED"); ok {
			w.learn(strings.TrimPrefix(text, " "+nonce)) // who prints it with all words says no more
		}
	}
	for line := range strings.Lines(e.Result) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "done":
			w.done = true
		case "failed":
			w.failed = cmp.Or(strings.TrimSpace(text), "it said that it failed")
		case "learned":
			w.learn(text)
		}
	}
	return w
}

func (w *word) learn(text string) {
	if text = strings.Trim(text, " :"); text != "" && len(w.learned) < 20 {
		w.learned = append(w.learned, text)
	}
}

// message is what a commit says: what was done, by whom, and how often it was tried.
func (l *Loop) message(r *record) string {
	return fmt.Sprintf("%s\n\nDone in attempt %d by a command that perdure ralph ran.\nTask: %s in %s\nAttempt: %s\n",
		oneLine(r.title, 72), r.attempt, r.id, filepath.Base(l.File), r.nonce)
}
