package nats

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/natstest"
)

// rot changes a bit of the last message on each subject, or of that at a place, where the server keeps it.
func rot(t *testing.T, server *natstest.Server, s *Store, stream string, at uint64, subjects ...string) {
	t.Helper()
	var all []*message
	for _, subject := range subjects {
		q := query{Last: subject}
		if at > 0 {
			q = query{Seq: at}
		}
		m, err := s.get(t.Context(), stream, q)
		if err != nil || m == nil {
			t.Fatalf("message on %s: %v, %v", subject, m, err)
		}
		all = append(all, m)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if err := server.Flip(stream, m.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Begin(); err != nil {
		t.Fatal(err)
	}
}

// TestABitThatFlipsInTheMiddleIsHealed flips a bit of a message in the middle of a memory.
func TestABitThatFlipsInTheMiddleIsHealed(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	s := open(t, server.URL("middle"), Options{Patience: patient})
	enginetest.Heals(t, s, func(id perdure.AgentID) error {
		rot(t, server, s, s.streams.log, places(t, s, id)[3], s.streams.logs(id))
		return nil
	}, errLost)
}

// TestABitThatFlipsAtTheEndIsHealed flips a bit of the last message of a memory, also where that is the last in the
// log. Each has a server of its own: where the last in the log is damaged, a server that starts drops all that comes
// after the first that is.
func TestABitThatFlipsAtTheEndIsHealed(t *testing.T) {
	for _, last := range []bool{false, true} {
		t.Run(fmt.Sprint(last), func(t *testing.T) {
			t.Parallel()
			server := natstest.Start(t)
			s := open(t, server.URL("end"), Options{Patience: patient})
			enginetest.HealsTheEnd(t, s, func(id perdure.AgentID) error {
				if !last {
					enginetest.NewWriter(t, s)
				}
				rot(t, server, s, s.streams.log, 0, s.streams.logs(id))
				s.states.forget(id) // as where no process is left that saw it
				return nil
			})
		})
	}
}

// TestARepairTakesNothingOut flips a bit of a memory beside which others are written: the repair loses nothing of them,
// and nothing more of the one that it repairs, also where a copy brings back the rest and the server is started again.
func TestARepairTakesNothingOut(t *testing.T) {
	for _, end := range []bool{false, true} {
		t.Run(fmt.Sprint(end), func(t *testing.T) {
			t.Parallel()
			server := natstest.Start(t)
			s := open(t, server.URL("beside"), Options{Patience: patient})
			w, good := enginetest.Grown(t, s)
			id, lost := w.Agent.ID(), 3
			all := places(t, s, id)
			if end {
				lost = len(all) - 1
			}
			after := enginetest.NewWriter(t, s)
			rot(t, server, s, s.streams.log, all[lost], s.streams.logs(id))
			s.states.forget(id) // as where no process is left that saw it
			got, err := s.Heal(t.Context(), id, nil)
			if err != nil || got.Leave == "" || got.Entries != int64(lost) {
				t.Fatalf("heal: %+v, %v, want %d entries, and that the store is best left", got, err, lost)
			}
			check := func() {
				t.Helper()
				if err := errors.Join(server.Stop(), server.Begin()); err != nil {
					t.Fatal(err)
				}
				s = open(t, server.URL("beside"), Options{Patience: patient})
				after.Kept(t, s)
				if _, err := perdure.Load(t.Context(), s, id); err != nil {
					t.Errorf("what was repaired: %v", err)
				}
			}
			check()
			if got, err = s.Heal(t.Context(), id, good); err != nil || got.Entries != int64(len(good)) {
				t.Fatalf("heal with a copy: %+v, %v", got, err)
			}
			check()
			w.Kept(t, s)
		})
	}
}

// TestAnEndThatCannotBeReadIsNoticed flips bits of the last messages of most agents, which nobody has released or
// listed: they are not taken for agents that are not there, and the others are found.
func TestAnEndThatCannotBeReadIsNoticed(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	s := open(t, server.URL("noticed"), Options{Patience: patient})
	var writers []*enginetest.Writer
	var older [][]*perdure.Entry // as a copy has it that was made earlier
	var rotten []string
	for i := range 6 {
		w, good := enginetest.Grown(t, s)
		writers, older = append(writers, w), append(older, good[:3])
		if i > 0 {
			rotten = append(rotten, s.streams.logs(w.Agent.ID()))
		}
	}
	rot(t, server, s, s.streams.log, 0, rotten...)
	other := open(t, server.URL("noticed"), Options{Patience: patient})
	n := 0
	for _, err := range other.Due(t.Context(), time.Now().Add(perdure.MaxLease)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d agents are due, want the one that can be read", n)
	}
	ill, err := other.Ailing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range writers {
		heads, err := other.Heads(t.Context(), w.Agent.ID())
		if sick := ill[w.Agent.ID()].Reason != nil; sick != (i > 0) || errors.Is(err, errLost) != sick {
			t.Errorf("agent %d: it ails: %t; heads: %v, %v", i, sick, heads, err)
		}
		if err := other.Put(t.Context(), w.Agent.ID(), older[i]...); i > 0 && !errors.Is(err, errLost) {
			t.Errorf("agent %d: put where the last message cannot be read: %v", i, err)
		}
	}
}

// TestAnIndexThatRotsIsMadeAnew flips bits of the listing and of the claim of an agent: nothing more is written there,
// which would hold up the server for minutes, the other agents go on, and Reindex makes both anew: leases of others
// stay, and fences grow.
func TestAnIndexThatRotsIsMadeAnew(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	s := open(t, server.URL("index"), Options{Patience: patient})
	writers := enginetest.NewWriters(t, s, 3)
	claims := map[perdure.AgentID]perdure.Claim{}
	for _, w := range writers {
		c, err := s.Claim(t.Context(), w.Agent.ID(), w.Key(), perdure.MaxLease)
		if err == nil {
			err = s.Index(t.Context(), w.Agent.Heads(), w.Agent.Listing(time.Now()))
		}
		if err == nil {
			err = s.Enroll(t.Context(), w.Key(), []byte("{}"))
		}
		if err != nil {
			t.Fatal(err)
		}
		claims[c.Agent] = c
	}
	w, well := writers[1], writers[2]
	id := w.Agent.ID()
	rot(t, server, s, s.streams.list, 0, s.streams.lists(id))
	rot(t, server, s, s.streams.claim, 0, s.streams.claims(id), s.streams.roster(w.Key()))
	s = open(t, server.URL("index"), Options{Patience: patient})
	l := w.Agent.Listing(time.Now())
	l.Name = "other"
	for what, err := range map[string]error{
		"look":   s.Sound(t.Context()),
		"index":  s.Index(t.Context(), w.Agent.Heads(), l),
		"renew":  s.Renew(t.Context(), claims[id], perdure.MaxLease),
		"enroll": s.Enroll(t.Context(), w.Key(), []byte("{}")),
	} {
		if !errors.Is(err, errIndex) {
			t.Errorf("%s: %v, want that it cannot be read and what to do", what, err)
		}
	}
	if err := s.Renew(t.Context(), claims[well.Agent.ID()], perdure.MaxLease); err != nil {
		t.Errorf("renew the claim of another agent: %v", err)
	}
	if err := s.Reindex(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Sound(t.Context()); err != nil {
		t.Errorf("once it is made anew: %v", err)
	}
	c, err := s.Claim(t.Context(), id, w.Key(), perdure.MaxLease)
	if err != nil || c.Fence <= claims[id].Fence {
		t.Errorf("claim once it is made anew: %+v, %v, want a fence above %d", c, err, claims[id].Fence)
	}
	if err := s.Renew(t.Context(), claims[well.Agent.ID()], perdure.MaxLease); err != nil {
		t.Errorf("renew the claim of another agent, which was kept: %v", err)
	}
	if err := s.Enroll(t.Context(), w.Key(), []byte("{}")); err != nil {
		t.Error(err)
	}
	if err := s.Index(t.Context(), w.Agent.Heads(), l); err != nil {
		t.Error(err)
	}
	listed := 0
	for l, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Agent == id && l.Name == "other" {
			listed++
		}
	}
	if listed != 1 {
		t.Errorf("it is listed %d times by the name that it has now, want once", listed)
	}
}

// TestAnIndexThatIsMadeAnewOutlivesACut cuts off what makes the claims anew, at every step: nobody claims what is held,
// it is said, and the next goes on from there: leases stay, and fences grow.
func TestAnIndexThatIsMadeAnewOutlivesACut(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	s := open(t, server.URL("cut"), Options{Patience: patient})
	writers := enginetest.NewWriters(t, s, 30)
	var claims []perdure.Claim
	for _, w := range writers {
		c, err := s.Claim(t.Context(), w.Agent.ID(), w.Key(), perdure.MaxLease)
		if err != nil {
			t.Fatal(err)
		}
		claims = append(claims, c)
	}
	lost := claims[10]
	rot(t, server, s, s.streams.claim, 0, s.streams.claims(lost.Agent))
	s = open(t, server.URL("cut"), Options{Patience: patient})
	info, err := s.info(t.Context(), s.streams.claim)
	if err != nil {
		t.Fatal(err)
	}
	kept, rotten, err := s.legibles(t.Context(), s.streams.claim, s.streams.prefix+"claim.*")
	if err != nil || len(kept) != 29 || len(rotten) != 1 {
		t.Fatalf("%d claims can be read, %d cannot, %v", len(kept), len(rotten), err)
	}
	refence(kept, rotten)
	if err := s.keep(t.Context(), s.streams.claim, "claim.*", info, kept); err != nil {
		t.Fatal(err)
	}
	other, err := perdure.GenerateSigner("other")
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		s = open(t, server.URL("cut"), Options{Patience: patient})
		if err := s.Sound(t.Context()); err == nil {
			t.Error("nothing is said of what was cut off")
		}
		if _, err := s.Claim(t.Context(), claims[20].Agent, other.Key(), time.Minute); !errors.Is(err,
			perdure.ErrConflict) {
			t.Errorf("another claims what is held: %v", err)
		}
	}
	check()
	if err := s.purge(t.Context(), s.streams.claim, ">", info.State.LastSeq+1); err != nil {
		t.Fatal(err)
	}
	check()
	if err := s.Renew(t.Context(), claims[5], perdure.MaxLease); err != nil { // from what is kept
		t.Error(err)
	}
	if err := s.Reindex(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s = open(t, server.URL("cut"), Options{Patience: patient})
	if err := s.Sound(t.Context()); err != nil {
		t.Error(err)
	}
	for i, c := range claims {
		if err := s.Renew(t.Context(), c, perdure.MaxLease); (err != nil) != (c == lost) {
			t.Errorf("renew claim %d: %v", i, err)
		}
	}
	if c, err := s.Claim(t.Context(), lost.Agent, other.Key(), time.Minute); err != nil || c.Fence <= lost.Fence {
		t.Errorf("claim of what was lost: %+v, %v, want a fence above %d", c, err, lost.Fence)
	}
	if _, err := s.info(t.Context(), s.streams.claim+keptSuffix); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("what was kept aside is still there: %v", err)
	}
}

// TestARepairWritesNothingOnALineThatRotted flips bits of the end and of the line of an agent: the repair says what to
// do first, and has done nothing.
func TestARepairWritesNothingOnALineThatRotted(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	s := open(t, server.URL("both"), Options{Patience: patient})
	w, good := enginetest.Grown(t, s)
	id := w.Agent.ID()
	if err := s.Index(t.Context(), w.Agent.Heads(), w.Agent.Listing(time.Now())); err != nil {
		t.Fatal(err)
	}
	enginetest.NewWriter(t, s)
	rot(t, server, s, s.streams.log, 0, s.streams.logs(id))
	rot(t, server, s, s.streams.list, 0, s.streams.lists(id))
	s = open(t, server.URL("both"), Options{Patience: patient})
	before, err := s.info(t.Context(), s.streams.log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heal(t.Context(), id, nil); !errors.Is(err, errIndex) {
		t.Errorf("heal: %v, want that the line cannot be read", err)
	}
	if after, err := s.info(t.Context(), s.streams.log); err != nil || after.State.LastSeq != before.State.LastSeq {
		t.Errorf("the log ends at %d after that, %v, want %d", after.State.LastSeq, err, before.State.LastSeq)
	}
	if err := s.Reindex(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Entries != int64(len(good)-1) {
		t.Errorf("heal after that: %+v, %v", got, err)
	}
}

// TestTheLastThatCanBeReadIsFoundSoon flips bits of claims that were renewed often: what can be read before them is
// found in few steps, also between two that cannot be.
func TestTheLastThatCanBeReadIsFoundSoon(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	s := open(t, server.URL("soon"), Options{Patience: patient})
	var claims []perdure.Claim
	for _, w := range enginetest.NewWriters(t, s, 4) {
		c, err := s.Claim(t.Context(), w.Agent.ID(), w.Key(), perdure.MaxLease)
		if err != nil {
			t.Fatal(err)
		}
		claims = append(claims, c)
	}
	const renewals = 1500
	for _, i := range []int{1, 2, 3} { // 0 stays, 1 and 3 rot, and 2 is between them
		for range renewals {
			if err := s.Renew(t.Context(), claims[i], perdure.MaxLease); err != nil {
				t.Fatal(err)
			}
		}
	}
	rot(t, server, s, s.streams.claim, 0, s.streams.claims(claims[1].Agent), s.streams.claims(claims[3].Agent))
	s = open(t, server.URL("soon"), Options{Patience: patient})
	want, err := s.get(t.Context(), s.streams.claim, query{Last: s.streams.claims(claims[2].Agent)})
	if err != nil || want == nil {
		t.Fatal(want, err)
	}
	asked := s.conn.Stats().OutMsgs
	got, err := s.lastOf(t.Context(), s.streams.claim, s.streams.prefix+"claim.*")
	if err != nil || got != want.Seq {
		t.Errorf("the last that can be read is %d, %v, want %d", got, err, want.Seq)
	}
	if asked = s.conn.Stats().OutMsgs - asked; asked > 40 {
		t.Errorf("that took %d questions", asked)
	}
}
