package home

import (
	"errors"
	"os"
	"path/filepath"
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
		if err != nil || i > 0 && (s.size != size || len(s.heads()) != 1) {
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
