package home

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// Ran is where an agent stands after a node has run it until it rests.
type Ran struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Standing phase.Standing  `json:"standing"`
	Why      string          `json:"why"`
	Until    perdure.Time    `json:"until,omitempty"`
	Person   bool            `json:"person"`           // a person must act first
	Cannot   string          `json:"cannot,omitempty"` // what this node lacks
	Ended    *perdure.Ending `json:"ended,omitempty"`

	Reasons []perdure.Reason `json:"reasons,omitempty"` // why, for programs

	Now   *perdure.Agent `json:"-"` // as it is now
	idle  perdure.Idle
	older *view.Older // this home has seen more of it
	owns  bool        // this home may take its seat
	add   string      // what to do where there is no advisor
	by    string      // who ended it, if it did not end by itself
}

// Ran says where an agent stands that rests here, for the reason its node gave.
func (h *Home) Ran(ctx context.Context, s perdure.Store, id perdure.AgentID, idle perdure.Idle, now time.Time) (*Ran,
	error) {
	a, err := h.Load(ctx, s, id)
	if err != nil {
		return nil, err
	}
	trust, err := h.Trust()
	if err != nil {
		return nil, err
	}
	f := a.Fold()
	r := &Ran{id, f.Intent.Name, "", view.Why(idle), idle.Until, idle.Person, idle.Needs, trust.Ended(a), idle.Reasons,
		a, idle, nil, trust.SpeaksFor(f, h.nodeKey()), h.addAdvisor(), ""}
	if r.Ended != nil {
		r.by = view.EndedBy(a, h.VoicesIn(a))
	}
	if q, asks := f.Question(now); asks {
		r.Person, r.Why, r.Reasons = true, "asks: "+q.Text, nil
	}
	at, err := view.AttendanceOf(ctx, s)
	if err != nil {
		return nil, err
	}
	if strays := at.Strays(a, now); len(strays) > 0 && !r.Person {
		r.Person, r.Reasons, r.Why = true, nil, view.StrayText(strays)
	}
	l := a.Believed(trust, now)
	if l.Waiting = r.Person; idle.Needs == "" && idle.Until.Go().After(now) {
		l.Due = idle.Until // policy may know better than the plan
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return nil, err
	}
	if r.Standing = at.Standing(l.Standing(now), a, now); trust.Counts(a) == nil && a.GoneOn(place) {
		r.Standing = a.Standing(trust, place, now)
	}
	if r.older, err = h.Behind(ctx, s, a); r.older != nil && r.Ended == nil {
		r.Standing, r.Person, r.Why, r.Reasons = r.older.Standing(r.Standing), true, r.older.What(), nil
	}
	return r, err
}

// Stuck says what keeps the agent from going on here, if anything does but time, and what to do about it. An empty what
// with a hint means that a person must act first.
func (r *Ran) Stuck() (what, hint string) {
	name := view.Callable(r.Now)
	switch {
	case r.Ended != nil: // also by the word of strangers, of their agent
		return "", ""
	case r.older != nil:
		return "", r.older.Fix()
	case r.Held() && r.Now.Fold().Ended != nil:
		return "", "an entry that does not count here ends it: go on with a copy from before that; perdure import " +
			"FILE --drop-unknown puts it in the place of this one"
	case r.Held():
		id := r.Agent.Short() // its name may be that of one from here
		return "", "look at it with perdure show " + id + "; then perdure resume " + id + " admits it, or the " +
			"command above makes the entries of that key count"
	case r.idle.Is(phase.RestBlind):
		return "", "make room for seen.db in the home, or let it be written; see perdure doctor"
	case r.idle.Is(phase.RestShallow):
		return "", "import the whole memory: perdure import FILE, of a capsule exported at depth full"
	case r.idle.Is(phase.RestGiven, phase.RestDisputed, phase.RestElsewhere):
		return "", r.unseated(name)
	case r.Person:
		return "", "see perdure inbox"
	case r.Cannot != "":
		return r.lacks()
	case unanswered(&r.idle) != nil:
		return ": its advisor gave no advice: " + view.LastFailure(r.Now), otherAdvisor
	}
	return "", ""
}

// unadvised reports whether the agent cannot go on because its advisor cannot be had, or does not answer.
func (r *Ran) unadvised() bool {
	_, advisor := phase.AdvisorIn(r.Cannot)
	return advisor || unanswered(&r.idle) != nil
}

// Err is how a command ends that left the agent where it stands; nil: well. Of an agent that did not end well it is
// ErrUnwell.
func (r *Ran) Err() error {
	called := view.Called(r.Now)
	what, hint := r.Stuck()
	if r.unadvised() {
		name := r.Now.Fold().Intent.Advisor
		if name != "" {
			name += "="
		}
		hint += "; for this run alone, add --advisor " + name + "anthropic:MODEL"
	}
	switch {
	case r.Ended != nil && r.Ended.Signal != perdure.OK:
		return fmt.Errorf("%s %w", called, ErrUnwell)
	case what != "":
		return perdure.WithHint(errors.New(called+what), hint)
	case r.idle.Is(phase.RestGiven):
		return perdure.WithHint(&someFailed{called + " was handed over: nothing is done for it here", errPerson}, hint)
	case r.leftAlone():
		return perdure.WithHint(&someFailed{called + " goes on where its seat is: nothing is done for it here",
			errPerson}, hint)
	case hint != "":
		return perdure.WithHint(fmt.Errorf("%s %w", called, errPerson), hint)
	}
	return nil
}

// Held reports whether the agent does not count here: why says what to type about that.
func (r *Ran) Held() bool { return r.idle.Is(phase.RestHeld) }

// Text is where the agent stands, for people, and what it ended with.
func (r *Ran) Text(now time.Time) (text, result string) {
	name := view.Called(r.Now)
	if r.Ended != nil {
		text = name + " " + view.EndText(r.Ended, r.by)
		if r.Ended.Result != nil {
			result = view.AnswerText(r.Ended.Result)
		}
		return text, result
	}
	why, timed := r.Why, false
	if len(r.Reasons) > 0 {
		why, timed = view.WhyNow(perdure.Idle{Reasons: r.Reasons}, now)
	}
	why = strings.TrimPrefix(why, string(r.Standing)+": ")
	text = fmt.Sprintf("%s is %s: %s", name, r.Standing, view.OneLine(why, 0))
	if r.Cannot != "" {
		text = fmt.Sprintf("%s cannot go on here: %s", name, view.OneLine(why, 0))
	}
	if slices.ContainsFunc(r.Reasons, func(one perdure.Reason) bool { return awaitsChild(one.Trigger) }) {
		text += "; perdure node runs its children, or perdure run CHILD one of them"
	}
	if r.Until != 0 && !r.Person && r.Cannot == "" && !timed {
		text += "; next look at " + view.Moment(r.Until, now)
	}
	return strings.TrimSuffix(text, ": "), ""
}

// awaitsChild reports whether a trigger lacks the end of a child that lives.
func awaitsChild(p *perdure.Pending) bool {
	if p == nil {
		return false
	}
	switch t := p.Trigger.(type) {
	case perdure.Gather:
		return p.Live > 0
	case perdure.Done:
		return !t.Child.IsZero()
	}
	return slices.ContainsFunc(p.Of, func(part perdure.Pending) bool { return awaitsChild(&part) })
}

// otherAdvisor is what to do about an advisor that cannot be had.
const otherAdvisor = "perdure doctor checks advisors and their keys; another one is named in node.yaml " +
	"(advisor: anthropic:MODEL)"

// unseated is what to do about a seat that is elsewhere.
func (r *Ran) unseated(name string) string {
	if r.Now.Fold().Seats[0].Given {
		way := "import the file where it is to go on; if it is lost or was not finished, write it again: perdure " +
			"export " + name + " FILE --move; or, if nobody has imported it, destroy it and its copies, and "
		if to := r.Now.Fold().Seats[0].To; !to.IsZero() {
			way = "it goes on where key " + to.Short() + " signs; or, if that never takes it, destroy the copy " +
				"there, and "
		}
		return way + "take the seat back: perdure seat take " + name + " --yes --why TEXT"
	}
	take := "perdure seat take " + name + " --why TEXT"
	if !r.owns {
		take = view.TakenBy(r.Now.Fold())
	}
	if r.leftAlone() {
		return "what it is told here reaches it with the next sync, or with perdure push " + name + " PLACE; if that " +
			"store is lost, " + take
	}
	return "hand the seat over where it is, with export --move; if that store is lost, " + take
}

// leftAlone reports whether the agent goes on in another store, and waits here for nothing that only that may do.
func (r *Ran) leftAlone() bool { return r.idle.Is(phase.RestElsewhere) && !r.idle.Person }

// lacks says what this node lacks, and what to do about it.
func (r *Ran) lacks() (what, hint string) {
	_, advisor := phase.AdvisorIn(r.Cannot)
	if scope, outside := phase.ScopeIn(r.Cannot); outside {
		return " is left to other nodes: it is in scope " + view.InLine(scope) + ", and this node is for other scopes",
			"run it with --serves " + view.InLine(scope) + ", or add the scope to scopes in node.yaml"
	}
	for _, one := range r.Reasons {
		if advisor && one.Kind == phase.RestLacks && one.Note != "" {
			return ": its advisor cannot be asked: " + one.Note, otherAdvisor
		}
	}
	if r.Cannot == phase.Advisor("") {
		return ": no advisor configured", r.add
	}
	return " needs a node with " + view.Capability(r.Cannot), "run it where that is set up; see perdure help node.yaml"
}

// addAdvisor says what to do where there is no advisor: another home would not have the agents of this one.
func (h *Home) addAdvisor() string {
	return view.AddAdvisor(filepath.Join(h.Dir, NodeFileName))
}

// patientFor is how long RunPatiently waits for one attempt at most: who is told to come back later than that does.
const patientFor = time.Minute

// Attempt says that an advisor did not answer, and that it is asked again.
type Attempt struct {
	Number, Of int           // which attempt comes next, of how many
	In         time.Duration // when
	Why        string        // the last one came to nothing
}

// RunPatiently runs an agent until it rests. An advisor that does not answer is asked again when the agent's memory
// says it is time, so many times in all; tell hears of it before each pause.
func RunPatiently(ctx context.Context, n *perdure.Node, id perdure.AgentID, tries int,
	tell func(Attempt)) (perdure.Idle, error) {
	for number := 2; ; number++ {
		idle, err := n.RunAgent(ctx, id)
		r := unanswered(&idle)
		if err != nil || r == nil || number > tries {
			return idle, err
		}
		in := max(time.Until(r.Until.Go()), 0)
		if in > patientFor {
			return idle, nil
		}
		a, err := n.Load(ctx, id)
		if err != nil {
			return idle, err
		}
		tell(Attempt{number, tries, in, view.LastFailure(a)})
		select {
		case <-time.After(in):
		case <-ctx.Done():
			return idle, ctx.Err()
		}
	}
}

// unanswered is the reason of an agent that rests because its advisor did not answer; nil: it rests for another.
func unanswered(idle *perdure.Idle) *perdure.Reason {
	for i := range idle.Reasons {
		r := &idle.Reasons[i]
		if _, advisor := phase.AdvisorIn(r.Tool); advisor && r.Kind == phase.RestBackoff {
			return r
		}
	}
	return nil
}
