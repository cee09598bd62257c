package home_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// unsure is a store that adds what it is given and cannot say so, as often as is set.
type unsure struct {
	perdure.Store
	perdure.Lister
	lost, unlisted int
}

var errUnsure = errors.New("whether it was added is not known")

func (s *unsure) write(err error) error {
	if err == nil && s.lost > 0 {
		s.lost--
		return errUnsure
	}
	return err
}

func (s *unsure) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, all ...*perdure.Entry) error {
	return s.write(s.Store.Append(ctx, id, heads, all...))
}

func (s *unsure) Put(ctx context.Context, id perdure.AgentID, all ...*perdure.Entry) error {
	return s.write(s.Store.Put(ctx, id, all...))
}

func (s *unsure) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	if s.unlisted > 0 {
		s.unlisted--
		return errors.New("it is not listed")
	}
	return s.Lister.Index(ctx, heads, l)
}

// tally is how many entries an agent has, and how many agents there are.
func tally(ctx context.Context, t *testing.T, s *unsure, id perdure.AgentID) (entries, agents int) {
	t.Helper()
	for _, err := range s.Entries(ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		entries++
	}
	for _, err := range s.List(ctx, perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		agents++
	}
	return entries, agents
}

func TestARequestWhoseAnswerWasLostIsDoneOnce(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home")}
	within(t, h, func(ctx context.Context, real perdure.Store) error {
		s := &unsure{Store: real, Lister: real.(perdure.Lister)}
		a := agentIn(ctx, t, h, s, "one")
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		d := &home.Desk{Home: h, Store: s, Node: n}
		v, err := h.Owner()
		if err != nil {
			return err
		}
		r, err := h.OpenRequests(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }()
		ask := func(key string, do func(ctx context.Context) error) (bool, error) {
			_, again, err := r.Once(ctx, s, home.Keyed{Who: "me", Key: key, Print: sha256.Sum256([]byte(key)),
				Do: func(ctx context.Context) ([]byte, error) { return []byte("did"), do(ctx) },
				Done: func(context.Context, perdure.AgentID, []*perdure.Entry) ([]byte, error) {
					return []byte("found"), nil
				}})
			return again, err
		}
		pause := func(ctx context.Context) error {
			_, err := d.Pause(ctx, v, "one", "")
			return err
		}
		before, _ := tally(ctx, t, s, a.ID())
		s.lost = 1
		if _, err := ask("k", pause); !errors.Is(err, errUnsure) {
			t.Fatalf("got %v, want what the store said", err)
		}
		if again, err := ask("k", pause); err != nil || !again {
			t.Errorf("asked again: %v, %v; want the answer to the first", again, err)
		}
		if now, _ := tally(ctx, t, s, a.ID()); now != before+1 {
			t.Errorf("it was done %d times, want once", now-before)
		}
		return nil
	})
}

func TestWhatIsDurableIsNoErrorAlthoughItIsNotListed(t *testing.T) {
	t.Parallel()
	var notes []string
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home"), Note: func(text string) { notes = append(notes, text) }}
	within(t, h, func(ctx context.Context, real perdure.Store) error {
		s := &unsure{Store: real, Lister: real.(perdure.Lister), unlisted: 1000}
		f := home.IntentFile{Goal: "x", Name: "one"}
		g, err := f.Genesis(time.Now())
		if err != nil {
			return err
		}
		a, err := h.Create(ctx, s, g)
		if err != nil || a == nil {
			t.Fatalf("got %v, %v; want the agent, which is made", a, err)
		}
		if len(notes) == 0 {
			t.Error("nothing says that it is not listed")
		}
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		e, err := n.Pause(ctx, a.ID(), "")
		if err != nil {
			return err
		}
		// The trust file cannot be read any more.
		trust := filepath.Join(h.Dir, home.TrustFile)
		if err := os.WriteFile(trust, []byte("\x00nonsense"), 0o600); err != nil {
			return err
		}
		if told := h.Told(ctx, s, e); told.Entry != e.Name || told.Seq != e.Seq || told.Called() == "" {
			t.Errorf("got %+v, want what was recorded", told)
		}
		return os.Remove(trust)
	})
}

func TestTheRequestsOfAHomeAreInIt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a%20b?mode=memory#c")
	h := &home.Home{Dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := h.OpenRequests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "requests.db")); err != nil {
		t.Error(err)
	}
}
