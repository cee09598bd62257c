package dir

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// TestAStrangersCopyNeitherReplacesNorHidesAnAgent drops a copy with a stranger's entries beside an agent, under names
// that come before and after its own, and under the name a folder gives by itself.
func TestAStrangersCopyNeitherReplacesNorHidesAnAgent(t *testing.T) {
	owner, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := perdure.GenerateSigner("stranger")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	g, err := owner.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: "bill", Goal: "pay"},
		Charter: perdure.Charter{Scope: "acme"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	cancel, _, err := stranger.Commit(a, now, perdure.Draft{Body: perdure.Event{Name: "cancel",
		Notice: perdure.Cancel{}}})
	if err != nil {
		t.Fatal(err)
	}
	trust := new(perdure.Trust).With(perdure.Trustee{Key: owner.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	for _, name := range []string{"aaa.agent", "zzz.agent", capsule.FileName("bill", a.ID())} {
		for _, looks := range []bool{true, false} {
			folder := t.TempDir()
			if err := capsule.CreateLog(filepath.Join(folder, "mine.agent"), capsule.Text, g); err != nil {
				t.Fatal(err)
			}
			if err := capsule.CreateLog(filepath.Join(folder, name), capsule.Text,
				append([]*perdure.Entry{g}, cancel...)...); err != nil {
				t.Fatal(err)
			}
			s, err := Open(folder, Options{Look: looks, Trust: trust})
			if err != nil {
				t.Fatal(err)
			}
			held, err := perdure.Load(t.Context(), s, a.ID())
			if err != nil {
				t.Fatal(err)
			}
			if held.Fold().Ended != nil {
				t.Errorf("%s beside the agent ended it (looking: %v)", name, looks)
			}
			if faults := s.Faults(); faults[name] == nil {
				t.Errorf("nobody is told of %s (looking: %v): %v", name, looks, faults)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				t.Errorf("%s was not left alone: %v", name, err)
			}
		}
	}
}

// TestAKeyThatIsTrustedLaterLetsItsCopyIn has a copy left alone, and then the key trusted that wrote to it.
func TestAKeyThatIsTrustedLaterLetsItsCopyIn(t *testing.T) {
	owner, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	friend, err := perdure.GenerateSigner("friend")
	if err != nil {
		t.Fatal(err)
	}
	g, err := owner.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: "bill", Goal: "pay"},
		Charter: perdure.Charter{Scope: "acme"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	told, _, err := friend.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "told"}})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, entries := range map[string][]*perdure.Entry{"mine.agent": {g}, "other.agent": append([]*perdure.Entry{g},
		told...)} {
		if err := capsule.CreateLog(filepath.Join(folder, name), capsule.Text, entries...); err != nil {
			t.Fatal(err)
		}
	}
	trust := new(perdure.Trust).With(perdure.Trustee{Key: owner.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	s, err := Open(folder, Options{Trust: trust})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if faults := s.Faults(); len(faults) != 1 {
		t.Fatalf("%v, want one copy left alone", faults)
	}
	s.SetTrust(trust.With(perdure.Trustee{Key: friend.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope}))
	if faults := s.Faults(); len(faults) != 0 {
		t.Errorf("%v after the key is trusted", faults)
	}
	if held, err := perdure.Load(t.Context(), s, a.ID()); err != nil || held.Fold().Count != 2 {
		t.Errorf("%v, want both entries in one agent", err)
	}
}
