package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/trace"
)

// acceptedFolds are memories for the sentences of spec/README.md §3 that a reader could take in two ways: each ends in
// the fold one of them describes.
func acceptedFolds() ([]*vector, error) {
	defer salts()()
	var out []*vector
	for _, m := range []struct {
		name, why string
		life      func() (*life, error)
	}{
		{"enclosed", "the text of a policy is told twice: it joins enclosed once, and nothing joins the inbox",
			enclosedTexts},
		{"enclosed-many", "66 texts: of more than 64 the oldest go", enclosedMany},
		{"escalated", "a question moves on: stage 2, then 1 and 3, which change nothing", escalatedQuestion},
		{"escalated-vote", "by charter until others are asked too: then anybody's vote counts", escalatedVote},
		{"mutate-tools",
			"the intent names no tools: those of the first mutate as they stand, then those in both, ascending",
			mutateTools},
		{"decision-lost",
			"decisions about proposals that are gone: one changes nothing, one is a call of the tool unknown",
			decisionLost},
		{"advice-empty", "an advice without actions is among the proposals until the next", adviceEmpty},
		{"delegation-refused", "a delegation wider than the agent: no child, and did is delegation all the same",
			delegationRefused},
		{"delegates", "a child with a delegate its parent does not have is wider", delegatesWider},
		{"revoked-order", "revoked keys stand in fold order, what a head knows ascends", revokedOrder},
		{frozen + "incapable", "", incapableTwice},
		{"poll-bounds", "poll/63 is kept, poll/64 is a poll that is not, poll/2147483648 is none and is tried again",
			pollBounds},
		{"null-data", "a present null is a value in data, inputs and results, and removes a name in set", nullData},
		{"vote-late", "answers at and after the time a question lapses do not count", voteLate},
		{"vote-named", "a refusal the decision names does not stand against it", voteNamed},
		{"vote-stands", "a refusal the decision does not name stands", voteStands},
		{"joined", "joined changes nothing but the heads", joinedHeads},
		{"settled", "a settlement closes as an outcome does, and joins the inbox", settledEffect},
		{"ended-decision", "a call allowed beside the end is open all the same", endedDecision},
		{"state-schema", "an edit replaces the schema of the state, and sets the state in the same entry", stateSchema},
		{"seat", "a seat is handed over, taken twice, and then taken from both", seats},
		{"disputed", "two claims that have not seen each other both stand", disputed},
		{"doubled", "what was decided twice is on record once", doubledOpen},
		{"undoubled", "a settlement of what was decided twice and is not open only says that somebody looked",
			doubledSettled},
		{"trace", "the trace of the last genesis, event or wake that has one; that of an outcome is its own matter",
			tracedCauses},
		{"lacks", "a node says twice that it lacks a tool, and shows once that it cannot: two incapabilities",
			lacksTool},
		{"took", "how long calls and advice took is kept with their signals", tookTime},
		{"basis-held", "the read an advice rests on comes to the same: it is known to hold from then on", basisHeld},
		{"basis-changed", "the read comes to something else: it has changed", basisChanged},
		{"basis-refused", "the read is denied: it has changed", basisRefused},
		{"created-second",
			"a genesis of time 0 and two branches: created is the time of the entry folded second, not of the " +
				"earlier one", createdSecond},
		{"created-zero", "a genesis and a second entry of time 0: created stays 0, whatever comes after", createdZero},
		{"documents", "documents change nothing, and one told twice under one id is one", documents},
		{"once-others", "what others say of a once effect puts it in doubt; whoever began it is believed, and that " +
			"it happened is anybody's to say", onceOthers},
		{"once-looked", "of two once effects a delegate says that they failed: one it looked at, one it did not",
			onceLooked},
		{"once-settled", "without a seat others are believed; what they made owed is settled by its key", onceSettled},
		{"seat-again", "a claim of the seat where it is changes nothing, so its author cannot hand it over", seatAgain},
		{"child-ended-id", "an event under the id of a child's end does not stop it; a second end is stopped",
			childEndedID},
		{"grant-id", "a grant has ids of its own, and one that does not count uses none up", grantID},
		{"gone", "a snapshot leaves out what one of two events said: from there on it is gone, and weighs what it did",
			saidNoMore},
		{"mutate-kind",
			"no agent becomes a role, and none leaves the labels that say whose it is: the rest is replaced",
			mutateKind},
		{"mutate-keeper", "a workspace stays one, with its labels: only the goal is replaced", mutateKeeper},
		{"mutate-earlier", "a snapshot that has the kind of a workspace replaced, as earlier programs wrote it",
			mutateEarlier},
	} {
		l, err := m.life()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if strings.HasPrefix(m.name, frozen) {
			continue
		}
		b, err := memoryOf(l.entries)
		if err != nil {
			return nil, err
		}
		out = append(out, binaryVector("fold-"+m.name, "memory", b, m.why))
	}
	return out, nil
}

// frozen marks a memory whose entries would say today that a node is to look at the agent at another time than they did
// when it was published. It is made for its salts, which are drawn in order; what was published stays and is read as
// ever.
const frozen = "frozen-"

// bare is a genesis without budget and tools.
func bare() perdure.Genesis {
	return perdure.Genesis{Intent: perdure.Intent{Goal: "watch"}, Charter: perdure.Charter{Scope: "acme", Depth: 1}}
}

func told(n perdure.Notice) perdure.Event {
	return perdure.Event{Name: "told", By: "runtime", Notice: n}
}

func enclose(i int) perdure.Event {
	text, _ := perdure.DataOf(fmt.Sprint("permit ", i)) // a string can always be written
	return told(perdure.Enclosed{Of: perdure.HashOf(text), Kind: perdure.EnclosedPolicy, Text: text})
}

func enclosedTexts() (*life, error) {
	l := begin(bare())
	l.write(1, enclose(1), enclose(2), enclose(1))
	return l, l.err
}

func enclosedMany() (*life, error) {
	l := begin(bare())
	for i := range 66 {
		l.write(1, enclose(i))
	}
	return l, l.err
}

// question writes an ask for a call of the tool mail, with two stages of escalation and a time at which it lapses.
func question(l *life, v perdure.Verdict) perdure.Hash {
	v.Answer = perdure.Ask
	return l.write(1, perdure.Decision{Action: perdure.Execute{Tool: "mail"}, Verdict: v, Effect: perdure.Once})
}

// vote is an answer to the question a decision asked.
func (l *life) vote(ask perdure.Hash, approve bool) perdure.Event {
	a := perdure.Approval{Decision: ask, Approve: approve}
	if l.err == nil {
		for _, q := range l.a.Fold().Asks {
			if q.Decision == ask {
				a.Digest = q.Digest
			}
		}
	}
	return perdure.Event{Name: "approval", By: "person", Notice: a}
}

func stages() []perdure.Escalation {
	return []perdure.Escalation{{At: perdure.TimeOf(at(60)), Asked: []string{"ops"}},
		{At: perdure.TimeOf(at(120)), Asked: []string{"board"}}}
}

func escalatedQuestion() (*life, error) {
	l := begin(bare())
	ask := question(l, perdure.Verdict{Asked: []string{"owner"}, Escalate: stages()})
	for _, stage := range []int64{2, 1, 3} {
		l.write(1, told(perdure.Escalated{Decision: ask, Stage: stage}))
	}
	return l, l.err
}

func escalatedVote() (*life, error) {
	g := bare()
	g.Charter.Approvers = []perdure.Key{signer(2).Key()}
	l := begin(g)
	ask := question(l, perdure.Verdict{Asked: []string{"owner"}, Escalate: stages()})
	l.write(3, l.vote(ask, true))
	l.write(1, told(perdure.Escalated{Decision: ask, Stage: 1}))
	l.write(3, l.vote(ask, true))
	return l, l.err
}

func mutateTools() (*life, error) {
	l := begin(bare())
	l.write(1, allow(perdure.Mutate{Tools: []string{"mail", "ci", "web", "mail"}}))
	l.write(1, perdure.Event{Name: "edit", Notice: perdure.Edit{Mutate: perdure.Mutate{Tools: []string{"web", "mail",
		"shell"}}}})
	return l, l.err
}

// edit tells of a change.
func edit(m perdure.Mutate) perdure.Event {
	return perdure.Event{Name: "edit", Notice: perdure.Edit{Mutate: m}}
}

func mutateKind() (*life, error) {
	g := bare()
	g.Intent.Labels = map[string]string{"once": "1", "team": "red"}
	l := begin(g)
	role, kind := "role", "report"
	l.write(1, edit(perdure.Mutate{Kind: &role, Labels: map[string]string{"once": "1", "team": "blue"}}))
	l.write(1, allow(perdure.Mutate{Kind: &kind, Labels: map[string]string{"team": "green"}}))
	l.write(1, edit(perdure.Mutate{Labels: map[string]string{"once": "1", "a2a-client": "x"}}))
	return l, l.err
}

func mutateKeeper() (*life, error) {
	l := begin(keeping())
	kind, goal := "role", "keep all"
	l.write(1, edit(perdure.Mutate{Kind: &kind, Goal: &goal}))
	l.write(1, allow(perdure.Mutate{Labels: map[string]string{"tier": "public"}}))
	return l, l.err
}

func mutateEarlier() (*life, error) {
	l := begin(keeping())
	kind := "report"
	l.write(1, edit(perdure.Mutate{Kind: &kind}))
	if l.err == nil {
		f := *l.a.Fold()
		f.Intent.Kind = kind
		l.write(1, perdure.Snapshot{Fold: f})
	}
	return l, l.err
}

// keeping begins a workspace.
func keeping() perdure.Genesis {
	g := bare()
	g.Intent.Kind, g.Intent.Labels = "workspace", map[string]string{"tier": "team"}
	return g
}

func decisionLost() (*life, error) {
	l := begin(bare())
	gone := perdure.HashOf([]byte("an advice that is not there"))
	l.write(1, perdure.Decision{Advice: gone, Verdict: perdure.Verdict{Answer: perdure.Allow}})
	l.write(1, perdure.Decision{Advice: gone, Verdict: perdure.Verdict{Answer: perdure.Allow}, Effect: perdure.Once,
		Reserve: &perdure.Spend{Calls: 1}})
	l.write(1, perdure.Decision{Advice: gone, Verdict: perdure.Verdict{Answer: perdure.Deny}, Effect: perdure.Read})
	return l, l.err
}

func adviceEmpty() (*life, error) {
	l := begin(bare())
	l.write(1, perdure.Advice{Advisor: "script", Actions: []perdure.Action{perdure.Execute{Tool: "ci"}}})
	l.write(1, perdure.Advice{Advisor: "script", Text: "nothing to do"})
	l.write(1, perdure.Advice{Advisor: "script", Text: "still nothing"})
	return l, l.err
}

// delegation is an allowed decision to delegate to a child with this genesis.
func (l *life) delegation(change func(*perdure.Genesis)) perdure.Decision {
	d := perdure.Delegate{Intent: perdure.Intent{Goal: "help"}}
	dec := allow(d)
	if l.err != nil {
		return dec
	}
	g, err := l.a.Fold().ChildGenesis(&d, perdure.Hash{})
	if err != nil {
		l.err = err
		return dec
	}
	change(&g)
	child, err := signer(1).Genesis(g, at(l.seconds))
	if err == nil {
		dec.Child, err = child.MarshalBinary()
	}
	l.err = err
	return dec
}

func delegationRefused() (*life, error) {
	l := begin(bare())
	l.write(1, l.delegation(func(g *perdure.Genesis) { g.Charter.Depth = 7 }))
	return l, l.err
}

func delegatesWider() (*life, error) {
	g := bare()
	g.Charter.Delegates = []perdure.Key{signer(2).Key()}
	l := begin(g)
	l.write(1, l.delegation(func(g *perdure.Genesis) { g.Charter.Delegates = []perdure.Key{signer(3).Key()} }))
	l.write(1, l.delegation(func(g *perdure.Genesis) { g.Charter.Delegates = nil }))
	return l, l.err
}

func revokedOrder() (*life, error) {
	l := begin(bare())
	for _, n := range []byte{4, 2, 5, 3} {
		l.write(1, change(perdure.KeyChange{Revoke: signer(n).Key()}))
	}
	return l, l.err
}

func incapableTwice() (*life, error) {
	l := begin(bare())
	for i, tool := range []string{"ci", "mail", "ci"} {
		d := allow(perdure.Execute{Tool: tool})
		d.Effect = perdure.Once
		decision := l.write(1, d)
		l.write(2, perdure.Outcome{Decision: decision, Signal: perdure.Incapable, Note: fmt.Sprint("not here, ", i)})
	}
	l.write(2, perdure.Advice{Advisor: "model", Signal: perdure.Incapable, Text: "no key for it"})
	return l, l.err
}

func pollBounds() (*life, error) {
	l := begin(bare())
	poll := perdure.Execute{Tool: "ci"}
	l.write(1, allow(perdure.Sleep{Trigger: perdure.Every{Millis: 1000, Poll: poll, Until: "result == 1"}}))
	result, _ := perdure.DataOf(1)
	for _, call := range []string{"poll/63", "poll/64", "poll/2147483648", "poll/+7", "poll/-1", "poll/1_0"} {
		poll.Call = call
		d := allow(poll)
		d.Effect = perdure.Read
		decision := l.write(1, d)
		l.write(1, perdure.Outcome{Decision: decision, Signal: perdure.TimedOut, Result: result})
	}
	return l, l.err
}

func nullData() (*life, error) {
	null, one := perdure.Data{0xf6}, perdure.Data{1}
	g := bare()
	g.Intent.Inputs = one
	l := begin(g)
	l.write(1, allow(perdure.Mutate{Inputs: null}))
	l.write(2, perdure.Event{Name: "null", Data: null, Set: map[string]perdure.Data{"a": one, "b": one}})
	l.write(2, perdure.Event{Name: "none", Set: map[string]perdure.Data{"a": null, "c": null}})
	l.write(1, allow(perdure.End{Signal: perdure.OK, Result: null}))
	return l, l.err
}

func voteLate() (*life, error) {
	l := begin(bare())
	ask := question(l, perdure.Verdict{Expires: perdure.TimeOf(at(3))}) // written at 1
	l.write(2, l.vote(ask, true))
	l.write(3, l.vote(ask, true))
	l.write(4, l.vote(ask, false))
	return l, l.err
}

// answered is a question with an approval and a refusal, and a decision that names the approval, and the refusal too if
// it does.
func answered(nameRefusal bool) (*life, error) {
	l := begin(bare())
	ask := question(l, perdure.Verdict{})
	yes, no := l.write(2, l.vote(ask, true)), l.write(3, l.vote(ask, false))
	d := allow(perdure.Execute{Tool: "mail"})
	d.Effect, d.Approvals = perdure.Once, []perdure.Hash{yes}
	if nameRefusal {
		d.Approvals = append(d.Approvals, no)
	}
	l.write(1, d)
	return l, l.err
}

func voteNamed() (*life, error)  { return answered(true) }
func voteStands() (*life, error) { return answered(false) }

func joinedHeads() (*life, error) {
	l := begin(bare())
	other := l.fork()
	l.write(1, perdure.Event{Name: "here"})
	other.write(2, perdure.Event{Name: "there"})
	l.join(other)
	l.write(1, told(perdure.Joined{Heads: 2}))
	return l, l.err
}

func settledEffect() (*life, error) {
	l := begin(bare())
	d := allow(perdure.Execute{Tool: "mail"})
	d.Effect = perdure.Once
	decision := l.write(1, d)
	one := perdure.Data{1}
	settle := perdure.Settle{Decision: decision, Signal: perdure.OK, Result: one}
	l.write(2, perdure.Event{Name: "settled", By: "person", Notice: settle, Set: map[string]perdure.Data{"sent": one}})
	l.write(2, perdure.Event{Name: "settled", By: "person", Notice: settle, Set: map[string]perdure.Data{"again": one}})
	return l, l.err
}

func stateSchema() (*life, error) {
	g := bare()
	g.Intent.StateSchema = perdure.HashOf([]byte("version 1"))
	l := begin(g)
	l.write(2, perdure.Event{Name: "set", Set: map[string]perdure.Data{"size": {3}}})
	edit := perdure.Edit{Mutate: perdure.Mutate{StateSchema: perdure.HashOf([]byte("version 2"))}}
	l.write(1, perdure.Event{Name: "state-upgraded", Notice: edit,
		Set: map[string]perdure.Data{"size": {0xf6}, "points": {3}}})
	return l, l.err
}

func endedDecision() (*life, error) {
	l := begin(bare())
	other := l.fork()
	l.write(1, perdure.Event{Name: "stop", Notice: perdure.Cancel{Note: "enough"}})
	d := allow(perdure.Execute{Tool: "mail"})
	d.Effect, d.Deadline = perdure.Once, perdure.TimeOf(at(600))
	other.write(2, perdure.Event{Name: "go"}, d)
	l.join(other)
	return l, l.err
}

// amounts are the numbers below zero that are refused, and those nothing looks at.
func amounts() (accept, reject []*vector) {
	g := first()
	add := func(predicate, name, why string, e entry) {
		v := binaryVector("amount-"+name, "entry", e.bytes(), why)
		if predicate == "" {
			accept = append(accept, v)
			return
		}
		reject = append(reject, v.refused(predicate))
	}
	header := func(change fields) entry { return next(g, 1, "told", change, g) }
	act := func(a fields) entry { return on(g, decision, fields{3: a, 4: fields{1: 2}}) }
	notice := func(n fields) entry { return on(g, event, fields{1: "told", 5: n}) }
	call := func(more fields) fields {
		f := fields{1: "ci"}
		maps.Copy(f, more)
		return f
	}
	sleep := func(trigger fields, more fields) entry {
		f := fields{1: trigger}
		maps.Copy(f, more)
		return act(fields{4: f})
	}
	after := fields{2: fields{1: 1}}
	late := fields{4: -1}
	add("entry.time", "due", "a due time before 1970", header(fields{6: -1}))
	add("entry.time", "ttl", "a body kept for a negative time", header(fields{13: -1}))
	add("spend.amount", "call-deadline", "a call with a negative deadline", act(fields{1: call(late)}))
	add("spend.amount", "recheck-deadline", "a recheck with a negative deadline",
		sleep(after, fields{4: []raw{record(call(late))}}))
	add("", "poll-deadline", "the deadline of a poll is not looked at",
		sleep(fields{6: fields{1: 1, 2: call(late), 3: "true"}}, nil))
	add("spend.amount", "stale", "a sleep that is stale before it begins", sleep(after, fields{3: -1}))
	add("spend.amount", "verdict-expires", "a question that lapses before 1970",
		on(g, decision, fields{3: fields{6: fields{1: 1}}, 4: fields{1: 1, 7: -1}}))
	add("", "approval-expires", "an approval that expires before 1970 has expired",
		notice(fields{1: fields{1: g.name(), 2: g.name(), 3: raw{0xf5}, 4: -1}}))
	add("spend.amount", "intent-ttl", "an intent whose bodies are kept for a negative time",
		newEntry(genesis, body(genesis, fields{1: fields{2: "watch", 11: -1}, 2: fields{1: public(1), 2: "acme"}}),
			nil))
	add("spend.amount", "escalation", "an escalation before 1970",
		on(g, decision, fields{3: fields{6: fields{1: 1}}, 4: fields{1: 1,
			9: []raw{record(fields{1: -1, 2: []raw{}})}}}))
	add("spend.amount", "stage", "a negative stage", notice(fields{13: fields{1: g.name(), 2: -1}}))
	add("trigger.sound", "at", "a trigger at the time 0", sleep(fields{1: fields{1: 0}}, nil))
	add("trigger.sound", "after", "a trigger after less than nothing", sleep(fields{2: fields{1: -1}}, nil))
	add("trigger.sound", "done", "a trigger that waits for a child and a decision",
		sleep(fields{4: fields{1: g.name(), 2: g.name()}}, nil))
	add("trigger.sound", "gather", "a trigger that waits for less than no children",
		sleep(fields{9: fields{2: -1}}, nil))
	add("", "on", "a trigger on an event without a name, with a filter that does not compile: that is for nodes",
		sleep(fields{3: fields{1: "", 2: "(("}}, nil))
	for _, c := range []struct{ name, scope, predicate string }{
		{"word", "Ünï-1.2_3@x:y/+", ""}, {"star", "acme/*", "charter.scope"}, {"question", "acme?", "charter.scope"},
		{"quote", `a"b`, "charter.scope"},
		{"backslash", `a\b`, "charter.scope"}, {"space", "acme ops", "charter.scope"},
		{"delete", "a\x7f", "charter.scope"}, {"trailing", "acme/", "charter.scope"},
	} {
		e := newEntry(genesis, body(genesis, fields{1: fields{2: "watch"}, 2: fields{1: public(1), 2: c.scope}}), nil)
		v := binaryVector("scope-"+c.name, "entry", e.bytes(), fmt.Sprintf("the scope %q", c.scope))
		if c.predicate == "" {
			accept = append(accept, v)
		} else {
			reject = append(reject, v.refused(c.predicate))
		}
	}
	return accept, reject
}

func tracedCauses() (*life, error) {
	l := begin(bare())
	first, second := trace.ID{1}, trace.ID{2}
	ev := l.traced(first, perdure.Event{Name: "go"})
	asleep := l.write(1, allow(perdure.Sleep{Trigger: perdure.On{Event: "go"}}))
	l.traced(second, perdure.Event{Name: "noise"})
	l.traced(first, allow(perdure.Wake{Sleep: asleep, By: []perdure.Hash{ev}}))
	d := l.write(1, perdure.Decision{Action: perdure.Execute{Tool: "ci"},
		Verdict: perdure.Verdict{Answer: perdure.Allow}, Effect: perdure.Read})
	l.traced(second, perdure.Outcome{Decision: d, Signal: perdure.OK})
	return l, l.err
}

// traced writes an entry of a trace.
func (l *life) traced(t trace.ID, b perdure.Body) perdure.Hash {
	if l.err != nil {
		return perdure.Hash{}
	}
	l.seconds++
	entries, a, err := signer(1).Commit(l.a, at(l.seconds), perdure.Draft{Body: b, Trace: t})
	if err != nil {
		l.err = err
		return perdure.Hash{}
	}
	l.a, l.entries = a, append(l.entries, entries...)
	return entries[len(entries)-1].Name
}

func documents() (*life, error) {
	l := begin(bare())
	text, err := perdure.DataOf("Sow in March.")
	if err != nil {
		return nil, err
	}
	one := perdure.Document{Path: "plans/spring.md", Kind: "plan", Title: "Spring", Body: text,
		Tags: []string{"garden"}}
	write := perdure.Event{Name: "document", By: "alice", ID: "1", Notice: one}
	first := l.write(1, write)
	l.write(1, write)
	one.Base, one.Links = []perdure.Hash{first}, []string{"plans/autumn.md"}
	one.From = &perdure.Source{Agent: l.a.ID(), Entry: first}
	second := l.write(1, told(one))
	l.write(1, told(perdure.Document{Path: "plans/spring.md", Base: []perdure.Hash{second}, Gone: true}))
	return l, l.err
}

func lacksTool() (*life, error) {
	l := begin(bare())
	lacks := told(perdure.Lacks{What: "ci", Note: "this node has no tool ci"})
	l.write(1, lacks)
	d := l.write(1, perdure.Decision{Action: perdure.Execute{Tool: "ci"},
		Verdict: perdure.Verdict{Answer: perdure.Allow}, Effect: perdure.Read})
	l.write(1, perdure.Outcome{Decision: d, Signal: perdure.Incapable, Note: "gone"})
	l.write(1, lacks)
	return l, l.err
}

func tookTime() (*life, error) {
	l := begin(bare())
	l.write(1, perdure.Advice{Advisor: "script", Took: 1500, Actions: []perdure.Action{perdure.Execute{Tool: "ci"}}})
	d := l.write(1, perdure.Decision{Action: perdure.Execute{Tool: "ci"},
		Verdict: perdure.Verdict{Answer: perdure.Allow}, Effect: perdure.Read})
	l.write(1, perdure.Outcome{Decision: d, Signal: perdure.OK, Took: 2_000_000})
	return l, l.err
}

// rested writes an advice that rests on a read which came to a result before, a question about what it proposes, and
// what comes of the read now.
func rested(now string, v perdure.Verdict) (*life, error) {
	before, err := perdure.DataOf("as it was")
	if err != nil {
		return nil, err
	}
	after, err := perdure.DataOf(now)
	if err != nil {
		return nil, err
	}
	l := begin(bare())
	adv := l.write(1, perdure.Advice{Advisor: "script", Actions: []perdure.Action{perdure.Execute{Tool: "mail"}},
		Basis: &perdure.Basis{
			Stale: 60_000, Reads: []perdure.Assumption{{Read: perdure.Execute{Tool: "ci"},
				Result: perdure.HashOf(before)}},
		}})
	l.write(1, perdure.Decision{Advice: adv, Verdict: perdure.Verdict{Answer: perdure.Ask}, Effect: perdure.Once})
	read := perdure.Execute{Tool: "ci", Call: "basis/0"}
	d := l.write(1, perdure.Decision{Action: read, Verdict: v, Effect: perdure.Read})
	if v.Answer == perdure.Allow {
		l.write(1, perdure.Outcome{Decision: d, Signal: perdure.OK, Result: after})
	}
	return l, l.err
}

func basisHeld() (*life, error) {
	return rested("as it was", perdure.Verdict{Answer: perdure.Allow})
}

func basisChanged() (*life, error) {
	return rested("another", perdure.Verdict{Answer: perdure.Allow})
}

func basisRefused() (*life, error) { return rested("", perdure.Verdict{Answer: perdure.Deny}) }

// timeless begins an agent that is to exist once: nothing in its first entry is of the moment.
func timeless() *life {
	l := &life{}
	e, err := signer(1).Genesis(bare(), time.UnixMilli(0))
	if err == nil {
		l.entries = []*perdure.Entry{e}
		l.a, err = perdure.Begin(e)
	}
	l.err = err
	return l
}

func createdSecond() (*life, error) {
	l := timeless()
	late, early := l.fork(), l.fork()
	late.seconds = 100
	first := late.write(1, perdure.Event{Name: "late"})
	second := early.write(1, perdure.Event{Name: "early"})
	// ties go by name
	for n := 0; l.err == nil && late.err == nil && early.err == nil && bytes.Compare(first[:], second[:]) > 0; n++ {
		late = l.fork()
		late.seconds = 100 + n
		first = late.write(1, perdure.Event{Name: "late"})
	}
	late.join(early)
	return late, late.err
}

func createdZero() (*life, error) {
	l := timeless()
	if l.err != nil {
		return nil, l.err
	}
	entries, a, err := signer(1).Commit(l.a, time.UnixMilli(0), perdure.Draft{Body: perdure.Event{Name: "told"}})
	if err != nil {
		return nil, err
	}
	l.a, l.entries = a, append(l.entries, entries...)
	l.write(1, perdure.Event{Name: "told again"})
	return l, l.err
}

func saidNoMore() (*life, error) {
	l := begin(bare())
	l.write(1, perdure.Event{Name: "secret", Data: text("sesame")})
	l.write(2, perdure.Event{Name: "open", Data: text("everybody may know")})
	if l.err == nil {
		l.write(1, perdure.Snapshot{Fold: leftOut(l.a, 7)})
	}
	l.write(2, perdure.Event{Name: "after"})
	return l, l.err
}

// leftOut is the fold of an agent without what its first message says, which is said to have had so many bytes.
func leftOut(a *perdure.Agent, bytes int64) perdure.Fold {
	f := *a.Fold()
	f.Inbox = slices.Clone(f.Inbox)
	f.Inbox[0].Data, f.Inbox[0].Gone = nil, bytes
	return f
}

// text is a text as data.
func text(s string) perdure.Data {
	d, err := perdure.DataOf(s)
	if err != nil {
		panic(err)
	}
	return d
}
