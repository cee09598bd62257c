//go:build unix

package torture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// audit holds the store against the ledgers: everything acknowledged is there, every agent verifies and has ended, and
// the world and the memories agree about what happened, which is nothing twice.
func (c child) audit(r *round) {
	r.t.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, c.store(), sqlite.Options{})
	r.must(err)
	defer closed(r.t, s)
	due := map[perdure.AgentID]perdure.Time{}
	for look, err := range s.Due(ctx, time.Now().Add(24*time.Hour)) {
		r.must(err)
		due[look.Agent] = look.Due
	}
	present := map[perdure.Hash]bool{}
	claimed := map[perdure.AgentID][]act{} // what the memories say happened
	for l, err := range s.List(ctx, perdure.Filter{}) {
		r.must(err)
		a, err := checkAgent(ctx, s, l.Agent, func(e *perdure.Entry) { present[e.Name] = true })
		if err != nil {
			r.Wrong("agent %s: %v", l.Agent.Short(), err)
			continue
		}
		f := a.Fold()
		if f.Ended == nil || len(f.Open) > 0 || len(f.Owed) > 0 {
			r.Wrong("agent %s has not come to its end; it is due at %v, and next is %+v", l.Agent.Short(), due[l.Agent],
				perdure.Plan(a, perdure.Capabilities{All: true, Claimed: true}, time.Now()))
		}
		claimed[l.Agent] = actsIn(ctx, s, l.Agent)
	}
	names, err := c.acknowledged()
	r.must(err)
	for _, n := range names {
		if r.checked++; !present[n] {
			r.Lost("entry %s was acknowledged and is not there", n.Short())
		}
	}
	acts, err := c.world().acts()
	r.must(err)
	for id, past := range acts {
		checkActs(r, id, past, claimed[id])
	}
}

// acknowledged is what children wrote down.
func (c child) acknowledged() ([]perdure.Hash, error) {
	ledgers, err := filepath.Glob(filepath.Join(c.Dir, "acknowledged.*"))
	if err != nil {
		return nil, err
	}
	var names []perdure.Hash
	for _, path := range ledgers {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if !ok || len(name) < len(id) {
				continue // killed while it was written; every life begins a new line
			}
			h, err := perdure.ParseHash(name)
			if err != nil {
				return nil, err
			}
			names = append(names, h)
		}
	}
	return names, nil
}

// checkAgent verifies an agent's whole memory, and that its heads and what is loaded from its snapshots agree with it.
func checkAgent(ctx context.Context, s perdure.Store, id perdure.AgentID, see func(*perdure.Entry)) (*perdure.Agent,
	error) {
	heads, err := s.Heads(ctx, id)
	if err != nil {
		return nil, err
	}
	v, err := perdure.Verify(func(yield func(*perdure.Entry, error) bool) {
		for e, err := range perdure.Memory(ctx, s, id) {
			if err == nil && see != nil {
				see(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}, perdure.VerifyOptions{Heads: heads})
	if err != nil {
		return nil, err
	}
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return nil, err
	}
	h, err := a.Fold().Hash()
	if err != nil {
		return nil, err
	}
	if h != v.Fold {
		return nil, fmt.Errorf("loaded from a snapshot its fold is %s, from the beginning %s", h.Short(),
			v.Fold.Short())
	}
	return a, nil
}

// actsIn is what of class once an agent's memory says happened.
func actsIn(ctx context.Context, s perdure.Store, id perdure.AgentID) []act {
	type decided struct {
		key    string
		action perdure.Action
	}
	byDecision := map[perdure.Hash]decided{}
	advice := map[perdure.Hash][]perdure.Action{}
	var acts []act
	end := func(d perdure.Hash, s perdure.Signal) {
		if x, ok := byDecision[d].action.(perdure.Execute); ok && s == perdure.OK {
			a := act{tool: x.Tool, step: stepOf(x.Args), key: byDecision[d].key}
			if !slices.Contains(acts, a) {
				acts = append(acts, a)
			}
		}
	}
	for e, err := range perdure.Memory(ctx, s, id) {
		if err != nil {
			return nil
		}
		switch b := e.Content().(type) {
		case perdure.Advice:
			advice[e.Name] = b.Actions
		case perdure.Decision:
			d := decided{key: e.Name.String(), action: b.Action}
			if d.action == nil && len(advice[b.Advice]) > int(b.Index) {
				d.action = advice[b.Advice][b.Index]
			}
			if !b.Key.IsZero() {
				d.key = b.Key.String()
			}
			byDecision[e.Name] = d
		case perdure.Outcome:
			end(b.Decision, b.Signal)
		case perdure.Event:
			if n, ok := b.Notice.(perdure.Settle); ok {
				end(n.Decision, n.Signal)
			}
		}
	}
	return acts
}

// checkActs holds what happened against what the agent's memory says happened.
func checkActs(r *round, id perdure.AgentID, past, claimed []act) {
	wrong := func(say func(string, ...any), a act, what string) {
		say("agent %s: %s of step %d under key %.12s %s", id.Short(), a.tool, a.step, a.key, what)
	}
	type what struct {
		tool string
		step int64
	}
	once := map[what]string{}
	keys := map[string]what{}
	for _, a := range past {
		is := what{a.tool, a.step}
		if was, ok := keys[a.key]; ok && was != is {
			wrong(r.Wrong, a, fmt.Sprintf("shares its key with %s of step %d", was.tool, was.step))
		}
		keys[a.key] = is
		if a.off || a.tool == "put" || a.tool == "look" {
			continue
		}
		if first := once[is]; first != "" {
			wrong(r.Doubled, a, fmt.Sprintf("happened before, under key %.12s", first))
		}
		once[is] = a.key
		if !slices.Contains(claimed, a) {
			wrong(r.Lost, a, "happened and the memory does not say so")
		}
	}
	for _, a := range claimed {
		if !slices.Contains(past, a) {
			wrong(r.Wrong, a, "did not happen and the memory says it did")
		}
	}
}
