package perdure

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Basis is what advice rests on: reads whose results its advisor took into account. Where a proposal is decided long
// after, because an approval came late, the agent was paused or nobody ran it, they are made again first. If they come
// to the same, the decision is made; if not, what was proposed is dropped, approved or not, and the advisor is asked
// again.
type Basis struct {
	Reads []Assumption `canon:"1,reads"` // made again, in order, when they are stale
	// how long they hold; none: an hour. Less than 5 seconds counts as these: it is written no more
	Stale int64  `canon:"2,stale_ms,omitzero"`
	Call  string `canon:"3,call,omitzero,verbatim"` // the model's own id of the call that named them
}

// Check refuses a basis that no advisor may name: one that holds for less than 5 seconds would be out of date when it
// has been looked at. Nil is good.
func (b *Basis) Check() error {
	if b == nil || b.Stale <= 0 || b.Stale >= leastStale.Milliseconds() {
		return nil
	}
	return Invalid(fmt.Errorf("stale is %s: what is proposed rests on what was read for at least %s",
		time.Duration(b.Stale)*time.Millisecond, leastStale))
}

// Assumption is a read, and what it came to when its advisor relied on it.
type Assumption struct {
	Read Execute `canon:"1,read"` // a call of class read
	// SHA-256 of its result; none: nobody knows, so whatever it comes to is something else
	Result Hash `canon:"2,result,omitzero"`
}

// resting is the basis of the current proposals.
type resting struct {
	Advice Hash  `canon:"1,advice"`        // the advice that proposed them
	Basis  Basis `canon:"2,basis"`         // what it said it rests on
	Since  Time  `canon:"3,since"`         // when it was last known to hold
	Next   int64 `canon:"4,next,omitzero"` // how many of the reads are decided in the look under way
	// 1 + the index of the first read that came to something else, or to nothing
	Changed int64 `canon:"5,changed,omitzero"`
}

const (
	// basisCall is how the runtime names the reads it makes again: with their index.
	basisCall = "basis/"
	// defaultStale is how long what advice rests on holds when its advisor did not say.
	defaultStale = time.Hour
	// leastStale keeps a look from being out of date when it ends.
	leastStale = 5 * time.Second
)

// stale reports whether too long a time has passed since the basis was known to hold.
func (r *resting) stale(t Time) bool {
	bound := defaultStale.Milliseconds()
	if r.Basis.Stale > 0 {
		bound = max(r.Basis.Stale, leastStale.Milliseconds())
	}
	return int64(t-r.Since) >= bound
}

// read is the i-th read as the runtime makes it again.
func (r *resting) read(i int64) Execute {
	x := r.Basis.Reads[i].Read
	x.Call = basisCall + strconv.FormatInt(i, 10)
	return x
}

// rereads is the index of the read that an action makes again.
func (f *Fold) rereads(a Action) (int64, bool) {
	x, ok := a.(Execute)
	if !ok || f.Basis == nil {
		return 0, false
	}
	text, ok := strings.CutPrefix(x.Call, basisCall)
	n, err := strconv.ParseInt(text, 10, 32)
	if !ok || err != nil || n < 0 || n >= int64(len(f.Basis.Basis.Reads)) {
		return 0, false
	}
	want := f.Basis.Basis.Reads[n].Read
	return n, x.Tool == want.Tool && bytes.Equal(x.Args, want.Args)
}

// setBasis remembers what new advice rests on.
func (f *Fold) setBasis(e *Entry, a *Advice) {
	f.Basis = nil
	if b := a.Basis; b != nil && len(b.Reads) > 0 && len(a.Actions) > 0 {
		f.Basis = &resting{Advice: e.Name, Basis: *b, Since: e.Time}
	}
}

// decideRead folds that a read of the basis is decided: the next one is to follow. One that is denied counts as
// changed.
func (f *Fold) decideRead(d *Decision, action Action) {
	n, ok := f.rereads(action)
	if !ok || !d.Advice.IsZero() {
		return
	}
	r := *f.Basis
	if n == r.Next && len(d.Approvals) == 0 && !f.owes(d.Key) {
		r.Next++
	}
	f.Basis = &r
	if d.Verdict.Answer == Deny {
		f.changed(n)
	}
}

// changed remembers that a read of the basis did not come to what it came to before.
func (f *Fold) changed(n int64) {
	r := *f.Basis
	if r.Changed == 0 {
		r.Changed = 1 + n
	}
	f.Basis = &r
}

// reread folds the outcome of a read of the basis, which is not tried again. With the last of them the basis is known
// to hold, or not.
func (f *Fold) reread(e *Entry, n int64, o *Outcome) {
	if want := f.Basis.Basis.Reads[n].Result; o.Signal != OK || want.IsZero() || HashOf(o.Result) != want {
		f.changed(n)
		return
	}
	if r := f.Basis; r.Changed == 0 && r.Next >= int64(len(r.Basis.Reads)) && !f.rereading() {
		fresh := *r
		fresh.Since, fresh.Next = e.Time, 0
		f.Basis = &fresh
	}
}

// rereading reports whether a read of the basis is under way, asked for, or to be tried again.
func (f *Fold) rereading() bool {
	is := func(a Action) bool { _, ok := f.rereads(a); return ok }
	return slices.ContainsFunc(f.Open, func(o Open) bool { return is(o.Action) }) ||
		slices.ContainsFunc(f.Asks, func(q Asking) bool { return is(q.Action) }) ||
		slices.ContainsFunc(f.Owed, func(w Owed) bool { return is(w.Action) })
}

// remember puts into a basis what its reads came to last, as far as the agent still holds it.
func (a *Agent) remember(b *Basis) *Basis {
	if b == nil {
		return nil
	}
	filled := *b
	filled.Reads = slices.Clone(b.Reads)
	proposed, results := map[Hash][]Action{}, map[Hash]Hash{}
	counting := slices.Collect(a.Counting()) // newest first
	var ledger Ledger
	for _, e := range slices.Backward(counting) {
		if adv, ok := e.content.(Advice); ok {
			proposed[e.Name] = adv.Actions
		}
		if o := ledger.Came(a.fold, e); o != nil && o.Signal == OK {
			results[o.Decision] = HashOf(o.Result)
		}
	}
	for _, e := range counting {
		d, ok := e.content.(Decision)
		result, done := results[e.Name]
		if !ok || !done {
			continue
		}
		x, _ := d.of(proposed[d.Advice]).(Execute)
		for i := range filled.Reads {
			r := &filled.Reads[i]
			if r.Result.IsZero() && r.Read.Tool == x.Tool && bytes.Equal(r.Read.Args, x.Args) {
				r.Result = result
			}
		}
	}
	return &filled
}
