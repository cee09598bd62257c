package home

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// Arrived is what import prints.
type Arrived struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Relation string          `json:"relation"`          // to the copy that was here
	Verdict  string          `json:"verdict,omitempty"` // of the policy, on one that was not here
	Reason   string          `json:"reason,omitempty"`
	Depth    string          `json:"depth"`
	Entries  int64           `json:"entries"`
	Heads    []perdure.Hash  `json:"heads"`
	Paused   bool            `json:"paused"`
	Held     bool            `json:"held"` // it has entries that do not count here
	Standing phase.Standing  `json:"standing"`
	Aside    string          `json:"aside,omitempty"` // the file with what it took the place of

	From *capsule.Arrival `json:"-"`
	Now  *perdure.Agent   `json:"-"` // as it is here now
}

// Intake says how what arrives is taken in. The zero Intake is the usual way.
type Intake struct {
	capsule.ImportOptions          // but for Key, Trust, Admit and Progress, which are the home's
	Policies              []string // files of the policy that is asked, in the place of the home's
	// the file to keep the agent in as it is here, if it cannot be merged with what arrives: that takes its place
	SetAside string
	Word     string // the name of the capsule's file: it is taken on the word in the file beside it
	Read     *Meter // of the file it is in, for people who wait; nil: they are not told
}

// Import takes in the capsule that is read from src. It is the one way into a home: this home's key signs, its trust
// decides whose entries count, and policy is asked about an agent that is new here. Whoever should know of it is told.
func (h *Home) Import(ctx context.Context, s perdure.Store, src io.ReadSeeker, in Intake) (*Arrived, error) {
	if err := h.admitting(ctx, &in); err != nil {
		return nil, err
	}
	return h.takeIn(ctx, s, &in, func(o capsule.ImportOptions) (*capsule.Arrival, error) {
		return capsule.Import(ctx, s, src, o)
	})
}

// UseToImport is Use for what is to be taken in, which makes the store where there is none: only for what can be read,
// so that an import that fails leaves no home behind. Src and name are those of OpenImport.
func (h *Home) UseToImport(ctx context.Context, src io.ReadSeeker, name string, in *Intake,
	f func(ctx context.Context, s perdure.Store) error) error {
	err := h.useToImport(ctx, src, name, in, f)
	var refused *perdure.Rejection
	if errors.As(err, &refused) && refused.Got == capsule.GotStore {
		return perdure.WithHint(err, h.otherStore(ctx, name))
	}
	return err
}

func (h *Home) useToImport(ctx context.Context, src io.ReadSeeker, name string, in *Intake,
	f func(ctx context.Context, s perdure.Store) error) error {
	if err := h.Locate(); err != nil {
		return err
	}
	if !h.there() && in.Word == "" {
		if err := in.readable(ctx, src, name); err != nil {
			return err
		}
	}
	return h.Use(ctx, true, f)
}

// otherStore is what to do with the file of a store in the place of a capsule.
func (h *Home) otherStore(ctx context.Context, name string) string {
	to, err := h.Anywhere()
	if err != nil || to == "" {
		to = h.Dir
	}
	agent, store := "AGENT", view.Pasted(name)
	from := &Home{URL: name, Looks: true}
	err = from.Use(ctx, false, func(ctx context.Context, s perdure.Store) error {
		found, err := Candidates(ctx, s, "")
		if len(found) == 1 {
			agent = view.CommandName(found[0].Name, found[0].Agent)
		}
		return err
	})
	if err != nil {
		return "it is a database, and not a store that can be read: " + err.Error()
	}
	return "it is a store: perdure copy --from " + store + " --to " + view.Pasted(to) +
		" takes its agents in; one of them: " +
		"perdure export --store " + store + " " + agent + " x.agent, then perdure import x.agent"
}

// readable refuses what nobody could take in, by reading it to its end.
func (in *Intake) readable(ctx context.Context, src io.ReadSeeker, name string) error {
	if src == nil {
		set, err := capsule.OpenSet(name)
		if err != nil {
			return err
		}
		defer func() { _ = set.Close() }() // it was only read
		for _, err := range set.Names() {
			return err
		}
		return noCapsule(name)
	}
	r, err := capsule.NewReader(bufio.NewReader(src), in.ReadOptions)
	if err != nil {
		return err
	}
	for _, err := range r.Entries() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	_, err = src.Seek(0, io.SeekStart)
	return err
}

// noCapsule says that there is nothing in a folder to take in.
func noCapsule(dir string) error {
	return perdure.WithHint(perdure.Missing("there is no capsule in "+dir),
		"name the file of an agent, or a folder of such files: perdure export AGENT FILE writes one")
}

// takeIn takes a capsule in, by from, and tells whoever should know of it.
func (h *Home) takeIn(ctx context.Context, s perdure.Store, in *Intake,
	from func(capsule.ImportOptions) (*capsule.Arrival, error)) (*Arrived, error) {
	if _, err := h.PlaceOf(ctx, s); err != nil { // before it has agents: see sqlite.Place
		return nil, err
	}
	o, read := in.ImportOptions, in.Read
	o.Begin = func(id perdure.AgentID, held []perdure.Hash) error { return h.expect(ctx, s, id, held) }
	if in.SetAside != "" {
		o.Aside = func(id perdure.AgentID) error {
			_, err := h.Export(ctx, s, id, Export{File: in.SetAside, Held: true})
			return err
		}
	}
	if read == nil {
		read = new(Meter)
	}
	o.Progress = func(done, total int64) {
		if total > 0 {
			h.Progressed("import entries", done, total)
		} else if done, total := read.Read(); total > 0 { // it is validated first
			h.Progressed("check bytes", min(done, total-1), total)
		} else {
			h.Progressed("check entries", done, 0)
		}
	}
	defer h.Progressed("", 0, 0)
	got, err := from(o)
	if errors.Is(err, capsule.ErrDenied) {
		return nil, perdure.WithHint(fmt.Errorf("%w: %w", perdure.ErrDenied, err),
			"nothing was written; see perdure policy explain, or ask who wrote the policy")
	}
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // it is here: what follows only says so
	if got.Relation == capsule.Restored {
		h.giveUp(got.Head.Agent)
	}
	a, err := h.arrive(ctx, s, got.Head.Agent, got.Held, true)
	if err != nil {
		return nil, perdure.WithHint(fmt.Errorf("what is new of it was added, but it cannot be read back: %w", err),
			"import it again once that is mended: it changes nothing, and says how it is")
	}
	if here := a.Fold(); o.Ready && got.Relation != capsule.Created && here.Ended == nil &&
		(len(here.Paused) > 0 || o.Trust != nil && o.Trust.Counts(a) != nil) {
		h.note("%s was here before, and what is here is not admitted with the rest: look at it with perdure show "+
			"%[2]s, then perdure resume %[2]s", view.Called(a), a.ID().Short()) // its name may be that of one from here
	}
	r, err := h.arrived(ctx, s, got, a, o.Trust)
	if err == nil && got.Relation == capsule.Restored {
		r.Aside = in.SetAside
	}
	return r, err
}

// giveUp forgets what was seen of a copy that another took the place of, because people said so.
func (h *Home) giveUp(id perdure.AgentID) {
	w, err := h.witness()
	if seen, ok := w.(*sqlite.Witness); ok && err == nil {
		err = seen.ForgetCopy(id)
	}
	if err != nil {
		h.note("that the copy here was given up could not be noted: %v", err)
	}
}

// arrive does what follows when entries of an agent have come to those up to the heads held: the index, the witness and
// its relatives are told, its seat is taken if it was handed over to this store, and what it brings along is learned,
// unless nothing came or it is held: that is learned when somebody admits it. It returns the agent as it is then.
func (h *Home) arrive(ctx context.Context, s perdure.Store, id perdure.AgentID, held []perdure.Hash,
	came bool) (*perdure.Agent, error) {
	ctx = context.WithoutCancel(ctx)
	a, err := h.Load(ctx, s, id)
	if err != nil {
		return nil, err
	}
	if err := Index(ctx, s, a); err != nil { // from here on it is there, and what goes wrong is not the import
		h.note("%s is added, but not in the list yet: %v; see perdure doctor --reindex", view.Called(a), err)
	}
	if err := h.sight(ctx, s, a); err != nil {
		h.note("%s is added, but how far it has come could not be noted: %v; an older copy of it may not be "+
			"noticed until it is imported again", view.Called(a), err)
	}
	n, err := h.Node(ctx, s)
	if err == nil {
		err = n.Arrived(ctx, a.ID())
	}
	if err != nil {
		h.note("%v; import it again to tell them", err)
	} else if err := h.seatArrived(ctx, n, a, held); err != nil {
		h.note("%v", err)
	}
	if now, err := h.Load(ctx, s, a.ID()); err == nil { // it may have been told something
		a = now
	}
	h.noteClosed(ctx, s, a, held)
	if came {
		if err := h.Learn(ctx, s, a.ID()); err != nil {
			h.note("%v; it runs here once the home has it", err)
		}
	}
	return a, nil
}

// noteClosed tells of the questions that were open when an agent that was here had the head held, and that nobody is
// asked any more, as it has ended in a copy.
func (h *Home) noteClosed(ctx context.Context, s perdure.Store, a *perdure.Agent, held []perdure.Hash) {
	trust, err := h.Trust()
	if err != nil || len(held) != 1 || trust.Ended(a) == nil {
		return
	}
	head, err := a.Find(ctx, s, held[0])
	if head == nil || err != nil {
		return // whoever looks at it is told
	}
	was, err := trust.LoadAt(ctx, s, a, head)
	if err != nil || trust.Ended(was) != nil {
		return
	}
	for _, q := range was.Fold().Asks {
		if q.Verdict.Expires == 0 || q.Verdict.Expires.Go().After(time.Now()) {
			h.note("%s has ended, so nobody is asked any more: may it? %s (decision %s, see perdure log %s)",
				view.Called(a), view.OneLine(view.ActionText(q.Action), view.LineWidth), q.Decision.Short(),
				a.ID().Short())
		}
	}
}

// arrived is what came of an import.
func (h *Home) arrived(ctx context.Context, s perdure.Store, got *capsule.Arrival, a *perdure.Agent,
	trust *perdure.Trust) (*Arrived, error) {
	r := &Arrived{Agent: a.ID(), Name: a.Fold().Intent.Name, Relation: got.Relation.String(), Depth: a.Depth().String(),
		Entries: got.Index.Entries,
		Heads:   a.Heads(), Paused: len(a.Fold().Paused) > 0, From: got, Now: a}
	var err error
	if r.Standing, err = h.Standing(ctx, s, a, time.Now()); err != nil {
		r.Standing = a.Standing(trust, perdure.Place{}, time.Now())
		h.note("%v; where its seat is cannot be said", err)
	}
	if got.Relation == capsule.Created {
		r.Verdict, r.Reason = got.Verdict.Answer.String(), got.Verdict.Reason
	}
	if got.Stranger == nil && !got.Admitted { // it may have been here before
		got.Stranger = trust.Counts(a)
	}
	r.Held = got.Stranger != nil && !got.Admitted
	return r, nil
}

// sight tells the witness what came, and people if this home has seen more of it.
func (h *Home) sight(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
	w, err := h.witness()
	if w == nil || err != nil {
		return err
	}
	missing, seen, away, err := h.behind(ctx, s, a, w)
	if err != nil || away {
		return err
	}
	if len(missing) > 0 {
		older := &view.Older{Given: seen.Given, Name: a.ID().Short()}
		h.note("this copy is older than one seen here: it lacks entry %s; it does nothing until its owner says so "+
			"with %s", missing[0].Short(), older.Answer())
		return nil
	}
	at, err := h.PlaceOf(ctx, s)
	if err != nil {
		return err
	}
	trust, err := h.Trust()
	if err == nil && trust.Counts(a) == nil { // what strangers add makes no other copy an older one
		w.See(a.ID(), a.Sighting(at))
	}
	return err
}

// admitting has an import go by this home.
func (h *Home) admitting(ctx context.Context, in *Intake) error {
	key, err := h.Signer(ctx)
	if err != nil {
		return err
	}
	trust, err := h.Trust()
	if err != nil {
		return err
	}
	set, err := LoadPolicy(h, in.Policies)
	if err != nil {
		return err
	}
	in.Key, in.Trust, in.Anyone = key, trust, false
	in.Admit = func(a *perdure.Agent) perdure.Verdict {
		return set.Admit(a, key.Key(), trust.Counts(a) == nil, time.Now())
	}
	if in.Word == "" {
		return nil
	}
	return OnWord(h, in.Word, &in.ReadOptions)
}

// Text is what came of an import, for people: a line, and lines on what to do about it.
func (r *Arrived) Text() (head string, more []string) {
	got, a := r.From, r.Now
	what := r.Relation
	switch got.Relation {
	case capsule.Same, capsule.Older:
		what += ", nothing new"
	case capsule.Mended:
		what = fmt.Sprintf("it was damaged here, and now has what is good of both, %s it could not read before",
			view.Several(got.Healed.Gained, "entry"))
	case capsule.Restored:
		what = "this copy took the place of the one here; dropped: " + got.Dropped
		if r.Aside != "" {
			more = append(more, "the one that was here is "+r.Aside+": what only that one did, this one does not know")
		}
	}
	if d := a.Depth(); d != perdure.Full {
		more = append(more, "depth "+d.String()+": here is "+d.Words()+
			"; import the whole memory to give it all its rights")
	} else if got.Relation == capsule.Deeper {
		more = append(more, "the whole memory is here now: it has all its rights")
	}
	if r.Held && slices.ContainsFunc(a.Fold().Asks, unvoted) {
		more = append(more, "it asks for an approval: whoever only answers needs to trust nobody, but answers in the "+
			"file with perdure approve FILE, and sends that back")
	}
	if id := a.ID().Short(); !got.Hold.IsZero() && a.Fold().Ended == nil { // its name may be that of one from here
		more = append(more, "it arrived paused, and does nothing here until somebody admits it; look at it with "+
			"perdure show "+id+", then perdure resume "+id)
	}
	if r.Held {
		more = append(more, "it is held: "+view.HeldText(got.Stranger))
	}
	return fmt.Sprintf("%s %s: %s, %s, now %s", view.Called(a), a.ID(), what, view.Several(r.Entries, "entry"),
		r.Standing), more
}

// unvoted reports whether a question lacks answers, whoever gave those that are there: nobody may be trusted here yet.
func unvoted(q perdure.Asking) bool {
	yes := int64(0)
	for _, v := range q.Votes {
		if !v.Approve {
			return false
		}
		yes++
	}
	return yes < max(q.Verdict.Quorum, 1)
}

// OpenImport opens what is to be imported, and what is beside it; nil for a set, which is opened as one. What it
// returns besides closes it.
func OpenImport(name string, in *Intake) (io.ReadSeeker, func(), error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, func() {}, nil
	}
	beside, err := companions(name, &in.ReadOptions)
	if err != nil {
		return nil, nil, err
	}
	f, err := disk.Open(name)
	if err != nil {
		_ = beside() // it was only read
		return nil, nil, err
	}
	in.Read = new(Meter)
	return in.Read.Of(f), func() { _ = errors.Join(f.Close(), beside()) }, nil // as above
}
