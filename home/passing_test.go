package home_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
)

// openDesk is the desk of a new home, where arrivals of trusted keys go on.
func openDesk(t *testing.T) (home.Local, *perdure.Node) {
	t.Helper()
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	var desk *home.Desk
	opened, finish, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- h.Use(context.Background(), true, func(ctx context.Context, s perdure.Store) error {
			n, err := h.Node(ctx, s)
			if err != nil {
				return err
			}
			desk = &home.Desk{Home: h, Store: s, Node: n}
			close(opened)
			<-finish
			return nil
		})
	}()
	select {
	case <-opened:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(finish)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	v, err := h.Owner()
	if err != nil {
		t.Fatal(err)
	}
	return home.Local{Desk: desk, Visitor: v}, desk.Node
}

// trusts has a home trust the key of another.
func trusts(t *testing.T, l home.Local, n *perdure.Node) {
	t.Helper()
	err := l.Desk.Home.TrustKey(perdure.Trustee{Key: n.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(l.Desk.Home.Dir, home.PolicyDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const text = "@id(\"peers\")\npermit (principal, action == Action::\"admit\", resource) when { context.trusted };\n"
	if err := os.WriteFile(filepath.Join(dir, "peers.cedar"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newAgent(t *testing.T, l home.Local, events int) perdure.AgentID {
	t.Helper()
	a, err := l.Desk.Home.Create(t.Context(), l.Desk.Store, perdure.Genesis{Charter: perdure.Charter{Scope: "home"},
		Intent: perdure.Intent{Name: "a", Goal: "hear"}})
	if err != nil {
		t.Fatal(err)
	}
	hears(t, l, a.ID(), events)
	return a.ID()
}

func hears(t *testing.T, l home.Local, id perdure.AgentID, events int) {
	t.Helper()
	for range events {
		if _, err := l.Desk.Node.Tell(t.Context(), id, perdure.Event{Name: "e"}); err != nil {
			t.Fatal(err)
		}
	}
}

var errCut = errors.New("the connection broke")

// cutting is a peer whose connection breaks after some entries.
type cutting struct {
	exchange.Peer
	after, sent int
}

func (c *cutting) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		n := 0
		for e, err := range c.Peer.Missing(ctx, o) {
			if n++; n > c.after {
				yield(nil, errCut)
				return
			}
			if c.sent++; !yield(e, err) {
				return
			}
		}
	}
}

func TestWhatCameBeforeACutIsNotSentAgain(t *testing.T) {
	t.Parallel()
	a, an := openDesk(t)
	b, _ := openDesk(t)
	trusts(t, b, an)
	id := newAgent(t, a, 49) // fifty entries
	for _, more := range []int{0, 30} {
		hears(t, a, id, more)
		here := &cutting{Peer: a, after: 20}
		tries := 0
		for {
			s, err := exchange.Sync(t.Context(), here, b, id, exchange.Push)
			if tries++; errors.Is(err, errCut) {
				if offer, err := b.Offer(t.Context(), id); err != nil || len(offer.Partial) == 0 {
					t.Fatalf("%+v %v, want what came", offer, err)
				}
				continue
			}
			if err != nil || s.Pushed == nil || s.Pushed.Held != "" || s.Pushed.Check(id) != nil {
				t.Fatalf("%+v %v", s.Pushed, err)
			}
			break
		}
		if want := max(more, 50-30*min(more, 1)); tries < 2 || here.sent > want+1 {
			t.Errorf("%d entries were sent in %d tries, want %d", here.sent, tries, want)
		}
		if left, err := os.ReadDir(filepath.Join(b.Desk.Home.Dir, "arriving")); err != nil || len(left) > 0 {
			t.Errorf("%v %v are left", left, err)
		}
	}
}

func TestWhatIsHeldStopsNothingElsewhere(t *testing.T) {
	t.Parallel()
	a, an := openDesk(t)
	b, _ := openDesk(t) // trusts nobody: default policy
	id := newAgent(t, a, 3)
	s, err := exchange.Sync(t.Context(), a, b, id, exchange.Both)
	if err != nil || s.Pushed == nil || s.Pushed.Held == "" {
		t.Fatalf("%+v %v, want it held", s.Pushed, err)
	}
	if s, err = exchange.Sync(t.Context(), a, b, id, exchange.Both); err != nil || s.Kept == "" || s.Pulled != nil {
		t.Errorf("%+v %v, want nothing pulled of what is held", s, err)
	}
	here, err := an.Load(t.Context(), id)
	if err != nil || len(here.Fold().Paused) > 0 {
		t.Errorf("it is paused here, too: %v", err)
	}
	for _, err := range b.Missing(t.Context(), exchange.Offer{Agent: id}) {
		if !errors.Is(err, perdure.ErrDenied) {
			t.Errorf("%v, want denied", err)
		}
	}
}

// lying is a place that says and sends what it likes.
type lying struct {
	offer   exchange.Offer
	entries iter.Seq2[*perdure.Entry, error]
}

func (l *lying) Offer(context.Context, perdure.AgentID) (exchange.Offer, error) { return l.offer, nil }
func (l *lying) Missing(context.Context, exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return l.entries
}
func (l *lying) Take(context.Context, perdure.AgentID, iter.Seq2[*perdure.Entry, error]) (*exchange.Receipt, error) {
	return nil, io.ErrUnexpectedEOF
}

func TestHostilePeersAreRefusedByName(t *testing.T) {
	t.Parallel()
	a, _ := openDesk(t)
	stranger, _ := openDesk(t)
	a.Desk.MaxArrival = 1 << 20
	id := newAgent(t, a, 3)
	other := newAgent(t, stranger, 3)
	if _, err := exchange.Sync(t.Context(), a, stranger, id, exchange.Push); err != nil {
		t.Fatal(err)
	}
	held, err := perdure.Load(t.Context(), stranger.Desk.Store, id)
	if err == nil {
		_, err = stranger.Desk.Node.Admit(t.Context(), held, "mine now")
	}
	if err != nil {
		t.Fatal(err)
	}
	hears(t, stranger, id, 1)
	before, err := a.Offer(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	head := []perdure.Hash{{1}}
	liar, err := perdure.GenerateSigner("liar")
	if err != nil {
		t.Fatal(err)
	}
	endless := func(yield func(*perdure.Entry, error) bool) {
		for on := held; ; {
			more, next, err := liar.Commit(on, time.Now(), perdure.Draft{Body: perdure.Event{Name: "more"}})
			if err != nil || !yield(more[0], nil) {
				return
			}
			on = next
		}
	}
	again := func(yield func(*perdure.Entry, error) bool) {
		for {
			for e, err := range perdure.Memory(context.Background(), a.Desk.Store, id) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
	for name, x := range map[string]struct {
		peer lying
		want func(error) bool
		text string
	}{
		"another agent": {lying{exchange.Offer{Agent: other, Heads: head}, nil}, isInvalid, "was asked for"},
		"many anchors": {lying{exchange.Offer{Agent: id, Heads: head, Anchors: make([]perdure.Hash, 33)}, nil},
			isInvalid, "at most 32"},
		"many heads": {lying{exchange.Offer{Agent: id, Heads: make([]perdure.Hash, 5000)}, nil}, isInvalid,
			"at most 4096"},
		"entries of another": {lying{exchange.Offer{Agent: id, Heads: head},
			perdure.Memory(t.Context(), stranger.Desk.Store, other)}, isInvalid, "was announced"},
		"entries of strangers": {lying{exchange.Offer{Agent: id, Heads: head},
			perdure.Memory(t.Context(), stranger.Desk.Store, id)}, isRejected, "perdure key trust"},
		"the same without end": {lying{exchange.Offer{Agent: id, Heads: head}, again}, isInvalid, "came twice"},
		"without end":          {lying{exchange.Offer{Agent: id, Heads: head}, endless}, isTooLarge, "at once"},
		"nothing": {lying{exchange.Offer{Agent: id, Heads: head}, func(func(*perdure.Entry, error) bool) {}},
			isInvalid, "did not send it"},
	} {
		_, err := exchange.Sync(t.Context(), a, &x.peer, id, exchange.Pull)
		if !x.want(err) || err != nil && !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %v, want %q", name, err, x.text)
		}
	}
	after, err := a.Offer(t.Context(), id)
	if err != nil || len(after.Partial) > 0 || !after.Same(&before) {
		t.Errorf("%+v %v, want it as before", after, err)
	}
}

// Whoever sends an agent that is refused learns why, and not where it lay here meanwhile.
func TestARefusalDoesNotSayWhereItLay(t *testing.T) {
	t.Parallel()
	a, an := openDesk(t)
	b, _ := openDesk(t)
	trusts(t, b, an)
	id := newAgent(t, a, 3)
	n := 0
	holed := func(yield func(*perdure.Entry, error) bool) {
		for e, err := range perdure.Memory(t.Context(), a.Desk.Store, id) {
			if n++; n != 2 && !yield(e, err) {
				return
			}
		}
	}
	_, err := b.Take(t.Context(), id, holed)
	if !isRejected(err) || strings.Contains(err.Error(), "arriving") ||
		strings.Contains(err.Error(), b.Desk.Home.Dir) {
		t.Errorf("refused with %v", err)
	}
}

func isInvalid(err error) bool  { return errors.Is(err, perdure.ErrInvalid) }
func isRejected(err error) bool { return errors.Is(err, perdure.ErrRejected) }
func isTooLarge(err error) bool { return home.KindOf(err) == home.KindTooLarge }

// A folder that is shared: what was copied in part is left alone, and what synchronisation leaves beside is joined.
func TestAFolderTakesPartialAndConflictingCopies(t *testing.T) {
	t.Parallel()
	a, _ := openDesk(t)
	id := newAgent(t, a, 3)
	dir := t.TempDir()
	pass := func(way exchange.Way) *exchange.Synced {
		t.Helper()
		p, err := a.Desk.Home.OpenPeer(home.PeerConfig{Name: "f", Dir: dir}, "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := exchange.Sync(t.Context(), a, p, id, way)
		if err = errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	pass(exchange.Push)
	files, err := filepath.Glob(filepath.Join(dir, "*.agent"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	old, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	hears(t, a, id, 2)
	if s := pass(exchange.Both); s.Pushed == nil || s.Pushed.Entries != 2 {
		t.Fatalf("%+v, want two entries pushed", s.Pushed)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// as Syncthing leaves it: the older file in place, the newer one beside it
	if err := os.WriteFile(files[0], old, 0o600); err != nil {
		t.Fatal(err)
	}
	beside := strings.TrimSuffix(files[0], ".agent") + ".sync-conflict-20260101-120000-ABCDEFG.agent"
	if err := os.WriteFile(beside, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := pass(exchange.Both); s.Pulled != nil || s.Pushed != nil {
		t.Errorf("%+v, want that both copies together are the same as here", s)
	}
	// as a copy that is still under way
	if err := os.WriteFile(files[0], whole[:len(whole)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	if s := pass(exchange.Both); s.Pulled != nil {
		t.Errorf("%+v, want nothing pulled of a file that is cut short", s)
	}
	if s := pass(exchange.Both); s.Pulled != nil || s.Pushed != nil {
		t.Errorf("%+v, want the same again", s)
	}
}
