package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// maxCandidates is how many candidates an ambiguous name lists.
const maxCandidates = 8

// FindAgent is the agent that a name or the beginning of an id means.
func (h *Home) FindAgent(ctx context.Context, s perdure.Store, arg string) (perdure.AgentID, error) {
	return h.FindAgentShown(ctx, s, arg, nil)
}

// FindAgentShown is FindAgent for somebody to whom not every agent is shown: the others might as well not be there. Nil
// shows all. Agents of strangers come after all others, whatever they call them: else who names theirs as one of here
// has people admit, pause or end it in the place of their own.
func (h *Home) FindAgentShown(ctx context.Context, s perdure.Store, arg string,
	shows func(perdure.AgentID) bool) (perdure.AgentID, error) {
	if new(perdure.AgentID).UnmarshalText([]byte(arg)) == nil { // nobody else can have that
		return find(ctx, s, arg, shows)
	}
	trust, err := h.Trust()
	if err != nil { // then only what asks for no trust goes on, such as log
		return find(ctx, s, arg, shows)
	}
	id, err := find(ctx, s, arg, func(id perdure.AgentID) bool {
		if shows != nil && !shows(id) {
			return false
		}
		strange, _ := trust.Strange(ctx, s, id)
		return strange == nil
	})
	if !errors.Is(err, perdure.ErrNotFound) {
		return id, err
	}
	if id, err = find(ctx, s, arg, shows); err == nil { // a stranger's: an own one of that name may be damaged
		err = damaged(ctx, s, arg, id, shows)
	}
	return id, err
}

// find is the agent that a name or the beginning of an id means, among those that are shown; nil: all are.
func find(ctx context.Context, s perdure.Store, arg string, shows func(perdure.AgentID) bool) (perdure.AgentID,
	error) {
	var id perdure.AgentID
	if err := id.UnmarshalText([]byte(arg)); err == nil {
		return id, findID(ctx, s, id, arg, shows)
	}
	if arg == "" {
		return id, perdure.Invalid(errors.New("name an agent; see perdure ls"))
	}
	found, err := candidates(ctx, s, arg, shows)
	if err != nil {
		return id, err
	}
	switch len(found) {
	case 0:
		return id, notFound(ctx, s, arg, shows)
	case 1:
		// if its id is what was named, it does not matter what the index calls it
		if one := found[0]; !begins(one.Agent, arg) {
			err = checkListed(ctx, s, one, arg)
		}
		return found[0].Agent, err
	}
	if slices.ContainsFunc(found, func(l perdure.Listing) bool { return l.Name != arg }) {
		return id, ambiguous(found, arg) // the name may be the beginning of an id
	}
	own, err := ownNamed(ctx, s, arg, shows)
	if err != nil || own == nil {
		return id, cmp.Or(err, ambiguous(found, arg))
	}
	return *own, nil
}

// ownNamed is the one agent of a name in the home's own scope; nil: there is none, or there are more. An agent at work
// comes before the memory of a role, which whoever keeps notes begins, and which is found by its id and its folder.
// Whoever may make agents elsewhere must not make those of the home unreachable by name, however many they make. Which
// scope an agent is in, its own memory says, and not the index.
func ownNamed(ctx context.Context, s perdure.Store, arg string, shows func(perdure.AgentID) bool) (
	own *perdure.AgentID, err error,
) {
	l, err := view.Lister(s)
	if err != nil {
		return nil, err
	}
	var roles []perdure.AgentID
	for one, err := range l.List(ctx, perdure.Filter{Name: arg, Scope: workspace.DefaultScope}) {
		if err != nil {
			return nil, err
		}
		if one.Name != arg || one.Scope != workspace.DefaultScope || shows != nil && !shows(one.Agent) {
			continue
		}
		a, err := perdure.Load(ctx, s, one.Agent)
		switch {
		case err != nil:
			return nil, nil
		case a.Fold().Intent.Name != arg || a.Fold().Charter.Scope != workspace.DefaultScope:
		case workspace.KeepsPrivate(a.Fold().Intent.Kind):
			roles = append(roles, one.Agent)
		case own != nil:
			return nil, nil
		default:
			own = &one.Agent
		}
	}
	if own == nil && len(roles) == 1 {
		own = &roles[0]
	}
	return own, nil
}

// ambiguous says which agents a name or the beginning of an id could mean.
func ambiguous(found []perdure.Listing, arg string) error {
	var lines []string
	for _, l := range found {
		lines = append(lines, fmt.Sprintf("%s %s in %s", l.Agent.Short(), view.ShownName(l.Name), view.InLine(l.Scope)))
		if len(lines) == maxCandidates {
			lines = append(lines, "…")
			break
		}
	}
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("%q could be %s", arg, strings.Join(lines, ", "))),
		"use its id, or enough of the first digits of it to tell them apart")
}

// findID says what keeps an agent that was named by its whole id from being found.
func findID(ctx context.Context, s perdure.Store, id perdure.AgentID, arg string,
	shows func(perdure.AgentID) bool) error {
	if shows != nil && !shows(id) {
		return missing(arg)
	}
	_, err := s.Heads(ctx, id)
	if errors.Is(err, perdure.ErrNotFound) {
		err = cmp.Or(damaged(ctx, s, arg, perdure.AgentID{}, nil), err)
	}
	return err
}

// notFound says why no agent has a name.
func notFound(ctx context.Context, s perdure.Store, arg string, shows func(perdure.AgentID) bool) error {
	if name, ref := SplitRef(arg); ref != "" {
		if _, err := find(ctx, s, name, shows); err == nil {
			return perdure.Invalid(fmt.Errorf("this is about an agent as it is now; leave @%s out", ref))
		}
	}
	if shows == nil {
		if err := damaged(ctx, s, arg, perdure.AgentID{}, nil); err != nil {
			return err
		}
	}
	return missingNear(ctx, s, arg, shows)
}

// maxNear is among how many agents one with a similar name is looked for.
const maxNear = 1000

// missingNear says that there is no agent of a name, and which have a similar one.
func missingNear(ctx context.Context, s perdure.Store, arg string, shows func(perdure.AgentID) bool) error {
	l, err := view.Lister(s)
	if err != nil {
		return err
	}
	var names []string
	looks := maxCandidates
	for one, err := range l.List(ctx, perdure.Filter{Limit: maxNear}) {
		if err != nil || len(names) == 3 || looks == 0 {
			break
		}
		if !near.Similar(one.Name, arg) || slices.Contains(names, one.Name) {
			continue
		}
		if looks--; shows == nil || shows(one.Agent) {
			names = append(names, one.Name)
		}
	}
	if len(names) == 0 {
		return missing(arg)
	}
	for i, name := range names {
		names[i] = view.ShownName(name)
	}
	return perdure.WithHint(perdure.Missing(fmt.Sprintf("there is no agent %q; did you mean %s?", arg,
		strings.Join(names, " or "))), "see perdure ls")
}

// missing says that there is no such agent, also of one that is not shown to whoever asks.
func missing(arg string) error {
	return perdure.WithHint(perdure.Missing(fmt.Sprintf("there is no agent %q", arg)),
		"see perdure ls; an agent is named by its name or by 4 or more digits of its id")
}

// errDamaged says that an agent is there and cannot be read.
var errDamaged = errors.New("is damaged")

// damaged says that an agent is there and cannot be read; nil: it is not there. Where a stranger's was found instead by
// its name, any whose name is lost may be meant, too.
func damaged(ctx context.Context, s perdure.Store, arg string, strange perdure.AgentID,
	shows func(perdure.AgentID) bool) error {
	h, ok := s.(perdure.Healer)
	if !ok {
		return nil
	}
	all, err := h.Ailing(ctx)
	if err != nil {
		return err
	}
	var those []string
	var why error
	hint := "perdure doctor --repair, or import a good copy"
	if !strange.IsZero() {
		hint += "; the stranger's agent of that name is " + strange.Short()
	}
	for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b perdure.AgentID) int {
		return perdure.Hash(a).Compare(perdure.Hash(b))
	}) {
		x := all[id]
		nameless := x.Name == "" && !strange.IsZero() // so the index does not list it
		if id == strange || !x.Gone && !nameless {
			continue
		}
		if !begins(id, arg) && (begins(strange, arg) || x.Name != arg && !(nameless && mayBe(ctx, s, id, arg))) {
			continue
		}
		if shows != nil && !shows(id) {
			return missing(arg)
		}
		if len(those) == maxCandidates {
			those = append(those, "…")
			break
		}
		those, why = append(those, strings.TrimSpace(id.Short()+" "+view.ShownName(x.Name))), x.Reason
	}
	if len(those) == 0 {
		return nil
	}
	return perdure.WithHint(fmt.Errorf("%s %w: %w", strings.Join(those, ", "), errDamaged, why), hint)
}

// begins reports whether the id of an agent begins with what was named.
func begins(id perdure.AgentID, arg string) bool {
	return len(arg) >= view.MinPrefix && strings.HasPrefix(id.String(), strings.ToLower(arg))
}

// mayBe reports whether an agent that is not listed has a name, or had it: its own memory says, if it can be read.
func mayBe(ctx context.Context, s perdure.Store, id perdure.AgentID, name string) bool {
	a, err := perdure.Load(ctx, s, id)
	return err != nil || a.Fold().Intent.Name == name
}

// checkListed refuses an agent that the index calls otherwise than the agent's own memory does. The index only finds:
// were it believed, whoever can write to it could have people approve, end or read another agent than the one they
// name.
func checkListed(ctx context.Context, s perdure.Store, l perdure.Listing, arg string) error {
	name := ""
	a, err := perdure.Load(ctx, s, l.Agent)
	switch {
	case err == nil:
		name = a.Fold().Intent.Name
	case errors.Is(err, perdure.ErrRejected): // what is wrong with its memory is for the command to say
		for item, err := range s.Entries(ctx, l.Agent, 0) {
			if err != nil {
				return nil
			}
			name = item.Entry.Newborn().Name
			break
		}
		if name == "" {
			return nil
		}
	default:
		return err
	}
	if l.Name == name && (name == arg || strings.HasPrefix(l.Agent.String(), strings.ToLower(arg))) {
		return nil
	}
	err = fmt.Errorf("the index of this store is wrong: it lists %s as %q, and the agent's own memory says %q; "+
		"nothing was done",
		l.Agent.Short(), l.Name, name)
	return perdure.WithHint(err,
		"perdure doctor says what else differs, and perdure doctor --reindex rebuilds the index from the memories; "+
			"or name the agent by its whole id")

}

// Candidates are the agents of this name and those whose id begins so; without a name, all.
func Candidates(ctx context.Context, s perdure.Store, arg string) ([]perdure.Listing, error) {
	return candidates(ctx, s, arg, nil)
}

// candidates is Candidates for somebody to whom not every agent is shown.
func candidates(ctx context.Context, s perdure.Store, arg string, shows func(perdure.AgentID) bool) (
	[]perdure.Listing, error,
) {
	l, err := view.Lister(s)
	if err != nil {
		return nil, err
	}
	var found []perdure.Listing
	add := func(f perdure.Filter, fits func(perdure.Listing) bool) error {
		for one, err := range l.List(ctx, f) {
			if err != nil {
				return err
			}
			known := slices.ContainsFunc(found, func(k perdure.Listing) bool { return k.Agent == one.Agent })
			if fits(one) && !known && (shows == nil || shows(one.Agent)) {
				found = append(found, one)
			}
			if len(found) > maxCandidates {
				return nil
			}
		}
		return nil
	}
	if err := add(perdure.Filter{Name: arg}, func(l perdure.Listing) bool {
		return arg == "" || l.Name == arg
	}); err != nil {
		return nil, err
	}
	if prefix := strings.ToLower(arg); len(arg) >= view.MinPrefix && view.IsHex(prefix) {
		return found, add(perdure.Filter{Prefix: prefix}, func(perdure.Listing) bool { return true })
	}
	return found, nil
}

// SplitRef parts AGENT@REF.
func SplitRef(arg string) (agent, ref string) {
	if i := strings.LastIndexByte(arg, '@'); i > 0 {
		return arg[:i], arg[i+1:]
	}
	return arg, ""
}

// Point is an agent at a point in its memory: now, or at the entry that AGENT@REF names.
type Point struct {
	Agent *perdure.Agent
	Entry *perdure.Entry // nil: now
	ref   string
}

// Name is the point as people write it.
func (p *Point) Name() string {
	n := p.Agent.Fold().Intent.Name
	if n == "" {
		n = p.Agent.ID().Short()
	}
	if p.Entry == nil {
		return n
	}
	return n + "@" + strconv.FormatInt(p.Entry.Seq, 10)
}

// FindPoint is the agent that AGENT or AGENT@REF means.
func FindPoint(ctx context.Context, h *Home, s perdure.Store, arg string) (*Point, error) {
	agent, ref := SplitRef(arg)
	id, err := h.FindAgent(ctx, s, agent)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(arg, "@") {
		return nil, perdure.Invalid(fmt.Errorf("%s: after the @ comes a seq, a hash, a time or a duration", arg))
	}
	trust, err := h.Trust()
	if err != nil {
		return nil, err
	}
	now, err := view.LookAt(ctx, s, trust, id)
	switch {
	case ref != "" && errors.Is(err, perdure.ErrRejected): // what came before it went wrong can still be looked at
		e, err := FindEntry(perdure.Memory(ctx, s, id), ref, time.Now())
		if err != nil {
			return nil, err
		}
		a, err := perdure.AgentAt(perdure.Memory(ctx, s, id), e.Name)
		return &Point{Agent: a, Entry: e, ref: ref}, err
	case err != nil || ref == "":
		return &Point{Agent: now}, err
	}
	e, err := findIn(ctx, s, now, ref, time.Now())
	if err != nil {
		return nil, err
	}
	a, err := trust.LoadAt(ctx, s, now, e)
	return &Point{Agent: a, Entry: e, ref: ref}, err
}

// findIn is findEntry in the memory of an agent. In one that never branched it finds a seq or a time without reading
// the rest.
func findIn(ctx context.Context, s perdure.Store, now *perdure.Agent, ref string, clock time.Time) (*perdure.Entry,
	error) {
	memory := perdure.Memory(ctx, s, now.ID())
	if !now.Straight() {
		return FindEntry(memory, ref, clock)
	}
	var e *perdure.Entry
	var err error
	if seq, bad := strconv.ParseInt(ref, 10, 64); bad == nil {
		e, err = entryOf(ctx, s, now.ID(), seq)
	} else if at, bad := ParseMoment(ref, clock); bad == nil {
		e, err = entryBy(ctx, s, now.ID(), at)
	}
	if err != nil || e != nil {
		return e, err
	}
	return FindEntry(memory, ref, clock)
}

// entryOf is the entry with this seq of a memory that never branched, or nil.
func entryOf(ctx context.Context, s perdure.Store, id perdure.AgentID, seq int64) (*perdure.Entry, error) {
	var from perdure.Cursor
	for snap, err := range perdure.SnapshotsUpTo(ctx, s, id, seq) {
		if err != nil || snap.Seq == seq {
			return snap.Entry, err
		}
		from = snap.Cursor
		break
	}
	for item, err := range s.Entries(ctx, id, from) {
		if err != nil {
			return nil, err
		}
		if item.Seq == seq {
			return item.Entry, nil
		}
		if item.Seq > seq {
			break
		}
	}
	return nil, nil
}

// entryBy is the last entry written by a time in a memory that never branched, or nil. It reads back from the end, from
// snapshot to snapshot.
func entryBy(ctx context.Context, s perdure.Store, id perdure.AgentID, at time.Time) (last *perdure.Entry, err error) {
	read := func(from, end perdure.Cursor) error {
		for item, err := range s.Entries(ctx, id, from) {
			if err != nil || end != 0 && item.Cursor > end {
				return err
			}
			if !item.Time.Go().After(at) {
				last = item.Entry
			}
		}
		return nil
	}
	var end perdure.Cursor
	for snap, err := range s.Snapshots(ctx, id) {
		if err != nil {
			return nil, err
		}
		if err := read(snap.Cursor, end); err != nil || last != nil {
			return last, err
		}
		end = snap.Cursor
	}
	err = read(0, end)
	return last, err
}

// FindEntry is the entry that a seq, the beginning of a hash, a time or a duration ago means.
func FindEntry(memory iter.Seq2[*perdure.Entry, error], ref string, now time.Time) (*perdure.Entry, error) {
	seq, seqErr := strconv.ParseInt(ref, 10, 64)
	at, atErr := ParseMoment(ref, now)
	prefix := strings.ToLower(ref)
	byHash := len(ref) >= view.MinPrefix && view.IsHex(prefix)
	if seqErr != nil && atErr != nil && !byHash || seqErr == nil && seq < 0 {
		return nil, perdure.Invalid(fmt.Errorf("@%s: want a seq (@12), 4 or more digits of an entry's hash (@9f3c), "+
			"a time (@2026-01-31T12:00:00Z) or how long ago (@10m)", ref))
	}
	var bySeq, named []*perdure.Entry
	var first, top, last *perdure.Entry // last: by the fold order, of those written by then
	for e, err := range memory {
		switch {
		case err != nil:
			return nil, err
		case seqErr == nil && e.Seq == seq:
			bySeq = append(bySeq, e)
		case byHash && strings.HasPrefix(e.Name.String(), prefix):
			named = append(named, e)
		}
		if first == nil || e.Seq < first.Seq {
			first = e
		}
		if top == nil || e.Seq > top.Seq {
			top = e
		}
		if atErr == nil && !e.Time.Go().After(at) && (last == nil || last.Position().Compare(e.Position()) < 0) {
			last = e
		}
	}
	for _, found := range [][]*perdure.Entry{bySeq, named} {
		if len(found) > 1 {
			var names []string
			for _, e := range found {
				names = append(names, e.Name.Short())
			}
			return nil, perdure.Invalid(fmt.Errorf("@%s could be %s; use more digits of the hash", ref,
				strings.Join(names, ", ")))
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	if last != nil && seqErr != nil {
		return last, nil
	}
	text := "there is no entry at @" + ref
	switch {
	case first == nil:
	case seqErr == nil:
		text += fmt.Sprintf(": they go from @%d to @%d", first.Seq, top.Seq)
	case atErr == nil:
		text += fmt.Sprintf(": the first is of %s, %s ago", first.Time, view.Span(now.Sub(first.Time.Go())))
	}
	return nil, perdure.WithHint(perdure.Missing(text), "perdure log AGENT shows the entries there are")
}

// ParseMoment reads a time, a day, or how long ago: 2026-01-31T12:00:00Z, 2026-01-31, 90s, 2d.
func ParseMoment(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	d, err := parseDuration(s)
	if err != nil {
		return time.Time{},
			fmt.Errorf("%q: want a time such as 2026-01-31T12:00:00Z, or a duration such as 90s, 24h or 7d", s)
	}
	return now.Add(-d), nil
}

// ParseSpan reads how long something lasts: 90s, 24h, 7d.
func ParseSpan(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err != nil || d <= 0 {
		return 0, perdure.Invalid(fmt.Errorf("%q: want a duration such as 90d or 24h", s))
	}
	return d, nil
}

// parseDuration is time.ParseDuration that also knows days and weeks.
func parseDuration(s string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			if days, err := strconv.ParseUint(n, 10, 16); err == nil {
				return time.Duration(days) * unit, nil
			}
		}
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("%q is negative", s)
	}
	return d, err
}
