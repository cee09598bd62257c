package home

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// Rest is where a conversation rests between two turns.
type Rest struct {
	Type     string          `json:"type"` // rest
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Standing phase.Standing  `json:"standing"`
	Why      string          `json:"why,omitempty"`
	Until    perdure.Time    `json:"until,omitempty"`
	Waits    []view.Wait     `json:"waits,omitempty"`

	Now       *perdure.Agent `json:"-"` // the agent as it is
	Asks      bool           `json:"-"` // it waits for what it is told
	Idle      bool           `json:"-"` // nothing goes on by itself
	Elsewhere bool           `json:"-"` // another process is at work on it
	Goes      bool           `json:"-"` // it goes on by itself: Look says when
	Lacks     bool           `json:"-"` // this node cannot go on, though another might
	Silent    bool           `json:"-"` // its model said nothing: it is asked again once somebody says something
	Said      string         `json:"-"` // why it rests, as people read it now

	ended bool
	open  time.Time // since when there is something to do that nobody does; zero: there is not
	told  bool      // that nobody does it
}

// Rest shows what has happened since, and is where the conversation rests. Ended says that the agent has, and the
// conversation is over.
func (t *Conversation) Rest(ctx context.Context) (r *Rest, ended bool, err error) {
	if _, err := t.catchUp(ctx); err != nil {
		return nil, false, err
	}
	if r, err = t.rest(ctx); err != nil {
		return nil, false, err
	}
	if r.ended {
		by := view.EndedBy(r.Now, t.Home.VoicesIn(r.Now))
		t.To.Tell(view.Called(r.Now) + " " + view.EndText(r.Now.Fold().Ended, by))
		return nil, true, nil
	}
	if t.alarm != nil {
		t.alarm.Stop()
	}
	t.halted = t.halted && !r.Idle
	if r.Goes = !r.Idle && !r.Elsewhere && !r.Lacks && !t.halted; r.Goes {
		r.open = time.Now()
	}
	switch {
	case r.Elsewhere || r.Goes:
		t.alarm = time.AfterFunc(lookAgain, t.stir)
	case r.Idle && r.Until != 0:
		t.alarm = time.AfterFunc(time.Until(r.Until.Go())+time.Millisecond, t.stir)
	}
	return r, false, nil
}

// rest is where the conversation rests now.
func (t *Conversation) rest(ctx context.Context) (*Rest, error) {
	a, err := t.Home.Load(ctx, t.Node.Store, t.Agent)
	if err != nil {
		return nil, err
	}
	f, now := a.Fold(), time.Now()
	r := &Rest{Type: "rest", Agent: t.Agent, Name: f.Intent.Name, Now: a}
	if r.ended, err = t.Home.Ended(a); err != nil || r.ended {
		return r, err
	}
	if r.Waits, err = view.Waits(ctx, t.Node.Store, a, t.Node.Trusted(), t.Node.Key.Key(), now); err != nil {
		return nil, err
	}
	at, err := view.AttendanceOf(ctx, t.Node.Store)
	if err != nil {
		return nil, err
	}
	strays := at.Strays(a, now)
	if err := view.DescribeAll(ctx, t.Node.Store, a, strays); err != nil {
		return nil, err
	}
	if r.Waits = append(r.Waits, strays...); t.Node.Trusted().Counts(a) == nil {
		r.Waits = append(r.Waits, view.SeatWaits(a, t.Node.Trusted(), t.Node.Key.Key(), t.place, now)...)
	}
	_, r.Asks = f.Question(now)
	step := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t.Node.Trusted()}, now)
	idle, rests := step.(perdure.Idle)
	r.Elsewhere = at.Held(t.Agent)
	r.Idle, r.Why, r.Until = rests && !r.Elsewhere, view.Why(idle), idle.Until
	r.Said, _ = view.WhyNow(idle, now)
	r.Silent = rests && idle.Is(phase.RestSilent)
	if r.Lacks = !rests && t.cannot != ""; r.Lacks {
		r.Why = view.LackOf(f, t.Node.Key.Key(), t.cannot)
	}
	if r.Standing, err = t.Home.Standing(ctx, t.Node.Store, a, now); err != nil {
		return nil, err
	}
	unspoken := f.Turns == 0 && len(f.Inbox) == 0 && f.Intent.Kind == perdure.ChatKind
	r.Asks = r.Asks || unspoken // nobody has said anything yet
	return r, nil
}

// News is what has become of a conversation since it came to rest.
type News int

// What there may be to tell.
const (
	Same  News = iota // it rests where it was
	Moved             // it rests elsewhere: what was asked is answered, or there is something else to say
	Due               // there is something to do, and nobody does it
)

// Look shows what has happened since the conversation came to rest, and says what that comes to. It is for whenever
// Stirred has something. A turn that was interrupted is not gone on with by itself.
func (t *Conversation) Look(ctx context.Context, r *Rest) (News, error) {
	lines, err := t.catchUp(ctx)
	if err != nil {
		return Same, err
	}
	late := r.Until != 0 && !time.Now().Before(r.Until.Go())
	if lines == 0 && !r.Elsewhere && r.open.IsZero() && !(r.Idle && late) {
		return Same, nil
	}
	now, err := t.rest(ctx)
	if err != nil {
		return Same, err
	}
	switch {
	case now.ended || r.asked() != now.asked():
		return Moved, nil
	case now.Elsewhere:
		r.Elsewhere, r.open = true, time.Time{}
	case now.Idle:
		if r.open = (time.Time{}); r.Idle && r.Asks == now.Asks && r.Why == now.Why && r.Until == now.Until {
			return Same, nil
		}
		return Moved, nil
	case !r.Idle && !r.Elsewhere && !r.Goes:
		return Same, nil
	case t.unstarted(r) && r.Elsewhere:
		t.halted = true // they gave it up
		return Moved, nil
	case t.unstarted(r):
		return Due, nil
	}
	time.AfterFunc(lookAgain, t.stir)
	return Same, nil
}

// unstarted reports whether there is work that nobody has begun for so long that it is for this process.
func (t *Conversation) unstarted(r *Rest) bool {
	if r.open.IsZero() {
		r.open = time.Now()
	}
	waited := time.Since(r.open)
	if !t.Follow {
		return waited >= yields
	}
	if waited >= unattended && !r.told {
		r.told = true
		t.To.Tell(nobodyRuns)
	}
	return false
}

const nobodyRuns = "nobody runs it now: what you say waits until somebody does; start perdure node, or come back " +
	"without --follow"

// asked is what a person is asked where the conversation rests.
func (r *Rest) asked() string {
	var b strings.Builder
	for i := range r.Waits {
		if w := &r.Waits[i]; w.Kind == view.WaitApproval || w.Kind == view.WaitDoubt {
			fmt.Fprintln(&b, w.Kind, w.Digest, w.Decision, w.Answer != "")
		}
	}
	return b.String()
}

// Doubts are the effects in doubt that wait for somebody to say whether they happened.
func Doubts(waits []view.Wait) (found []*view.Wait) {
	for i := range waits {
		if w := &waits[i]; w.Kind == view.WaitDoubt && w.Answer != "" {
			found = append(found, w)
		}
	}
	return found
}

// Approvable are the actions that wait for an approval that this node's key may give.
func Approvable(n *perdure.Node, a *perdure.Agent, waits []view.Wait) (found []*view.Wait) {
	for i := range waits {
		if w := &waits[i]; w.Kind == view.WaitApproval {
			if _, err := n.Votable(a, w.Digest, true); err == nil {
				w.Unseal(n.Vault)
				found = append(found, w)
			}
		}
	}
	return found
}
