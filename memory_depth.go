package perdure

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/phase"
)

// depthKind says what of a memory is there.
type depthKind uint8

// Wire numbers are frozen. Do NOT reorder.
const (
	depthFull    depthKind = iota // every entry, every body that was not dropped
	depthHeaders                  // every entry, recent bodies
	depthLast                     // a snapshot and the entries after it
)

// CanonNames are the names of the wire numbers.
func (depthKind) CanonNames() []string { return []string{"full", "headers", "last"} }

func (k depthKind) String() string { return canon.NameOf(k) }

// MarshalText writes the name.
func (k depthKind) MarshalText() ([]byte, error) { return canon.MarshalName(k, "depth") }

// UnmarshalText reads a name.
func (k *depthKind) UnmarshalText(b []byte) error { return canon.UnmarshalName(k, "depth", b) }

// Depth is how deep into the past of an agent a capsule or a store reaches. The zero Depth is Full.
type Depth struct {
	Kind depthKind `canon:"1,kind"`
	N    int64     `canon:"2,n,omitzero"` // of last: at least so many entries follow the snapshot
}

var (
	// Full holds the whole memory: everything can be checked, everything may be done.
	Full = Depth{}
	// Headers holds every header, genesis, and the bodies from the newest snapshot on: every link and signature can be
	// checked, the snapshot is taken on the word of who signed it.
	Headers = Depth{Kind: depthHeaders}
)

// Last holds the newest snapshot that at least n entries follow, and those; the whole memory if none is that old.
// Last(0) is the newest snapshot, what came after it, and the hash of everything before.
func Last(n int64) Depth { return Depth{Kind: depthLast, N: max(n, 0)} }

// Valid reports whether it is one of the depths there are.
func (d Depth) Valid() bool { return d.Kind == depthLast && d.N >= 0 || d.Kind < depthLast && d.N == 0 }

// IsLast reports whether only the end of a memory is there: a snapshot and the entries after it.
func (d Depth) IsLast() bool { return d.Kind == depthLast }

// MarshalText writes the depth as String does.
func (d Depth) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "full", "headers" or a number of entries.
func (d *Depth) UnmarshalText(b []byte) error {
	switch s := string(b); s {
	case "full":
		*d = Full
	case "headers":
		*d = Headers
	default:
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("depth %.20q: want full, headers, or how many entries", s)
		}
		*d = Last(n)
	}
	return nil
}

func (d Depth) String() string {
	switch d.Kind {
	case depthFull:
		return "full"
	case depthHeaders:
		return "headers"
	case depthLast:
	}
	return strconv.FormatInt(d.N, 10)
}

// Allows reports whether a node that knows an agent at this depth may perform an effect of a class:
//
//	depth    read  idempotent  once
//	full     yes   yes         yes
//	headers  yes   yes         no
//	n > 0    yes   yes         no
//	0        yes   no          no
//
// What is done once needs the decisions and outcomes of the whole past, to show that it was not done yet: a snapshot is
// only somebody's word for it. What is idempotent needs the recent ones, for its key. Reading needs nothing.
func (d Depth) Allows(e Effect) bool {
	switch {
	case e == Read || d.Kind == depthFull:
		return true
	case e == Idempotent:
		return d.Kind == depthHeaders || d.N > 0
	}
	return false
}

// Words say for people what a depth holds and what may be done with it.
func (d Depth) Words() string {
	switch {
	case d.Kind == depthFull:
		return "the whole memory"
	case d.Kind == depthHeaders:
		return "every header, but only recent bodies: it may read and repeat, but do nothing that must happen once"
	case d.N > 0:
		return "only the end of its memory: it may read and repeat, but do nothing that must happen once"
	}
	return "only a snapshot and what came after it: it may read, and do nothing else"
}

// Parter is a store that takes in memories of any length and of any depth, all or nothing. What takes in a memory must
// not leave a part of it: a part is an older copy, in which effects that have been performed are still to be done.
type Parter interface {
	// PutAll is Put of a sequence, which it may range over more than once. If the sequence yields an error, or the
	// process or the machine stops before PutAll returns, nothing was added. The sequence must not use the store.
	PutAll(ctx context.Context, id AgentID, entries iter.Seq2[*Entry, error]) error
	// Replace durably puts a memory of a depth in the place of what the store holds of an agent, all of it or nothing,
	// if heads are still its heads; none: the agent is not there. Otherwise it changes nothing and returns an error
	// wrapping ErrConflict. At a depth of the last entries the first one is a snapshot, whose parents are not there; a
	// later entry without its parents is refused. Cursors from before are of no use after it.
	Replace(ctx context.Context, id AgentID, heads []Hash, d Depth, entries iter.Seq2[*Entry, error]) error
	// Depth is how much of an agent the store holds, or an error wrapping ErrNotFound.
	Depth(ctx context.Context, id AgentID) (Depth, error)
}

// DepthOf is how much of an agent a store holds. One that is no Parter holds whole memories.
func DepthOf(ctx context.Context, s Store, id AgentID) (Depth, error) {
	if p, ok := s.(Parter); ok {
		return p.Depth(ctx, id)
	}
	return Full, nil
}

// Depth is how much of the agent's memory was there when it was loaded.
func (a *Agent) Depth() Depth { return a.depth }

// atDepth is the agent as it is known at a depth.
func (a *Agent) atDepth(d Depth) *Agent {
	known := *a
	known.depth = d
	return &known
}

// Fold folds a memory of which this much is there. Of less than all of it a snapshot is taken as it stands, and what
// came after it is folded; before it there may be genesis, and entries without their bodies, which are passed over. It
// may range over entries a second time.
func (d Depth) Fold(entries iter.Seq2[*Entry, error]) (*Agent, error) {
	if d.Kind == depthFull {
		return FoldEntries(entries)
	}
	a, err := foldPart(entries)
	if err != nil {
		return nil, err
	}
	return a.atDepth(d), nil
}

// foldPart folds the end of a memory.
func foldPart(entries iter.Seq2[*Entry, error]) (*Agent, error) {
	var a *Agent
	var batch []*Entry
	var s seals
	size := 0
	for e, err := range entries {
		switch {
		case err != nil:
		case a != nil:
			batch, size = append(batch, e), size+len(e.body)
			if e.Signature != nil && (len(batch) >= partEntries || size >= loadBytes) {
				a, err = a.Apply(batch...)
				batch, size = nil, 0
			}
		case e.Kind != KindGenesis && e.content != nil:
			if err = e.verifySignature(); err == nil {
				a, err = FromSnapshot(e)
			}
		}
		if err != nil {
			return nil, err
		}
		if a != nil {
			s.add(e)
		}
	}
	if a == nil {
		return nil, reject(predBodyPresent, nil, "$", "no snapshot", "one to begin with",
			"get the memory from a copy that has it")
	}
	a, err := a.Apply(batch...)
	if err != nil {
		return nil, err
	}
	if e := s.broken(); e != nil {
		return nil, unsealed(e)
	}
	return a.complete()
}

// partEntries is how many entries are folded at a time.
const partEntries = 1024

// verifyPart is Verify for the end of a memory.
func verifyPart(entries iter.Seq2[*Entry, error], o VerifyOptions) (*Verified, error) {
	v := newVerifier(o)
	fold := foldPart
	if o.Trust != nil {
		fold = o.Trust.Fold
	}
	a, err := fold(func(yield func(*Entry, error) bool) {
		v.Verified, v.origins, v.count = Verified{}, map[Key]*int64{}, nil // it may be ranged over again
		for e, err := range entries {
			if err == nil {
				v.tally(e)
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	v.a, v.Taken = a, 1
	return v.report()
}

// deepEnough reports whether enough of the memory is here for an action; if not, rest says so. A child can do whatever
// the agent could, so delegation takes what the most careful effect takes. What a fork rehearses happens nowhere.
func (f *Fold) deepEnough(c *Capabilities, act Action, rest *Idle) bool {
	if c.depth == Full || f.rehearses() {
		return true
	}
	effect := Read
	switch x := act.(type) {
	case Execute:
		spec, known := c.Tools[x.Tool]
		if !known {
			return true // who has the tool knows what it does
		}
		if effect = spec.Effect; effect == 0 {
			effect = Once
		}
	case Delegate:
		effect = Once
	case Mutate, Sleep, Wake, End:
	}
	if c.depth.Allows(effect) {
		return true
	}
	name := toolOf(act)
	if name == "" {
		name = delegateTool
	}
	rest.tooShallow(c.depth, name, effect)
	return false
}

// tooShallow says that an effect needs more of the memory than is here.
func (i *Idle) tooShallow(d Depth, tool string, e Effect) {
	i.Person = true
	i.because(Reason{Kind: phase.RestShallow, Tool: tool, Effect: e, Depth: &d})
}

// unrooted is the refusal of the end of a memory whose snapshot is by somebody who is not trusted everywhere: in which
// scope the agent is only its genesis can say.
func unrooted(first *Entry) error {
	return untrusted(&authored{key: first.Origin, right: MayOwn, scope: AnyScope, entry: first.Name}, MayOwn)
}

// foldEnd folds the end of a memory that begins with a snapshot; nil, without an error, if it begins with genesis.
func foldEnd(entries iter.Seq2[*Entry, error], vouch func(*Entry) bool) (*Agent, error) {
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if _, ok := e.content.(Snapshot); !ok || len(e.Parents) == 0 {
			return nil, nil
		}
		if vouch != nil && !vouch(e) {
			return nil, unrooted(e)
		}
		return foldPart(entries)
	}
	return nil, nil
}

// isEnd reports whether entries, in fold order, are the end of a memory.
func isEnd(sorted []*Entry) bool {
	return len(sorted) > 0 && sorted[0].Kind == KindSnapshot && !slices.ContainsFunc(sorted, func(e *Entry) bool {
		return e.Kind == KindGenesis
	})
}

// stored is what a store holds at a depth, in few words.
func (d Depth) stored() string {
	switch d.Kind {
	case depthFull:
		return "all of its memory"
	case depthHeaders:
		return "only the headers of its past"
	case depthLast:
	}
	return "only the end of its memory"
}
