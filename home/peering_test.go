package home_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// peers has a home sync with a folder, as node.yaml says, until its agents are there.
func peers(t *testing.T, l home.Local, yaml, folder string, want ...perdure.AgentID) {
	t.Helper()
	file := filepath.Join(l.Desk.Home.Dir, home.NodeFileName)
	yaml = "peers:\n  - name: f\n    every: 20ms\n    dir: " + folder + "\n" + yaml
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, err := l.Desk.Home.Peering(t.Context(), l.Desk, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	end := time.Now().Add(20 * time.Second)
	for _, id := range want {
		for {
			found, _ := filepath.Glob(filepath.Join(folder, "*"+id.String()[:8]+"*"))
			if len(found) > 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("agent %s never came to the peer", id.Short())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// How far a home has come with a peer counts for the agents it dealt with: what the peer's scope left out, and all that
// another folder lacks, is passed when node.yaml is changed.
func TestAPeerThatIsChangedGetsWhatItWasNotGiven(t *testing.T) {
	t.Parallel()
	l, _ := openDesk(t)
	make := func(scope string) perdure.AgentID {
		a, err := l.Desk.Home.Create(t.Context(), l.Desk.Store, perdure.Genesis{Charter: perdure.Charter{Scope: scope},
			Intent: perdure.Intent{Name: "a", Goal: "hear"}})
		if err != nil {
			t.Fatal(err)
		}
		return a.ID()
	}
	folder := filepath.Join(t.TempDir(), "f")
	out, in := make("home/far"), make("home/near")
	peers(t, l, "    scope: home/near\n", folder, in)
	peers(t, l, "", folder, out)
	peers(t, l, "", folder+"2", in, out)
	if err := os.RemoveAll(folder + "2"); err != nil {
		t.Fatal(err)
	}
	peers(t, l, "", folder+"2", in, out)
}

// What peers are passed by themselves leaves the private notes of roles out, until somebody passes them on by name.
func TestPeersAreNotGivenPrivateNotes(t *testing.T) {
	t.Parallel()
	l, _ := openDesk(t)
	node, err := l.Desk.Home.Node(t.Context(), l.Desk.Store)
	if err != nil {
		t.Fatal(err)
	}
	make := func(kind string) perdure.AgentID {
		a, err := node.CreateAsleep(t.Context(), perdure.Genesis{Charter: perdure.Charter{Scope: "home"},
			Intent: perdure.Intent{Name: "a", Kind: kind, Goal: "hear"}})
		if err != nil {
			t.Fatal(err)
		}
		return a.ID()
	}
	folder := filepath.Join(t.TempDir(), "f")
	role := make("role")
	peers(t, l, "", folder, make("workspace"))
	found, err := filepath.Glob(filepath.Join(folder, "*"+role.String()[:8]+"*"))
	if err != nil || len(found) > 0 {
		t.Errorf("the peer has %v, %v", found, err)
	}
}
