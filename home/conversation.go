package home

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

const (
	// turnPatience is how long a turn waits by itself for an advisor that has no time, until it is tried again.
	turnPatience = 2 * time.Minute
	// lookAgain is how often an agent that is at work elsewhere is looked at, if nothing says that it has changed.
	lookAgain = time.Second
)

// Listener is told what happens in a conversation while it happens, one thing at a time.
type Listener interface {
	Delta(text string)  // part of what the model says; empty: that is all
	Show(s view.Spoken) // a piece of the conversation, whole
	Tell(text string)   // something about the conversation itself
}

// Conversation is what people and an agent say to each other. Its history is the agent's memory, so that it can be left
// and come back to at any time, from any process. Begin comes first; then turn by turn Rest, Do and Turn. Hear is for
// Powers.Say, and nothing else is safe for more than one goroutine.
type Conversation struct {
	Home   *Home
	Node   *perdure.Node
	Agent  perdure.AgentID
	To     Listener
	Follow bool // another process runs the agent: here it is only told things and followed
	Twice  bool // what was heard as the model said it is shown again once it is in memory

	Told perdure.Hash // the entry of what was said here last

	mu     sync.Mutex
	memory *view.Follower
	live   strings.Builder // what the model is saying
	heard  []string        // what it has said that was not seen in memory yet
	failed perdure.Signal  // what kept the advisor from answering last
	away   bool            // another process is at work on the agent
	cannot string          // what this node lacked in the last turn, if anything
}

// Rest is where a conversation rests between two turns.
type Rest struct {
	Type     string          `json:"type"` // rest
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Standing string          `json:"standing"`
	Why      string          `json:"why,omitempty"`
	Until    perdure.Time    `json:"until,omitempty"`
	Waits    []view.Wait     `json:"waits,omitempty"`

	Now   *perdure.Agent `json:"-"` // the agent as it is
	Asks  bool           `json:"-"` // it waits for what it is told
	Idle  bool           `json:"-"` // nothing goes on by itself
	Lacks bool           `json:"-"` // this node cannot go on, though another might
	Said  string         `json:"-"` // why it rests, as people read it now
}

// Input is what whoever talks wants; the zero input goes on.
type Input struct {
	Say    string
	Digest perdure.Hash // of what is approved or denied
	Yes    bool
	Note   string
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

// Begin begins, or goes on with, the conversation, and returns what was said in the last turns. An agent for which
// nobody here thinks is refused, unless it is only followed.
func (t *Conversation) Begin(ctx context.Context, turns int) (said []view.Spoken, err error) {
	a, err := t.Home.Load(ctx, t.Node.Store, t.Agent)
	if err != nil {
		return nil, err
	}
	if f := a.Fold(); f.Ended == nil && !t.Follow {
		if err := Advised(t.Node, f.Intent.Advisor); err != nil {
			return nil, err
		}
	}
	t.memory, said, err = view.FollowTalk(ctx, t.Node.Store, t.Agent, turns)
	return said, err
}

// Do tells the agent what was said to it. What it comes to is for Turn.
func (t *Conversation) Do(ctx context.Context, in Input) error {
	var e *perdure.Entry
	var err error
	switch {
	case !in.Digest.IsZero():
		e, err = Vote(ctx, t.Node, t.Agent, in)
	case in.Say != "":
		e, err = t.Node.Say(ctx, t.Agent, in.Say)
	}
	if e != nil {
		t.Told = e.Name
	}
	return err
}

// Rest shows what has happened since, and is where the conversation rests. Ended says that the agent has, and the
// conversation is over.
func (t *Conversation) Rest(ctx context.Context) (r *Rest, ended bool, err error) {
	if err := t.catchUp(ctx); err != nil {
		return nil, false, err
	}
	a, err := t.Home.Load(ctx, t.Node.Store, t.Agent)
	if err != nil {
		return nil, false, err
	}
	f, now := a.Fold(), time.Now()
	if f.Ended != nil {
		t.To.Tell(fmt.Sprintf("%s has ended: %s%s", view.Called(a), f.Ended.Signal, view.Noted(f.Ended.Note)))
		return nil, true, nil
	}
	r = &Rest{Type: "rest", Agent: t.Agent, Name: f.Intent.Name, Now: a}
	if r.Waits, err = view.Waits(ctx, t.Node.Store, a, t.Node.Trust, t.Node.Key.Key(), now); err != nil {
		return nil, false, err
	}
	_, r.Asks = f.Question(now)
	step := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t.Node.Trust}, now)
	idle, rests := step.(perdure.Idle)
	r.Idle, r.Why, r.Until = rests, view.Why(idle), idle.Until
	r.Said, _ = view.WhyNow(idle, now)
	if r.Lacks = !rests && t.cannot != ""; r.Lacks {
		r.Why = view.LackOf(f, t.Node.Key.Key(), t.cannot)
	}
	r.Standing = a.Standing(t.Node.Trust, perdure.Hash{}, now)
	unspoken := f.Turns == 0 && len(f.Inbox) == 0 && f.Intent.Kind == perdure.ChatKind
	r.Asks = r.Asks || unspoken // nobody has said anything yet
	return r, false, nil
}

// Approvable are the actions that wait for an approval that this node's key may give.
func Approvable(n *perdure.Node, a *perdure.Agent, waits []view.Wait) (found []*view.Wait) {
	for i := range waits {
		if w := &waits[i]; w.Kind == view.WaitApproval {
			if _, err := n.Votable(a, w.Digest, true); err == nil {
				found = append(found, w)
			}
		}
	}
	return found
}

// Turn has the agent work until it rests, here or elsewhere, and shows what it does. It waits a while for an advisor
// that has no time; after an input that only goes on, as long as it takes. Whoever ends ctx interrupts the turn, and
// not the agent.
func (t *Conversation) Turn(ctx context.Context, in Input) error {
	turn, stop := context.WithCancel(ctx)
	shown := t.watch(turn)
	err := t.work(turn, in == Input{})
	stop()
	<-shown
	t.Hear(t.Agent, "")
	t.mu.Lock()
	t.heard = nil // of what was cut off
	t.mu.Unlock()
	return err
}

// Elsewhere reports whether another process is at work on the agent, which no interrupt here ends.
func (t *Conversation) Elsewhere() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.away
}

// watch shows what is added to memory until ctx ends; then what it returns is closed.
func (t *Conversation) watch(ctx context.Context) <-chan struct{} {
	changed := view.Watch(ctx, t.Node.Store)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed.Signal:
				if ids, all := changed.Take(); !all {
					if _, is := ids[t.Agent]; !is {
						continue
					}
				}
				_ = t.catchUp(ctx) // whoever looks next finds what is wrong
			}
		}
	}()
	return done
}

// work runs the agent until it rests. With goes it waits for whatever the agent waits for first.
func (t *Conversation) work(ctx context.Context, goes bool) error {
	t.mu.Lock()
	t.failed, t.away, t.cannot = 0, t.Follow, ""
	t.mu.Unlock()
	until := time.Now().Add(turnPatience)
	for {
		idle, err := t.run(ctx)
		if errors.Is(err, perdure.ErrConflict) {
			if rests, err := t.elsewhere(ctx); rests || err != nil {
				return err
			}
			continue
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err := t.catchUp(ctx); err != nil {
			return err
		}
		wait := time.Until(idle.Until.Go())
		if idle.Until == 0 || idle.Person || idle.Needs != "" {
			t.cannot = idle.Needs
			return nil
		}
		if !goes && (!t.passes() || time.Now().Add(wait).After(until)) {
			return nil
		}
		goes = false
		if wait > lookAgain {
			t.To.Tell("waiting until " + view.Moment(idle.Until, time.Now()) + "; Ctrl-C stops waiting")
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// passes reports whether what kept the advisor from answering passes by itself.
func (t *Conversation) passes() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed == perdure.Throttled || t.failed == perdure.TimedOut || t.failed == perdure.Silent
}

// run runs the agent here, unless that is for another process to do.
func (t *Conversation) run(ctx context.Context) (perdure.Idle, error) {
	if t.Follow {
		return perdure.Idle{}, perdure.ErrConflict
	}
	return t.Node.RunAgent(ctx, t.Agent)
}

// elsewhere waits a while for an agent that is at work in another process, and says whether it rests.
func (t *Conversation) elsewhere(ctx context.Context) (bool, error) {
	t.mu.Lock()
	first := !t.away
	t.away = true
	t.mu.Unlock()
	if first {
		t.To.Tell("another process is at work on it: what it does is shown here")
	}
	select {
	case <-time.After(lookAgain / 4):
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if err := t.catchUp(ctx); err != nil {
		return false, err
	}
	a, err := t.Home.Load(ctx, t.Node.Store, t.Agent)
	if err != nil {
		return false, err
	}
	_, idle := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t.Node.Trust}, time.Now()).(perdure.Idle)
	return idle && len(a.Fold().Open) == 0, nil
}

// catchUp shows what was added to memory.
func (t *Conversation) catchUp(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.memory.Next(ctx, func(l view.Line) error {
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
// shown first.
func (t *Conversation) Hear(id perdure.AgentID, text string) {
	if id != t.Agent { // a child thinks
		return
	}
	t.mu.Lock()
	begins := t.live.Len() == 0 && text != ""
	t.mu.Unlock()
	if begins {
		_ = t.catchUp(context.Background()) // whoever looks next finds what is wrong
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.To.Delta(text)
	if text == "" && t.live.Len() > 0 {
		t.heard = append(t.heard, t.live.String())
		t.live.Reset()
		return
	}
	t.live.WriteString(text)
}
