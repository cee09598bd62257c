package view

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// Inbox looks through the agents that wait for a person, as the store's index knows them, and those that time may have
// made to: the ones a node should have looked at by now. What cannot be read hides nothing else: an agent whose memory
// cannot be is left out and named in faults, and a list that breaks off is said there to be incomplete. An error means
// that nothing at all could be found out.
func Inbox(ctx context.Context, s perdure.Store, trust *perdure.Trust, place perdure.Place, me perdure.Key,
	now time.Time) (found []Wait, faults error, err error) {
	x, err := lookIn(ctx, s, trust, place, me, now)
	if err != nil {
		return nil, nil, err
	}
	var ids []perdure.AgentID
	listed := map[perdure.AgentID]perdure.Listing{}
	for one, err := range x.list.List(ctx, perdure.Filter{Waiting: true}) {
		if err != nil {
			x.incomplete("the list of agents that wait", err)
			break
		}
		ids, listed[one.Agent] = append(ids, one.Agent), one
	}
	for look, err := range s.Due(ctx, now) {
		if err != nil {
			x.incomplete("the list of agents that are due", err)
			break
		}
		if _, known := listed[look.Agent]; !known {
			ids = append(ids, look.Agent)
		}
	}
	stray, err := x.at.mayStray(ctx, x.list, ids)
	if err != nil {
		x.incomplete("the list of agents at work", err)
	}
	if ids = append(ids, stray...); len(ids) == 0 && x.faults != nil {
		return nil, nil, x.faults
	}
	lines := make([]perdure.Listing, 0, len(ids))
	for _, id := range ids {
		line := listed[id]
		line.Agent = id
		lines = append(lines, line)
	}
	return x.all(ctx, lines)
}

// looking looks agent by agent for what waits for a person.
type looking struct {
	store perdure.Store
	list  perdure.Lister
	trust *perdure.Trust
	place perdure.Place
	me    perdure.Key
	now   time.Time
	at    Attendance

	faults  error
	partial bool // there may be more
}

func lookIn(ctx context.Context, s perdure.Store, trust *perdure.Trust, place perdure.Place, me perdure.Key,
	now time.Time) (x *looking, err error) {
	x = &looking{store: s, trust: trust, place: place, me: me, now: now}
	if x.list, err = Lister(s); err != nil {
		return nil, err
	}
	if x.at, err = AttendanceOf(ctx, s); err != nil {
		x.at.Known = false // then nothing is taken for left lying
		x.incomplete("who is at work on which agent", err)
	}
	return x, nil
}

// incomplete notes that something could not be read to its end; once, as others break off for the same reason.
func (x *looking) incomplete(what string, err error) {
	if x.partial {
		return
	}
	x.partial = true
	x.faults = errors.Join(x.faults, fmt.Errorf("there may be more: %s could not be read to its end: %w", what, err))
}

// all is what of some agents waits for a person, in order, with commands that name the right agents. Of a line that is
// not known only the id is set. Reading memories is most of the work, so several are read at once.
func (x *looking) all(ctx context.Context, lines []perdure.Listing) ([]Wait, error, error) {
	found, faults := make([][]Wait, len(lines)), make([]error, len(lines))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(lines)) {
		readers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(lines) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if found[i], faults[i] = x.look(ctx, lines[i]); faults[i] != nil {
					faults[i] = fmt.Errorf("%s is left out: %w", lines[i].Agent.Short(), faults[i])
				}
			}
		})
	}
	readers.Wait()
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	waits := slices.Concat(found...)
	slices.SortStableFunc(waits, ChatsLast)
	byID(ctx, x.list, waits)
	return waits, errors.Join(x.faults, errors.Join(faults...)), ctx.Err()
}

// look is what of an agent waits for a person. An error means that the agent cannot be read.
func (x *looking) look(ctx context.Context, one perdure.Listing) ([]Wait, error) {
	s := once(x.store, one.Agent)
	if why, pause := x.trust.Strange(ctx, s, one.Agent); why != nil {
		return x.strange(ctx, one, why, pause), nil // what strangers wrote is not folded to be listed
	}
	a, err := LookAt(ctx, s, x.trust, one.Agent)
	if err != nil {
		return nil, err
	}
	waits := waitsOf(a, x.trust, x.me, x.now)
	if x.trust.Counts(a) == nil {
		if a.GoneOn(x.place) {
			waits = stillHere(waits)
		}
		strays, err := x.strays(ctx, a)
		if err != nil {
			return nil, err
		}
		waits = slices.Concat(strays, SeatWaits(a, x.trust, x.me, x.place, x.now), waits)
	}
	return waits, DescribeAll(ctx, x.store, a, waits)
}

// strange is a stranger's agent as something that waits: for somebody who admits it. Nothing can be said to one that
// has ended.
func (x *looking) strange(ctx context.Context, one perdure.Listing, why error, pause *perdure.Pause) []Wait {
	if one.State == 0 { // its line is not known
		for line := range x.list.List(ctx, perdure.Filter{Prefix: one.Agent.String(), Limit: 1}) {
			one = line
		}
	}
	if one.State == phase.Terminated {
		return nil
	}
	return []Wait{heldOf(one, why, pause)}
}

// strays are those of an agent. Who is at work was found out before the agent was read: a node may have begun since, or
// have ended and said what came of it. So it is looked again, and that counts if nothing was written meanwhile.
func (x *looking) strays(ctx context.Context, a *perdure.Agent) ([]Wait, error) {
	if len(x.at.Strays(a, x.now)) == 0 {
		return nil, nil
	}
	at, err := AttendanceOf(ctx, x.store)
	if err != nil {
		return nil, err
	}
	heads, err := x.store.Heads(ctx, a.ID())
	if err != nil || !slices.Equal(heads, a.Heads()) {
		return nil, err
	}
	return at.Strays(a, x.now), nil
}

// InboxOf is Inbox for some agents, as a list has them: those that may wait are looked at. So are those of late of whom
// no list says that they may.
func InboxOf(ctx context.Context, s perdure.Store, trust *perdure.Trust, place perdure.Place, me perdure.Key,
	now time.Time, lines []perdure.Listing, late []perdure.AgentID) (found []Wait, faults error, err error) {
	x, err := lookIn(ctx, s, trust, place, me, now)
	if err != nil {
		return nil, nil, err
	}
	var may []perdure.Listing
	for _, one := range lines {
		if x.may(&one) {
			may = append(may, one)
		}
	}
	for _, id := range late {
		its := false
		for one, err := range x.list.List(ctx, perdure.Filter{Prefix: id.String(), Limit: 1}) {
			its = err == nil && x.may(&one)
		}
		if !its { // else its own page has it
			may = append(may, perdure.Listing{Agent: id})
		}
	}
	return x.all(ctx, may)
}

// may reports whether an agent may wait for a person, as far as its line in a list tells.
func (x *looking) may(l *perdure.Listing) bool {
	stray := x.at.Known && (l.State == phase.Execution && !x.at.held[l.Agent] || slices.Contains(x.at.dead, l.Agent))
	return MayWait(l, x.now) || stray
}

// MayWait reports whether an agent waits for a person as its line in a list says, or time may have made it so.
func MayWait(l *perdure.Listing, now time.Time) bool {
	return l.Waiting || l.Due != 0 && !l.Due.Go().After(now)
}

// ChatsLast orders what waits: chats come after what waits for a decision.
func ChatsLast(a, b Wait) int { return talks(&a) - talks(&b) }

// talks is 1 for a chat whose turn is over: it waits for whoever likes, and comes after what waits for a decision.
func talks(w *Wait) int {
	if w.Kind == WaitTalk {
		return 1
	}
	return 0
}

// maxNamed is of how many agents it is looked up one by one whether others have their names.
const maxNamed = 256

// namesOfSeveral says of the name of each agent whether another one has it. Those before an error are known.
func namesOfSeveral(ctx context.Context, l perdure.Lister) map[string]bool {
	several := map[string]bool{}
	last := ""
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			delete(several, last) // there may be more of it
			break
		}
		_, several[one.Name] = several[one.Name]
		last = one.Name
	}
	return several
}

// byID has the commands that answer name an agent by its id where several agents of the store have its name, or where
// that cannot be found out: an id is right in any case.
func byID(ctx context.Context, l perdure.Lister, waits []Wait) {
	several := map[string]bool{}
	if len(waits) > maxNamed {
		several = namesOfSeveral(ctx, l)
	}
	for i := range waits {
		w := &waits[i]
		shared, known := several[w.Name]
		if !known && w.Name != "" {
			n := 0
			for one, err := range l.List(ctx, perdure.Filter{Name: w.Name}) {
				if err != nil {
					n = 2
				}
				if one.Name == w.Name {
					n++
				}
				if n > 1 {
					break
				}
			}
			shared = n > 1
			several[w.Name] = shared
		}
		if shared {
			w.Answer = renamed(w.Answer, CommandName(w.Name, w.Agent), w.Agent.Short())
		}
	}
}

// renamed is a command about an agent that is called otherwise.
func renamed(command, from, to string) string {
	verb := "perdure seat take "
	if !strings.HasPrefix(command, verb) {
		words := strings.SplitAfterN(command, " ", 3)
		verb = strings.Join(words[:min(2, len(words))], "")
	}
	if rest, ok := strings.CutPrefix(command[len(verb):], from); ok {
		return verb + to + rest
	}
	return command
}
