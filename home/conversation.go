package home

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// Listener is told what happens in a conversation while it happens, one thing at a time.
type Listener interface {
	Delta(text string)  // part of what the model says; empty: that is all
	Show(s view.Spoken) // a piece of the conversation, whole
	Tell(text string)   // something about the conversation itself
}

// Conversation is what people and an agent say to each other. Its history is the agent's memory, so that it can be left
// and come back to at any time, from any process, and from several at once: one of them runs a turn, and all show it.
// Begin comes first; then turn by turn Rest, Look while nobody says anything, Do and Turn. Hear is for Powers.Say, and
// nothing else is safe for more than one goroutine.
type Conversation struct {
	Home   *Home
	Node   *perdure.Node
	Agent  perdure.AgentID
	To     Listener
	Follow bool // another process runs the agent: here it is only told things and followed
	Twice  bool // what was heard as the model said it is shown again once it is in memory

	Told    perdure.Hash  // the entry of what was said here last
	Words   []string      // what people said to it before, oldest first, as far as its last entries go back
	Stirred chan struct{} // has something when Look may find something

	waits  atomic.Bool // a turn waits for a time, and nothing is at work
	leaves atomic.Bool // whoever sits here leaves as soon as a turn only waits
	halted bool        // what there is to do waits for a word: the turn was interrupted, here or elsewhere, or failed
	alarm  *time.Timer // of when time alone may change where it rests
	mu     sync.Mutex
	memory *view.Follower
	voices view.Voices
	live   strings.Builder // what the model is saying
	heard  []string        // what it has said that was not seen in memory yet
	failed perdure.Signal  // what kept the advisor from answering last
	away   bool            // another process is at work on the agent
	cannot string          // what this node lacked in the last turn, if anything
	idle   *perdure.Idle   // why the last turn ended that was run here; nil: there was none
	place  perdure.Place   // of the store
}

// Input is what whoever talks wants; the zero input goes on.
type Input struct {
	Say      string
	Digest   perdure.Hash // of what is approved or denied
	Decision perdure.Hash // of an effect in doubt
	Yes      bool         // it is approved, or has happened
	Note     string
	Due      bool // nobody said anything: Look found that there is something to do
}

// Advised refuses an agent that nobody on this node thinks for, by the name of the advisor it wants.
func Advised(n *perdure.Node, name string) error {
	if n.Advisors[name] != nil {
		return nil
	}
	what, flag := "no advisor configured", "--advisor anthropic:MODEL"
	if name != "" {
		what, flag = "no advisor "+name+" configured", "--advisor "+name+"=anthropic:MODEL"
	}
	return perdure.WithHint(errors.New(what),
		"add "+flag+", or the same to node.yaml; or --follow, if another process runs the agent")
}

// Begin begins, or goes on with, the conversation, and returns what was said in the last turns. It is followed until
// ctx ends. An agent for which nobody here thinks is refused, unless it is only followed; so is one that was handed
// over.
func (t *Conversation) Begin(ctx context.Context, turns int) (said []view.Spoken, err error) {
	a, err := t.Home.Load(ctx, t.Node.Store, t.Agent)
	if err != nil {
		return nil, err
	}
	if t.place, err = t.Home.PlaceOf(ctx, t.Node.Store); err != nil {
		return nil, err
	}
	if err := t.gone(a); err != nil {
		return nil, err
	}
	if workspace.Keeps(a.Fold().Intent.Kind) {
		return nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("%s keeps documents, and does not answer",
			view.Called(a))), "perdure chat --new talks to another agent; perdure doc read and doc write are "+
			"for documents")
	}
	ended, err := t.Home.Ended(a)
	if err != nil {
		return nil, err
	}
	if !ended && !t.Follow {
		if err := Advised(t.Node, a.Fold().Intent.Advisor); err != nil {
			return nil, err
		}
	}
	t.voices = t.Home.VoicesIn(a)
	if t.memory, said, err = view.FollowTalk(ctx, t.Node.Store, t.Agent, t.voices); err != nil {
		return nil, err
	}
	for _, s := range said {
		if s.Type == view.SpokenPerson {
			t.Words = append(t.Words, s.Text)
		}
	}
	t.Stirred, t.halted = make(chan struct{}, 1), true
	go t.watch(ctx)
	return view.LastTurns(said, turns), nil
}

// Do tells the agent what was said to it. What it comes to is for Turn.
func (t *Conversation) Do(ctx context.Context, in Input) error {
	var e *perdure.Entry
	var err error
	switch {
	case !in.Digest.IsZero():
		e, err = Vote(ctx, t.Node, t.Agent, in)
	case !in.Decision.IsZero():
		e, err = settle(ctx, t.Node, t.Agent, in)
	case in.Say != "":
		a, unread := t.Home.Load(ctx, t.Node.Store, t.Agent)
		if unread != nil {
			return unread
		}
		if err := t.gone(a); err != nil {
			return err
		}
		if e, err = t.Node.Say(ctx, t.Agent, in.Say); err == nil {
			t.Words = append(t.Words, in.Say)
		}
	}
	if e != nil {
		t.Told = e.Name
	}
	return err
}

// gone refuses an agent that this store has handed over: what is said to this copy would be heard by nobody.
func (t *Conversation) gone(a *perdure.Agent) error {
	if ended, err := t.Home.Ended(a); err != nil || ended || !a.Fold().HandedOver(t.place) {
		return err
	}
	idle := perdure.Idle{Reasons: []perdure.Reason{{Kind: phase.RestGiven}}}
	return perdure.WithHint(fmt.Errorf("%s %w: %s", view.Called(a), errPerson, view.Why(idle)),
		(&Ran{Now: a}).unseated(view.Callable(a))+"; perdure chat --new talks to another")
}

// Left is what Home.Ran says of where a conversation is left; nil: nothing keeps the agent from going on but what it is
// told next, or another process is at work on it.
func (t *Conversation) Left(ctx context.Context) (*Ran, error) {
	r, err := t.rest(ctx)
	if err != nil {
		return nil, err
	}
	now, idle := time.Now(), t.idle
	switch {
	case r.ended:
		return t.Home.Ran(ctx, t.Node.Store, t.Agent, perdure.Idle{}, now)
	case r.Elsewhere || t.Follow && !r.Idle, r.Asks && !slices.ContainsFunc(r.Waits, beyondWords):
		return nil, nil
	case idle == nil: // nobody has wanted it to go on
		step, rests := perdure.Plan(r.Now, perdure.Capabilities{All: true, Trust: t.Node.Trusted()}, now).(perdure.Idle)
		if !rests {
			return nil, nil
		}
		idle = &step
	}
	return t.Home.Ran(ctx, t.Node.Store, t.Agent, *idle, now)
}

// beyondWords reports whether something waits for more than a word.
func beyondWords(w view.Wait) bool { return w.Kind != view.WaitTalk && w.Kind != view.WaitQuestion }

// catchUp shows what was added to memory, and says how many entries that is.
func (t *Conversation) catchUp(ctx context.Context) (lines int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.memory.Next(ctx, func(l view.Line) error {
		lines++
		l.Call(t.voices)
		for _, s := range l.Spoken() {
			if s.Type == view.SpokenError {
				t.failed = s.Signal
			}
			if t.Twice || !t.heardAlready(s) {
				t.To.Show(s)
			}
		}
		return nil
	})
	return lines, err
}

// heardAlready reports whether a text was shown while the model said it.
func (t *Conversation) heardAlready(s view.Spoken) bool {
	if s.Type != view.SpokenAnswer && s.Type != view.SpokenText {
		return false
	}
	for i, text := range t.heard {
		if strings.TrimSpace(text) == strings.TrimSpace(s.Text) {
			t.heard = append(t.heard[:i], t.heard[i+1:]...)
			return true
		}
	}
	return false
}

// Hear shows what a model says for the agent, as it says it; an empty text ends it. What came before it in memory is
// shown first, and what comes meanwhile after it.
func (t *Conversation) Hear(id perdure.AgentID, text string) {
	if id != t.Agent { // a child thinks
		return
	}
	t.mu.Lock()
	begins := t.live.Len() == 0 && text != ""
	t.mu.Unlock()
	if begins {
		_, _ = t.catchUp(context.Background()) // whoever looks next finds what is wrong
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.To.Delta(text)
	if text == "" && t.live.Len() > 0 {
		t.heard = append(t.heard, t.live.String())
		t.live.Reset()
		t.stir()
		return
	}
	t.live.WriteString(text)
}
