package perdure

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/canon"
)

// VerifyOptions say how deep a memory is verified.
type VerifyOptions struct {
	Trust *Trust // who may write; nil: signatures are checked, but not whose they are
	// the heads the memory must have; nil: any. A memory that was cut short is a memory: only its heads tell.
	Heads []Hash
	// how much of the memory is there. Of the last entries the first snapshot is taken as it stands; with Trust, only
	// if its author is trusted to own every agent.
	Depth Depth
	// check nothing but that there are entries: their form was checked when they were decoded
	Shallow  bool
	Progress func(entries int64) // called now and then with the number of entries done
}

// Verified is what Verify found.
type Verified struct {
	Agent      AgentID  `json:"agent"`
	Entries    int64    `json:"entries"`
	Bodies     int64    `json:"bodies"`     // present
	Dropped    int64    `json:"dropped"`    // bodies that are gone
	Signatures int64    `json:"signatures"` // checked
	Snapshots  int64    `json:"snapshots"`  // derived again and found the same
	Taken      int64    `json:"taken"`      // snapshots taken as they stand, because bodies before them are gone
	Origins    []Origin `json:"origins"`    // ascending by key
	Heads      []Hash   `json:"heads"`
	Fold       Hash     `json:"fold"`     // of its canonical bytes
	Diverged   []string `json:"diverged"` // as Agent.Diverged says

	derived *Agent
}

// Origin is an author and how many entries it wrote.
type Origin struct {
	Key     Key   `json:"key"`
	Entries int64 `json:"entries"`
}

// progressEvery is how many entries pass between two calls of Progress.
const progressEvery = 4096

// Verify verifies a whole memory: every link, every seq, that every entry is covered by a signature of its author,
// every signature, that every snapshot is the fold of its past, and, if trust is given, that every author may write
// there. Parents come before children. It holds the recent entries only, unless branches lie further apart than those;
// then it ranges over entries a second time and holds all.
func Verify(entries iter.Seq2[*Entry, error], o VerifyOptions) (*Verified, error) {
	if o.Depth.Kind == depthLast {
		return verifyPart(entries, o)
	}
	v := newVerifier(o)
	found, err := v.finish(v.stream(entries))
	if err != nil && !o.Shallow {
		again := false
		if err, again = refused(entries, err); again {
			v = newVerifier(o)
			found, err = v.finish(v.atOnce(entries))
		}
	}
	if err != nil || o.Shallow {
		return found, err
	}
	a := *v.a
	a.bare = false
	found.derived = &a
	return found, nil
}

// Derived is the agent that the memory comes to; nil after shallow verification, and of a part.
func (v *Verified) Derived() *Agent { return v.derived }

// verifier verifies one memory.
type verifier struct {
	VerifyOptions
	Verified

	a       *Agent // ours: entries are folded in place
	gap     bool   // bodies are gone that no snapshot stands for yet
	bare    bool   // some body is gone
	forked  bool   // some entry did not name all heads there were
	seals   seals
	origins map[Key]*int64
	last    Key // the author of the entry before, and its count
	count   *int64
}

func newVerifier(o VerifyOptions) *verifier {
	return &verifier{VerifyOptions: o, a: &Agent{bare: true}, origins: map[Key]*int64{}}
}

// stream verifies entries as they come. ErrBehind says that it takes all of them at once.
func (v *verifier) stream(entries iter.Seq2[*Entry, error]) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		v.tally(e)
		if v.Shallow {
			continue
		}
		if err := v.add(e); err != nil {
			return err
		}
	}
	return nil
}

// tally counts an entry.
func (v *verifier) tally(e *Entry) {
	v.Entries++
	if e.content != nil {
		v.Bodies++
	} else {
		v.Dropped++
	}
	if e.Signature != nil && !v.Shallow {
		v.Signatures++
	}
	if v.count == nil || e.Origin != v.last {
		if v.count = v.origins[e.Origin]; v.count == nil {
			v.count = new(int64)
			v.origins[e.Origin] = v.count
		}
		v.last = e.Origin
	}
	*v.count++
	if v.Progress != nil && v.Entries%progressEvery == 0 {
		v.Progress(v.Entries)
	}
}

// add verifies the next entry.
func (v *verifier) add(e *Entry) error {
	v.bare = v.bare || e.content == nil
	v.forked = v.forked || v.a.fold != nil && !v.a.fold.onTop(e)
	if v.bare && v.forked {
		return ErrBehind // which snapshot stands for what is gone is not to depend on which branch came first
	}
	if e.content == nil {
		v.gap = true
	} else if e.Kind == KindSnapshot {
		taken, err := v.snapshot(e)
		if err != nil || taken {
			return err
		}
	}
	a, err := v.a.take(e, &v.seals)
	if err != nil {
		return err
	}
	v.a = a
	return nil
}

// snapshot holds a snapshot against the fold so far. Where bodies before it are gone it is taken as it stands.
func (v *verifier) snapshot(e *Entry) (taken bool, err error) {
	if v.a.fold == nil || !slices.Equal(v.a.Heads(), e.Parents) {
		return false, ErrBehind
	}
	if !v.gap {
		v.Snapshots++
		return false, v.a.fold.matches(e)
	}
	if _, err := v.a.push(e); err != nil { // what can be known of it: its link, its seq, its signature, its author
		return false, err
	}
	a, err := FromSnapshot(e)
	if err != nil {
		return false, err
	}
	v.seals.add(e)
	// Who wrote what came before is still to be judged, and whether the author of this is to be believed: by the scope
	// of the entries, not its own.
	a.bare, a.authors = v.a.bare, used(v.a.authors, authored{key: e.Origin, right: MayOwn,
		scope: v.a.fold.Charter.Scope, entry: e.Name})
	v.a, v.gap = a, false
	v.Taken++
	return true, nil
}

// atOnce verifies entries with all of them in hand.
func (v *verifier) atOnce(entries iter.Seq2[*Entry, error]) error {
	all, err := collect(entries)
	if err != nil {
		return err
	}
	all = sorted(all)
	for _, e := range all {
		v.tally(e)
	}
	if err := judge(all); err != nil {
		return err
	}
	v.a.full = true
	a, err := v.a.apply(all, true)
	if err != nil {
		return err
	}
	if _, err := a.complete(); err != nil {
		return err
	}
	v.gap = false
	if v.a = a; v.Dropped > 0 {
		resumed, err := resume(all, v.vouches(all[0]))
		if err != nil {
			return err
		}
		for w := resumed.authors; w != nil; w = w.before { // the author to be believed among them
			a.authors = used(a.authors, *w)
		}
		resumed.authors = a.authors
		v.a = resumed
	}
	m := byName(all)
	var taken []*Entry // the last snapshots with bodies missing before them that none of them has seen
	for _, e := range all {
		if e.Kind != KindSnapshot || e.content == nil {
			continue
		}
		past := m.past(e.Parents...)
		if slices.ContainsFunc(past, bodiless) {
			seen := byName(past)
			derived, err := agrees(taken, past, seen, e)
			if err != nil {
				return err
			}
			taken = append(slices.DeleteFunc(taken, seen.has), e)
			taken = taken[max(0, len(taken)-maxTaken):]
			if derived {
				v.Snapshots++
			} else {
				v.Taken++
			}
			continue
		}
		a, err := (&Agent{full: true}).apply(past, true)
		if err != nil {
			return err
		}
		if err := a.fold.matches(e); err != nil {
			return err
		}
		v.Snapshots++
	}
	return nil
}

// agrees holds a snapshot against what those taken before it come to, and reports whether one of them does. Only the
// first of a run stands on the word of its author, and none against the word of another.
func agrees(taken, past []*Entry, seen named, e *Entry) (derived bool, err error) {
	for _, s := range taken {
		is, err := fromTaken(s, past, seen, e)
		if err != nil {
			return false, err
		}
		derived = derived || is
	}
	return derived, nil
}

// fromTaken holds a snapshot against what another comes to, if that has seen nothing else, and everything since is
// there. What a collection left out of one of them is left out of both.
func fromTaken(taken *Entry, past []*Entry, m named, e *Entry) (derived bool, err error) {
	from, begin := []Hash{taken.Name}, FromSnapshot
	if m[taken.Name] == nil {
		from, begin = taken.Parents, beforeSnapshot
		if slices.ContainsFunc(from, func(p Hash) bool { return m[p] == nil }) {
			return false, nil
		}
	}
	rest := slices.DeleteFunc(slices.Clone(past), byName(m.past(from...)).has)
	if slices.ContainsFunc(rest, bodiless) {
		return false, nil
	}
	a, err := begin(taken)
	if err != nil {
		return false, err
	}
	a.full = true
	if a, err = a.apply(sorted(rest), true); err == ErrBehind {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s, _ := taken.content.(Snapshot)
	return true, a.fold.matches(e, leftOut(s.Fold.Inbox)...)
}

// vouches says which snapshots to believe where bodies are gone: those of people trusted to own the agent as its
// genesis says; nil: all.
func (v *verifier) vouches(first *Entry) func(*Entry) bool {
	if v.Trust == nil {
		return nil
	}
	g, _ := first.content.(Genesis)
	return func(e *Entry) bool { return v.Trust.Allows(e.Origin, MayOwn, g.Charter.Scope) }
}

// finish is the report, unless something was wrong.
func (v *verifier) finish(err error) (*Verified, error) {
	if err != nil {
		return nil, err
	}
	return v.report()
}

// report completes the report.
func (v *verifier) report() (*Verified, error) {
	r := &v.Verified
	for _, k := range slices.SortedFunc(maps.Keys(v.origins), func(a, b Key) int { return Hash(a).Compare(Hash(b)) }) {
		r.Origins = append(r.Origins, Origin{k, *v.origins[k]})
	}
	if v.Progress != nil {
		v.Progress(v.Entries)
	}
	if v.Shallow {
		return r, nil
	}
	if e := v.seals.broken(); e != nil {
		return nil, unsealed(e)
	}
	a, err := v.a.complete()
	if err != nil {
		return nil, err
	}
	if v.a = a; v.gap {
		for e := range a.Recent() {
			if e.content == nil {
				return nil, noBody(e)
			}
		}
		return nil, reject(predBodyPresent, nil, "$", "entries without bodies", "a snapshot that stands for them",
			"get the memory from a copy that has them")
	}
	r.Agent, r.Heads, r.Diverged = a.ID(), a.Heads(), a.Diverged()
	if want := v.VerifyOptions.Heads; want != nil && !slices.Equal(slices.SortedFunc(slices.Values(want), Hash.Compare),
		r.Heads) {
		return nil, reject(predHeads, nil, "$", shorts(r.Heads), shorts(want),
			"the memory was cut short or grew; get it again")
	}
	if v.Trust != nil {
		if err := v.Trust.Counts(a); err != nil {
			return nil, err
		}
	}
	r.Fold, err = a.fold.Hash()
	return r, err
}

// begunField is the field of a fold that says who began the agent.
const begunField = 39

// matches refuses a snapshot entry whose fold is not f, but for what it leaves out because its time was up, and for
// what events said that f leaves out.
func (f *Fold) matches(e *Entry, out ...Hash) error {
	snap, _ := e.content.(Snapshot)
	f = f.unsaid(leftOut(snap.Fold.Inbox))
	derived, err := foldCodec.Append(nil, f)
	if err != nil {
		return fmt.Errorf("derive snapshot %s: %w", e.Name.Short(), err)
	}
	recorded := canon.Span(canon.Span(canon.Span(e.body, 2), uint16(KindSnapshot)), 1)
	if len(out) > 0 {
		if recorded, err = foldCodec.Append(nil, snap.Fold.unsaid(out)); err != nil {
			return fmt.Errorf("read snapshot %s: %w", e.Name.Short(), err)
		}
	}
	if bytes.Equal(derived, recorded) {
		return nil
	}
	if !f.Begun.IsZero() && canon.Span(recorded, begunField) == nil { // written before there was such a field
		g := f.clone()
		g.Begun = Key{}
		return g.matches(e, out...)
	}
	if f.remade != nil { // written when mutations could change more
		g := f.clone()
		g.Intent.Kind, g.Intent.Labels, g.remade = f.remade.kind, f.remade.labels, nil
		if g.matches(e, out...) == nil {
			return nil
		}
	}
	path := "$.body.content.snapshot.fold"
	for _, field := range foldCodec.Type().Schema.Fields {
		if !bytes.Equal(canon.Span(derived, field.ID), canon.Span(recorded, field.ID)) {
			path += "." + field.Name
			break
		}
	}
	return reject(predSnapshot, e, path, HashOf(recorded).Short(), HashOf(derived).Short(),
		"the snapshot is not what its past comes to: do not resume from it")
}

// seals tells which entries no signature covers yet. An entry that a later one of its author links to is covered when
// that one is, so it need not be remembered.
type seals struct {
	last   *Entry // not covered yet
	others map[Hash]*Entry
	again  int // entries that came late, so that recent ones were folded again
}

func (s *seals) add(e *Entry) {
	if s.last != nil && !e.seals(s.last) {
		if s.others == nil {
			s.others = map[Hash]*Entry{}
		}
		s.others[s.last.Name] = s.last
	}
	s.last = nil
	if len(s.others) > 0 {
		for _, p := range e.Parents {
			if o := s.others[p]; o != nil && o.Origin == e.Origin {
				delete(s.others, p)
			}
		}
	}
	if e.Signature == nil {
		s.last = e
	}
}

// broken is the first entry without a signature that covers it, or nil.
func (s *seals) broken() *Entry {
	first := s.last
	for _, e := range s.others {
		if first == nil || e.Position().Compare(first.Position()) < 0 {
			first = e
		}
	}
	return first
}

func shorts(hashes []Hash) string {
	s := make([]string, len(hashes))
	for i, h := range hashes {
		s[i] = h.Short()
	}
	return fmt.Sprint(s)
}
