package files

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/tasks"
)

// deed is something of a memory that is worth a commit: an outcome that is no read, a person's vote, a session's end.
type deed struct {
	n       int64
	at      perdure.Time
	kind    string // deedOutcome, deedVote, deedSession, deedTask
	what    string // one line
	told    string // how it ended
	files   string // what it was about
	entry   perdure.Hash
	failing bool
}

const (
	deedOutcome = "outcome"
	deedVote    = "vote"
	deedSession = "session"
	deedTask    = "task"
)

// sessionEdited is what is told of a session whose summary was changed after its end.
const sessionEdited = "edited"

// maxDeeds is how many are kept; all of them are in memory.
const maxDeeds = 1000

// follow brings what is known of a memory's deeds up to date. It reads what is new; all of a memory that was written
// anew, in another order.
func (f *Folder) follow(ctx context.Context) error {
	var after perdure.Cursor
	var mark string
	if err := f.State.db.QueryRowContext(ctx, "SELECT cursor, mark FROM folder WHERE id=?", f.id).Scan(&after,
		&mark); err != nil {
		return err
	}
	w, err := view.FollowMarked(ctx, f.Reader.Store, f.Reader.Agent(), after, mark)
	if errors.Is(err, view.ErrReordered) {
		w, err = view.Follow(f.Reader.Store, f.Reader.Agent()), nil
	}
	if err != nil {
		return err
	}
	deeds, err := deedsAfter(ctx, w, view.VoicesOf(func() (*perdure.Agent, error) {
		return f.Reader.Node.Load(ctx, f.Reader.Agent())
	}, f.Reader.Node.Trusted))
	if end := w.Place(); err != nil || end.Cursor == after && end.Mark() == mark {
		return err
	}
	return f.keepDeeds(ctx, deeds, w.Place())
}

// keepDeeds adds those deeds that are not known yet, and remembers up to where they are known.
func (f *Folder) keepDeeds(ctx context.Context, deeds []deed, end view.Place) error {
	tx, err := f.State.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, d := range deeds[max(0, len(deeds)-maxDeeds):] {
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT OR IGNORE INTO deed(folder, at, kind, what, told, files, entry, "+
				"failing) SELECT ?1, ?2, ?3, ?4, iif(?3=?9 AND EXISTS(SELECT 1 FROM deed WHERE folder=?1 AND kind=?3 "+
				"AND files=?6 AND entry<>?7), ?10, ?5), ?6, ?7, ?8", f.id, int64(d.at), d.kind, d.what, d.told,
				d.files, d.entry[:], d.failing, deedSession, sessionEdited)
		}
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM deed WHERE folder=?1 AND n<=(SELECT max(n) FROM deed WHERE "+
			"folder=?1)-?2", f.id, maxDeeds)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE folder SET cursor=?, mark=? WHERE id=?", int64(end.Cursor), end.Mark(),
			f.id)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// deedsAfter are the deeds of a memory that a follower has not read, by who is known to say them.
func deedsAfter(ctx context.Context, w *view.Follower, voices view.Voices) (deeds []deed, err error) {
	reads := map[perdure.Hash]bool{} // decisions that only look
	err = w.Next(ctx, func(line view.Line) error {
		if b, ok := line.Body.(perdure.Decision); ok && b.Effect == perdure.Read {
			reads[line.Entry] = true
		}
		line.Call(voices)
		if d, ok := deedOf(&line, reads); ok {
			deeds = append(deeds, d)
		}
		return nil
	})
	return deeds, err
}

// deedOf is what a line says that is worth a commit.
func deedOf(l *view.Line, reads map[perdure.Hash]bool) (d deed, ok bool) {
	d = deed{at: l.Time, entry: l.Entry}
	switch b := l.Body.(type) {
	case perdure.Outcome:
		d.failing = b.Signal != perdure.OK && b.Signal != perdure.Partial
		if reads[b.Decision] && !d.failing {
			return d, false
		}
		d.kind, d.what, d.told, d.files = deedOutcome, view.OneLine(l.What, maxLine), b.Signal.String(), filesOf(l.Act)
		return d, true
	case perdure.Event:
		switch n := b.Notice.(type) {
		case perdure.Approval:
			d.kind, d.what, d.told = deedVote, view.OneLine(view.ActionText(l.Act), maxLine), "denied"
			if n.Approve {
				d.told = "approved"
			}
			if l.By != "" {
				d.told += " by " + view.OneLine(l.By, maxLine)
			}
			return d, true
		case perdure.Document:
			d.what, d.files = view.OneLine(n.Title, maxLine), n.Path
			switch {
			case n.Gone:
			case n.Kind == workspace.KindSession && !slices.Contains(n.Tags, "open"):
				d.kind, d.told = deedSession, "closed"
				return d, true
			case n.Kind == tasks.KindAttempts && slices.Contains(n.Tags, tasks.TickedTag):
				d.kind, d.told = deedTask, "done"
				return d, true
			}
		}
	}
	return d, false
}

// maxLine bounds what a line of a page quotes.
const maxLine = 200

// filesOf are the files that an action names.
func filesOf(a perdure.Action) string {
	x, ok := a.(perdure.Execute)
	if !ok {
		return ""
	}
	args, ok := x.Args.Value().(map[string]any)
	if !ok {
		return ""
	}
	var names []string
	for _, key := range []string{"path", "file", "file_path", "filename", "to"} {
		if s, ok := args[key].(string); ok && s != "" && !strings.ContainsAny(s, "\n\r") {
			names = append(names, view.OneLine(s, maxLine))
		}
	}
	return strings.Join(names, ", ")
}

// deeds are those that a condition selects, newest first.
func (f *Folder) deeds(ctx context.Context, where string, limit int) ([]deed, error) {
	rows, err := f.State.db.QueryContext(ctx, "SELECT n, at, kind, what, told, files, entry, failing FROM deed WHERE "+
		"folder=? AND "+where+" ORDER BY n DESC LIMIT ?", f.id, limit)
	if err != nil {
		return nil, err
	}
	var all []deed
	for rows.Next() {
		var d deed
		var entry []byte
		if err := rows.Scan(&d.n, &d.at, &d.kind, &d.what, &d.told, &d.files, &entry, &d.failing); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		copy(d.entry[:], entry)
		all = append(all, d)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}
