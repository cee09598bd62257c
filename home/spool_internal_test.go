package home

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// breaksOff has a transfer of an agent break off after something of it came.
func breaksOff(t *testing.T, h *Home, id perdure.AgentID, sender string) {
	t.Helper()
	s, err := h.openSpool(id, sender)
	if err != nil {
		t.Fatal(err)
	}
	s.size = 1
	if _, err := s.f.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// Who breaks off many transfers loses the oldest of their own, and nothing of anybody else's.
func TestTransfersThatBrokeOffAreForgottenPerSender(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	breaksOff(t, h, perdure.AgentID{0xff}, "honest")
	begun := time.Now().Add(-time.Hour)
	for i := range maxSpools + 3 {
		id := perdure.AgentID{byte(i)}
		breaksOff(t, h, id, "hostile")
		at := begun.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(h.spoolFile(id, "hostile"), time.Time{}, at); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(h.Dir, spoolDir, "*"+spoolExt))
	if err != nil || len(left) != maxSpools+1 {
		t.Errorf("%d files lie there, want %d of one sender and one of another (%v)", len(left), maxSpools, err)
	}
	for name, want := range map[string]bool{
		h.spoolFile(perdure.AgentID{0xff}, "honest"):           true,
		h.spoolFile(perdure.AgentID{maxSpools + 2}, "hostile"): true,
		h.spoolFile(perdure.AgentID{3}, "hostile"):             true,
		h.spoolFile(perdure.AgentID{2}, "hostile"):             false,
	} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: is there %v, want %v", filepath.Base(name), err == nil, want)
		}
	}
}

// Who goes on with a transfer drops none: not its own file, and not one of the others.
func TestGoingOnWithATransferForgetsNone(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	for i := range maxSpools {
		breaksOff(t, h, perdure.AgentID{byte(i)}, "me")
	}
	breaksOff(t, h, perdure.AgentID{0}, "me")
	left, err := filepath.Glob(filepath.Join(h.Dir, spoolDir, "*"+spoolExt))
	if err != nil || len(left) != maxSpools {
		t.Errorf("%d files lie there, want %d (%v)", len(left), maxSpools, err)
	}
}

// Who sends one entry again and again is refused at the second, also where it lay there from before, and nothing of it
// stays.
func TestWhoRepeatsAnEntryIsRefused(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	key, err := perdure.GenerateSigner("hostile")
	if err != nil {
		t.Fatal(err)
	}
	e, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: "again", Goal: "be sent"},
		Charter: perdure.Charter{Scope: "home"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []int{0, 1} {
		sent := 0
		send := func(most int) error {
			s, err := h.openSpool(e.ID(), "hostile")
			if err != nil {
				t.Fatal(err)
			}
			err = s.fill(func(yield func(*perdure.Entry, error) bool) {
				for sent = 0; sent < most && yield(e, nil); {
					sent++
				}
			})
			return errors.Join(err, s.close())
		}
		if err := send(before); err != nil {
			t.Fatal(err)
		}
		err := send(100)
		if !errors.Is(err, perdure.ErrInvalid) || !strings.Contains(err.Error(), e.Name.Short()+" of agent ") ||
			sent > 1 {
			t.Errorf("%d before: %d were taken, %v, want the second refused", before, sent, err)
		}
		if left, _ := filepath.Glob(filepath.Join(h.Dir, spoolDir, "*"+spoolExt)); len(left) != 0 {
			t.Errorf("%d before: %v are left", before, left)
		}
	}
}

// Who sends again and again what lies there is refused at the second round, however much that is.
func TestWhoRepeatsManyEntriesIsRefused(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	s, err := h.openSpool(perdure.AgentID{1}, "hostile")
	if err != nil {
		t.Fatal(err)
	}
	const lie = 1<<18 + 1
	for i := range lie {
		name := perdure.Hash{byte(i), byte(i >> 8), byte(i >> 16)}
		s.names[name] = spooled{}
	}
	sent := 0
	err = s.fill(func(yield func(*perdure.Entry, error) bool) {
		for sent < 2*lie {
			i := sent % lie
			e := &perdure.Entry{Name: perdure.Hash{byte(i), byte(i >> 8), byte(i >> 16)}}
			if e.Agent = s.id; !yield(e, nil) {
				return
			}
			sent++
		}
	})
	if !errors.Is(err, perdure.ErrInvalid) || sent != lie {
		t.Errorf("%d were taken, %v, want %d and the next refused", sent, err, lie)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

// One transfer at a time has the file, although each removes it in the end.
func TestOneTransferHasTheFile(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	var inside, got atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				s, err := h.openSpool(perdure.AgentID{1}, "me")
				if err != nil {
					continue // another has it
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the file", n)
				}
				got.Add(1)
				inside.Add(-1)
				if err := s.close(); err != nil { // nothing came: it is removed
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got.Load() == 0 {
		t.Error("nobody had it")
	}
}

// A sender who was not told what lies there begins again: what lies there does not grow by that.
func TestWhatLiesThereIsNotAddedTwice(t *testing.T) {
	t.Parallel()
	k, err := perdure.GenerateSigner("a")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: k}
	a, err := n.Create(t.Context(), perdure.Genesis{Charter: perdure.Charter{Scope: "home"},
		Intent: perdure.Intent{Name: "a", Goal: "hear"}})
	if err != nil {
		t.Fatal(err)
	}
	h, size := &Home{Dir: t.TempDir()}, int64(0)
	for i := range 3 {
		s, err := h.openSpool(a.ID(), "me")
		if err == nil {
			err = s.fill(perdure.Memory(t.Context(), n.Store, a.ID()))
		}
		if err != nil || i > 0 && s.size != size || len(s.heads()) != 1 {
			t.Fatalf("%d bytes with heads %v, after %d: %v", s.size, s.heads(), size, err)
		}
		size = s.size
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What one sender's transfers leave that broke off is bounded together.
func TestTransfersThatBrokeOffAreBoundedTogether(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	begun := time.Now().Add(-time.Hour)
	for i := range 4 {
		id := perdure.AgentID{byte(i)}
		breaksOff(t, h, id, "me")
		name := h.spoolFile(id, "me")
		at := begun.Add(time.Duration(i) * time.Second)
		if err := errors.Join(os.Truncate(name, maxArrival/2), os.Chtimes(name, time.Time{}, at)); err != nil { // holes
			t.Fatal(err)
		}
	}
	breaksOff(t, h, perdure.AgentID{9}, "me")
	for i, want := range []bool{false, false, true, true} {
		if _, err := os.Stat(h.spoolFile(perdure.AgentID{byte(i)}, "me")); (err == nil) != want {
			t.Errorf("%d: is there %v, want %v", i, err == nil, want)
		}
	}
}

// What is arriving is bounded over all senders, also of transfers that are under way: who has more than an equal part
// gives way, first with what broke off.
func TestTransfersUnderWayAreBoundedTogether(t *testing.T) {
	t.Parallel()
	k, err := perdure.GenerateSigner("a")
	if err != nil {
		t.Fatal(err)
	}
	h, most := &Home{Dir: t.TempDir()}, int64(0)
	var under []*spool
	arrives := func(sender string) (*spool, error) {
		t.Helper()
		e, err := k.Genesis(perdure.Genesis{Charter: perdure.Charter{Scope: "home"},
			Intent: perdure.Intent{Name: "a", Goal: "hear"}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := h.openSpool(e.ID(), sender)
		if err != nil {
			t.Fatal(err)
		}
		if most == 0 {
			most = int64(len(b))*4 + 100 // four fit, and a little more
		}
		s.all, under = most, append(under, s)
		return s, s.fill(func(yield func(*perdure.Entry, error) bool) { yield(e, nil) })
	}
	is := func(s *spool) bool {
		_, err := os.Stat(s.f.Name())
		return err == nil
	}
	var first *spool
	for i := range 4 {
		s, err := arrives("hostile")
		if err != nil {
			t.Fatalf("transfer %d: %v", i, err)
		}
		if i == 0 {
			first = s
		}
	}
	if _, err := arrives("hostile"); KindOf(err) != KindTooMany {
		t.Errorf("one more of the same sender: %v, want that it is too much", err)
	}
	var hint *perdure.Hint
	if _, err := arrives("hostile"); !errors.As(err, &hint) {
		t.Errorf("got %v, want what to do about it", err)
	}
	if _, err := arrives("honest"); err != nil {
		t.Errorf("another sender: %v, want that it has its part", err)
	}
	if err := first.close(); err != nil { // it broke off
		t.Fatal(err)
	}
	s, err := arrives("honest")
	if err != nil || is(first) || !is(s) {
		t.Errorf("another sender, %v; what broke off is there: %v", err, is(first))
	}
	for _, s := range under {
		if s != first {
			if err := s.close(); err != nil {
				t.Error(err)
			}
		}
	}
}
