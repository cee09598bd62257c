package main

import (
	"fmt"

	"github.com/perdure/perdure"
)

// life is an agent that entries are written to.
type life struct {
	a       *perdure.Agent
	entries []*perdure.Entry
	seconds int
	err     error
}

func begin(g perdure.Genesis) *life {
	l := &life{}
	e, err := signer(1).Genesis(g, at(0))
	if err == nil {
		l.entries = []*perdure.Entry{e}
		l.a, err = perdure.Begin(e)
	}
	l.err = err
	return l
}

// write adds a commit by the n-th key and returns the name of its last entry.
func (l *life) write(n byte, bodies ...perdure.Body) perdure.Hash {
	if l.err != nil {
		return perdure.Hash{}
	}
	var drafts []perdure.Draft
	for _, b := range bodies {
		drafts = append(drafts, perdure.Draft{Body: b})
	}
	l.seconds++
	entries, a, err := signer(n).Commit(l.a, at(l.seconds), drafts...)
	if err != nil {
		l.err = err
		return perdure.Hash{}
	}
	l.a, l.entries = a, append(l.entries, entries...)
	return entries[len(entries)-1].Name
}

// join takes over what was written to another copy of the same agent.
func (l *life) join(o *life) {
	if l.err = firstError(l.err, o.err); l.err != nil {
		return
	}
	have := map[perdure.Hash]bool{}
	for _, e := range l.entries {
		have[e.Name] = true
	}
	for _, e := range o.entries {
		if !have[e.Name] {
			l.entries = append(l.entries, e)
		}
	}
	l.a, l.err = l.a.Apply(o.entries...)
}

func (l *life) fork() *life {
	c := *l
	c.entries = append([]*perdure.Entry(nil), l.entries...)
	return &c
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func allow(a perdure.Action) perdure.Decision {
	return perdure.Decision{Action: a, Verdict: perdure.Verdict{Answer: perdure.Allow}}
}

// acceptedAgents are entries of every kind in every form, and whole memories.
func acceptedAgents() ([]*vector, error) {
	defer salts()()
	l, err := cycle()
	if err != nil {
		return nil, err
	}
	var out []*vector
	for _, e := range l.entries {
		more, err := forms(e)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	memories := []struct {
		name, why string
		life      func() (*life, error)
	}{
		{"one-cycle", "advice, decision and outcome, an event and a snapshot", func() (*life, error) { return l, nil }},
		{"diverged", "two nodes that did not see each other: spend adds up, the narrower scope wins, one end stands",
			diverged},
		{"approval", "an ask, two people's answers and the decision they permit", approval},
		{"keys", "ownership is handed on and the old key revoked", keys},
		{"contested", "ownership is handed on twice: the agent stays still", contested},
		{"pruned", "bodies are gone that a snapshot stands for", pruned},
		{"many-heads", "66 heads: an entry that joins comes first, and the snapshot has all of them in its past",
			manyHeads},
		{"many-pauses", "66 pauses: those beyond 64 are joined with the last", manyPauses},
	}
	for _, m := range memories {
		l, err := m.life()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		b, err := memoryOf(l.entries)
		if err != nil {
			return nil, err
		}
		out = append(out, binaryVector("memory-"+m.name, "memory", b, m.why))
	}
	return out, nil
}

// forms is an entry in its binary and its text form. Its described form carries the schema of entries, which grows: see
// describedValues.
func forms(e *perdure.Entry) ([]*vector, error) {
	bin, err := e.MarshalBinary()
	if err != nil {
		return nil, err
	}
	text, err := e.AppendText(nil)
	if err != nil {
		return nil, err
	}
	name := "entry-" + e.Kind.String()
	why := "an entry of kind " + e.Kind.String()
	return []*vector{
		binaryVector(name, "entry", bin, why),
		{Name: name + "-text", Why: why, As: "entry", Form: "text", Text: string(text)},
	}, nil
}

func goal(scope string, depth int64) perdure.Genesis {
	cost := int64(1_000_000)
	return perdure.Genesis{
		Intent: perdure.Intent{Name: "watcher", Goal: "Watch the build, and tell us when it breaks.",
			Budget: &perdure.Budget{Cost: &cost}, Tools: []string{"ci", "mail"},
			Labels: map[string]string{"team": "ops"}},
		Charter: perdure.Charter{Scope: scope, Depth: depth},
	}
}

// cycle is one entry of each kind.
func cycle() (*life, error) {
	args, err := perdure.DataOf(map[string]any{"branch": "main", "n": 3, "ratio": 0.5})
	if err != nil {
		return nil, err
	}
	l := begin(goal("acme/ops", 1))
	advice := l.write(1, perdure.Advice{Advisor: "script", Model: "none", Text: "look first",
		Actions: []perdure.Action{perdure.Execute{Tool: "ci", Args: args}},
		Usage:   &perdure.Usage{In: 200, Out: 12, Cost: 40}})
	decision := l.write(1, perdure.Decision{Advice: advice, Verdict: perdure.Verdict{Answer: perdure.Allow,
		Rules: []string{"read-only"}}, Effect: perdure.Read, Deadline: perdure.TimeOf(at(600)),
		Reserve: &perdure.Spend{Calls: 1}})
	l.write(1, perdure.Outcome{Decision: decision, Signal: perdure.OK, Latency: 12, Result: args,
		Spend: &perdure.Spend{Calls: 1}, Set: map[string]perdure.Data{"build": args}})
	l.write(2, perdure.Event{Name: "build.broken", By: "ci", ID: "17", Data: args, Taint: true})
	if l.err == nil {
		l.write(1, perdure.Snapshot{Fold: *l.a.Fold()})
	}
	return l, l.err
}

func manyHeads() (*life, error) {
	l := begin(goal("acme", 0))
	first := l.fork()
	for i := range 66 {
		branch := first.fork()
		branch.write(2, perdure.Event{Name: fmt.Sprint("branch-", i)})
		l.join(branch)
	}
	if l.err == nil {
		l.write(1, perdure.Snapshot{Fold: *l.a.Fold()})
	}
	return l, l.err
}

func manyPauses() (*life, error) {
	l := begin(goal("acme", 0))
	for range 66 {
		l.write(1, perdure.Event{Name: "pause", Notice: perdure.Pause{}})
	}
	return l, l.err
}

func diverged() (*life, error) {
	l := begin(goal("acme", 0))
	d := l.write(1, allow(perdure.Execute{Tool: "ci"}))
	other := l.fork()
	narrow, narrower := "acme/ops", "acme/ops/ci"
	l.write(1, perdure.Outcome{Decision: d, Signal: perdure.OK, Spend: &perdure.Spend{Cost: 5}},
		allow(perdure.Mutate{Scope: &narrow}))
	other.write(2, perdure.Outcome{Decision: d, Signal: perdure.Failed, Spend: &perdure.Spend{Cost: 7}},
		allow(perdure.Mutate{Scope: &narrower}), allow(perdure.End{Signal: perdure.Failed}))
	l.join(other)
	l.write(1, perdure.Event{Name: "joined"})
	return l, l.err
}

func approval() (*life, error) {
	l := begin(goal("acme", 0))
	pay := perdure.Execute{Tool: "mail"}
	ask := l.write(1, perdure.Decision{Action: pay, Verdict: perdure.Verdict{Answer: perdure.Ask, Quorum: 2},
		Effect: perdure.Once})
	if l.err != nil {
		return nil, l.err
	}
	vote := perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: ask, Digest: l.a.Fold().Asks[0].Digest,
		Approve: true}}
	first, second := l.write(2, vote), l.write(3, vote)
	dec := allow(pay)
	dec.Effect, dec.Approvals = perdure.Once, []perdure.Hash{first, second}
	l.write(1, dec)
	return l, l.err
}

func change(k perdure.KeyChange) perdure.Event { return perdure.Event{Name: "keys", Notice: k} }

func keys() (*life, error) {
	l := begin(goal("acme", 0))
	l.write(1, change(perdure.KeyChange{Owner: signer(2).Key(), Revoke: signer(1).Key()}))
	l.write(2, perdure.Event{Name: "grant", Notice: perdure.Grant{Amount: perdure.Spend{Cost: 9}}})
	return l, l.err
}

func contested() (*life, error) {
	l := begin(goal("acme", 0))
	other := l.fork()
	l.write(1, change(perdure.KeyChange{Owner: signer(2).Key()}))
	other.write(1, change(perdure.KeyChange{Owner: signer(3).Key()}))
	l.join(other)
	return l, l.err
}

func pruned() (*life, error) {
	l := begin(goal("acme", 0))
	l.write(1, perdure.Event{Name: "secret"})
	if l.err == nil {
		l.write(1, perdure.Snapshot{Fold: *l.a.Fold()})
	}
	l.write(1, perdure.Event{Name: "after"})
	if l.err == nil {
		l.entries[0], l.entries[1] = l.entries[0].Drop(), l.entries[1].Drop()
	}
	return l, l.err
}
