package capsule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// ImportOptions say how to take in a capsule. The zero ImportOptions validate deeply and
// trust nobody, so that everything is refused.
type ImportOptions struct {
	ReadOptions
	Drop  bool      // drop what unknown keys alone have added to the agent here since this copy was made
	Older bool      // an older copy than the one here is no error: nothing is added
	Now   time.Time // zero: the time of the call

	// Trust is whose entries count here. An agent with others is held when it is new here, until somebody admits it; to
	// one that is here and counts they are refused (key.trusted). Nil trusts nobody, and refuses what it would hold.
	Trust *perdure.Trust
	// in the place of Trust: signatures are checked, but not whose they are; nodes do that when they look at the agent
	Anyone bool
	Refuse bool // refuse an agent that does not count, instead of holding it
	// policy, asked about an agent that is new here and before anything is written; nil asks
	Admit func(a *perdure.Agent) perdure.Verdict
	// in whose name an agent is paused that waits for a person; nil: it is not paused
	Key *perdure.Signer
	// the owner of Key has looked at it, and admits it now unless policy denies
	Ready bool

	Progress func(entries, total int64) // total is 0 while the capsule is validated
}

// ErrDenied says that an agent is not admitted here. Nothing was written.
var ErrDenied = errors.New("not admitted here")

// Relation is how an arriving copy of a memory relates to the one already here.
type Relation uint8

const (
	Created Relation = iota // the agent was not here
	// both hold the same entries, but for the hold that the one here was put under when it came
	Same
	Newer    // it has everything that was here, but for such a hold, and more
	Older    // everything in it was here, and more
	Diverged // each has what the other lacks; now both are here
	Deeper   // it has the past that was missing here
	Mended   // the one here was damaged: what is good of both is here now
	// everything in it was here, and more, all of it by unknown keys: that is gone now (ImportOptions.Drop)
	Restored
)

func (r Relation) String() string {
	return [...]string{"created", "same", "newer", "older", "diverged", "deeper", "mended", "restored"}[r]
}

// Arrival is what an import came to.
type Arrival struct {
	Head     Head
	Index    Index
	Relation Relation
	Manifest *Manifest       // who vouches for the heads, if the capsule says
	Verdict  perdure.Verdict // on an agent that was not here before
	Stranger error           // why an agent that was not here before does not count here by itself; nil: it does
	Admitted bool            // policy or the owner of Key let it go on
	Hold     perdure.Hash    // the pause the agent was put under; zero: none
	Fold     perdure.Hash    // of the capsule at its depth; zero after shallow validation
	Dropped  string          // in words, what Restored took away
	Healed   perdure.Healed  // what became of one that was damaged here
}

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
	size            int64
	fold            perdure.Hash
	agent           *perdure.Agent // as validated; nil after shallow validation
}

func (im *importing) run() (*Arrival, error) {
	if err := im.validate(); err != nil {
		return nil, err
	}
	a := &Arrival{Head: im.last.Head(), Index: *im.last.Index(), Manifest: im.last.Manifest()}
	a.Fold = im.fold
	// a courier may have left bodies out, and said otherwise
	if a.Head.Holds() == perdure.Full && im.absent > im.dropped {
		a.Head.Depth = perdure.Headers
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
	var more []*perdure.Entry
	if a.Relation == Created {
		more, err = im.admit(a)
	} else if err = im.checkBare(&a.Head); err == nil {
		// First of all: what cannot be merged cannot be judged, either, and would be refused for another reason.
		if err = perdure.Mergeable(perdure.Memory(im.ctx, im.s, a.Head.Agent), im.entries()); err == nil {
			err = im.checkEntering(a.Head.Agent)
		}
	}
	if err != nil {
		return nil, err
	}
	if a.Relation == Created && a.Head.Holds() != perdure.Full {
		return a, im.place(a, more)
	}
	return a, im.add(a, more)
}

// join puts what lies aside of an agent together with what is in its place, and with the capsule if that is all of it
// and counts here.
func (im *importing) join(a *Arrival) (perdure.Healed, error) {
	var good []*perdure.Entry
	if a.Head.Holds() == perdure.Full && im.counts() == nil {
		var err error
		if good, err = im.all(a); err != nil {
			return perdure.Healed{}, err
		}
	}
	return im.s.(perdure.Healer).Heal(im.ctx, a.Head.Agent, good)
}

// examine reads what the store has of the agent, and notes why it cannot, if so. It reports whether something of it
// lies aside.
func (im *importing) examine(id perdure.AgentID) (ailing bool, err error) {
	h, ok := im.s.(perdure.Healer)
	if !ok {
		return false, im.sick
	}
	all, err := h.Ailing(im.ctx)
	if err != nil {
		return false, err
	}
	x, ailing := ailmentOf(all, id)
	if x.Gone && im.sick == nil {
		im.sick = x.Reason
	}
	if im.names == nil || im.sick != nil {
		return ailing, nil
	}
	for item, err := range im.s.Entries(im.ctx, id, 0) {
		if err == nil {
			if sum, both := im.names[short(item.Name[:16])]; both && item.Signature != nil &&
				sum != crc32.ChecksumIEEE(item.Signature) {
				err = item.CheckSignature()
			}
		}
		if err != nil {
			im.sick = err
			return ailing, im.ctx.Err()
		}
	}
	return ailing, nil
}

// ailmentOf finds what is known of a damaged agent. An agent of which nothing can be used may be known by an id that is
// damaged itself.
func ailmentOf(all map[perdure.AgentID]perdure.Ailment, id perdure.AgentID) (perdure.Ailment, bool) {
	x, ok := all[id]
	if ok {
		return x, true
	}
	for other, x := range all {
		if x.Gone && id.Resembles(other) {
			return x, true
		}
	}
	return perdure.Ailment{}, false
}

// mend puts what is good of a damaged agent here and of the capsule together.
func (im *importing) mend(a *Arrival) error {
	if a.Head.Holds() != perdure.Full {
		return reject(PredDepth, 0, "$.anchor", "only the end of a memory", "the whole of it: the one here is damaged")
	}
	if err := im.counts(); err != nil {
		return err
	}
	good, err := im.all(a)
	if err != nil {
		return err
	}
	a.Relation = Mended
	a.Healed, err = im.s.(perdure.Healer).Heal(im.ctx, a.Head.Agent, good)
	return err
}

// counts says why the capsule does not count here.
func (im *importing) counts() error {
	if im.o.Trust == nil {
		return nil
	}
	derived, err := im.o.Trust.Fold(im.entries())
	if err == nil {
		err = im.o.Trust.Counts(derived)
	}
	return err
}

// all is every entry of the capsule.
func (im *importing) all(a *Arrival) ([]*perdure.Entry, error) {
	all := make([]*perdure.Entry, 0, a.Index.Entries)
	for e, err := range im.entries() {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// arrived is what the hold of an arriving agent is called, for people.
const arrived = "arrived"

// holdOf is the id of the hold of an agent with these heads.
func holdOf(heads []perdure.Hash) string {
	var all []byte
	for _, h := range heads {
		all = append(all, h[:]...)
	}
	return "held-" + perdure.HashOf(all).String()
}

// IsHold reports whether an entry is the pause that an arriving agent was put under, in nobody's name: its id says
// what it was put on.
func IsHold(e *perdure.Entry) bool {
	event, _ := e.Content().(perdure.Event)
	_, pause := event.Notice.(perdure.Pause)
	return pause && event.By == "" && event.ID == holdOf(e.Parents)
}

// admit asks whether an agent may go on here, and writes the pause it is to wait under, or what admits it.
func (im *importing) admit(a *Arrival) (entries []*perdure.Entry, err error) {
	a.Verdict = perdure.Verdict{Answer: perdure.Ask, Reason: "it comes from elsewhere"}
	if im.agent == nil && (im.o.Admit != nil || im.o.Key != nil || im.o.Trust != nil) {
		if im.agent, err = Fold(im.last.head, im.entries()); err != nil {
			return nil, err
		}
	}
	derived := im.agent
	if im.o.Trust != nil { // what only a stranger's snapshot says is nothing to decide by
		if derived, err = im.o.Trust.Fold(im.entries()); err == nil {
			a.Stranger = im.o.Trust.Counts(derived)
		} else if a.Stranger = err; !errors.Is(err, perdure.ErrRejected) {
			return nil, err
		}
	}
	if im.o.Admit != nil && derived != nil {
		a.Verdict = im.o.Admit(derived)
	}
	switch {
	case derived == nil && (im.o.Refuse || im.o.Ready):
		return nil, a.Stranger
	case a.Verdict.Answer == perdure.Deny:
		return nil, fmt.Errorf("%w: %s", ErrDenied, cmp.Or(a.Verdict.Reason, "policy says no"))
	case a.Stranger != nil && im.o.Refuse:
		return nil, a.Stranger
	case im.o.Key == nil:
		return nil, nil
	case im.o.Ready || a.Verdict.Answer == perdure.Allow:
		if a.Admitted = true; a.Stranger == nil {
			return nil, nil
		}
		return im.o.Key.Admission(derived, im.o.Now, "as it arrived")
	case im.agent.Fold().Ended != nil:
		return nil, nil // there is nothing to keep it from
	}
	why := "no local budget until admitted"
	if a.Verdict.Reason != "" {
		why += ": " + a.Verdict.Reason
	}
	pause := perdure.Event{Name: arrived, ID: holdOf(im.agent.Heads()), Notice: perdure.Pause{Note: why}}
	if entries, _, err = im.o.Key.Commit(im.agent, im.o.Now, perdure.Draft{Body: pause}); err == nil {
		a.Hold = entries[len(entries)-1].Name
	}
	return entries, err
}

// checkEntering refuses entries that may not join the agent that is here. One that is held may get more of the same:
// nothing of it counts.
func (im *importing) checkEntering(id perdure.AgentID) error {
	if im.o.Trust == nil {
		return nil
	}
	here, err := im.o.Trust.Load(im.ctx, im.s, id)
	if errors.Is(err, perdure.ErrRejected) {
		return nil // it does not count, and will not
	}
	if err != nil {
		return err
	}
	known := map[short]struct{}{}
	for item, err := range im.s.Entries(im.ctx, id, 0) {
		if err != nil {
			return err
		}
		known[short(item.Name[:16])] = struct{}{}
	}
	has := func(h perdure.Hash) bool {
		_, ok := known[short(h[:16])]
		return ok
	}
	return im.o.Trust.Joins(here, perdure.Memory(im.ctx, im.s, id), im.entries(), has)
}

// holds tells entries that only hold an arriving agent, or let it go, from what happened to it here.
type holds struct {
	has  func(perdure.Hash) bool // what arrives
	only map[perdure.Hash]bool   // the entries that are nothing else
	held map[perdure.Hash]bool   // the holds among them
}

// is reports whether an entry, of which those before it were asked about, is nothing but a hold: a pause in nobody's
// name on top of what arrives alone, which says in its id what it is on. What it is called says nothing, unless it is
// of an earlier version: anybody may call a pause anything.
func (h *holds) is(e *perdure.Entry) bool {
	on := !slices.ContainsFunc(e.Parents, func(p perdure.Hash) bool { return !h.only[p] && !h.has(p) })
	event, _ := e.Content().(perdure.Event)
	switch n := event.Notice.(type) {
	case perdure.Admitted:
		h.only[e.Name] = true
	case perdure.Pause:
		h.held[e.Name] = on && event.By == "" &&
			(event.ID == holdOf(e.Parents) || event.ID == "" && event.Name == arrived)
		h.only[e.Name] = h.held[e.Name]
	case perdure.Resume:
		h.only[e.Name] = len(n.Of) > 0 && !slices.ContainsFunc(n.Of, func(p perdure.Hash) bool { return !h.held[p] })
	default:
		h.only[e.Name] = e.Kind == perdure.KindSnapshot // which tells nothing new
	}
	return h.only[e.Name]
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

// note counts the bodies that are absent, and those of which the memory says that they were dropped.
func (im *importing) note(e *perdure.Entry) {
	if e.Content() == nil {
		im.absent++
	}
	im.dropped += droppedBy(e)
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

// relate finds out how the capsule relates to what the store holds.
func (im *importing) relate(a *Arrival) (Relation, error) {
	if im.names == nil {
		return Created, nil
	}
	if deeper, err := im.deepens(&a.Head); deeper || err != nil {
		return Deeper, err
	}
	if slices.Equal(im.held, a.Index.Heads) {
		return Same, nil
	}
	if a.Head.Anchor != nil {
		if err := im.reaches(a.Head); err != nil {
			return 0, err
		}
	}
	if !slices.ContainsFunc(im.held, func(h perdure.Hash) bool { return !im.has(h) }) {
		return Newer, nil
	}
	missing := map[perdure.Hash]bool{}
	for _, h := range a.Index.Heads {
		missing[h] = true
	}
	more := false // what is here besides: anything, or only holds
	held := &holds{im.has, map[perdure.Hash]bool{}, map[perdure.Hash]bool{}}
	for item, err := range im.s.Entries(im.ctx, a.Head.Agent, 0) {
		if err != nil {
			return 0, err
		}
		delete(missing, item.Name)
		before := a.Head.Anchor != nil && item.Seq <= a.Head.Anchor.Seq
		more = more || !before && !im.has(item.Name) && !held.is(item.Entry)
		if more && len(missing) == 0 {
			return Older, nil
		}
	}
	switch {
	case more:
		return Diverged, nil
	case len(missing) > 0:
		return Newer, nil
	}
	return Same, nil
}

// reaches refuses the end of a memory whose beginning here does not reach it.
func (im *importing) reaches(h Head) error {
	gap := map[perdure.Hash]bool{}
	for _, name := range h.Anchor.Heads {
		gap[name] = true
	}
	first, err := firstOf(im.entries())
	if err != nil {
		return err
	}
	for item, err := range im.s.Entries(im.ctx, h.Agent, 0) {
		if err != nil {
			return err
		}
		if delete(gap, item.Name); len(gap) == 0 || item.Name == first.Name {
			return nil
		}
	}
	return reject(PredDepth, 0, "$.anchor", "the end of a memory, from seq "+fmt.Sprint(h.Anchor.Seq+1)+" on",
		"what lies between that and what is here, too")
}

// has reports whether an entry is in the capsule.
func (im *importing) has(name perdure.Hash) bool {
	_, ok := im.names[short(name[:16])]
	return ok
}

// atOnce is the size up to which a capsule is added in one Put, which shares a sync with others.
const atOnce = 32 << 20

// add reads the capsule again and hands its entries to the store, and after them the hold: all of it, or nothing. What
// is left of an import that was cut off would be an older copy, and whoever went on with it would do again what was
// done since.
func (im *importing) add(a *Arrival, hold []*perdure.Entry) error {
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
	return im.s.Put(im.ctx, a.Head.Agent, all...)
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
