//go:build unix

package torture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// tally is what an audit saw.
type tally struct {
	kills, agents, entries, acknowledged, effects, called, stale int
}

func (t *tally) add(o tally) {
	t.kills += o.kills
	t.agents += o.agents
	t.entries += o.entries
	t.acknowledged += o.acknowledged
	t.effects += o.effects
	t.called += o.called
	t.stale += o.stale
}

func (t tally) String() string {
	return fmt.Sprintf("%d kills, %d agents, %d entries, %d of them acknowledged, %d effects, %d called off, %d listings behind", t.kills, t.agents, t.entries, t.acknowledged, t.effects, t.called, t.stale)
}

// audit holds the store against the ledgers: everything acknowledged is there, every agent verifies and has ended, and the world and the
// memories agree about what happened, which is nothing twice.
func (c child) audit(t *testing.T) (sum tally, found []string) {
	t.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, c.store(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	wrong := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	due := map[perdure.AgentID]perdure.Time{}
	for look, err := range s.Due(ctx, time.Now().Add(24*time.Hour)) {
		if err != nil {
			t.Fatal(err)
		}
		due[look.Agent] = look.Due
	}
	present := map[perdure.Hash]bool{}
	claimed := map[perdure.AgentID][]act{} // what the memories say happened
	for l, err := range s.List(ctx, perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		sum.agents++
		a, err := checkAgent(ctx, s, l.Agent, func(e *perdure.Entry) { present[e.Name] = true })
		if err != nil {
			wrong("agent %s: %v", l.Agent.Short(), err)
			continue
		}
		f := a.Fold()
		if f.Ended == nil || len(f.Open) > 0 || len(f.Owed) > 0 {
			wrong("agent %s has not come to its end; it is due at %v, and next is %+v", l.Agent.Short(), due[l.Agent], perdure.Plan(a, perdure.Capabilities{All: true, Claimed: true}, time.Now()))
		}
		if l.State != f.State() {
			sum.stale++
		}
		claimed[l.Agent] = actsIn(ctx, s, l.Agent)
	}
	sum.entries = len(present)
	names, err := c.acknowledged()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if sum.acknowledged++; !present[n] {
			wrong("entry %s was acknowledged and is not there", n.Short())
		}
	}
	acts, err := c.world().acts()
	if err != nil {
		t.Fatal(err)
	}
	for id, past := range acts {
		for _, a := range past {
			if a.off {
				sum.called++
			} else {
				sum.effects++
			}
		}
		found = append(found, checkActs(id, past, claimed[id])...)
	}
	return sum, found
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
func checkAgent(ctx context.Context, s perdure.Store, id perdure.AgentID, see func(*perdure.Entry)) (*perdure.Agent, error) {
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
		return nil, fmt.Errorf("loaded from a snapshot its fold is %s, from the beginning %s", h.Short(), v.Fold.Short())
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
func checkActs(id perdure.AgentID, past, claimed []act) (found []string) {
	wrong := func(a act, what string) {
		found = append(found, fmt.Sprintf("agent %s: %s of step %d under key %.12s %s", id.Short(), a.tool, a.step, a.key, what))
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
			wrong(a, fmt.Sprintf("shares its key with %s of step %d", was.tool, was.step))
		}
		keys[a.key] = is
		if a.off || a.tool == "put" || a.tool == "look" {
			continue
		}
		if first := once[is]; first != "" {
			wrong(a, fmt.Sprintf("happened before, under key %.12s", first))
		}
		once[is] = a.key
		if !slices.Contains(claimed, a) {
			wrong(a, "happened and the memory does not say so")
		}
	}
	for _, a := range claimed {
		if !slices.Contains(past, a) {
			wrong(a, "did not happen and the memory says it did")
		}
	}
	return found
}
