package perdure_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// stranger is somebody no node here knows, who writes memories.
type stranger struct {
	t   *testing.T
	key *perdure.Signer
	a   *perdure.Agent
	all []*perdure.Entry
	at  time.Time // the clock of the author; zero: that of everybody
}

// newStranger begins an agent of a stranger.
func newStranger(t *testing.T, g perdure.Genesis) *stranger {
	t.Helper()
	key, err := perdure.GenerateSigner("mallory")
	if err != nil {
		t.Fatal(err)
	}
	g.Intent.Goal, g.Charter.Scope = "tell the weather", "test"
	e, err := key.Genesis(g, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(e)
	if err != nil {
		t.Fatal(err)
	}
	return &stranger{t: t, key: key, a: a, all: []*perdure.Entry{e}}
}

// on is a stranger who writes on top of an agent that is somebody else's.
func on(t *testing.T, a *perdure.Agent) *stranger {
	t.Helper()
	key, err := perdure.GenerateSigner("mallory")
	if err != nil {
		t.Fatal(err)
	}
	return &stranger{t: t, key: key, a: a}
}

func (s *stranger) write(bodies ...perdure.Body) {
	s.t.Helper()
	for _, b := range bodies {
		at := s.at
		if at.IsZero() {
			at = time.Now()
		}
		es, next, err := s.key.Commit(s.a, at, perdure.Draft{Body: b})
		if err != nil {
			s.t.Fatal(err)
		}
		s.a, s.all = next, append(s.all, es...)
	}
}

// open is a decision that a call be made, long past its deadline, of a class it may lie about.
func open(tool string, class perdure.Effect) perdure.Decision {
	return perdure.Decision{Action: perdure.Execute{Tool: tool}, Verdict: perdure.Verdict{Answer: perdure.Allow},
		Effect:   class,
		Deadline: perdure.TimeOf(time.Now().Add(-time.Hour))}
}

func put(t *testing.T, s perdure.Store, id perdure.AgentID, entries ...*perdure.Entry) {
	t.Helper()
	if err := s.Put(t.Context(), id, entries...); err != nil {
		t.Fatal(err)
	}
}

func nothing(*perdure.Agent, int64) []perdure.Action { return nil }

func TestNothingOfAStrangersAgentCounts(t *testing.T) {
	for what, body := range map[string]perdure.Body{
		"an open decision of class read": open("shell", perdure.Read),
		"an open decision of class once": open("shell", perdure.Once),
		"advice":                         perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "shell"}}},
		"the end": perdure.Decision{Action: perdure.End{Signal: perdure.OK},
			Verdict: perdure.Verdict{Answer: perdure.Allow}},
	} {
		store := new(perdure.MemStore)
		shell, seen := counter("shell", perdure.Once)
		asked := 0
		n := newNode(t, store, perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
			asked++
			return perdure.Advice{}, nil
		}), shell)
		s := newStranger(t, perdure.Genesis{})
		s.write(body)
		put(t, store, s.a.ID(), s.all...)
		idle := run(t, n, s.a.ID())
		if _, total := calls(seen); total != 0 || asked != 0 || !idle.Is(phase.RestHeld) || !idle.Person ||
			!strings.Contains(idle.Reasons[0].Fault.Error(), s.key.Key().Short()) {
			t.Errorf("%s: %d effects, asked %d times, idle %+v; want it held, and to hear whose entries they are", what,
				total, asked, idle)
		}
		if got := load(t, store, s.a.ID()).Count; got != int64(len(s.all)) {
			t.Errorf("%s: the node wrote to it", what)
		}
	}
}

func TestAdmittedStrangersAskThisNodesPolicy(t *testing.T) {
	for _, c := range []struct {
		what  string
		class perdure.Effect // on record
		says  perdure.Answer
		want  int
	}{
		{"allowed here", perdure.Idempotent, perdure.Allow, 1},
		{"denied here", perdure.Idempotent, perdure.Deny, 0},
		{"asked about here", perdure.Read, perdure.Ask, 0},
	} {
		store := new(perdure.MemStore)
		shell, seen := counter("shell", perdure.Idempotent)
		n := newNode(t, store, scripted(nothing), shell)
		n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
			if x, ok := r.Action.(perdure.Execute); ok && x.Tool == "shell" && r.Effect != perdure.Idempotent {
				t.Errorf("%s: policy hears of class %s, want that of the tool", c.what, r.Effect)
			}
			return perdure.Verdict{Answer: c.says}
		})
		s := newStranger(t, perdure.Genesis{})
		s.write(open("shell", c.class))
		put(t, store, s.a.ID(), s.all...)
		if _, err := n.Admit(t.Context(), s.a, ""); err != nil {
			t.Fatal(err)
		}
		run(t, n, s.a.ID())
		f := load(t, store, s.a.ID())
		if _, total := calls(seen); total != c.want || len(f.Open) != 0 {
			t.Errorf("%s: %d effects, %d open, want %d and an outcome", c.what, total, len(f.Open), c.want)
		}
	}
}

// Who was let in overrules nobody, and whether that was tried is the same however the agent was loaded.
func TestWhatCountsIsTheSameHoweverItWasLoaded(t *testing.T) {
	mine := open("shell", perdure.Once)
	for what, c := range map[string]struct {
		before, after []perdure.Body
		says          func(f *perdure.Fold, last perdure.Hash) perdure.Body
		counts        bool
	}{
		"a pause before it was admitted": {before: []perdure.Body{perdure.Event{Name: "p", Notice: perdure.Pause{}}},
			says: func(f *perdure.Fold, _ perdure.Hash) perdure.Body {
				return perdure.Event{Name: "r", Notice: perdure.Resume{Of: f.Paused}}
			}},
		"a pause since": {after: []perdure.Body{perdure.Event{Name: "p", Notice: perdure.Pause{}}},
			says: func(f *perdure.Fold, _ perdure.Hash) perdure.Body {
				return perdure.Event{Name: "r", Notice: perdure.Resume{Of: f.Paused}}
			}},
		"an effect before it was admitted": {before: []perdure.Body{mine}, counts: true,
			says: func(f *perdure.Fold, _ perdure.Hash) perdure.Body {
				of := f.Open[0].Decision
				return perdure.Event{Name: "s", Notice: perdure.Settle{Decision: of, Signal: perdure.OK}}
			}},
		"an effect since": {after: []perdure.Body{mine}, counts: true,
			says: func(_ *perdure.Fold, last perdure.Hash) perdure.Body {
				return perdure.Event{Name: "s", Notice: perdure.Settle{Decision: last, Signal: perdure.OK}}
			}},
	} {
		store := new(perdure.MemStore)
		n := newNode(t, store, scripted(nothing))
		s := newStranger(t, perdure.Genesis{})
		s.write(c.before...)
		put(t, store, s.a.ID(), s.all...)
		if _, err := n.Admit(t.Context(), s.a, ""); err != nil {
			t.Fatal(err)
		}
		a, err := n.Trust.Load(t.Context(), store, s.a.ID())
		if err != nil {
			t.Fatal(err)
		}
		s.a, s.all = a, nil
		s.write(c.after...)
		s.write(c.says(s.a.Fold(), s.a.Heads()[0]))
		put(t, store, s.a.ID(), s.all...)
		fresh, err := n.Trust.Load(t.Context(), store, s.a.ID())
		if err != nil {
			t.Fatal(err)
		}
		whole, err := perdure.FoldEntries(perdure.Memory(t.Context(), store, s.a.ID()))
		if err != nil {
			t.Fatal(err)
		}
		for how, a := range map[string]*perdure.Agent{"applied": s.a, "loaded": fresh, "from its beginning": whole} {
			if err := n.Trust.Counts(a); (err == nil) != c.counts {
				t.Errorf("%s, %s: %v, want it to count: %t", what, how, err, c.counts)
			}
		}
	}
}

func TestTheToolSaysItsClass(t *testing.T) {
	store := new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, store, scripted(nothing), pay)
	s := newStranger(t, perdure.Genesis{})
	s.write(open("pay", perdure.Read))
	put(t, store, s.a.ID(), s.all...)
	if _, err := n.Admit(t.Context(), s.a, ""); err != nil {
		t.Fatal(err)
	}
	idle := run(t, n, s.a.ID())
	if _, total := calls(seen); total != 0 || !idle.Is(phase.RestDoubt) {
		t.Errorf("%d effects, idle %+v: a payment on record as read must be in doubt", total, idle)
	}
}

func TestNothingIsPerformedWhilePaused(t *testing.T) {
	store := new(perdure.MemStore)
	look, seen := counter("look", perdure.Read)
	n := newNode(t, store, scripted(nothing), look)
	s := newStranger(t, perdure.Genesis{})
	s.write(open("look", perdure.Read), perdure.Event{Name: "pause", Notice: perdure.Pause{}})
	put(t, store, s.a.ID(), s.all...)
	if _, err := n.Admit(t.Context(), s.a, ""); err != nil {
		t.Fatal(err)
	}
	if idle := run(t, n, s.a.ID()); !idle.Person {
		t.Errorf("idle %+v, want it paused", idle)
	}
	if _, total := calls(seen); total != 0 {
		t.Errorf("%d effects of a paused agent", total)
	}
}

func TestEntriesOfStrangersHoldAnAgent(t *testing.T) {
	store := new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	a, err := perdure.Load(t.Context(), store, id)
	if err != nil {
		t.Fatal(err)
	}
	q := a.Fold().Asks[0]
	s := on(t, a)
	s.write(perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest,
		Approve: true}})
	put(t, store, s.a.ID(), s.all...)
	if idle := run(t, n, id); !idle.Is(phase.RestHeld) {
		t.Errorf("idle %+v, want it held for the stranger's vote", idle)
	}
	if _, total := calls(seen); total != 0 {
		t.Error("a stranger's approval counted")
	}
}

func TestOnlyThoseAskedCanAnswer(t *testing.T) {
	keys := map[string]*perdure.Signer{}
	trust := new(perdure.Trust)
	for name, right := range map[string]perdure.Right{"owner": perdure.MayOwn, "ann": perdure.MayApprove,
		"bob": perdure.MayApprove, "cy": perdure.MayAuthor} {
		key, err := perdure.GenerateSigner(name)
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = key
		trust = trust.With(perdure.Trustee{Key: key.Key(), Name: name, Rights: right, Scope: "acme"})
	}
	key := func(who string) perdure.Key { return keys[who].Key() }
	for _, c := range []struct {
		what      string
		asked     []string
		approvers []perdure.Key
		scope     string
		owner     string
		may       string // of owner, ann, bob and cy
	}{
		{"the owner", []string{"owner"}, nil, "acme", "owner", "owner"},
		{"one by name", []string{"ann"}, nil, "acme/ops", "owner", "ann"},
		{"one by name in another scope", []string{"ann"}, nil, "other", "owner", ""},
		{"an author by name", []string{"cy"}, nil, "acme", "owner", ""},
		{"nobody in particular", nil, nil, "acme", "owner", "owner ann bob"},
		{"the owner, whose charter names an approver", []string{"owner"}, []perdure.Key{key("cy")}, "acme", "owner",
			"cy"},
		{"nobody, and the charter names one", nil, []perdure.Key{key("bob")}, "acme", "owner", "bob"},
		{"the owner, a stranger, of what was admitted: memory takes the approvers' word alone", []string{"owner"},
			[]perdure.Key{key("cy")}, "acme", "cy", ""},
		{"the operator of what was admitted", []string{"operator"}, []perdure.Key{key("cy")}, "acme", "cy", "owner"},
		{"the operator", []string{"operator"}, []perdure.Key{key("cy")}, "acme", "owner", "owner"},
		{"two", []string{"ann", "bob"}, nil, "acme", "owner", "ann bob"},
	} {
		f := &perdure.Fold{Charter: perdure.Charter{Owner: key(c.owner), Scope: c.scope, Approvers: c.approvers}}
		q := &perdure.Asking{Verdict: perdure.Verdict{Asked: c.asked}}
		var may []string
		for _, who := range []string{"owner", "ann", "bob", "cy"} {
			if trust.MayAnswer(f, q, key(who)) {
				may = append(may, who)
			}
		}
		if got := strings.Join(may, " "); got != c.may {
			t.Errorf("%s: %q may answer, want %q", c.what, got, c.may)
		}
	}
}

// Whose answer counts is said of every key, also of one that the trust file has no name for.
func TestAnswerersHaveAllKeys(t *testing.T) {
	var keys []perdure.Key
	for _, who := range []string{"owner", "ann", "bob"} {
		key, err := perdure.GenerateSigner(who)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.Key())
	}
	trust := new(perdure.Trust).
		With(perdure.Trustee{Key: keys[0], Name: "owner", Rights: perdure.MayOwn, Scope: "*"}).
		With(perdure.Trustee{Key: keys[1], Name: "ann", Rights: perdure.MayApprove, Scope: "*"}).
		With(perdure.Trustee{Key: keys[2], Rights: perdure.MayApprove, Scope: "*"})
	f := &perdure.Fold{Charter: perdure.Charter{Owner: keys[0], Scope: "acme", Approvers: keys[1:]}}
	q := &perdure.Asking{Verdict: perdure.Verdict{Asked: []string{"owner"}, Quorum: 2}}
	got := trust.Answerers(f, q)
	if !strings.Contains(got, "ann") || !strings.Contains(got, keys[2].Short()) || strings.Contains(got, "owner,") {
		t.Errorf("got %q, want ann and %s", got, keys[2].Short())
	}
}

// An author who is trusted to write asks an easier question than policy here would: it names somebody else, and one is
// enough.
func TestAnEasierQuestionIsAskedAgain(t *testing.T) {
	store := new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, store, scripted(nothing), pay)
	n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
		v := askWrites(a, r, now)
		if v.Answer == perdure.Ask {
			v.Asked, v.Quorum = []string{"security", "finance"}, 2
		}
		return v
	})
	author, bob := on(t, nil), on(t, nil)
	for key, line := range map[*perdure.Signer]perdure.Trustee{
		author.key: {Name: "author", Rights: perdure.MayAuthor}, bob.key: {Name: "bob", Rights: perdure.MayApprove},
	} {
		line.Key, line.Scope = key.Key(), perdure.AnyScope
		n.Trust = n.Trust.With(line)
	}
	id := create(t, n, perdure.Genesis{})
	var err error
	if author.a, err = perdure.Load(t.Context(), store, id); err != nil {
		t.Fatal(err)
	}
	author.write(perdure.Decision{Action: perdure.Execute{Tool: "pay"},
		Verdict: perdure.Verdict{Answer: perdure.Ask, Asked: []string{"bob"}}})
	q := author.a.Fold().Asks[0]
	bob.a = author.a
	bob.write(perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest,
		Approve: true}})
	put(t, store, id, append(author.all, bob.all...)...)
	run(t, n, id)
	f := load(t, store, id)
	if _, total := calls(seen); total != 0 || len(f.Asks) != 1 || f.Asks[0].Verdict.Quorum != 2 {
		t.Errorf("%d payments, asks %+v: want the question policy here asks", total, f.Asks)
	}
}

func TestAnOldCopyDoesNothing(t *testing.T) {
	pay, seen := counter("pay", perdure.Once)
	store, old := new(perdure.MemStore), new(perdure.MemStore)
	w := &memoryWitness{seen: map[perdure.AgentID][]perdure.Hash{}}
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	n.Witness = w
	id := create(t, n, perdure.Genesis{})
	var before []*perdure.Entry
	for e, err := range perdure.Memory(t.Context(), store, id) {
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, e)
	}
	run(t, n, id)
	put(t, old, id, before...)
	back := &perdure.Node{Store: old, Key: n.Key, Policy: n.Policy, Tools: n.Tools, Advisors: n.Advisors, Witness: w}
	if idle := run(t, back, id); !idle.Is(phase.RestOlder) || !idle.Is(phase.RestOlder) {
		t.Errorf("idle %+v, want to hear that the copy is old", idle)
	}
	if _, total := calls(seen); total != 1 {
		t.Errorf("%d payments, want 1", total)
	}
}

// What must happen once waits while nobody would notice that an older copy did it again; reads go on.
func TestABlindNodeDoesNothingThatMustHappenOnce(t *testing.T) {
	pay, paid := counter("pay", perdure.Once)
	look, looked := counter("look", perdure.Read)
	w := &memoryWitness{seen: map[perdure.AgentID][]perdure.Hash{}, fault: errors.New("the disk is full")}
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, i int64) []perdure.Action {
		if i < 2 {
			return []perdure.Action{perdure.Execute{Tool: []string{"look", "pay"}[i]}}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	}), pay, look)
	n.Witness = w
	id := create(t, n, perdure.Genesis{})
	idle := run(t, n, id)
	_, reads := calls(looked)
	if _, total := calls(paid); total != 0 || reads != 1 || !idle.Is(phase.RestBlind) || idle.Until == 0 {
		t.Errorf("%d payments and %d looks, idle %+v: want to hear that it waits", total, reads, idle)
	}
	w.fault = nil
	if run(t, n, id); load(t, n.Store, id).Ended == nil {
		t.Error("it did not go on")
	}
	if _, total := calls(paid); total != 1 {
		t.Errorf("%d payments, want 1", total)
	}
}

// memoryWitness is a witness that forgets when the test ends.
type memoryWitness struct {
	seen  map[perdure.AgentID][]perdure.Hash
	fault error
}

func (w *memoryWitness) Seen(_ context.Context, id perdure.AgentID) (perdure.Sighting, error) {
	return perdure.Sighting{Heads: w.seen[id]}, nil
}

func (w *memoryWitness) Fault() error { return w.fault }

func (w *memoryWitness) Forget(id perdure.AgentID) error {
	delete(w.seen, id)
	return nil
}

func (w *memoryWitness) Sync() {}

func (w *memoryWitness) See(id perdure.AgentID, s perdure.Sighting) {
	if !s.Copy {
		w.seen[id] = s.Heads
	}
}

// A quorum is of people: who has two keys, by one name or because the agent was handed on to their new one, is one of
// them.
func TestAQuorumCountsPeople(t *testing.T) {
	keys := map[string]perdure.Key{}
	trust := new(perdure.Trust)
	for _, who := range []struct {
		key, name string
		right     perdure.Right
	}{
		{"old", "alice", perdure.MayOwn}, {"new", "", perdure.MayOwn}, {"laptop", "bob", perdure.MayApprove},
		{"phone", "bob", perdure.MayApprove},
		{"cy", "", perdure.MayApprove}, {"dan", "", perdure.MayApprove},
	} {
		key, err := perdure.GenerateSigner("k")
		if err != nil {
			t.Fatal(err)
		}
		keys[who.key] = key.Key()
		trust = trust.With(perdure.Trustee{Key: key.Key(), Name: who.name, Rights: who.right, Scope: "acme"})
	}
	f := &perdure.Fold{Charter: perdure.Charter{Owner: keys["new"], Scope: "acme"}, Former: []perdure.Key{keys["old"]}}
	for _, c := range []struct {
		asked, by string
		want      int
	}{
		{"owner bob", "old new", 1},
		{"owner bob", "laptop phone", 1},
		{"owner bob", "old new laptop phone", 2},
		{"", "old new", 1},
		{"", "laptop phone", 1},
		{"", "cy dan", 2},
		{"operator", "new old", 1},
		{"owner alice", "new old", 2}, // handed on by alice, who is asked by name
	} {
		q := &perdure.Asking{Verdict: perdure.Verdict{Answer: perdure.Ask, Asked: strings.Fields(c.asked), Quorum: 2}}
		for i, who := range strings.Fields(c.by) {
			q.Votes = append(q.Votes, perdure.Vote{Event: perdure.Hash{byte(i + 1)}, Origin: keys[who], Approve: true})
		}
		if yes := len(trust.Tally(f, q, time.Now()).Votes); yes != c.want {
			t.Errorf("asked %q, answered by %q: %d people, want %d", c.asked, c.by, yes, c.want)
		}
	}
}

// Rules that let an effect happen once enough approved it count only those whom they ask now, not those who were asked
// before they changed.
func TestAChangedPolicyCountsWhomItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 1)), pay)
		asks := func(who string) perdure.PolicyFunc {
			return func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
				v := askWrites(a, r, now)
				if v.Answer == perdure.Ask && r.Approvals > 0 {
					v.Answer = perdure.Allow
				} else if v.Answer == perdure.Ask {
					v.Asked = []string{who}
				}
				return v
			}
		}
		n.Policy, n.PolicyHash = asks("owner"), perdure.HashOf([]byte("owner"))
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		later := &perdure.Node{Store: n.Store, Key: n.Key, Trust: n.Trust, Tools: n.Tools, Advisors: n.Advisors}
		later.Policy, later.PolicyHash = asks("bob"), perdure.HashOf([]byte("bob"))
		q := load(t, n.Store, id).Asks[0]
		approve(t, later, id, &q)
		run(t, later, id)
		if _, total := calls(seen); total != 0 {
			t.Errorf("%d payments that bob, who is asked now, never approved", total)
		}
		if f := load(t, n.Store, id); len(f.Asks) != 1 || !slices.Equal(f.Asks[0].Verdict.Asked, []string{"bob"}) {
			t.Errorf("the open questions are %+v, want one that asks bob", f.Asks)
		}
	})
}

// One snapshot that cannot be derived, by the owner, who is believed, does not let those of an author join.
func TestNoLieJoinsBehindWhatCannotBeDerived(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(nothing))
	author, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	trust := n.Trust.With(perdure.Trustee{Key: author.Key(), Name: "author", Rights: perdure.MayAuthor,
		Scope: perdure.AnyScope})
	id := create(t, n, perdure.Genesis{})
	join := func(by *perdure.Signer, goal string) error {
		a := loaded(t, store, id)
		f := *a.Fold()
		f.Intent.Goal = goal
		entries, _, err := by.Commit(a, time.Now(), perdure.Draft{Body: perdure.Snapshot{Fold: f}})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = trust.Join(t.Context(), store, id, func(yield func(*perdure.Entry, error) bool) {
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
		})
		return err
	}
	if err := join(author, "pay mallory"); err == nil {
		t.Error("an author's snapshot that cannot be derived joins")
	}
	if err := join(n.Key, "the owner's word"); err != nil {
		t.Error(err)
	}
	if err := join(author, "pay mallory"); err == nil {
		t.Error("an author's snapshot that cannot be derived joins behind the owner's")
	}
}

// What this node vouches for is what somebody looked at, and nothing that came after.
func TestWhatCameAfterSomebodyLookedIsNotAdmitted(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(nothing))
	s := newStranger(t, perdure.Genesis{})
	looked := s.a
	s.write(open("pay", perdure.Once))
	put(t, store, s.a.ID(), s.all...)
	if was, err := n.Admit(t.Context(), looked, ""); !errors.Is(err, perdure.ErrConflict) || was {
		t.Errorf("admitted: %v, %v; want a conflict", was, err)
	}
	if n.Trusted().Counts(loaded(t, store, s.a.ID())) == nil {
		t.Error("it counts")
	}
}

// A node puts its name to nothing of an agent that does not count: no snapshot, and no word about its seat.
func TestNothingIsVouchedForThatDoesNotCount(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(nothing))
	id := create(t, n, perdure.Genesis{})
	s := on(t, loaded(t, store, id))
	s.write(perdure.Event{Name: "hello"})
	put(t, store, id, s.all...)
	before := load(t, store, id).Count
	for what, do := range map[string]func() error{
		"a snapshot": func() error { _, err := n.Snapshot(t.Context(), id); return err },
		"its seat":   func() error { return n.GiveSeat(t.Context(), id, s.key.Key(), "") },
	} {
		if err := do(); !errors.Is(err, perdure.ErrRejected) {
			t.Errorf("%s: %v, want it refused", what, err)
		}
	}
	if after := load(t, store, id).Count; after != before {
		t.Errorf("%d entries were written", after-before)
	}
}

// What a stranger puts into the store while policy decides is seen before the effect begins.
func TestAStrangersWordWhileANodeDecidesStopsTheEffect(t *testing.T) {
	store := new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	id := create(t, n, perdure.Genesis{})
	came := false
	n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
		if _, ok := r.Action.(perdure.Execute); ok && !came {
			came = true
			s := on(t, loaded(t, store, id))
			s.write(perdure.Event{Name: "hello"})
			put(t, store, id, s.all...)
		}
		return allow(a, r, now)
	})
	run(t, n, id)
	if _, total := calls(seen); total != 0 || !came {
		t.Errorf("%d payments, want none before somebody has looked at what came", total)
	}
}
