package home

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

const (
	// inboxRows is how many agents of a list are looked through for one page of what waits.
	inboxRows = 1000
	// inboxLate bounds the agents that are looked at because a node should, though no list says so: one that was told
	// something and that nobody has folded since.
	inboxLate = 1000
)

// InboxPage is a page of what waits for a person, of the agents that are there for the visitor, and the cursor of the
// next; empty: that is all. What a page costs is bounded: it looks through some agents, in the order of lists, and may
// find nothing among them. A list that breaks off does not hide what comes before: the page has that, and faults say
// so.
func (d *Desk) InboxPage(ctx context.Context, v *Visitor, cursor string, limit int, now time.Time) (found []view.Wait,
	next string, faults error, err error) {
	f := perdure.Filter{Limit: inboxRows}
	var late []perdure.AgentID
	if cursor != "" {
		after, err := parseCursor(cursor)
		if err != nil {
			return nil, "", nil, err
		}
		f.After = after.Place()
	}
	lines, next, broken := d.inboxLines(ctx, f, limit, now)
	if broken == nil && next == "" { // the last page has them
		late, broken = d.late(ctx, now)
	}
	if broken != nil && len(lines)+len(late) == 0 {
		return nil, "", nil, broken
	}
	if found, faults, err = d.inboxAmong(ctx, v, lines, late, now); err != nil {
		return nil, "", nil, err
	}
	if broken != nil {
		faults = errors.Join(faults, unlisted(broken))
	}
	if !v.Owns(perdure.AnyScope) {
		if faults = nil; broken != nil { // of which agents, is not for them
			faults = unlisted(errors.New("those who see all agents are told why"))
		}
		found = slices.DeleteFunc(found, func(w view.Wait) bool { return !d.Shows(ctx, v, w.Agent) })
	}
	d.offer(ctx, v, found)
	return found, next, faults, nil
}

// Summary is an agent on one screen, as Home.Summary has it, for a visitor: what waits for a person offers them the
// commands that they may give, as InboxPage does.
func (d *Desk) Summary(ctx context.Context, v *Visitor, p *Point) (view.Summary, time.Time, error) {
	sum, now, err := d.Home.summary(ctx, d.Store, p, v.votesWith())
	if err == nil {
		d.offer(ctx, v, sum.Waits)
	}
	return sum, now, err
}

// answering are the verbs that answer what waits for a person.
var answering = map[string]string{view.WaitQuestion: VerbAnswer, view.WaitTalk: VerbEvent,
	view.WaitApproval: VerbApprove, view.WaitDoubt: VerbSettle, view.WaitDoubled: VerbSettle,
	view.WaitPause: VerbResume, view.WaitHeld: VerbResume, view.WaitOlder: VerbResume, view.WaitBudget: VerbGrant}

// offer takes out of what waits the commands that the visitor may not give, and says so in their place.
func (d *Desk) offer(ctx context.Context, v *Visitor, waits []view.Wait) {
	for i := range waits {
		w := &waits[i]
		verb := answering[w.Kind]
		if verb == "" || w.Answer == "" {
			continue
		}
		err, admits := v.may(verb), error(nil)
		if a, unread := d.Load(ctx, w.Agent); err == nil && unread == nil {
			if err = v.MayIn(verb, a.Fold().Charter.Scope); err == nil && verb == VerbResume {
				admits = d.mayAdmit(ctx, v, a)
			}
		}
		if admits != nil {
			w.Answer, w.Others = "", v.Name+" may not admit it here: the owner of the home must"
		} else if err != nil {
			why := v.Name + " may not " + doing(verb) + " here"
			if !v.Speaks && v.May(verb) == nil {
				why = v.Name + " is a program, and cannot " + doing(verb) + " for a person"
			}
			w.Answer, w.Others = "", why+": somebody else must"
		} else if verb == VerbApprove && v.votesWith().IsZero() {
			w.Others = "votes count per key, and this token unlocks none: the command signs with the key of your own " +
				"home"
		}
	}
}

// inboxLines are the next agents of a list, until so many of them may wait. With an error, they are those before it.
func (d *Desk) inboxLines(ctx context.Context, f perdure.Filter, limit int, now time.Time) (lines []perdure.Listing,
	next string, err error) {
	l, err := view.Lister(d.Store)
	if err != nil {
		return nil, "", err
	}
	rows := 0
	for one, err := range l.List(ctx, f) {
		if err != nil {
			return lines, "", err
		}
		if rows++; one.State != phase.Terminated || one.Waiting {
			lines = append(lines, one)
		}
		if view.MayWait(&one, now) {
			limit--
		}
		if rows == f.Limit || limit <= 0 {
			return lines, base64.RawURLEncoding.EncodeToString([]byte(one.Agent.String() + one.Name)), nil
		}
	}
	return lines, "", nil
}

// inboxAmong is what of some agents waits for a person, and copies of them that are older than what was seen here.
func (d *Desk) inboxAmong(ctx context.Context, v *Visitor, lines []perdure.Listing, late []perdure.AgentID,
	now time.Time) (found []view.Wait, faults error, err error) {
	trust, err := d.Home.Trust()
	if err != nil {
		return nil, nil, err
	}
	place, err := d.Home.PlaceOf(ctx, d.Store)
	if err != nil {
		return nil, nil, err
	}
	found, faults, err = view.InboxOf(ctx, d.Store, trust, place, v.votesWith(), now, lines, late)
	if err != nil {
		return nil, nil, err
	}
	older, err := d.Home.olderOf(ctx, d.Store, lines)
	return append(found, older...), faults, err
}

// late are agents that a node should look at, the first that are due. With an error, they are those before it.
func (d *Desk) late(ctx context.Context, now time.Time) (found []perdure.AgentID, err error) {
	for look, err := range d.Store.Due(ctx, now) {
		if err != nil {
			return found, err
		}
		if found = append(found, look.Agent); len(found) == inboxLate {
			break
		}
	}
	return found, nil
}

// olderOf are the copies among some agents that are older than what was seen here.
func (h *Home) olderOf(ctx context.Context, s perdure.Store, lines []perdure.Listing) (found []view.Wait, err error) {
	seen, err := h.sightedOf(lines)
	if err != nil {
		return nil, err
	}
	heads, err := headsOf(ctx, s, len(lines) > maxSingly)
	if err != nil {
		return nil, err
	}
	for _, one := range lines {
		was := seen[one.Agent].Heads
		if len(was) == 0 {
			continue
		}
		x, err := h.checkOne(ctx, s, one, was, heads)
		if err != nil {
			return nil, err
		}
		if x.Older != nil {
			found = append(found, x.Older.Wait(x.Agent, x.Name))
		}
	}
	return found, nil
}
