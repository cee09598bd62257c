package sqlite_test

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

func TestTheAgentsOfADeadNodeAreTakenOverAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	open := func() *sqlite.Store {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	one, two := open(), open()
	key, err := perdure.GenerateSigner("n")
	if err != nil {
		t.Fatal(err)
	}
	var ids []perdure.AgentID
	for range 3 {
		a, err := (&perdure.Node{Store: one, Key: key}).Create(t.Context(),
			perdure.Genesis{Intent: perdure.Intent{Goal: "g"}, Charter: perdure.Charter{Scope: "s"}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID())
	}
	living, dead, unknown := perdure.Key{1}, perdure.Key{2}, perdure.Key{3}
	for i, node := range []perdure.Key{living, dead, unknown} {
		if _, err := one.Claim(t.Context(), ids[i], node, 30*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	// What is left of a node that was killed: its file, without a lock. Of the third not even that.
	for _, node := range []perdure.Key{dead, unknown} {
		if err := os.Remove(filepath.Join(path+"-nodes", hex.EncodeToString(node[:]))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(path+"-nodes", hex.EncodeToString(dead[:])), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	me := perdure.Key{4}
	for i, want := range []error{perdure.ErrConflict, nil, perdure.ErrConflict} {
		if _, err := two.Claim(t.Context(), ids[i], me, time.Second); !errors.Is(err, want) {
			t.Errorf("claim of agent %d: %v, want %v", i, err, want)
		}
	}
	if _, err := one.Claim(t.Context(), ids[1], dead, 30*time.Second); err == nil {
		t.Error("a claim of a node that lives was taken")
	}
}

func TestReclaimMakesTheAgentsOfTheDeadDue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	key, err := perdure.GenerateSigner("n")
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&perdure.Node{Store: s, Key: key}).Create(t.Context(),
		perdure.Genesis{Intent: perdure.Intent{Goal: "g"}, Charter: perdure.Charter{Scope: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	sleep := perdure.Decision{Action: perdure.Sleep{Trigger: perdure.After{Millis: 3_600_000}},
		Verdict: perdure.Verdict{Answer: perdure.Allow}}
	entries, _, err := key.Commit(a, time.Now(), perdure.Draft{Body: sleep}) // by itself it is due in an hour
	if err == nil {
		err = s.Append(t.Context(), a.ID(), a.Heads(), entries...)
	}
	if err != nil {
		t.Fatal(err)
	}
	node := perdure.Key{1}
	if _, err := s.Claim(t.Context(), a.ID(), node, 30*time.Minute); err != nil { // as long as Node.Lease may be
		t.Fatal(err)
	}
	held := 0
	for one, err := range s.Held(t.Context()) {
		if err != nil || one.Dead {
			t.Fatalf("%+v, %v", one, err)
		}
		held++
	}
	if held != 1 {
		t.Errorf("%d agents are at work, want the one that is claimed for long", held)
	}
	due := func() (n int) {
		t.Helper()
		if err := s.Reclaim(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Due(t.Context(), time.Now()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if n := due(); n != 0 {
		t.Errorf("%d agents are due, want none: its node lives", n)
	}
	file := filepath.Join(path+"-nodes", hex.EncodeToString(node[:]))
	if err := os.Rename(file, file+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The handle itself still holds the name: another one finds out.
	other, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	s = other
	if n := due(); n != 1 {
		t.Errorf("%d agents are due, want the one whose node died", n)
	}
}

func TestTwoNodesWithOneKeyDoNotWorkOnOneAgent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	key, err := perdure.GenerateSigner("n")
	if err != nil {
		t.Fatal(err)
	}
	busy, stop := make(chan struct{}), make(chan struct{})
	node := func() *perdure.Node {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return &perdure.Node{Store: s, Key: key, Advisors: map[string]perdure.Advisor{"": waiting{busy, stop}}}
	}
	one, two := node(), node()
	a, err := one.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
		Charter: perdure.Charter{Scope: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := one.RunAgent(t.Context(), a.ID())
		done <- err
	}()
	<-busy
	if _, err := two.RunAgent(t.Context(), a.ID()); !errors.Is(err, perdure.ErrConflict) {
		t.Errorf("a second node with the same key: %v, want ErrConflict", err)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// waiting is an advisor that says when it is asked, and has nothing to say until it may stop.
type waiting struct{ busy, stop chan struct{} }

func (w waiting) Advise(context.Context, *perdure.Agent) (perdure.Advice, error) {
	w.busy <- struct{}{}
	<-w.stop
	return perdure.Advice{}, nil
}
