package home

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/notify"
	"github.com/perdure/perdure/view"
)

// herald says what happened by the entries of a store. What people have to do is said only while it is still to be
// done.
type herald struct {
	node *perdure.Node

	mu       sync.Mutex
	proposed map[perdure.Hash][]perdure.Action // by recent advice
}

const (
	// maxProposed bounds the advice whose actions are remembered.
	maxProposed = 4096
	// lowShare is the part of a budget that is left when it is low: one in so many.
	lowShare = 5
)

// derive is what happened by an entry. Only entries that may say something cost a look at their agent.
func (h *herald) derive(ctx context.Context, item perdure.Item) ([]notify.Event, error) {
	switch b := item.Content().(type) {
	case perdure.Advice:
		h.remember(item.Name, b.Actions)
		if b.Usage == nil {
			return nil, nil
		}
	case perdure.Outcome:
		if b.Spend == nil {
			return nil, nil
		}
	case perdure.Decision:
		if !h.tells(&b) {
			return nil, nil
		}
	case perdure.Event:
		switch b.Notice.(type) {
		case perdure.Escalated, perdure.Doubt, perdure.Doubled, perdure.Cancel:
		default:
			return nil, nil
		}
	default:
		return nil, nil
	}
	a, err := h.node.Load(ctx, item.ID())
	if errors.Is(err, perdure.ErrRejected) {
		return nil, nil // it does not count here: nobody is told what strangers say
	}
	if err != nil {
		return nil, err
	}
	return (&tidings{h, a, item, time.Now()}).all(ctx)
}

// remember keeps what was proposed: decisions name it by its number.
func (h *herald) remember(advice perdure.Hash, acts []perdure.Action) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.proposed == nil || len(h.proposed) >= maxProposed {
		h.proposed = map[perdure.Hash][]perdure.Action{}
	}
	h.proposed[advice] = acts
}

// tells reports whether somebody may want to know of a decision: it asks people, or lets the agent sleep or end.
func (h *herald) tells(d *perdure.Decision) bool {
	act := d.Action
	if act == nil {
		h.mu.Lock()
		acts, known := h.proposed[d.Advice]
		h.mu.Unlock()
		if !known || d.Index < 0 || d.Index >= int64(len(acts)) {
			return true
		}
		act = acts[d.Index]
	}
	switch act.(type) {
	case perdure.Sleep, perdure.End:
		return true
	}
	return d.Verdict.Answer == perdure.Ask
}

// tidings is one entry and its agent.
type tidings struct {
	h    *herald
	a    *perdure.Agent
	item perdure.Item
	now  time.Time
}

// data is what every event about the agent says.
func (t *tidings) data(summary string, args ...any) notify.Data {
	f := t.a.Fold()
	return notify.Data{Agent: t.a.ID(), Name: f.Intent.Name, Scope: f.Charter.Scope, Entry: t.item.Name,
		Summary: view.Called(t.a) + " " + fmt.Sprintf(summary, args...)}
}

func (t *tidings) event(kind string, d notify.Data) notify.Event {
	e := notify.NewEvent(kind, t.item.Name.String()+"-"+kind, d)
	e.Time = t.item.Time.Go().UTC()
	if !t.item.Trace.IsZero() {
		e.TraceParent = "00-" + t.item.Trace.String() + "-" + t.item.Name.String()[:16] + "-01"
	}
	return e
}

func (t *tidings) all(ctx context.Context) ([]notify.Event, error) {
	f := t.a.Fold()
	switch b := t.item.Content().(type) {
	case perdure.Advice, perdure.Outcome:
		return t.low(), nil
	case perdure.Decision:
		switch {
		case f.Ended != nil && f.Ended.Entry == t.item.Name:
			return t.ended(), nil
		case f.Sleep != nil && f.Sleep.Decision == t.item.Name:
			return t.slept(), nil
		}
		return t.waits(ctx, view.WaitApproval, t.item.Name)
	case perdure.Event:
		switch n := b.Notice.(type) {
		case perdure.Escalated:
			return t.waits(ctx, view.WaitApproval, n.Decision)
		case perdure.Doubt:
			return t.waits(ctx, view.WaitDoubt, n.Decision)
		case perdure.Doubled:
			d := t.data("decided the same twice, in two places: %s and %s", n.First.Short(), n.Second.Short())
			d.Decision, d.Answer = n.Second, fmt.Sprintf("perdure settle %s %s", view.Callable(t.a), n.Second)
			return []notify.Event{t.event(notify.Diverged, d)}, nil
		case perdure.Cancel:
			if f.Ended != nil && f.Ended.Entry == t.item.Name {
				return t.ended(), nil
			}
		}
	}
	return nil, nil
}

func (t *tidings) ended() []notify.Event {
	x := t.a.Fold().Ended
	d := t.data("has ended: %s", x.Signal)
	d.Signal, d.Detail = x.Signal.String(), x.Note
	if x.Result != nil {
		d.Detail = view.AnswerText(x.Result)
	}
	return []notify.Event{t.event(notify.Ended, d)}
}

// slept is a question, or that the agent sleeps.
func (t *tidings) slept() []notify.Event {
	q, asks := t.a.Fold().Question(t.now)
	if !asks {
		d := t.data("sleeps")
		d.Detail = t.a.Fold().Sleep.Sleep.Note
		return []notify.Event{t.event(notify.Dormant, d)}
	}
	d := t.data("asks a question")
	d.Detail, d.Decision, d.Answer = q.Text, t.item.Name, "perdure answer "+view.Callable(t.a)+" TEXT"
	if q.Until != 0 {
		d.Expires = q.Until.Go().UTC()
	}
	return []notify.Event{t.event(notify.QuestionAsked, d)}
}

// waits is what still waits for a person about a decision.
func (t *tidings) waits(ctx context.Context, kind string, decision perdure.Hash) ([]notify.Event, error) {
	waits, err := view.Waits(ctx, t.h.node.Store, t.a, t.h.node.Trusted(), perdure.Key{}, t.now)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(waits, func(w view.Wait) bool { return w.Kind == kind && w.Decision == decision })
	if i < 0 {
		return nil, nil
	}
	w := &waits[i]
	as, summary := notify.ApprovalRequested, "asks: "+w.Head()
	if kind == view.WaitDoubt {
		as, summary = notify.InDoubt, "is in doubt: "+w.Head()
	}
	d := t.data("%s", summary)
	d.Decision, d.Digest, d.Tool, d.Asked, d.Quorum = w.Decision, w.Digest, w.Tool, w.Asked, w.Quorum
	d.Detail, d.Action, d.Answer = w.What+view.Noted(w.Why), view.Readable(w.Action), w.Answer
	if kind == view.WaitApproval { // what a key here may say is another matter
		d.Answer = fmt.Sprintf("perdure approve %s %s", view.Callable(t.a), w.Digest)
	}
	if w.Expires != 0 {
		d.Expires = w.Expires.Go().UTC()
	}
	return []notify.Event{t.event(as, d)}, nil
}

// low is that little is left of the budget, once for each limit.
func (t *tidings) low() []notify.Event {
	f := t.a.Fold()
	left := f.Left()
	if left == nil || f.Ended != nil {
		return nil
	}
	b := f.Limit()
	var all []notify.Event
	for _, x := range []struct {
		name        string
		limit, left *int64
	}{{"cost", b.Cost, left.Cost}, {"tokens", b.Tokens, left.Tokens}, {"calls", b.Calls, left.Calls}} {
		if x.limit == nil || *x.left > *x.limit/lowShare {
			continue
		}
		d := t.data("has little of its budget left: %d of %d %s", *x.left, *x.limit, x.name)
		d.Answer = "perdure grant " + view.Callable(t.a)
		e := t.event(notify.BudgetLow, d)
		e.ID, e.Once = fmt.Sprintf("%s-%s-%s-%d", t.a.ID(), notify.BudgetLow, x.name, *x.limit), true
		all = append(all, e)
	}
	return all
}
