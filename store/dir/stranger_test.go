package dir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
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

// TestAStrangersIndexIsNotWrittenThrough has links and a folder in the place of the files of the index: a folder that
// came by git or on a stick holds whatever a stranger put there.
func TestAStrangersIndexIsNotWrittenThrough(t *testing.T) {
	for _, name := range []string{"", journalName, bellName, lockName, arrivalsName, "place", "rows", "nodes"} {
		for _, looks := range []bool{true, false} {
			folder, outside := t.TempDir(), t.TempDir()
			target := filepath.Join(outside, "mine")
			if err := os.WriteFile(target, []byte("mine\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			to := target
			if name == "" || name == "rows" || name == "nodes" {
				to = outside
			} else if err := os.Mkdir(filepath.Join(folder, indexDir), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, indexDir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, filepath.Join(folder, indexDir, name)); err != nil {
				t.Skip(err)
			}
			s, err := Open(folder, Options{Look: looks})
			if !errors.Is(err, disk.ErrIrregular) {
				t.Errorf("%s as a link, looking %v: %v, want %v", name, looks, err, disk.ErrIrregular)
			}
			if err == nil {
				_ = s.Close()
			}
			found, err := os.ReadDir(outside)
			if b, _ := os.ReadFile(target); err != nil || len(found) != 1 || string(b) != "mine\n" {
				t.Errorf("%s as a link, looking %v: outside are %v, and the file has %q", name, looks, found, b)
			}
		}
	}
}

// TestALinkThatComesLaterIsNotWrittenThrough replaces files of the index by links while the folder is open.
func TestALinkThatComesLaterIsNotWrittenThrough(t *testing.T) {
	folder, target := t.TempDir(), filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(target, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(folder, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, name := range []string{journalName, bellName, lockName, arrivalsName} {
		path := filepath.Join(folder, indexDir, name)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Skip(err)
		}
	}
	owner, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: owner}
	_, err = n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "bill", Goal: "pay"},
		Charter: perdure.Charter{Scope: "acme"}})
	if !errors.Is(err, disk.ErrIrregular) {
		t.Errorf("create: %v, want %v", err, disk.ErrIrregular)
	}
	if b, _ := os.ReadFile(target); string(b) != "mine\n" {
		t.Errorf("the file has %q", b)
	}
}
