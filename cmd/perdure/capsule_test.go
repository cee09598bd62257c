package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/store/sqlite"
)

// perform runs one command line and returns what it printed.
func perform(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("perdure %s: exit code %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// traveller makes a store with an agent that branched, has snapshots, and holds small and large bodies. It returns the
// store's folder, and capsules of how the agent began and of how it was when its branches met.
func traveller(t *testing.T) (base, early, met string, author perdure.Key) {
	t.Helper()
	dir := t.TempDir()
	base, early, met = filepath.Join(dir, "home"), filepath.Join(dir, "early.agent"), filepath.Join(dir, "met.agent")
	if err := os.Mkdir(base, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(base, home.StoreFile), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{
		Intent: perdure.Intent{Name: "traveller", Goal: "be carried away"}, Charter: perdure.Charter{Scope: "bench"},
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err == nil {
		err = s.Append(ctx, g.ID(), nil, g)
	}
	if err != nil {
		t.Fatal(err)
	}
	write := func(on *perdure.Agent, bodies ...perdure.Body) *perdure.Agent {
		t.Helper()
		var drafts []perdure.Draft
		for _, b := range bodies {
			drafts = append(drafts, perdure.Draft{Body: b})
		}
		entries, next, err := key.Commit(on, time.Now(), drafts...)
		if err == nil {
			err = s.Put(ctx, on.ID(), entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	a = write(a, sampleAdvice(), perdure.Advice{Advisor: "large", Text: strings.Repeat(prose, 200)})
	perform(t, "export", "traveller", early, "--store", base)
	a = write(a, perdure.Snapshot{Fold: *a.Fold()})
	left := write(a, perdure.Event{Name: "left"}, perdure.Event{Name: "left again"})
	write(a, perdure.Event{Name: "right"})
	if a, err = perdure.Load(ctx, s, left.ID()); err != nil || len(a.Heads()) != 2 {
		t.Fatalf("%d heads, %v, want two", len(a.Heads()), err)
	}
	a = write(a, perdure.Event{Name: "both"})
	perform(t, "export", "traveller", met, "--store", base)
	a = write(a, perdure.Snapshot{Fold: *a.Fold()})
	a = write(a, perdure.Event{Name: "last"}, sampleAdvice())
	if err := s.Index(ctx, a.Heads(), a.Listing(time.Now())); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return base, early, met, key.Key()
}

func TestEveryFormAndDepthTravels(t *testing.T) {
	base, early, met, author := traveller(t)
	fold := func(what ...string) string {
		var v struct{ Fold string }
		if err := json.Unmarshal([]byte(perform(t, append([]string{"verify", "--json"}, what...)...)),
			&v); err != nil || v.Fold == "" {
			t.Fatalf("verify %v: %v", what, err)
		}
		return v.Fold
	}
	want := fold("traveller", "--store", base)
	for _, form := range []string{"binary", "described", "text"} {
		for _, depth := range []string{"full", "headers", "3", "0"} {
			t.Run(fmt.Sprintf("%s at %s", form, depth), func(t *testing.T) {
				there := t.TempDir()
				file, again := filepath.Join(there, "a.agent"), filepath.Join(there, "b.agent")
				perform(t, "key", "trust", author.String(), "--rights", "own", "--store", there)
				shape := []string{"--form", form, "--depth", depth}
				perform(t, append([]string{"export", "traveller", file, "--store", base}, shape...)...)
				if got := fold(file, "--store", there); got != want {
					t.Errorf("the file folds to %s, want %s", got, want)
				}
				if depth == "3" || depth == "0" { // the end of a memory goes where its beginning is
					perform(t, "import", early, "--ready", "--store", there)
					var said bytes.Buffer
					code := run([]string{"import", file, "--store", there}, nil, io.Discard, &said)
					if gap := depth == "0"; gap != (code == exitRejected &&
						strings.Contains(said.String(), "rejected by capsule.depth")) || !gap && code != exitOK {
						t.Errorf("the end of a memory on top of its first entries: exit code %d, %s", code,
							said.String())
					}
					perform(t, "import", met, "--ready", "--store", there, "--older")
				}
				perform(t, "import", file, "--ready", "--store", there)
				if got := fold("traveller", "--store", there); got != want {
					t.Errorf("the imported agent folds to %s, want %s", got, want)
				}
				perform(t, append([]string{"export", "traveller", again, "--store", there}, shape...)...)
				sent, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				back, err := os.ReadFile(again)
				if err != nil || !bytes.Equal(sent, back) {
					t.Errorf("exported again it has %d bytes, other than the %d before (%v)", len(back), len(sent), err)
				}
			})
		}
	}
}
