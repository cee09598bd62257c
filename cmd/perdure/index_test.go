package main

import (
	"context"
	"database/sql"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// swapNames makes the index of a store call two agents by each other's name.
func swapNames(t *testing.T, dir, a, b string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, home.StoreFile))
	if err != nil {
		t.Fatal(err)
	}
	got, err := db.ExecContext(t.Context(),
		"UPDATE listings SET name = CASE name WHEN ?1 THEN ?2 ELSE ?1 END WHERE name IN (?1, ?2)", a, b)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := got.RowsAffected(); err != nil || n != 2 {
		t.Fatalf("swapped %d names, %v", n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTheIndexDecidesNothing(t *testing.T) {
	for kind, swap := range map[string]func(t *testing.T, dir string){
		"sqlite": func(t *testing.T, dir string) { swapNames(t, dir, "harmless", "evil") },
		"dir": func(t *testing.T, dir string) {
			files, err := filepath.Glob(filepath.Join(dir, ".index", "*"))
			if err != nil {
				t.Fatal(err)
			}
			swapped := false
			for _, name := range files {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				text := strings.NewReplacer(`"harmless"`, `"evil"`, `"evil"`, `"harmless"`).Replace(string(b))
				swapped = swapped || text != string(b)
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if !swapped {
				t.Fatalf("no name found in the index, %q", files)
			}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			store := map[string]string{"sqlite": dir, "dir": "dir:" + dir}[kind]
			do := func(want int, args ...string) (out, beside string) {
				t.Helper()
				code, out, beside := perdureRuns(append(args, "--store", store)...)
				if code != want {
					t.Fatalf("%q: exit %d, want %d: %s%s", args, code, want, out, beside)
				}
				return out, beside
			}
			for _, name := range []string{"harmless", "evil"} {
				do(exitOK, "new", "be "+name, "--name", name)
			}
			out, _ := do(exitOK, "doctor", "-o", "jsonl", "--jq", `select(.what=="index").health`)
			if out != "ok\n" {
				t.Errorf("doctor says of a sound index: %q", out)
			}
			evil, _ := do(exitOK, "show", "evil", "--jq", ".agent")
			swap(t, dir)
			for _, args := range [][]string{{"end", "harmless"}, {"show", "harmless"}, {"log", "evil"},
				{"approve", "harmless"}, {"export", "evil", "-"}, {"send", "evil", "x"}} {
				out, beside := do(exitFailure, args...)
				if !strings.Contains(beside, "the index of this store is wrong") ||
					!strings.Contains(beside, "--reindex rebuilds") || out != "" {
					t.Errorf("%q: got %q, %q", args, out, beside)
				}
			}
			out, _ = do(exitOK, "show", strings.TrimSpace(evil), "--jq", ".name") // the whole id needs no index
			if out != "evil\n" {
				t.Errorf("by its id: got %q", out)
			}
			out, _ = do(exitFailure, "doctor", "-o", "jsonl", "--jq", `select(.what=="index").found`)
			if strings.Count(out, `name is "`) != 2 {
				t.Errorf("doctor says %q", out)
			}
			do(exitOK, "doctor", "--reindex")
			do(exitOK, "end", "harmless")
			out, _ = do(exitOK, "show", "evil", "--jq", ".standing")
			if out == "terminated\n" {
				t.Error("the other agent was ended")
			}
		})
	}
}

// blind is a store that cannot read the memory of one agent.
type blind struct {
	*perdure.MemStore
	id perdure.AgentID
}

func (b blind) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	if id == b.id {
		return func(yield func(perdure.Item, error) bool) { yield(perdure.Item{}, perdure.ErrRejected) }
	}
	return b.MemStore.Entries(ctx, id, after)
}

func TestAnUnreadableAgentHidesNoOther(t *testing.T) {
	s := newSituation(t, perdure.Sleep{Note: "which colour?", Trigger: perdure.On{Event: perdure.AnswerEvent}})
	s.run()
	hurt := s.agent
	s.agent = perdure.AgentID{}
	s.genes.Intent.Name = "b"
	s.run()
	found, faults, err := view.Inbox(t.Context(), blind{s.node.Store.(*perdure.MemStore), hurt}, s.trust(),
		perdure.Place{}, perdure.Key{}, time.Now())
	if err != nil || len(found) != 1 || found[0].Agent != s.agent {
		t.Errorf("got %v, %v, want the one of %s", found, err, s.agent.Short())
	}
	if faults == nil || !strings.Contains(faults.Error(), hurt.Short()+" is left out") {
		t.Errorf("faults: got %v", faults)
	}
}

func TestDoctorComparesEveryField(t *testing.T) {
	is := perdure.Listing{Name: "n", Kind: "k", Scope: "s", State: phase.Dormant, Labels: map[string]string{"a": "b"},
		Due: 100, Entries: 3, Waiting: true}
	if lies, lags := home.Differs(is, is, 50); len(lies)+len(lags) > 0 {
		t.Errorf("of the same: %q, %q", lies, lags)
	}
	for want, change := range map[string]func(l *perdure.Listing){
		"name": func(l *perdure.Listing) { l.Name = "x" }, "scope": func(l *perdure.Listing) { l.Scope = "x" },
		"kind": func(l *perdure.Listing) { l.Kind = "x" }, "labels": func(l *perdure.Listing) { l.Labels = nil },
		"state": func(l *perdure.Listing) {
			l.State = phase.Terminated
		}, "waiting": func(l *perdure.Listing) { l.Waiting = false },
		"due": func(l *perdure.Listing) { l.Due = 0 }, "entries": func(l *perdure.Listing) { l.Entries = 2 },
	} {
		not := is
		change(&not)
		lies, lags := home.Differs(not, is, 50)
		if got := append(lies, lags...); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: got %q", want, got)
		}
	}
}
