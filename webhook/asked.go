package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// asked is something that an agent asks people: whether it may do something, or a question of its own.
type asked struct {
	decision perdure.Hash // the entry that asks
	digest   perdure.Hash // of the effect; zero: it is a question
	since    perdure.Time
}

// String is the name by which a post can say that it is meant.
func (q *asked) String() string {
	if q.digest.IsZero() {
		return "decision " + q.decision.String()
	}
	return "digest " + q.digest.String()
}

// open is what an agent asks at a time.
func open(f *perdure.Fold, now time.Time) (all []asked) {
	for i := range f.Asks {
		all = append(all, asked{f.Asks[i].Decision, f.Asks[i].Digest, f.Asks[i].Since})
	}
	if _, asks := f.Question(now); asks {
		all = append(all, asked{decision: f.Sleep.Decision, since: f.Sleep.Since})
	}
	return all
}

var (
	errBefore = &Error{conflict, errors.New("what the agent asks about now it had not asked yet when this " +
		"was signed; nothing was answered")}
	errOther = &Error{conflict, perdure.WithHint(
		errors.New("the agent asked something else, too, at about the time this was signed; nothing was answered"),
		"name what is answered by digest or decision, or send it again with the time of now and an id of its own")}
	errElsewhere = &Error{conflict, perdure.WithHint(
		errors.New("a message with this id was for another agent; nothing was changed"),
		"give each message its own id")}
	errEarlier = &Error{conflict, perdure.WithHint(
		errors.New("a message with this id was for something else that the agent asked; nothing was answered"),
		"give each message its own id")}
)

// minDigits is how many digits of a hash say which is meant.
const minDigits = 8

// meant is what a post answers, of what the agent asks: what it names, else the only thing it can be for. Nil: it
// asks nothing.
func (h *Handler) meant(ctx context.Context, p *post, body *resumption) (*asked, error) {
	if whole, err := perdure.ParseHash(body.Digest); err == nil && !whole.IsZero() && body.Decision == "" {
		return &asked{digest: whole}, nil // whether that is open, or who was first, the desk says
	}
	for name, text := range map[string]string{"digest": body.Digest, "decision": body.Decision} {
		if text != "" && len(text) < minDigits {
			return nil, &Error{invalid, fmt.Errorf("%s: want %d or more of its digits", name, minDigits)}
		}
	}
	now := time.Now()
	fitting := slices.DeleteFunc(open(p.agent.Fold(), now), func(q asked) bool {
		return body.Digest != "" && (q.digest.IsZero() || !begins(q.digest, body.Digest)) ||
			body.Decision != "" && !begins(q.decision, body.Decision)
	})
	switch {
	case len(fitting) > 1:
		names := make([]string, len(fitting))
		for i := range fitting {
			names[i] = fitting[i].String()
		}
		return nil, perdure.WithHint(&Error{conflict,
			fmt.Errorf("the agent asks about several things: %s", strings.Join(names, ", "))},
			"say which by digest or decision")
	case len(fitting) == 0 && body.named():
		return nil, perdure.Missing("the agent does not ask about " + strings.TrimSpace(body.Digest+" "+body.Decision))
	case len(fitting) == 0:
		return nil, nil
	case body.named():
		return &fitting[0], nil
	}
	return &fitting[0], h.unnamed(ctx, p, &fitting[0], now)
}

func begins(h perdure.Hash, text string) bool {
	return strings.HasPrefix(h.String(), strings.ToLower(text))
}

// unnamed refuses a post that does not say what it answers, unless it can be for nothing but what the agent asks now:
// that was asked when it was signed, nothing else was open then or since, and the message was for nothing else.
func (h *Handler) unnamed(ctx context.Context, p *post, q *asked, now time.Time) error {
	// posts name seconds
	if q.since > perdure.TimeOf(p.at.Add(time.Second)) {
		return errBefore
	}
	signed := p.at
	if signed.After(now) { // the clock of the sender is ahead, by how much nobody knows: by no more than the window
		signed = signed.Add(-Window)
	}
	other, err := h.other(ctx, p.agent, q, perdure.TimeOf(signed))
	if err != nil {
		return err
	}
	if other {
		return errOther
	}
	first, err := h.Desk.Claim(ctx, p.hook, p.id, "decision", q.decision.String())
	if err == nil && first != q.decision.String() {
		err = errEarlier
	}
	return err
}

// other reports whether anything else that an agent asked was open at a time or since.
func (h *Handler) other(ctx context.Context, a *perdure.Agent, q *asked, since perdure.Time) (bool, error) {
	decisions := map[perdure.Hash][]int64{} // by the advice they answer
	any := false
	for e := range a.Recent() {
		advice, _ := e.Content().(perdure.Advice)
		for _, i := range decisions[e.Name] {
			if i < int64(len(advice.Actions)) && asksPeople(advice.Actions[i]) {
				return true, nil
			}
		}
		delete(decisions, e.Name)
		if e.Time >= since {
			any = true
			d, ok := e.Content().(perdure.Decision)
			switch {
			case !ok || e.Name == q.decision:
			case d.Verdict.Answer == perdure.Ask || asksPeople(d.Action):
				return true, nil
			case d.Action == nil:
				decisions[d.Advice] = append(decisions[d.Advice], d.Index)
			}
			continue
		}
		if !any {
			return false, nil // it was as it is
		}
		if len(decisions) > 0 {
			continue
		}
		was, err := h.Node.Trusted().LoadAt(ctx, h.Node.Store, a, e)
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(open(was.Fold(), since.Go()), func(o asked) bool {
			return o.decision != q.decision
		}), nil
	}
	// What came before is not held any more: it cannot be told, unless it began here.
	return len(decisions) > 0 || a.Fold().Count > int64(count(a)), nil
}

func count(a *perdure.Agent) (n int) {
	for range a.Recent() {
		n++
	}
	return n
}

// asksPeople reports whether an action is a question to people.
func asksPeople(a perdure.Action) bool {
	s, ok := a.(perdure.Sleep)
	if !ok {
		return false
	}
	of := []perdure.Trigger{s.Trigger}
	if list, ok := s.Trigger.(perdure.Any); ok {
		of = list.Of
	}
	return slices.ContainsFunc(of, func(t perdure.Trigger) bool {
		on, ok := t.(perdure.On)
		return ok && on.Event == perdure.AnswerEvent
	})
}
