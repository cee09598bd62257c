package home_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// listened keeps what a conversation shows.
type listened struct {
	shown  []string
	told   []string
	deltas bool // what the model says is kept as it says it, too
}

func (l *listened) Delta(text string) {
	if l.deltas {
		l.shown = append(l.shown, "delta "+text)
	}
}

func (l *listened) Show(s view.Spoken) { l.shown = append(l.shown, s.Type+" "+s.Text) }
func (l *listened) Tell(text string)   { l.told = append(l.told, text) }

// talking runs a chat whose advisor is a script, in a home of its own.
func talking(t *testing.T, turns string, do func(ctx context.Context, h *home.Home, n *perdure.Node,
	id perdure.AgentID) error) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "s.yaml")
	if err := os.WriteFile(script, []byte(turns), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &home.Home{URL: filepath.Join(dir, "home"), Acts: true}
	p := &home.Powers{Advisors: []string{"script:" + script}}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := p.Node(ctx, h, s, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		id, _, err := h.Chat(ctx, s, false, nil)
		if err != nil {
			return err
		}
		return do(ctx, h, n, id)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAConversationIsTheAgentsMemory(t *testing.T) {
	t.Parallel()
	const turns = "turns:\n  - sleep: {on: answer}\n  - text: hello to you\n  - text: and again\n"
	talking(t, turns, func(ctx context.Context, h *home.Home, n *perdure.Node, id perdure.AgentID) error {
		talk := func(say string, past int) *listened {
			to := new(listened)
			c := &home.Conversation{Home: h, Node: n, Agent: id, To: to}
			said, err := c.Begin(ctx, 3)
			if err != nil || len(said) != past {
				t.Fatalf("it begins with %v, %v; want %d pieces", said, err, past)
			}
			r, ended, err := c.Rest(ctx)
			if err != nil || ended || !r.Asks {
				t.Fatalf("it rests at %+v, %v, %v", r, ended, err)
			}
			in := home.Input{Say: say}
			if err := errors.Join(c.Do(ctx, in), c.Turn(ctx, in)); err != nil {
				t.Fatal(err)
			}
			return to
		}
		first := talk("hello", 0)
		if want := []string{"person hello", "answer hello to you"}; !slices.Equal(first.shown, want) {
			t.Errorf("the first turn shows %q, want %q", first.shown, want)
		}
		second := talk("once more", 2) // as another process would
		if want := []string{"person once more", "answer and again"}; !slices.Equal(second.shown, want) {
			t.Errorf("the second turn shows %q, want %q", second.shown, want)
		}
		if _, err := n.Cancel(ctx, id, ""); err != nil {
			return err
		}
		to := new(listened)
		c := &home.Conversation{Home: h, Node: n, Agent: id, To: to}
		if _, err := c.Begin(ctx, 1); err != nil {
			return err
		}
		if _, ended, err := c.Rest(ctx); err != nil || !ended ||
			!strings.Contains(strings.Join(to.told, " "), "was ended by") {
			t.Errorf("ended %v, %v, told %q", ended, err, to.told)
		}
		return nil
	})
}

// TestWhatOthersSayDoesNotCutIntoAnAnswer: it is shown when the model has said what it says.
// TestWhoCannotBeHeardIsTold: nothing that was said is left out without a word.
func TestWhoCannotBeHeardIsTold(t *testing.T) {
	t.Parallel()
	talking(t, "turns:\n  - sleep: {on: answer}\n", func(ctx context.Context, h *home.Home, n *perdure.Node,
		id perdure.AgentID) error {
		c := &home.Conversation{Home: h, Node: n, Agent: id, To: new(listened)}
		if _, err := c.Begin(ctx, 3); err != nil {
			return err
		}
		if err := c.Do(ctx, home.Input{Say: "bad \xff"}); !errors.Is(err, perdure.ErrRejected) {
			t.Errorf("text that is not UTF-8: %v", err)
		}
		if _, err := home.ReadRequest([]byte("{\"say\": \"bad \xff\"}")); err == nil {
			t.Error("a request that is not UTF-8 is read as another")
		}
		return nil
	})
}

func TestWhatOthersSayDoesNotCutIntoAnAnswer(t *testing.T) {
	t.Parallel()
	const turns = "turns:\n  - sleep: {on: answer}\n  - text: it goes on and on\n"
	talking(t, turns, func(ctx context.Context, h *home.Home, n *perdure.Node, id perdure.AgentID) error {
		to := &listened{deltas: true}
		c := &home.Conversation{Home: h, Node: n, Agent: id, To: to}
		reads, answered := n.Advisors[""], false
		n.Advisors[""] = perdure.AdvisorFunc(func(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
			adv, err := reads.Advise(ctx, a)
			if err != nil || answered || len(adv.Actions) != 1 {
				return adv, err
			}
			if said, ok := adv.Actions[0].(perdure.Sleep); !ok || said.Note == "" {
				return adv, nil
			}
			answered = true
			c.Hear(id, "it goes on")
			if _, err := n.Say(ctx, id, "y"); err != nil { // as another terminal would
				return adv, err
			}
			for range 3 { // the last is taken when whoever shows what there is has looked
				c.Stirred <- struct{}{}
			}
			c.Hear(id, " and on")
			c.Hear(id, "")
			return adv, nil
		})
		if _, err := c.Begin(ctx, 3); err != nil {
			return err
		}
		in := home.Input{Say: "hello"}
		if err := errors.Join(c.Do(ctx, in), c.Turn(ctx, in)); err != nil {
			return err
		}
		want := []string{"person hello", "delta it goes on", "delta  and on", "delta ", "person y"}
		if got := to.shown; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("it shows %q, want first %q", got, want)
		}
		return nil
	})
}

func TestNobodyTalksToAnAgentWithoutAnAdvisor(t *testing.T) {
	t.Parallel()
	h := &home.Home{URL: t.TempDir(), Acts: true}
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		id, _, err := h.Chat(ctx, s, false, nil)
		if err != nil {
			return err
		}
		c := &home.Conversation{Home: h, Node: n, Agent: id, To: new(listened)}
		if _, err := c.Begin(ctx, 1); err == nil || !strings.Contains(err.Error(), "no advisor configured") {
			t.Errorf("got %v", err)
		}
		c.Follow = true
		_, err = c.Begin(ctx, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
