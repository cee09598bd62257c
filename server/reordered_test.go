package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/store/dir"
)

// sse reads the entries of a stream up to one of them, and whether it was told to begin anew; positions by entry.
type sse struct {
	names []perdure.Hash
	at    []string
	reset bool
}

// follow begins to read a stream. What it returns reads on up to an entry.
func (w *world) follow(token, path, after string) func(to perdure.Hash) sse {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Last-Event-ID", after)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 1<<20)
	return func(to perdure.Hash) (got sse) {
		w.t.Helper()
		id := ""
		for in.Scan() {
			field, value, _ := strings.Cut(in.Text(), ": ")
			switch {
			case field == "id":
				id = value
			case field == "event" && value == "reset":
				got = sse{reset: true}
			case field == "data" && strings.Contains(value, `"entry"`):
				var l client.Line
				if err := json.Unmarshal([]byte(value), &l); err != nil {
					w.t.Fatal(err)
				}
				if got.names, got.at = append(got.names, l.Entry), append(got.at, id); l.Entry == to {
					return got
				}
			}
		}
		w.t.Fatalf("%s after %q ended with %d entries: %v", path, after, len(got.names), in.Err())
		return got
	}
}

// Two copies of an agent went on, and git merged their lines so that ours stand behind theirs. Whoever resumes has
// every entry once, or is told to begin anew; so has who is there while it happens.
func TestAStreamIsWholeAlthoughItsFileWasMerged(t *testing.T) {
	here, there := filepath.Join(t.TempDir(), "here"), t.TempDir()
	w := newWorldAt(t, "dir:"+here)
	all, id := w.human(), w.agent("a")
	tell := func(s perdure.Store, names ...string) {
		t.Helper()
		n := &perdure.Node{Store: s, Key: w.node.Key}
		for _, name := range names {
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(here, "*.agent"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	read := func(name string) []byte {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write := func(name string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tell(w.store, "trunk")
	trunk, copied := read(files[0]), filepath.Join(there, filepath.Base(files[0]))
	write(copied, trunk)
	other, err := dir.Open(there, dir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	tell(other, "right", "right again", "right still")
	tell(w.store, "left", "left again")
	path, before := "/v1/agents/a/tail", w.told(id)
	live := w.follow(all, path, "start")
	was := live(before[len(before)-1])
	if !slices.Equal(was.names, before) {
		t.Fatalf("the stream is not the memory")
	}
	ours, theirs := read(files[0]), read(copied)
	write(files[0], slices.Concat(trunk, bytes.TrimPrefix(theirs, trunk), bytes.TrimPrefix(ours, trunk)))
	after := w.told(id)
	if last := after[len(after)-1]; len(after) != len(before)+3 || last != before[len(before)-1] {
		t.Fatalf("the merged memory is %v, before it was %v", after, before)
	}
	if got := live(after[len(after)-1]); !got.reset || !slices.Equal(got.names, after) {
		t.Errorf("who is there got %v (told to begin anew: %v), want all of %v", got.names, got.reset, after)
	}
	resets := 0
	for i, at := range was.at {
		got := w.follow(all, path, at)(after[len(after)-1])
		have := got.names
		if resets++; !got.reset {
			have, resets = slices.Concat(before[:i+1], got.names), resets-1
		}
		slices.SortFunc(have, perdure.Hash.Compare)
		want := slices.SortedFunc(slices.Values(after), perdure.Hash.Compare)
		if !slices.Equal(have, want) {
			t.Errorf("resumed at %s (told to begin anew: %v): %d entries (%d different), want %d once", at, got.reset,
				len(have), len(slices.Compact(have)), len(want))
		}
	}
	if resets != 2 { // the trunk stands where it did
		t.Errorf("%d positions are told to begin anew, want those of what has moved", resets)
	}
	p := w.problem(all, "GET", "/v1/agents/a/entries?after="+was.at[3], nil, 404)
	contains(t, p.Detail+p.Hint, "written anew", "begin without one")
}
