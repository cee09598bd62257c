package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

func chatCommand() *cobra.Command {
	c := command("chat", cobra.MaximumNArgs(1))
	h := storeFlag(c).acting()
	p := powerFlags(c)
	another := c.Flags().Bool("new", false, "make another agent to talk to")
	follow := c.Flags().Bool("follow", false,
		"do not run the agent here: only tell it what you say, and follow what it does elsewhere")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *another && len(args) > 0 {
			return perdure.Invalid(errors.New("--new makes another agent; leave AGENT out"))
		}
		ctx, stop := untilTerminated(c.Context())
		defer stop()
		c.SetContext(ctx)
		t := &chat{c: c, h: h, powers: p, follows: *follow}
		if len(args) == 1 {
			return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
				id, err := home.Find(ctx, s, arg)
				if err != nil {
					return err
				}
				done, err := h.Alone(ctx, id)
				if err != nil {
					return err
				}
				named := func(context.Context) (perdure.AgentID, error) { return id, nil }
				err = t.open(ctx, s, named)
				h.CloseWitness()
				return errors.Join(err, done())
			})
		}
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			return t.open(ctx, s, func(ctx context.Context) (id perdure.AgentID, err error) {
				if err := t.advised(""); err != nil { // nothing is made for nothing
					return id, err
				}
				id, t.made, err = h.Chat(ctx, s, *another)
				return id, err
			})
		})
	}
	return c
}

// untilTerminated is a context that an interrupt does not end: it is for the turn. SIGTERM still does.
func untilTerminated(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	stop := context.AfterFunc(ctx, func() { signal.Stop(term) })
	go func() {
		select {
		case <-term:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); stop() }
}

// chat is a conversation with an agent.
type chat struct {
	c       *cobra.Command
	h       *homeFlag
	powers  *home.Powers
	follows bool // another process runs the agent
	made    bool // it was made just now

	node      *perdure.Node
	store     perdure.Store
	id        perdure.AgentID
	trust     *perdure.Trust
	face      chatFace
	interrupt chan os.Signal

	told perdure.Hash // the entry of what was said here last

	mu     sync.Mutex
	memory *view.Follower
	live   strings.Builder // what the model is saying
	heard  []string        // what it has said that was not seen in memory yet
	failed perdure.Signal  // what kept the advisor from answering last
	away   bool            // another process is at work on the agent
	cannot string          // what this node lacked in the last turn, if anything
}

// chatFace is who talks: people at a terminal, or a program.
type chatFace interface {
	delta(text string)               // part of what the model says; empty: that is all
	show(s view.Spoken)              // a piece of the conversation, whole
	past(of []view.Spoken)           // what was said before
	tell(format string, args ...any) // something about the conversation itself
	rest(r *chatRest) error          // a turn is over
	next(ctx context.Context, r *chatRest) (chatInput, error)
}

// chatRest is where a conversation rests.
type chatRest struct {
	Type     string          `json:"type"` // rest
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Standing string          `json:"standing"`
	Why      string          `json:"why,omitempty"`
	Until    perdure.Time    `json:"until,omitempty"`
	Waits    []view.Wait     `json:"waits,omitempty"`

	agent *perdure.Agent
	asks  bool   // the agent waits for what it is told
	idle  bool   // nothing goes on by itself
	lacks bool   // this node cannot go on, though another might
	said  string // why it rests, as people read it now
}

// chatInput is what whoever talks wants.
type chatInput struct {
	say    string
	digest perdure.Hash // of what is approved or denied
	yes    bool
	note   string
	leave  bool // else it goes on
}

// historyTurns is how many turns are shown to who comes back.
const historyTurns = 3

// open begins the conversation with an agent, once it is known what this node can do, and has it.
func (t *chat) open(ctx context.Context, s perdure.Store,
	find func(context.Context) (perdure.AgentID, error),
) (err error) {
	t.store = s
	var face chatFace
	if jsonFlag(t.c) {
		face = newProgramFace(t)
	} else {
		face = newPeopleFace(t)
	}
	t.face, t.powers.Say = face, t.hear
	level := &slog.HandlerOptions{Level: slog.LevelError} // what fails is said where it happens
	log := slog.New(slog.NewTextHandler(t.c.ErrOrStderr(), level))
	if t.node, err = t.powers.Node(ctx, t.h.Home, s, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.powers.Close()) }()
	t.trust = t.node.Trust
	if t.id, err = find(ctx); err != nil {
		return err
	}
	a, err := t.h.Load(ctx, s, t.id)
	if err != nil {
		return err
	}
	if f := a.Fold(); f.Ended == nil {
		if err := t.advised(f.Intent.Advisor); err != nil {
			return err
		}
	}
	var said []view.Spoken
	if t.memory, said, err = view.FollowTalk(ctx, s, t.id, historyTurns); err != nil {
		return err
	}
	face.past(said)
	t.interrupt = make(chan os.Signal, 1)
	signal.Notify(t.interrupt, os.Interrupt)
	defer signal.Stop(t.interrupt)
	return t.talk(ctx)
}

// advised refuses an agent that nobody here can think for.
func (t *chat) advised(name string) error {
	if t.follows || t.node.Advisors[name] != nil {
		return nil
	}
	if name == "" {
		return perdure.WithHint(errors.New("no advisor configured"),
			"add --advisor anthropic:MODEL, or the same to node.yaml; or --follow, if another process runs the agent")
	}
	return perdure.WithHint(fmt.Errorf("no advisor %s configured", name),
		"add --advisor "+name+"=anthropic:MODEL, or the same to node.yaml; or --follow, if another process runs the agent")
}

// talk takes turns until whoever talks leaves, or the agent has ended.
func (t *chat) talk(ctx context.Context) error {
	for {
		r, ended, err := t.look(ctx)
		if err != nil || ended {
			return err
		}
		if err := t.face.rest(r); err != nil {
			return err
		}
		in, err := t.face.next(ctx, r)
		if err != nil || in.leave {
			return err
		}
		if err := t.do(ctx, in); err != nil {
			if ctx.Err() != nil {
				return err
			}
			t.problem(err)
			continue
		}
		if err := t.turn(ctx, in); err != nil {
			return err
		}
	}
}

// problem says what went wrong, and what to do about it. The conversation goes on.
func (t *chat) problem(err error) {
	text, hint := view.Explain(err, t.c.CommandPath())
	if hint != "" {
		text += "; " + hint
	}
	t.face.tell("%s", here(text))
}

// do tells the agent what was said to it.
func (t *chat) do(ctx context.Context, in chatInput) error {
	var e *perdure.Entry
	var err error
	switch {
	case !in.digest.IsZero() && in.yes:
		e, err = t.node.Approve(ctx, t.id, in.digest, 0, in.note)
	case !in.digest.IsZero():
		e, err = t.node.Deny(ctx, t.id, in.digest, in.note)
	case in.say != "":
		e, err = t.node.Say(ctx, t.id, in.say)
	}
	if e != nil {
		t.told = e.Name
	}
	return err
}

// look says where the conversation rests, and whether it is over.
func (t *chat) look(ctx context.Context) (*chatRest, bool, error) {
	if err := t.catchUp(ctx); err != nil {
		return nil, false, err
	}
	a, err := t.h.Load(ctx, t.store, t.id)
	if err != nil {
		return nil, false, err
	}
	f, now := a.Fold(), time.Now()
	if f.Ended != nil {
		t.face.tell("%s has ended: %s%s", view.Called(a), f.Ended.Signal, view.Noted(f.Ended.Note))
		return nil, true, nil
	}
	r := &chatRest{Type: "rest", Agent: t.id, Name: f.Intent.Name, agent: a}
	if r.Waits, err = view.Waits(ctx, t.store, a, t.trust, t.node.Key.Key(), now); err != nil {
		return nil, false, err
	}
	for i := range r.Waits {
		typed(&r.Waits[i])
	}
	_, r.asks = f.Question(now)
	step := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t.trust}, now)
	idle, rests := step.(perdure.Idle)
	r.idle, r.Why, r.Until = rests, view.Why(idle), idle.Until
	r.said, _ = view.WhyNow(idle, now)
	if r.lacks = !rests && t.cannot != ""; r.lacks {
		r.Why = view.LackOf(f, t.node.Key.Key(), t.cannot)
	}
	r.Standing = a.Standing(t.trust, perdure.Hash{}, now)
	unspoken := f.Turns == 0 && len(f.Inbox) == 0 && f.Intent.Kind == perdure.ChatKind
	r.asks = r.asks || unspoken // nobody has said anything yet
	return r, false, nil
}

// catchUp shows what was added to memory.
func (t *chat) catchUp(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.memory.Next(ctx, func(l view.Line) error {
		for _, s := range l.Spoken() {
			if s.Type == view.SpokenError {
				t.failed = s.Signal
			}
			if !t.heardAlready(s) {
				t.face.show(s)
			}
		}
		return nil
	})
}

// heardAlready reports whether a text was shown while the model said it.
func (t *chat) heardAlready(s view.Spoken) bool {
	if s.Type != view.SpokenAnswer && s.Type != view.SpokenText || jsonFlag(t.c) {
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

// hear shows what the model says. What came before it in memory is shown first.
func (t *chat) hear(id perdure.AgentID, text string) {
	if id != t.id { // a child thinks
		return
	}
	t.mu.Lock()
	begins := t.live.Len() == 0 && text != ""
	t.mu.Unlock()
	if begins {
		_ = t.catchUp(t.c.Context()) // whoever looks next finds what is wrong
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.face.delta(text)
	if text == "" && t.live.Len() > 0 {
		t.heard = append(t.heard, t.live.String())
		t.live.Reset()
		return
	}
	t.live.WriteString(text)
}
