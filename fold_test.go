package perdure

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/phase"
)

func event(n Notice) Event { return Event{Name: "notice", Notice: n} }

// allowed is a decision that allows an action of its own.
func allowed(a Action) Decision { return Decision{Action: a, Verdict: Verdict{Answer: Allow}} }

func conflicts(a *Agent) string {
	var s []string
	for _, c := range a.fold.Conflicts {
		s = append(s, c.What)
	}
	return strings.Join(s, "\n")
}

func wantConflict(t *testing.T, a *Agent, part string) {
	t.Helper()
	if !strings.Contains(conflicts(a), part) {
		t.Errorf("got conflicts %q, want one that says %q", conflicts(a), part)
	}
}

func TestEndAbsorbsWhatHappenedBesideIt(t *testing.T) {
	goal := "another"
	d := lineage(t, `
G -> A -> End
     | -> M -> S -> O
End,O -> J
`, says("End", allowed(End{Signal: OK})), says("M", allowed(Mutate{Goal: &goal})), says("S", allowed(Sleep{Trigger: After{Millis: 5}})),
		says("O", Event{Name: "late"}), says("J", allowed(Execute{Tool: "x"})))
	a := d.agent()
	f := a.fold
	if f.State() != phase.Terminated || f.Ended.Entry != d.name("End") || f.Sleep != nil {
		t.Fatalf("got %v, ended by %v, sleep %v", f.State(), f.Ended, f.Sleep)
	}
	wantConflict(t, a, "the end stands")
	d2 := lineage(t, `
G -> A -> E1
     | -> E2
`, says("E1", allowed(End{Signal: OK})), says("E2", allowed(End{Signal: Failed})))
	if got := d2.agent().fold; got.Ended == nil {
		t.Fatal("two ends gave none")
	}
}

func TestNarrowestScopeWinsWhateverTheOrder(t *testing.T) {
	narrow := func(s string) Body { return allowed(Mutate{Scope: &s}) }
	d := lineage(t, `
G -> A
| -> B
`, says("A", narrow("acme/ops")), says("B", narrow("acme/ops/db")))
	if got := d.agent().fold.Charter.Scope; got != "acme/ops/db" {
		t.Errorf("got scope %s, want acme/ops/db", got)
	}
	d = lineage(t, `
G -> A
| -> B
`, says("A", narrow("acme/ops")), says("B", narrow("acme/dev")))
	a := d.agent()
	if got := a.fold.Charter.Scope; got != NoScope {
		t.Errorf("got scope %s, want none: the two exclude each other", got)
	}
	wantConflict(t, a, "exclude each other")
	if len(a.Diverged()) < 4 {
		t.Errorf("got %q, want the two heads and the conflict", a.Diverged())
	}
}

func TestMutationOnlyNarrowsBounds(t *testing.T) {
	wide, late, depth, n := "other", TimeOf(epoch.Add(48*time.Hour)), int64(9), func(v int64) *int64 { return &v }
	goal := "new"
	d := lineage(t, "G -> A -> B", begins(Genesis{
		Intent: Intent{Goal: "g", Budget: &Budget{Cost: n(100)}, Deadline: TimeOf(epoch.Add(time.Hour)),
			Tools: []string{"a", "b"}},
		Charter: Charter{Scope: "acme", Depth: 2},
	}), says("A", allowed(Mutate{Goal: &goal, Scope: &wide, Deadline: late, Depth: &depth,
		Budget: &Budget{Cost: n(500), Calls: n(3)}, Tools: []string{"b", "c"}})),
		says("B", event(Edit{Mutate: Mutate{Budget: &Budget{Cost: n(50)}}})))
	f := d.agent().fold
	if f.Charter.Scope != NoScope || f.Intent.Deadline != TimeOf(epoch.Add(time.Hour)) || f.Charter.Depth != 2 ||
		*f.Intent.Budget.Cost != 50 || *f.Intent.Budget.Calls != 3 || !slices.Equal(f.Intent.Tools, []string{"b"}) {
		t.Errorf("a bound became wider: %+v %+v", f.Intent, f.Charter)
	}
	if f.Intent.Goal != goal || f.Edited != d.name("B") {
		t.Errorf("got goal %q edited by %s", f.Intent.Goal, f.Edited.Short())
	}
	before, err := AgentAt(seq(d.all()), d.name("G"))
	if err != nil || before.fold.Intent.Goal != "g" {
		t.Errorf("the earlier intent is gone: %v", err)
	}
}

func TestSpendOfAllBranchesAddsUp(t *testing.T) {
	spend := func(d string) func(*dag) Body {
		return func(g *dag) Body {
			return Outcome{Decision: g.name(d), Signal: OK, Spend: &Spend{Cost: 7, Calls: 1}}
		}
	}
	d := lineage(t, `
G -> D -> A
     | -> B
     | -> C
`, says("D", Decision{Action: Execute{Tool: "x"}, Verdict: Verdict{Answer: Allow}, Effect: Once, Reserve: &Spend{Cost: 10, Calls: 1}}),
		saysOf("A", spend("D")), saysOf("B", spend("D")), says("C", Advice{Usage: &Usage{In: 3, Out: 4, Cost: 5}}))
	a := d.agent()
	if got, want := a.fold.Spent, (Spend{Cost: 19, Tokens: 7, Calls: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wantConflict(t, a, "second outcome")
	if got := a.fold.Reserved(); got != (Spend{}) {
		t.Errorf("got %+v still reserved", got)
	}
}

// asks is a memory in which X was asked about, with quorum q, and the digest its approvals must bind.
func asks(q int64) (func(*dag), func(yes bool) func(*dag) Body, func(approvals ...string) func(*dag) Body) {
	x := Execute{Tool: "pay"}
	ask := says("Q", Decision{Action: x, Verdict: Verdict{Answer: Ask, Quorum: q}, Effect: Once})
	vote := func(yes bool) func(*dag) Body {
		return func(d *dag) Body {
			digest, err := effectDigest(d.entries["G"].ID(), d.name("Q"), x)
			if err != nil {
				d.t.Fatal(err)
			}
			return event(Approval{Decision: d.name("Q"), Digest: digest, Approve: yes})
		}
	}
	use := func(approvals ...string) func(*dag) Body {
		return func(d *dag) Body {
			dec := allowed(x)
			dec.Effect = Once
			for _, n := range approvals {
				dec.Approvals = append(dec.Approvals, d.name(n))
			}
			return dec
		}
	}
	return ask, vote, use
}

func TestApprovalServesOnce(t *testing.T) {
	ask, vote, use := asks(1)
	d := lineage(t, `
G -> Q -> Y -> A
          | -> B
`, ask, saysOf("Y", vote(true)), by("ann", "Y"), saysOf("A", use("Y")), saysOf("B", use("Y")))
	a := d.agent()
	if len(a.fold.Open) != 1 || len(a.fold.Asks) != 0 {
		t.Fatalf("got %d effects and %d asks, want one effect", len(a.fold.Open), len(a.fold.Asks))
	}
	wantConflict(t, a, "already used")
}

func TestRefusalOutweighsApprovals(t *testing.T) {
	ask, vote, use := asks(1)
	d := lineage(t, `
G -> Q -> Y -> A
     | -> N
`, ask, saysOf("Y", vote(true)), saysOf("N", vote(false)), by("ann", "Y"), by("bob", "N"), saysOf("A", use("Y")))
	a := d.agent()
	if len(a.fold.Open) != 0 {
		t.Fatal("an effect that somebody refused is under way")
	}
	wantConflict(t, a, "the refusal stands")
	if s, ok := Plan(a, Capabilities{All: true}, epoch).(lapseStep); !ok || s.Outcome.Signal != Denied {
		t.Errorf("got %+v, want the ask to lapse", s)
	}
}

func TestApprovalNeedsItsQuorumItsDigestAndItsPeople(t *testing.T) {
	ask, vote, use := asks(2)
	one := lineage(t, "G -> Q -> Y -> Y2 -> A", ask, saysOf("Y", vote(true)), saysOf("Y2", vote(true)),
		by("ann", "Y", "Y2"), saysOf("A", use("Y", "Y2")))
	if a := one.agent(); len(a.fold.Open) != 0 {
		t.Error("one person approved twice and that was enough")
	}
	two := lineage(t, "G -> Q -> Y -> Y2 -> A", ask, saysOf("Y", vote(true)), saysOf("Y2", vote(true)), by("ann", "Y"),
		by("bob", "Y2"), saysOf("A", use("Y", "Y2")))
	if a := two.agent(); len(a.fold.Open) != 1 {
		t.Errorf("two people approved: got %q", conflicts(a))
	}
	other := lineage(t, "G -> Q -> Y -> A", ask, by("ann", "Y"), saysOf("Y", func(d *dag) Body {
		return event(Approval{Decision: d.name("Q"), Digest: HashOf(nil), Approve: true})
	}), saysOf("A", use("Y")))
	wantConflict(t, other.agent(), "something else")
	g := Genesis{Intent: Intent{Goal: "g"}, Charter: Charter{Scope: "acme", Approvers: []Key{people["ann"].key}}}
	stranger := lineage(t, "G -> Q -> Y", begins(g), ask, by("bob", "Y"), saysOf("Y", vote(true)))
	wantConflict(t, stranger.agent(), "charter does not name")
	askOne, vote, _ := asks(1)
	swapped := lineage(t, "G -> Q -> Y -> A", askOne, by("ann", "Y"), saysOf("Y", vote(true)),
		saysOf("A", func(d *dag) Body {
			dec := allowed(Execute{Tool: "pay", Call: "more"})
			dec.Approvals = []Hash{d.name("Y")}
			return dec
		}))
	a := swapped.agent()
	wantConflict(t, a, "something else")
	if len(a.fold.Open) != 0 {
		t.Error("an approval permitted what nobody was asked about")
	}
}

func TestPauseUnseenByAResumeStands(t *testing.T) {
	resume := saysOf("R", func(d *dag) Body { return event(Resume{Of: []Hash{d.name("P1")}}) })
	d := lineage(t, `
G -> P1 -> R
| -> P2
`, says("P1", event(Pause{})), says("P2", event(Pause{})), resume)
	a := d.agent()
	if got, want := a.fold.Paused, []Hash{d.name("P2")}; !slices.Equal(got, want) {
		t.Errorf("got pauses %v, want the one the resume had not seen", got)
	}
	if s, ok := Plan(a, Capabilities{All: true}, epoch).(Idle); !ok || !s.Person {
		t.Errorf("got %+v, want to wait for a person", s)
	}
}

func TestIdUsedBeforeDoesNotStopAPause(t *testing.T) {
	d := lineage(t, "G -> A -> B -> P", says("A", Event{Name: "x", By: "me", ID: "1"}),
		says("B", Event{Name: "x", By: "me", ID: "1"}),
		says("P", Event{Name: "pause", By: "me", ID: "1", Notice: Pause{}}))
	f := d.agent().fold
	if len(f.Inbox) != 1 || len(f.Paused) != 1 {
		t.Errorf("got %d messages and %d pauses, want one of each", len(f.Inbox), len(f.Paused))
	}
}

func TestRevocationIsByPosition(t *testing.T) {
	bob := people["bob"].key
	revoke := says("R", event(KeyChange{Revoke: bob}))
	d := lineage(t, `
G -> B1 -> R -> A
     | -> B2 -> B3
`, revoke, by("bob", "B1", "B2", "B3"), by("ann", "A"), says("B1", Event{Name: "x", Set: map[string]Data{"b1": {1}}}),
		says("B2", Event{Name: "x", Set: map[string]Data{"b2": {1}}}), says("B3", event(Pause{})))
	a := d.agent()
	if a.fold.Vars["b1"] == nil {
		t.Error("an entry the owner had seen does not count")
	}
	if a.fold.Vars["b2"] != nil || len(a.fold.Paused) != 0 {
		t.Error("entries the owner had not seen count")
	}
	wantConflict(t, a, "revoked key")
	d.by["B4"] = "bob"
	d.add("B4", "A")
	_, err := FoldEntries(seq(d.all()))
	rejected(t, err, "key.revoked")
}

func TestOnlyTheOwnerRevokes(t *testing.T) {
	bob := people["bob"].key
	d := lineage(t, `
G -> F -> B1
| -> A -> A2 -> R
`, by("ann", "F"), says("F", event(KeyChange{Revoke: bob})), by("bob", "B1"), says("R", event(KeyChange{Revoke: bob})))
	a := d.agent() // B1 has seen a revocation that does not count, and not the one that does: it is void, not refused
	if got := a.fold.Revoked; !slices.Equal(got, []Key{bob}) {
		t.Errorf("got %v revoked, want bob", got)
	}
	wantConflict(t, a, "only the owner")
	wantConflict(t, a, "revoked key")
}

func TestOwnershipIsHandedOn(t *testing.T) {
	heir, n := people["heir"].key, func(v int64) *int64 { return &v }
	g := Genesis{Intent: Intent{Goal: "g", Budget: &Budget{Cost: n(1)}}, Charter: Charter{Scope: "acme"}}
	d := lineage(t, "G -> H -> F -> G2 -> G3", begins(g), says("H",
		event(KeyChange{Owner: heir, Revoke: people["owner"].key})), by("heir", "F", "G2"), by("ann", "G3"),
		says("G2", event(Grant{Amount: Spend{Cost: 5}})), says("G3", event(Grant{Amount: Spend{Cost: 50}})))
	a := d.agent()
	if a.fold.Charter.Owner != heir || a.fold.Granted.Cost != 5 || *a.fold.Left().Cost != 6 {
		t.Errorf("got owner %s, granted %+v", a.fold.Charter.Owner.Short(), a.fold.Granted)
	}
	d.add("late", "G3")
	_, err := FoldEntries(seq(d.all()))
	rejected(t, err, "key.revoked")
}

func TestTwoHandoversContestTheAgent(t *testing.T) {
	heir, thief := people["heir"].key, people["thief"].key
	d := lineage(t, `
G -> A -> H
     | -> T -> T2
`, says("H", event(KeyChange{Owner: heir, Revoke: people["owner"].key})), says("T", event(KeyChange{Owner: thief, Revoke: people["owner"].key})),
		by("thief", "T2"))
	a := d.agent()
	if !a.fold.Contested {
		t.Fatal("the agent goes on though two people own it")
	}
	if s, ok := Plan(a, Capabilities{All: true}, epoch).(Idle); !ok || !s.Person || !s.Is(phase.RestContested) {
		t.Errorf("got %+v, want to wait for a person", s)
	}
}

func TestFormerOwnerCannotStopTheAgent(t *testing.T) {
	d := lineage(t, "G -> H -> X", says("H", event(KeyChange{Owner: people["heir"].key})),
		says("X", event(KeyChange{Owner: people["thief"].key})))
	a := d.agent()
	if a.fold.Contested || a.fold.Charter.Owner != people["heir"].key {
		t.Error("an owner who handed the agent on still disposes of it")
	}
	wantConflict(t, a, "only the owner")
}

func TestOwnerUnawareOfTheHandoverStillRevokes(t *testing.T) {
	d := lineage(t, `
G -> H -> B1
| -> A -> A2 -> A3 -> R
`, says("H", event(KeyChange{Owner: people["heir"].key})), says("R", event(KeyChange{Revoke: people["bob"].key})), by("bob", "B1"),
		says("B1", event(Pause{})))
	a := d.agent()
	if !slices.Contains(a.fold.Revoked, people["bob"].key) || len(a.fold.Paused) != 0 {
		t.Error("a revocation got lost beside a handover")
	}
}

func TestAgentAtIsTheFoldOfOnePast(t *testing.T) {
	d := lineage(t, `
G -> A -> B
     | -> C
B,C -> D
`)
	a, err := AgentAt(seq(d.all()), d.name("C"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Heads(), []Hash{d.name("C")}; !slices.Equal(got, want) || a.fold.Count != 3 {
		t.Errorf("got heads %v of %d entries", got, a.fold.Count)
	}
	if _, err := AgentAt(seq(d.all()), HashOf(nil)); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
}

// chain is a memory of n events, some on a second branch, with a snapshot at each multiple of every.
func chain(t *testing.T, n, every int) []*Entry {
	t.Helper()
	s := people["owner"]
	g, err := s.Genesis(Genesis{Intent: Intent{Goal: "g"}, Charter: Charter{Scope: "acme"}}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	entries := []*Entry{g}
	for i := 1; i < n; i++ {
		var b Body = Event{Name: "n", Set: map[string]Data{"i": {byte(i % 24)}}}
		if i%every == 0 {
			b = Snapshot{Fold: *a.fold}
		}
		es, next, err := s.Commit(a, epoch.Add(time.Duration(i)*time.Second), Draft{Body: b})
		if err != nil {
			t.Fatal(err)
		}
		a, entries = next, append(entries, es...)
	}
	return entries
}

func TestFoldGoesOnFromASnapshot(t *testing.T) {
	entries := chain(t, 700, 100)
	whole, err := FoldEntries(seq(entries))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		if e.Kind != KindSnapshot {
			continue
		}
		a, err := FromSnapshot(e)
		if err != nil {
			t.Fatal(err)
		}
		if a, err = a.Apply(entries[i+1:]...); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(foldBytes(t, a), foldBytes(t, whole)) {
			t.Fatalf("resumed at %d: another fold", i)
		}
	}
	if _, err := FromSnapshot(entries[1]); err == nil {
		t.Error("an event was taken for a snapshot")
	}
}

func TestLateEntryIsFoldedWhereItBelongsOrTheMemoryAgain(t *testing.T) {
	for _, n := range []int{300, 700, 1500} {
		entries := chain(t, n, 1<<30)
		d := &dag{t: t, names: []string{"G"}, entries: map[string]*Entry{"G": entries[0]},
			parents: map[string][]string{}, by: map[string]string{}, body: map[string]func(*dag) Body{}}
		late := d.add("late", "G")
		a, err := FoldEntries(seq(entries))
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		for range a.Recent() {
			held++
		}
		if held > 2*tailWindow {
			t.Errorf("%d entries are held, want at most %d", held, 2*tailWindow)
		}
		all := append(slices.Clone(entries), late)
		want, err := FoldEntries(seq(all))
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Apply(late)
		if n > 2*tailWindow {
			if err != ErrBehind {
				t.Errorf("%d entries: got %v, want ErrBehind", n, err)
			}
			continue
		}
		if err != nil || !bytes.Equal(foldBytes(t, got), foldBytes(t, want)) {
			t.Errorf("%d entries: %v, or another fold", n, err)
		}
	}
}

func TestEntriesAreHeldUntilTheirParentsAndTheirSignatureCome(t *testing.T) {
	s := people["owner"]
	g, err := s.Genesis(Genesis{Intent: Intent{Goal: "g"}, Charter: Charter{Scope: "acme"}}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	begun, err := Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	es, want, err := s.Commit(begun, epoch, Draft{Body: Event{Name: "a"}}, Draft{Body: Event{Name: "b"}},
		Draft{Body: Event{Name: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := begun.Apply(es[2])
	if err != nil || a.fold.Count != 1 || !slices.Equal(a.missing(), []Hash{es[1].Name}) {
		t.Fatalf("got %d entries, missing %v, %v", a.fold.Count, a.missing(), err)
	}
	if a, err = a.Apply(es[0]); err != nil || a.fold.Count != 1 { // nothing that links to it is signed yet
		t.Fatalf("got %d entries, %v", a.fold.Count, err)
	}
	if a, err = a.Apply(es[1], es[0], es[2]); err != nil || !bytes.Equal(foldBytes(t, a), foldBytes(t, want)) ||
		len(a.missing()) != 0 {
		t.Fatalf("got %v, or another fold", err)
	}
	again, err := a.Apply(es...)
	if err != nil || !bytes.Equal(foldBytes(t, a), foldBytes(t, again)) {
		t.Fatalf("entries that came twice count twice: %v", err)
	}
	if _, err := FoldEntries(seq([]*Entry{g, es[0], es[1]})); err == nil {
		t.Fatal("a commit without its signature was folded")
	} else {
		rejected(t, err, "entry.sealed")
	}
}

func TestSeqIsCheckedOnEveryPath(t *testing.T) {
	d := lineage(t, `
G -> A -> B -> C
| -> X
`)
	x := d.entries["X"]
	h := Header{Agent: x.Agent, Parents: []Hash{x.Name}, Seq: 4, Time: x.Time}
	bad, err := newEntry(h, &saltedBody{Content: Event{Name: "jump"}}, people["owner"].key)
	if err == nil {
		err = people["owner"].seal(bad)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.agent().Apply(bad)
	rejected(t, err, "entry.seq")
}

func TestEntryWithoutItsBodyIsNotFolded(t *testing.T) {
	d := lineage(t, "G -> P -> A", says("P", event(Pause{})))
	entries := d.all()
	entries[1] = entries[1].Drop()
	if _, err := FoldEntries(seq(entries)); err == nil {
		t.Fatal("a pause lost its body and with it its effect")
	} else {
		rejected(t, err, "body.present")
	}
	a, err := Begin(d.entries["G"])
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Apply(entries[1])
	rejected(t, err, "body.present")
	pruned := chain(t, 60, 20)
	for i := range 40 {
		pruned[i] = pruned[i].Drop()
	}
	got, err := FoldEntries(seq(pruned))
	if err != nil {
		t.Fatal(err)
	}
	if got.fold.Count != 60 || !bytes.Equal(got.fold.Vars["i"], Data{59 % 24}) {
		t.Errorf("got %d entries folded, i is %x", got.fold.Count, got.fold.Vars["i"])
	}
	at, err := AgentAt(seq(pruned), pruned[45].Name)
	if err != nil || at.fold.Count != 46 {
		t.Errorf("got %v", err)
	}
}

func TestFoldStaysSmallHoweverLongTheMemory(t *testing.T) {
	entries := chain(t, 3000, 1<<30)
	a, err := FoldEntries(seq(entries))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.fold.Inbox) != maxInbox {
		t.Errorf("got %d messages, want %d", len(a.fold.Inbox), maxInbox)
	}
	if got, want := a.fold.Inbox[len(a.fold.Inbox)-1].Event, entries[len(entries)-1].Name; got != want {
		t.Error("the newest message is not the last")
	}
}

func TestAgentIsImmutable(t *testing.T) {
	entries := chain(t, 1200, 1<<30)
	a, err := FoldEntries(seq(entries[:1100]))
	if err != nil {
		t.Fatal(err)
	}
	before := foldBytes(t, a)
	left, err := a.Apply(entries[1100:]...)
	if err != nil {
		t.Fatal(err)
	}
	want := foldBytes(t, left)
	s := people["owner"]
	_, right, err := s.Commit(a, epoch, Draft{Body: Event{Name: "other"}}, Draft{Body: Event{Name: "other", ID: "1"}},
		Draft{Body: Advice{}})
	if err != nil || right == nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, foldBytes(t, a)) || !bytes.Equal(want, foldBytes(t, left)) {
		t.Error("what was folded changed when something was folded on top of it")
	}
}
