package home_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// news waits until a conversation that rests at r has some.
func news(t *testing.T, c *home.Conversation, r *home.Rest) home.News {
	t.Helper()
	for late := time.After(2 * time.Minute); ; {
		select {
		case <-c.Stirred:
			if n, err := c.Look(t.Context(), r); err != nil || n != home.Same {
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		case <-late:
			t.Fatal("there is no news")
		}
	}
}

// rested is where a conversation rests.
func rested(t *testing.T, c *home.Conversation) *home.Rest {
	t.Helper()
	r, ended, err := c.Rest(t.Context())
	if err != nil || ended {
		t.Fatal(ended, err)
	}
	return r
}

const lookScript = `turns:
  - sleep: {on: answer}
  - text: hello to you
  - execute: {tool: files.write, args: {path: a.txt, text: hi}}
  - text: it came to ${last.signal}
  - sleep: {on: parcel}
  - text: it came
`

// Several processes show one conversation: one of them runs a turn, and what there is to do is done once.
func TestAConversationIsLookedAtFromSeveralPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, files := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(lookScript), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &home.Home{URL: filepath.Join(dir, "home"), Acts: true}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		id, _, err := h.Chat(ctx, s, false, nil)
		if err != nil {
			return err
		}
		begin := func(follow bool) (*home.Conversation, *listened) {
			p := &home.Powers{Advisors: []string{"script:" + script}, Files: files}
			n, err := p.Node(ctx, h, s, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			to := new(listened)
			c := &home.Conversation{Home: h, Node: n, Agent: id, To: to, Follow: follow}
			if _, err := c.Begin(ctx, 3); err != nil {
				t.Fatal(err)
			}
			return c, to
		}
		say := func(c *home.Conversation, in home.Input) {
			if err := c.Do(ctx, in); err != nil {
				t.Fatal(err)
			}
			if err := c.Turn(ctx, in); err != nil {
				t.Fatal(err)
			}
		}
		one, _ := begin(false)
		two, seen := begin(false)
		rested(t, one)
		r := rested(t, two)
		say(one, home.Input{Say: "hello"})
		if n := news(t, two, r); n != home.Moved { // what it asks is another answer
			t.Errorf("after a turn elsewhere: news %v, want that it rests elsewhere", n)
		}
		if want := []string{"person hello", "answer hello to you"}; !slices.Equal(seen.shown, want) {
			t.Errorf("shown %q, want %q", seen.shown, want)
		}
		rested(t, one)
		say(one, home.Input{Say: "write"})
		asks := rested(t, one)
		r = rested(t, two)
		if got := home.Approvable(two.Node, r.Now, r.Waits); len(got) != 1 {
			t.Fatalf("the other one is asked %d things", len(got))
		}
		digest := asks.Waits[0].Digest
		if err := two.Do(ctx, home.Input{Digest: digest, Yes: true}); err != nil { // and leaves: nobody runs it
			return err
		}
		if n := news(t, one, asks); n != home.Moved {
			t.Errorf("after it was approved elsewhere: news %v, want that it is not asked any more", n)
		}
		asks = rested(t, one)
		if !asks.Goes || news(t, one, asks) != home.Due {
			t.Error("what was approved elsewhere, and nobody does, is not due here")
		}
		say(one, home.Input{Due: true})
		rested(t, one)
		say(one, home.Input{Say: "wait"})
		r = rested(t, one)
		if !r.Idle || !strings.Contains(r.Said, "parcel") {
			t.Errorf("it rests with %q", r.Said)
		}
		follower, heard := begin(true)
		waits := rested(t, follower)
		if _, err := one.Node.Tell(ctx, id, perdure.Event{Name: "parcel"}); err != nil {
			return err
		}
		if n := news(t, one, r); n != home.Due {
			t.Errorf("after an event: news %v, want that it is due", n)
		}
		for !slices.ContainsFunc(heard.told, func(s string) bool { return strings.Contains(s, "nobody runs it") }) {
			<-follower.Stirred
			if n, err := follower.Look(ctx, waits); n != home.Same || err != nil {
				t.Fatalf("who only follows has news %v, %v", n, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A turn that was interrupted waits for a word, wherever it was.
func TestAnInterruptedTurnIsNotDue(t *testing.T) {
	t.Parallel()
	talking(t, lookScript, func(ctx context.Context, h *home.Home, n *perdure.Node, id perdure.AgentID) error {
		c := &home.Conversation{Home: h, Node: n, Agent: id, To: new(listened)}
		if _, err := c.Begin(ctx, 3); err != nil {
			return err
		}
		rested(t, c)
		in := home.Input{Say: "hello"}
		if err := c.Do(ctx, in); err != nil {
			return err
		}
		cut, stop := context.WithCancel(ctx)
		stop()
		if err := c.Turn(cut, in); err == nil {
			t.Error("an interrupted turn is no error")
		}
		r := rested(t, c)
		if r.Goes || r.Idle {
			t.Errorf("it rests at %+v", r)
		}
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			select {
			case <-c.Stirred:
			case <-time.After(100 * time.Millisecond):
			}
			if n, err := c.Look(ctx, r); n != home.Same || err != nil {
				t.Fatalf("news %v, %v", n, err)
			}
		}
		return nil
	})
}
