package server_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// lateStore has something happen once, after a memory was read to its end.
type lateStore struct {
	perdure.Store
	perdure.Feeder
	perdure.Watcher
	perdure.Lister
	armed atomic.Bool
	then  func()
}

func (s *lateStore) Entries(
	ctx context.Context,
	id perdure.AgentID,
	after perdure.Cursor,
) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		n := 0
		for item, err := range s.Store.Entries(ctx, id, after) {
			if n++; !yield(item, err) {
				return
			}
		}
		if after > 0 && n > 0 && s.armed.CompareAndSwap(true, false) {
			s.then()
		}
	}
}

// An event ended says that everything was sent. The agent ends between the reading of its entries and the look whether
// it has.
func TestEndedComesAfterTheLastEntry(t *testing.T) {
	late := &lateStore{}
	w := newWorld(t, func(s *server.Server) {
		late.Store, late.Feeder = s.Desk.Store, s.Desk.Store.(perdure.Feeder)
		late.Watcher, late.Lister = s.Desk.Store.(perdure.Watcher), s.Desk.Store.(perdure.Lister)
		s.Desk = &home.Desk{Home: s.Desk.Home, Store: late, Node: s.Desk.Node}
	})
	all := w.token("", home.Verbs...)
	id := w.agent("a")
	late.then = func() {
		if _, err := w.desk.Node.Cancel(context.Background(), id, "over"); err != nil {
			t.Error(err)
		}
	}
	var got []client.Line
	began, done := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		tail := client.Tail{Agent: id.String(), Last: 10}
		for l, err := range w.client(all, nil).Tail(w.t.Context(), tail) {
			if err != nil {
				done <- err
				return
			}
			got = append(got, l)
			once.Do(func() { close(began) })
		}
		done <- nil
	}()
	<-began // the topic has begun, and reads from now on
	late.armed.Store(true)
	w.call(all, "POST", "/v1/agents/"+id.String()+"/events", client.Event{Name: "ping"}, 200, nil)
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("the tail does not end")
	}
	if want := w.told(id); len(got) != len(want) {
		t.Errorf("the tail ended after %d of %d entries", len(got), len(want))
	}
}

// A stream that leaves out the last entries of an agent ended again and again for a browser, which comes back each time
// behind the last event that it has.
func TestAStreamOfSomeEntriesIsOverOnce(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.agent("a")
	w.call(all, "POST", "/v1/agents/a/end", nil, 200, nil)
	const path = "/v1/agents/a/tail?kind=genesis"
	ids := func(headers ...string) (all []string) {
		code, _, text := w.raw(w.token("", home.VerbRead), "GET", path+"&after=start", nil, headers...)
		for line := range strings.Lines(string(text)) {
			if id, is := strings.CutPrefix(strings.TrimSpace(line), "id: "); is {
				all = append(all, id)
			}
		}
		if code != 200 || len(all) == 0 || !strings.Contains(string(text), "event: ended") {
			t.Fatalf("got %d:\n%s", code, text)
		}
		return all
	}
	got := ids()
	w.call(all, "GET", path, nil, 204, nil, "Last-Event-ID", got[len(got)-1])
	got = ids("Last-Event-ID", got[0]) // one who was cut off before the end
	w.call(all, "GET", path, nil, 204, nil, "Last-Event-ID", got[len(got)-1])
}

// What a stranger says ends no stream of an agent that has not ended for anybody else here.
func TestAStrangersEndEndsNoStream(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Heartbeat = 20 * time.Millisecond })
	id := w.agent("a")
	stranger, err := perdure.GenerateSigner("mallory")
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Load(t.Context(), w.store, id)
	if err != nil {
		t.Fatal(err)
	}
	end := perdure.Event{Name: "end", By: "mallory", Notice: perdure.Cancel{}}
	entries, a, err := stranger.Commit(a, time.Now(), perdure.Draft{Body: end})
	if err == nil {
		err = w.store.Put(t.Context(), id, entries...)
	}
	if err != nil || a.Fold().Ended == nil {
		t.Fatalf("got %v, ended %+v", err, a.Fold().Ended)
	}
	read := w.stream(w.token("", home.VerbRead), "/v1/agents/a/tail?after=start")
	read(entries[len(entries)-1].Name.String())
	read("\n: \n") // it is still there, and everything was sent
}

// Whether an agent has ended is for those to say whom the home trusts. Where it cannot be read who that is, there is
// another look later: no entry comes that would cause one.
func TestAnEndThatCouldNotBeFoundOutIsSaidLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *server.Server) { s.Limits.Heartbeat = 50 * time.Millisecond })
	all, id := w.token("", home.Verbs...), w.agent("a")
	trust := filepath.Join(w.home.Dir, home.TrustFile)
	text, err := os.ReadFile(trust)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	began, done := make(chan struct{}), make(chan error, 1)
	go func() {
		n := 0
		for _, err := range w.client(all, nil).Tail(t.Context(), client.Tail{Agent: id.String(), Last: 10}) {
			if err != nil {
				done <- err
				return
			}
			if n++; n == 1 {
				close(began)
			}
		}
		done <- nil
	}()
	<-began
	broken := append(slices.Clone(text), "what is this?\n"...)
	if err := os.WriteFile(trust, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.desk.Node.Cancel(t.Context(), id, "over"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("it is taken for ended while nobody can say so: %v", err)
	case <-time.After(time.Second):
	}
	if err := os.WriteFile(trust, text, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("nothing says that it has ended")
	}
}
