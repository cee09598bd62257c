package perdure

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settle records whether an in-doubt effect happened, or that somebody has checked an effect that two copies decided.
func (n *Node) Settle(ctx context.Context, id AgentID, s Settle) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		ev := Event{Name: "settle", Notice: s}
		open := slices.ContainsFunc(a.fold.Open, func(o Open) bool { return o.Decision == s.Decision })
		twice := slices.ContainsFunc(a.fold.Doubles(), func(d Doubled) bool {
			return d.First == s.Decision || d.Second == s.Decision
		})
		owed := slices.ContainsFunc(a.fold.Owed, func(w Owed) bool {
			return w.Key == s.Decision && w.Decision.IsZero()
		})
		if !open && !twice && !owed {
			return ev, Missing(fmt.Sprintf("%s has no open decision %s", a.called(), s.Decision.Short()))
		}
		return ev, n.settleable(ctx, a, s.Decision)
	})
}

// settleable refuses to settle what a node is at work on: nobody else can tell yet what will come of it.
func (n *Node) settleable(ctx context.Context, a *Agent, decision Hash) error {
	i, now := a.fold.findOpen(decision), time.Now()
	if err := n.survived(a, i); err != nil {
		return err
	}
	store, ok := n.Store.(Holder)
	if !ok || i < 0 || a.fold.Open[i].Doubt || TimeOf(now) >= a.fold.Open[i].Deadline ||
		ahead(a.fold.Open[i].Since, TimeOf(now)) {
		return nil
	}
	for h, err := range store.Held(ctx) {
		if err != nil {
			return err
		}
		if h.Agent == a.ID() && !h.Dead {
			o := &a.fold.Open[i]
			return WithHint(alreadyErr(fmt.Sprintf("a node is at work on %s of %s; nothing was settled", o.toolName(),
				a.called())),
				"pause the agent, or wait until "+o.Deadline.String())
		}
	}
	return nil
}

// survived refuses to settle an open effect while processes are at work on it, or may go on with it.
func (n *Node) survived(a *Agent, i int) error {
	if i < 0 {
		return nil
	}
	o := &a.fold.Open[i]
	pids := n.survivors(o)
	if len(pids) == 0 {
		return nil
	}
	all := strings.Join(pids, " ")
	return WithHint(alreadyErr(fmt.Sprintf("%s of %s is still under way: %s; nothing was settled", o.toolName(),
		a.called(), atWork(pids))),
		"wait until it has ended; if it is stopped, let it go on with kill -CONT "+all+", or end it with kill -9 "+all+
			"; or, if it does not matter what it still does, settle with --still-running")
}

// atWork says which processes are at work on an effect.
func atWork(pids []string) string {
	if len(pids) == 1 {
		return "process " + pids[0] + " is at work on it"
	}
	return "processes " + strings.Join(pids, ", ") + " are at work on it"
}

// survivors are the processes still at work on an open effect.
func (n *Node) survivors(o *Open) []string {
	if n.Survivors == nil {
		return nil
	}
	pids := n.Survivors(o.Key.String())
	words := make([]string, min(len(pids), 20))
	for k := range words {
		words[k] = strconv.Itoa(pids[k])
	}
	return words
}
