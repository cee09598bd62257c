package perdure

import (
	"context"
	"log/slog"
	"time"
)

// logDeeds logs what the agent did by the entries that have just become durable, for whoever watches a node. Arguments
// and results are not logged: they belong to the agent.
func (w *work) logDeeds(ctx context.Context) {
	if !w.n.Log.Enabled(ctx, slog.LevelWarn) {
		return
	}
	log := w.n.Log.With("agent", w.a.called(), "id", w.a.ID().Short())
	for _, e := range w.pending {
		switch b := e.content.(type) {
		case Advice:
			if b.Signal != 0 {
				log.Info("the advisor gave no advice", "advisor", b.Advisor, "signal", b.Signal.String(), "why", b.Text)
			}
		case Decision:
			logDecision(log, &b, w.selected(&b))
		case Outcome:
			if q := w.asked(b.Decision); q != nil { // it never began
				what := "not done"
				if w.n.trust().Tally(w.base.fold, q, time.Now()).Refused {
					what = "denied"
				}
				log.Info(what, "action", deed(q.Action), "why", b.Note)
				continue
			}
			log.Info("performed", "action", deed(w.outcomeOf(b.Decision)), "signal", b.Signal.String(), "took",
				b.Elapsed().Round(time.Millisecond).String())
		case Event:
			if d, is := b.Notice.(Doubt); is {
				log.Warn("in doubt: nobody can tell whether it happened", "action", deed(w.outcomeOf(d.Decision)),
					"settle", "perdure settle "+w.a.ID().Short()+" "+d.Decision.Short()+" --signal ok, or failed")
			}
		case Genesis, Snapshot, nil:
		}
	}
}

func logDecision(log *slog.Logger, d *Decision, act Action) {
	end, ends := act.(End)
	switch {
	case d.Verdict.Answer == Ask:
		log.Info("asks a person", "action", deed(act), "why", d.Verdict.Reason)
	case d.Verdict.Answer != Allow:
		log.Info("denied", "action", deed(act), "why", d.Verdict.Reason)
	case ends:
		log.Info("ended", "signal", end.Signal.String(), "note", end.Note)
	default:
		log.Info("decided", "action", deed(act))
	}
}

// selected is the action of a decision that has just been written.
func (w *work) selected(d *Decision) Action {
	if d.Action != nil {
		return d.Action
	}
	for _, e := range w.pending {
		if a, is := e.content.(Advice); is && e.Name == d.Advice && d.Index < int64(len(a.Actions)) {
			return a.Actions[d.Index]
		}
	}
	for _, p := range w.base.fold.Proposals {
		if p.Advice == d.Advice && d.Index < int64(len(p.Actions)) {
			return p.Actions[d.Index]
		}
	}
	return nil
}

// asked is what a decision asked people about; nil: it did not, or they have approved it.
func (w *work) asked(decision Hash) *Asking {
	for i := range w.base.fold.Asks {
		if q := &w.base.fold.Asks[i]; q.Decision == decision {
			return q
		}
	}
	return nil
}

// outcomeOf is the action of a decision whose outcome has just been written.
func (w *work) outcomeOf(decision Hash) Action {
	for _, o := range w.base.fold.Open {
		if o.Decision == decision {
			return o.Action
		}
	}
	for _, e := range w.pending {
		if d, is := e.content.(Decision); is && e.Name == decision {
			return w.selected(&d)
		}
	}
	return nil
}

// deed is an action in a word or two.
func deed(a Action) string {
	switch a := a.(type) {
	case Execute:
		return a.Tool
	case Mutate:
		return "mutate"
	case Delegate:
		return "delegate"
	case Sleep:
		return "sleep"
	case Wake:
		return "wake"
	case End:
		return "end"
	}
	return "unknown"
}
