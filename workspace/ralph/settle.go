package ralph

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace/tasks"
)

// settle deals with what a process left that was killed: tasks that are done and not ticked, and attempts in doubt.
func (l *Loop) settle(ctx context.Context, res *Result) error {
	done, err := l.records(ctx, Done)
	if err != nil {
		return err
	}
	for _, r := range done {
		if err := l.finish(ctx, r); err != nil {
			return err
		}
	}
	begun, err := l.records(ctx, Begun)
	if err != nil {
		return err
	}
	for _, r := range begun {
		if err := l.doubt(ctx, r, res); err != nil {
			return err
		}
	}
	return nil
}

// doubt finds out what became of an attempt.
func (l *Loop) doubt(ctx context.Context, r *record, res *Result) error {
	t := tasks.Task{ID: r.id, Title: r.title}
	list, err := l.load()
	if err != nil {
		return err
	}
	if now := list.Find(r.id); now != nil {
		t = *now
	}
	here := r.place == l.Place
	if here {
		e, known, err := l.Command.Find(ctx, r.nonce, func() {
			l.waits(r, "for its command, which a loop that was killed began and which still runs")
		})
		if err != nil {
			return err
		}
		l.at("found")
		if known {
			return l.judge(ctx, &t, r, e, res)
		}
	}
	ticked, err := l.ticked(r.id)
	switch {
	case err != nil:
		return err
	case ticked:
		return l.close(ctx, r, Done, "it was interrupted, and its box is ticked", "", res)
	}
	was, err := l.look(ctx, &t)
	switch {
	case errors.Is(err, ErrUnsure):
		return perdure.WithHint(err, "nobody knows how attempt "+strconv.Itoa(r.attempt)+" ended: have the look exit "+
			"with 0 if it is done, and with 1 if it is not and may be begun again, as in --look 'make test || exit 1'")
	case err != nil:
		return err
	case was:
		return l.close(ctx, r, Done, "it was interrupted, and a look says that it was done", "", res)
	}
	if !here && !l.Take {
		return perdure.WithHint(fmt.Errorf("%w: attempt %d at %q was begun at %s, and may still run there",
			perdure.ErrConflict, r.attempt, r.title, r.place),
			"run perdure ralph there; or, if nothing runs there any more, say --take here")
	}
	return l.close(ctx, r, Lost, "it was killed, and nothing says that it was done", "", res)
}
