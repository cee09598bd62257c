package perdure

import (
	"slices"
	"strings"
	"sync/atomic"
)

// Every list of a fold is bounded, so that a hostile memory costs a reader no more for each entry than an honest one:
// by how many it holds, and by how many bytes where its elements carry data of any size. What goes beyond a bound is
// read in the most restrictive way: a question is refused, an effect does not happen, a revocation or a hand-over makes
// the agent stay still.

// owned says what a fold may change in place, so that a long run of entries does not copy its lists at each.
type owned struct {
	alone
	again bool                // an id was added to dedupe in this run of entries
	seen  map[string]struct{} // dedupe, once a run of entries makes that worth while
}

// alone are the lists no other fold has.
type alone struct {
	heads, open, asks, owed, children, tools, incapable, paused, vars, messages bool
}

// rooms are the room behind the lists of a fold that are appended to again and again, one entry at a time: many folds
// share one array, and each sees it up to its own length. They belong to the arrays: a list that is copied, or made
// shorter at its end, gets a new one.
type rooms struct {
	inbox, dedupe, conflicts, acts, fallen, unmade, made, tellers, twins, beside *room
}

// room is how many elements of an array no fold has used yet.
type room struct{ free atomic.Int64 }

// roomBehind is the room behind a list whose array no other fold has.
func roomBehind[T any](s []T) *room {
	r := new(room)
	r.free.Store(int64(cap(s) - len(s)))
	return r
}

// take takes the next element after a list that ends so many before the end of its array, unless another fold has.
func (r *room) take(free int) bool {
	return r != nil && free > 0 && r.free.CompareAndSwap(int64(free), int64(free-1))
}

// extended is s with v at its end and at most limit elements, the oldest going first.
func extended[T any](f *Fold, s []T, v T, limit int, r **room) []T {
	if over := len(s) + 1 - limit; over > 0 {
		s = s[over:]
	}
	if !(*r).take(cap(s) - len(s)) {
		f.work += int64(len(s))
		s = append(make([]T, 0, len(s)+len(s)/4+4), s...)
		*r = roomBehind(s)
		(*r).take(cap(s) - len(s))
	}
	return append(s, v)
}

// giveBack gives back the room that a list took since it was before, if nothing else of the fold it is in is kept.
func giveBack[T any](before, s []T, had, r *room) {
	if had != nil && had == r {
		r.free.Add(int64(cap(before) - len(before) - (cap(s) - len(s))))
	}
}

// weights are the bytes of what a fold holds. They are derived, once for each fold that was read.
type weights struct {
	known   bool
	actions int // of open, asks and owed
	vars    int // names and values
	inbox   int // data
	ended   int // how many children have ended
	results int // their results
}

// mine is s as a slice that no other fold has.
func mine[T any](f *Fold, s []T, own *bool) []T {
	if *own {
		return s
	}
	*own = true
	f.work += int64(len(s))
	return append(make([]T, 0, len(s)+1), s...)
}

// without is s without element i, as a slice that no other fold has; nil when nothing is left, as in a fold that never
// had one.
func without[T any](f *Fold, s []T, i int, own *bool) []T {
	f.work += int64(len(s) - i)
	if len(s) == 1 {
		return nil
	}
	return slices.Delete(mine(f, s, own), i, i+1)
}

// find is the index of the first element for which is holds, or -1.
func find[T any](f *Fold, s []T, is func(*T) bool) int {
	for i := range s {
		if is(&s[i]) {
			f.work += int64(i)
			return i
		}
	}
	f.work += int64(len(s))
	return -1
}

// weigh is the weights of f, for the caller to keep.
func (f *Fold) weigh() *weights {
	w := &f.weights
	if w.known {
		return w
	}
	*w = weights{known: true}
	f.work += int64(len(f.Open) + len(f.Asks) + len(f.Owed) + len(f.Vars) + len(f.Inbox) + len(f.Children))
	for i := range f.Open {
		w.actions += f.Open[i].weight()
	}
	for i := range f.Asks {
		w.actions += f.Asks[i].weight()
	}
	for i := range f.Owed {
		w.actions += weight(f.Owed[i].Action)
	}
	for k, v := range f.Vars {
		w.vars += len(k) + len(v)
	}
	for i := range f.Inbox {
		w.inbox += f.Inbox[i].weight()
	}
	for i := range f.Children {
		if c := &f.Children[i]; c.Ended {
			w.ended, w.results = w.ended+1, w.results+len(c.Result)
		}
	}
	return w
}

// weight is what an action counts against maxActionBytes: the bytes of a call's tool, args and call id, and the
// canonical bytes of any other.
func weight(a Action) int {
	if x, ok := a.(Execute); ok {
		return len(x.Tool) + len(x.Args) + len(x.Call)
	}
	b, err := effectCodec.Append(nil, &effectRecord{Action: a})
	if err != nil {
		return maxActionBytes // it cannot be written down
	}
	return len(b) - emptyEffect
}

// emptyEffect is the bytes of an effect record around its action: a map of three, and two hashes.
const emptyEffect = 1 + 2*(1+2+32) + 1

// fits reports whether there is room for an action under way or asked for; what its decision adds is small beside it.
func (f *Fold) fits(a Action) bool {
	w := f.weights // f must not change
	if !w.known {
		w = *f.clone().weigh()
	}
	return w.actions+weight(a)+actionRoom <= maxActionBytes
}

// actionRoom is kept free for what a decision adds to its action: a child's genesis, the words of a verdict.
const actionRoom = 64 << 10

func (o *Open) weight() int { return weight(o.Action) + len(o.Child) }

// weight is that of the action, and the bytes of the verdict's texts.
func (q *Asking) weight() int {
	v := &q.Verdict
	n := weight(q.Action) + len(v.Reason) + texts(v.Rules) + texts(v.Asked)
	for i := range v.Escalate {
		n += texts(v.Escalate[i].Asked)
	}
	return n
}

// weight is that of the actions, remembered.
func (p *proposals) weight() int {
	if p.bytes == 0 {
		for _, a := range p.Actions {
			p.bytes += weight(a)
		}
	}
	return p.bytes
}

func texts(list []string) int {
	n := 0
	for _, s := range list {
		n += len(s)
	}
	return n
}

// oneOf answers whether a hash is in list, which may be long.
func oneOf(list []Hash) func(Hash) bool {
	if len(list) <= 8 {
		return func(h Hash) bool { return slices.Contains(list, h) }
	}
	set := make(map[Hash]struct{}, len(list))
	for _, h := range list {
		set[h] = struct{}{}
	}
	return func(h Hash) bool { _, ok := set[h]; return ok }
}

// bound is a list of a fold, how long it is and how long it can be.
type bound struct {
	name    string
	n, most int
}

// lists are the lists of a fold that are bounded. Each has a test that counts the work of filling it.
func (f *Fold) lists() []bound {
	w := f.weigh()
	return []bound{
		{"paused", len(f.Paused), maxPaused},
		{"recheck", len(f.Recheck), maxRecheck},
		{"proposals", len(f.Proposals), maxAdvice},
		{"open", len(f.Open), maxOpen},
		{"asks", len(f.Asks), maxAsks},
		{"owed", len(f.Owed), maxOwed},
		{"open", w.actions, maxActionBytes},
		{"inbox", len(f.Inbox), maxInbox},
		{"dedupe", len(f.Dedupe), maxDedupe},
		{"children", len(f.Children) - w.ended, maxChildren},
		{"children", w.ended, maxEndedChildren},
		{"tools", len(f.Tools), maxTools},
		{"incapable", len(f.Incapable), maxIncapable},
		{"revoked", len(f.Revoked), maxKeys},
		{"former", len(f.Former), maxKeys},
		{"vars", len(f.Vars), maxVars},
		{"vars", w.vars, maxVarBytes},
		{"conflicts", len(f.Conflicts), maxConflicts},
		{"enclosed", len(f.Enclosed), maxEnclosed},
		{"admitted", len(f.Admitted), maxKeys},
		{"seats", len(f.Seats), maxSeats},
		{"doubled", len(f.Doubled), maxDoubled},
	}
}

// full names the first list of f that is longer than a fold's can be, if there is one: such a fold is not that of any
// memory.
func (f *Fold) full() string {
	for _, l := range f.lists() {
		if l.n > l.most {
			return l.name
		}
	}
	for i := range f.Heads {
		if h := &f.Heads[i]; max(len(h.Knows), len(h.Owners), len(h.Handed)) > maxKeys {
			return "heads"
		}
	}
	for i := range f.Asks {
		if len(f.Asks[i].Votes) > maxVotes {
			return "asks"
		}
	}
	if slices.ContainsFunc(f.Inbox, func(m Message) bool { return m.Gone > MaxBody }) {
		return "inbox"
	}
	if f.Basis != nil && len(f.Basis.Basis.Reads) > maxRecheck {
		return "basis"
	}
	if f.Sleep != nil && len(f.Sleep.Polls) > maxTriggers {
		return "sleep"
	}
	for i := range f.Tools {
		if len(f.Tools[i].Last) > maxSignals {
			return "tools"
		}
	}
	return ""
}

// dedupeID is what is remembered of an event's id: who sent it and the id, or their hash where they are long. A grant's
// is its own: nobody but the owner makes one, and no other event with the same id must take its place.
func (ev *Event) dedupeID() string {
	id := ev.By + "\x00" + ev.ID
	if _, ok := ev.Notice.(Grant); ok {
		id += "\x00grant"
	}
	if len(id) <= maxDedupeID {
		return id
	}
	return HashOf([]byte(id)).String()
}

// repeated reports whether an event of this id has come, and remembers that this one has now.
func (f *Fold) repeated(event Hash, id string) bool {
	if f.own.seen != nil {
		if _, ok := f.own.seen[id]; ok {
			return true
		}
		f.own.seen[id] = struct{}{}
		if len(f.Dedupe) == maxDedupe {
			delete(f.own.seen, f.Dedupe[0])
		}
	} else {
		if f.work += int64(len(f.Dedupe)); slices.Contains(f.Dedupe, id) {
			return true
		}
		if f.own.again { // a second one in this run: there may be many
			f.own.seen = make(map[string]struct{}, len(f.Dedupe)+1)
			for _, s := range f.Dedupe[max(0, len(f.Dedupe)+1-maxDedupe):] {
				f.own.seen[s] = struct{}{}
			}
			f.own.seen[id] = struct{}{}
			f.work += int64(len(f.Dedupe))
		}
	}
	f.Dedupe, f.own.again = extended(f, f.Dedupe, id, maxDedupe, &f.rooms.dedupe), true
	f.tellers = extended(f, f.tellers, event, maxDedupe, &f.rooms.tellers)
	return false
}

// setVars changes the agent's state. A null removes the name. What would be more than the state holds is not set.
func (f *Fold) setVars(e *Entry, set map[string]Data) {
	if len(set) == 0 {
		return
	}
	w := f.weigh()
	if !f.own.vars {
		vars := make(map[string]Data, len(f.Vars)+len(set))
		for k, v := range f.Vars {
			vars[k] = v
		}
		f.work += int64(len(f.Vars))
		f.Vars, f.own.vars = vars, true
	}
	over := false
	for _, k := range sortedKeys(set) {
		v, old := set[k], f.Vars[k]
		had := 0
		if old != nil {
			had = len(k) + len(old)
		}
		switch {
		case isNull(v):
			delete(f.Vars, k)
			w.vars -= had
		case (old == nil && len(f.Vars) >= maxVars) || w.vars-had+len(k)+len(v) > maxVarBytes:
			over = true
		default:
			f.Vars[k] = v
			w.vars += len(k) + len(v) - had
		}
	}
	if over {
		f.conflict(e, "more state than an agent holds: the rest is not set")
	}
	if len(f.Vars) == 0 {
		f.Vars, f.own.vars = nil, false
	}
}

// sortedKeys are the keys of a map, ascending. A map of one, the usual, costs no sorting.
func sortedKeys(m map[string]Data) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}
