package capsule

import (
	"iter"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// copyOf is a place that an agent is copied to and from.
type copyOf struct {
	author
	t     testing.TB
	store *perdure.MemStore
	id    perdure.AgentID
	trust *perdure.Trust
}

// places are two that trust each other: the agent is at home in one, and waits in the other.
func places(t testing.TB) (home, away *copyOf) {
	w, b := newAuthor(), newAuthor()
	g, a := w.genesis("a")
	first, _ := w.commit(a, event("first", 10, 1))
	s, id := put(t, g, first[0])
	trust := func(rights perdure.Right) *perdure.Trust {
		return perdure.NewTrust(perdure.Trustee{Key: w.Key(), Rights: perdure.MayOwn, Scope: "acme"},
			perdure.Trustee{Key: b.Key(), Rights: rights, Scope: "acme"})
	}
	home = &copyOf{w, t, s, id, trust(perdure.MayAuthor | perdure.MayApprove)}
	away = &copyOf{b, t, new(perdure.MemStore), id, trust(perdure.MayOwn)}
	if got := away.takes(home); got.Hold.IsZero() {
		t.Fatalf("it arrived as %+v, want it held", got)
	}
	return home, away
}

func (c *copyOf) file() []byte { return exported(c.t, c.store, c.id, Options{}) }

func (c *copyOf) takes(from *copyOf) *Arrival {
	c.t.Helper()
	got, err := take(c.t, c.store, from.file(), ImportOptions{Trust: c.trust, Key: c.Signer, Now: began, Older: true})
	if err != nil {
		c.t.Fatal(err)
	}
	return got
}

// joins is takes by the way of what peers send.
func (c *copyOf) joins(from *copyOf) {
	c.t.Helper()
	if _, _, err := Join(c.t.Context(), c.store, c.id, perdure.Memory(c.t.Context(), from.store, c.id),
		ImportOptions{Trust: c.trust, Key: c.Signer, Now: began}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *copyOf) agent() *perdure.Agent {
	c.t.Helper()
	a := must(perdure.Load(c.t.Context(), c.store, c.id))
	if err := c.trust.Counts(a); err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c *copyOf) tell(ev perdure.Event) {
	c.t.Helper()
	a := c.agent()
	es, _ := c.commit(a, ev)
	if err := c.store.Append(c.t.Context(), c.id, a.Heads(), es...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *copyOf) paused(what string, want int) {
	c.t.Helper()
	if got := c.agent().Fold().Paused; len(got) != want {
		c.t.Fatalf("%s: paused by %d, want %d", what, len(got), want)
	}
}

// A hold is a matter of the place that put it, whichever way copies come and go.
func TestAHoldStaysWhereItWasPut(t *testing.T) {
	for way, passes := range map[string]func(to, from *copyOf){
		"imported": func(to, from *copyOf) { to.takes(from) }, "sent": (*copyOf).joins,
	} {
		t.Run(way, func(t *testing.T) {
			home, away := places(t)
			away.tell(event("more", 10, 2))
			passes(home, away)
			home.paused("where it is at home", 0)
			heads := home.agent().Heads()
			if passes(home, away); !slices.Equal(home.agent().Heads(), heads) {
				t.Fatal("the same copy again changed something")
			}
			if got := home.takes(away); got.Relation != Same {
				t.Errorf("the same copy again is %v", got.Relation)
			}
			passes(away, home)
			away.paused("where it waits, after the way back", 1)
			heads = away.agent().Heads()
			if passes(away, home); !slices.Equal(away.agent().Heads(), heads) {
				t.Fatal("the way back again changed something")
			}
			passes(home, away)
			home.paused("at home, once more", 0)

			home.tell(perdure.Event{Name: "pause", By: "ann", Notice: perdure.Pause{Note: "wait"}})
			passes(away, home)
			away.paused("with the pause of a person, too", 2)
			passes(home, away)
			home.paused("paused by a person", 1)
			home.tell(perdure.Event{Name: "resume", By: "ann",
				Notice: perdure.Resume{Of: home.agent().Fold().Paused}})
			passes(away, home)
			away.paused("where it waits, after that pause", 1)

			away.tell(perdure.Event{Name: "resume", By: "bob",
				Notice: perdure.Resume{Of: away.agent().Fold().Paused}})
			passes(home, away)
			passes(away, home)
			home.paused("at home, admitted elsewhere", 0)
			away.paused("admitted", 0)
		})
	}
}

// Who says elsewhere that it is to go on where it waits, admits it.
func TestAPersonAdmitsFromElsewhere(t *testing.T) {
	home, away := places(t)
	hold := away.agent().Fold().Paused
	home.takes(away)
	home.tell(perdure.Event{Name: "resume", By: "ann", Notice: perdure.Resume{Of: hold}})
	away.takes(home)
	away.paused("admitted by its owner, elsewhere", 0)
}

// An agent that a third place admits is not paused there by what the second one says.
func TestAnAdmittedAgentIsNotHeldByWhatArrivesWithIt(t *testing.T) {
	_, away := places(t)
	allow := func(*perdure.Agent) perdure.Verdict { return perdure.Verdict{Answer: perdure.Allow} }
	for what, o := range map[string]ImportOptions{
		"by policy": {Admit: allow, Trust: away.trust}, "by a person": {Ready: true, Trust: away.trust},
		"as a stranger's": {Ready: true},
	} {
		third := &copyOf{newAuthor(), t, new(perdure.MemStore), away.id, o.Trust}
		own := perdure.Trustee{Key: third.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope}
		if third.trust = perdure.NewTrust(own); o.Trust != nil {
			third.trust = o.Trust.With(own)
		}
		o.Trust, o.Key, o.Now = third.trust, third.Signer, began
		if _, err := take(t, third.store, away.file(), o); err != nil {
			t.Fatal(err)
		}
		third.paused(what, 0)
	}
}

// There is nothing to vouch for in an agent that has ended: it keeps its head, whoever admits it.
func TestAnEndedAgentKeepsItsHead(t *testing.T) {
	w, here := newAuthor(), newAuthor()
	g, a := w.genesis("a")
	end, a := w.commit(a, perdure.Event{Name: "cancel", Notice: perdure.Cancel{}})
	s, id := put(t, g, end[0])
	allow := func(*perdure.Agent) perdure.Verdict { return perdure.Verdict{Answer: perdure.Allow} }
	for _, o := range []ImportOptions{{Admit: allow}, {Ready: true}, {}} {
		to := new(perdure.MemStore)
		o.Trust, o.Key, o.Now = new(perdure.Trust), here.Signer, began
		if _, err := take(t, to, exported(t, s, id, Options{}), o); err != nil {
			t.Fatal(err)
		}
		if got := must(to.Heads(t.Context(), id)); !slices.Equal(got, a.Heads()) {
			t.Errorf("the heads are %v, want %v", got, a.Heads())
		}
	}
}

// Whoever may only write lifts holds that others put, and by the same entry no pause of a person.
func TestWhatLetsGoOfAHoldLiftsNoPauseOfAPerson(t *testing.T) {
	home, away := places(t)
	holds := must(standing(away.agent(), perdure.Memory(t.Context(), away.store, away.id)))
	es, _, err := home.LetGo(away.agent(), began, holds...)
	if err != nil || len(es) != 1 {
		t.Fatalf("%v %v, want one entry", es, err)
	}
	ev := es[0].Content().(perdure.Event)
	if !ev.LetsGo() {
		t.Fatalf("%+v does not let go", ev)
	}
	pause, paused := home.commit(away.agent(), perdure.Event{Name: "pause", Notice: perdure.Pause{}})
	for what, change := range map[string]func(*perdure.Event){
		"names another": func(ev *perdure.Event) { ev.Notice = perdure.Resume{Of: []perdure.Hash{pause[0].Name}} },
		"names one more": func(ev *perdure.Event) {
			ev.Notice = perdure.Resume{Of: []perdure.Hash{holds[0].Name, pause[0].Name}}
		},
		"names none":      func(ev *perdure.Event) { ev.Notice = perdure.Resume{} },
		"proves nothing":  func(ev *perdure.Event) { ev.Data = nil },
		"is of somebody":  func(ev *perdure.Event) { ev.By = "ann" },
		"sets state":      func(ev *perdure.Event) { ev.Set = map[string]perdure.Data{"x": ev.Data} },
		"is called other": func(ev *perdure.Event) { ev.Name = "go" },
		"carries a pause": func(ev *perdure.Event) {
			ev.Notice = perdure.Resume{Of: []perdure.Hash{pause[0].Name}}
			ev.Data = must(perdure.DataOf([][]byte{pause[0].HeaderBytes(), pause[0].BodyBytes()}))
		},
	} {
		other := ev
		change(&other)
		machine := newAuthor()
		_, next := machine.commit(paused, other)
		if other.LetsGo() {
			t.Errorf("an event that %s lets go", what)
		}
		trust := home.trust.With(perdure.Trustee{Key: away.Key(), Rights: perdure.MayOwn, Scope: "acme"},
			perdure.Trustee{Key: machine.Key(), Rights: perdure.MayAuthor, Scope: "acme"})
		if trust.Counts(next) == nil {
			t.Errorf("an event that %s counts by the right of an author", what)
		}
	}
}

// A machine that is trusted to write, and no more, can have been where the hold was let go of.
func TestWhatLetsGoTakesTheRightOfAnAuthor(t *testing.T) {
	home, away := places(t)
	machine := &copyOf{newAuthor(), t, new(perdure.MemStore), home.id, nil}
	writes := perdure.Trustee{Key: machine.Key(), Rights: perdure.MayAuthor, Scope: "acme"}
	machine.trust = home.trust.With(perdure.Trustee{Key: machine.Key(), Rights: perdure.MayOwn, Scope: "acme"})
	if err := machine.store.PutAll(t.Context(), home.id, entriesOf(t, home)); err != nil {
		t.Fatal(err)
	}
	machine.takes(away)
	machine.paused("at the machine", 0)
	home.trust, away.trust = home.trust.With(writes), away.trust.With(writes)
	home.takes(machine)
	home.paused("at home", 0)
	away.takes(machine)
	away.paused("where it waits", 1)
}

func entriesOf(t testing.TB, c *copyOf) iter.Seq2[*perdure.Entry, error] {
	var all []*perdure.Entry
	for e, err := range perdure.Memory(t.Context(), c.store, c.id) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return each(all)
}

// A key that was taken back speaks for nobody: what it says of a hold admits no agent, whoever lets go of it.
func TestAKeyThatWasTakenBackAdmitsNothing(t *testing.T) {
	home, away := places(t)
	machine, gone := newAuthor(), newAuthor()
	hold := away.agent().Fold().Paused
	home.takes(away)
	before := home.agent() // where the key was good
	home.tell(perdure.Event{Name: "key", Notice: perdure.KeyChange{Revoke: gone.Key()}})
	said, _ := gone.commit(before, perdure.Event{Name: "resume", By: "ann", Notice: perdure.Resume{Of: hold}})
	holds := must(standing(away.agent(), perdure.Memory(t.Context(), away.store, away.id)))
	let, _, err := machine.LetGo(away.agent(), began, holds...)
	if err != nil {
		t.Fatal(err)
	}
	for _, es := range [][]*perdure.Entry{said, let} {
		if err := home.store.PutAll(t.Context(), home.id, each(es)); err != nil {
			t.Fatal(err)
		}
	}
	away.trust = away.trust.With(perdure.Trustee{Key: machine.Key(), Rights: perdure.MayAuthor, Scope: "acme"})
	away.takes(home)
	away.paused("where it waits", 1)
}

// Somebody admits an agent while entries arrive that let go of its hold elsewhere. Whether it is to be held was found
// out before, so it was held again.
func TestWhoIsAdmittedWhileEntriesArriveStaysAdmitted(t *testing.T) {
	home, away := places(t)
	away.tell(event("more", 10, 2))
	home.joins(away) // which lets go of the hold at home
	var heard []*perdure.Entry
	for e, err := range perdure.Memory(t.Context(), away.store, away.id) {
		if err != nil {
			t.Fatal(err)
		}
		heard = append(heard, e)
	}
	for at := 1; ; at++ { // in each of the passes over what arrives
		here := &copyOf{away.author, t, new(perdure.MemStore), away.id, away.trust}
		if err := here.store.Put(t.Context(), here.id, heard...); err != nil {
			t.Fatal(err)
		}
		here.paused("before they arrive", 1)
		passes := 0
		entries := func(yield func(*perdure.Entry, error) bool) {
			if passes++; passes == at {
				here.tell(perdure.Event{Name: "resume", By: "bob",
					Notice: perdure.Resume{Of: here.agent().Fold().Paused}})
			}
			perdure.Memory(t.Context(), home.store, home.id)(yield)
		}
		_, _, err := Join(t.Context(), here.store, here.id, entries,
			ImportOptions{Trust: here.trust, Key: here.Signer, Now: began})
		if err != nil {
			t.Fatalf("admitted in pass %d: %v", at, err)
		}
		if passes < at {
			if at < 3 {
				t.Errorf("there were %d passes only", passes)
			}
			return
		}
		if got := len(here.agent().Fold().Paused); got > 0 {
			t.Errorf("admitted in pass %d: it is held again, by %d", at, got)
		}
	}
}
