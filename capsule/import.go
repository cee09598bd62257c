package capsule

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"time"

	"github.com/perdure/perdure"
)

// ImportOptions say how to take in a capsule. The zero ImportOptions validate deeply and
// trust nobody, so that everything is refused.
type ImportOptions struct {
	ReadOptions
	Drop  bool // drop what unknown keys alone have added to the agent here since this copy was made
	Older bool // an older copy than the one here is no error: nothing is added
	// keeps the agent as it is here elsewhere, where it cannot be merged with the copy any more, which then takes its
	// place; nil: the copy is refused
	Aside func(perdure.AgentID) error
	Now   time.Time // zero: the time of the call
	// Begin is told of an agent that was validated, and of its heads here, before anything of it is written; nil:
	// nobody is. An error of it ends the import.
	Begin func(id perdure.AgentID, held []perdure.Hash) error

	// Trust is whose entries count here. An agent with others is held when it is new here, until somebody admits it; to
	// one that is here and counts they are refused (key.trusted). Nil trusts nobody, and refuses what it would hold.
	Trust *perdure.Trust
	// in the place of Trust: signatures are checked, but not whose they are; nodes do that when they look at the agent
	Anyone bool
	Refuse bool // refuse an agent that does not count, instead of holding it
	// policy, asked about an agent that is new here and before anything is written; nil asks
	Admit func(a *perdure.Agent) perdure.Verdict
	// who signs the pause of an agent that waits for a person; nil: it is not paused. That pause, the hold, is a matter
	// of this store: one that comes back to where an agent was not held is let go of there, and an agent that is held
	// here stays so until people admit it, whatever was let go of elsewhere.
	Key *perdure.Signer
	// the owner of Key has looked at it, and admits it now unless policy denies
	Ready bool

	Progress func(entries, total int64) // total is 0 while the capsule is validated
}

// ErrDenied says that an agent is not admitted here. Nothing was written.
var ErrDenied = errors.New("not admitted here")

// Import takes a capsule into a store. It reads it twice: first to validate all of it, so that a bad one leaves nothing
// behind, then to add its entries. A copy that diverged from the one here is merged with it by union.
//
// Its entries are added all or none: an import that was killed, or for which the disk had no room, has left nothing
// that a node acts on. One of more than 32 MiB is streamed into a store that can (perdure.Parter), others get it in one
// Put.
func Import(ctx context.Context, s perdure.Store, src io.ReadSeeker, o ImportOptions) (*Arrival, error) {
	a, _, err := importFrom(ctx, s, src, o)
	return a, err
}

// importFrom is Import, and says what reading the capsule once came to.
func importFrom(ctx context.Context, s perdure.Store, src io.ReadSeeker, o ImportOptions) (*Arrival, meter, error) {
	im := &importing{ctx: ctx, s: s, src: src, o: o}
	if im.o.Now.IsZero() {
		im.o.Now = time.Now()
	}
	if im.o.Trust == nil && !im.o.Anyone {
		im.o.Trust, im.o.Refuse = new(perdure.Trust), true
	}
	a, err := im.run()
	var cost meter
	if im.last != nil {
		cost = im.last.cost()
	}
	if err != nil {
		return nil, cost, fmt.Errorf("import: %w", err)
	}
	return a, cost, nil
}

// importing is one import.
type importing struct {
	ctx  context.Context
	s    perdure.Store
	src  io.ReadSeeker
	o    ImportOptions
	last *Reader        // of the pass that ended last
	held []perdure.Hash // the heads the store has; none when the agent is not there
	here Depth          // of what the store has
	// of the entries in the capsule, and a sum of their signatures; nil when there is nothing to compare with
	names map[short]uint32
	sick  error // why the store cannot read the agent; nil: it can

	absent, dropped int64 // how many bodies are not there, and how many of them the memory says were dropped
	droppedBy       func(*perdure.Entry) int64
	told            bool // the capsule tells of holds
	size            int64
	fold            perdure.Hash
	agent           *perdure.Agent // as validated; nil after shallow validation
}

func (im *importing) run() (*Arrival, error) {
	if err := im.validate(); err != nil {
		return nil, err
	}
	a := &Arrival{Head: im.last.Head(), Index: *im.last.Index(), Manifest: im.last.Manifest(), Held: im.held}
	a.Fold = im.fold
	// a courier may have left bodies out, and said otherwise
	if a.Head.Holds() == perdure.Full && im.absent > im.dropped {
		a.Head.Depth = perdure.Headers
	}
	if im.o.Begin != nil {
		if err := im.o.Begin(a.Head.Agent, im.held); err != nil {
			return nil, err
		}
	}
	ailing, err := im.examine(a.Head.Agent)
	if err != nil {
		return nil, err
	}
	if im.sick != nil {
		return a, im.mend(a)
	}
	if a.Relation, err = im.relate(a); err != nil {
		return nil, err
	}
	if a, err = im.enter(a); err == nil && ailing { // what lay aside may have found its place, or is needed no more
		a.Healed, err = im.join(a)
	}
	return a, err
}

// enter takes a capsule in that stands in a relation to what is here.
func (im *importing) enter(a *Arrival) (_ *Arrival, err error) {
	if a.Relation == Older {
		besides, err := im.restores(a)
		if err != nil {
			return nil, err
		}
		if besides.drops && (im.o.Drop || !im.o.Older) {
			return a, im.restore(a, besides)
		}
	}
	switch {
	case a.Relation == Deeper:
		return a, im.deepen(a)
	case a.Relation == Older && !im.o.Older:
		return nil, reject(PredRollback, 0, "$.heads", "a copy older than the one here", "one at least as new")
	case a.Relation == Older || a.Relation == Same:
		return a, nil
	}
	if a.Relation != Created {
		return a, im.merge(a)
	}
	more, err := im.admit(a)
	if err != nil {
		return nil, err
	}
	if a.Head.Holds() != perdure.Full {
		return a, im.place(a, more)
	}
	return a, im.add(a, more, im.s.Put)
}

// mergeTries bounds how often a merge begins again because others wrote to the agent.
const mergeTries = 20

// merge adds what the copy here lacks. That nothing of it rests on what a collection drops meanwhile is compared.
func (im *importing) merge(a *Arrival) error {
	id := a.Head.Agent
	if err := im.checkBare(&a.Head); err != nil {
		return err
	}
	for try := 1; ; try++ {
		heads, err := im.s.Heads(im.ctx, id)
		if err == nil {
			// First of all: what cannot be merged cannot be judged, either, and would be refused for another reason.
			err = perdure.Mergeable(perdure.Memory(im.ctx, im.s, id), im.entries())
		}
		if errors.Is(err, perdure.ErrRejected) && im.o.Aside != nil {
			return im.instead(a, heads)
		}
		if err == nil {
			err = im.checkEntering(id)
		}
		var more []*perdure.Entry
		if err == nil {
			more, err = im.stay(a, im.here, nil)
		}
		if err == nil {
			err = im.add(a, more, func(ctx context.Context, id perdure.AgentID, all ...*perdure.Entry) error {
				return im.s.Append(ctx, id, heads, all...)
			})
		}
		if !errors.Is(err, perdure.ErrConflict) || try == mergeTries {
			return err
		}
	}
}

// open goes back to the beginning of the capsule.
func (im *importing) open() (err error) {
	for _, part := range []any{im.src, im.o.Signatures} {
		if part == nil {
			continue
		}
		seeker, ok := part.(io.Seeker)
		if !ok {
			return errors.New("the signatures are read twice: give a file, not a stream")
		}
		if _, err := seeker.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read from the beginning: %w", err)
		}
	}
	im.last, err = NewReader(im.src, im.o.ReadOptions)
	return err
}

// look finds out what the store has of the agent.
func (im *importing) look() error {
	var err error
	if im.held, err = im.s.Heads(im.ctx, im.last.head.Agent); err == nil {
		im.names = map[short]uint32{} // to be compared with
		im.here, im.sick = perdure.DepthOf(im.ctx, im.s, im.last.head.Agent)
	} else if !errors.Is(err, perdure.ErrNotFound) {
		im.sick = err
	}
	return im.ctx.Err()
}

// note counts the bodies that are absent, and those of which the memory says that they were dropped, by whoever may,
// and notes what tells of holds.
func (im *importing) note(e *perdure.Entry) {
	if im.droppedBy == nil {
		g, _ := e.Content().(perdure.Genesis)
		im.droppedBy = im.o.Trust.Dropped(g.Charter)
	}
	if e.Content() == nil {
		im.absent++
	}
	im.dropped += im.droppedBy(e)
	im.told = im.told || tellsOf(e)
}

// entries reads the capsule from its beginning.
func (im *importing) entries() iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		if err := im.open(); err != nil {
			yield(nil, err)
			return
		}
		for e, err := range im.last.Entries() {
			if err == nil {
				err = im.ctx.Err()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// validate reads all of the capsule and, unless validation is shallow, folds it.
func (im *importing) validate() error {
	if err := im.open(); err != nil {
		return err
	}
	if err := im.look(); err != nil {
		return err
	}
	if im.last.head.Anchor != nil {
		return im.validateEnd() // only the end of a memory, which cannot be verified from genesis
	}
	v, err := perdure.Verify(im.counted(), perdure.VerifyOptions{Shallow: im.o.Shallow, Progress: im.checked})
	if err == nil && !im.o.Shallow {
		im.fold, im.agent = v.Fold, v.Derived()
	}
	return err
}

func (im *importing) checked(entries int64) {
	if im.o.Progress != nil {
		im.o.Progress(entries, 0)
	}
}

// counted is entries, noting what there is.
func (im *importing) counted() iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		im.size = 0
		for e, err := range im.entries() {
			if err == nil {
				if im.names != nil {
					im.names[short(e.Name[:16])] = crc32.ChecksumIEEE(e.Signature)
				}
				im.size += int64(len(e.HeaderBytes()) + len(e.BodyBytes()))
				im.note(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// validateEnd is validate for a capsule that begins with a snapshot.
func (im *importing) validateEnd() error {
	a, err := Fold(im.last.head, im.counted())
	if err != nil {
		return err
	}
	im.agent = a
	im.fold, err = a.Fold().Hash()
	return err
}

// atOnce is the size up to which a capsule is added in one Put, which shares a sync with others.
const atOnce = 32 << 20

// add reads the capsule again and hands its entries to the store, and after them the hold: all of it, or nothing. What
// is left of an import that was cut off would be an older copy, and whoever went on with it would do again what was
// done since. Put takes what is short enough.
func (im *importing) add(a *Arrival, hold []*perdure.Entry,
	put func(context.Context, perdure.AgentID, ...*perdure.Entry) error) error {
	if im.size > atOnce {
		return perdure.PutAll(im.ctx, im.s, a.Head.Agent, im.arriving(a, hold))
	}
	var all []*perdure.Entry
	for e, err := range im.arriving(a, hold) {
		if err != nil {
			return err
		}
		all = append(all, e)
	}
	return put(im.ctx, a.Head.Agent, all...)
}

// arriving is the entries that are added. It fails at its end if the capsule is not the one that was validated.
func (im *importing) arriving(a *Arrival, hold []*perdure.Entry) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		done := int64(0)
		for e, err := range im.entries() {
			if !yield(e, err) || err != nil {
				return
			}
			if done++; im.o.Progress != nil && (done%progressEvery == 0 || done == a.Index.Entries) {
				im.o.Progress(done, a.Index.Entries)
			}
		}
		if im.last.Index().Digest != a.Index.Digest {
			yield(nil, errors.New("the capsule changed while it was read; import it again"))
			return
		}
		for _, e := range hold {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// progressEvery is how many entries are added between two reports.
const progressEvery = 1024
