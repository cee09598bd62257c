package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
)

// Export says how agents are written as capsules.
type Export struct {
	capsule.Options
	File     string    // empty: named after the agent
	Out      io.Writer // in the place of a file
	Held     bool      // at the depth this store has, if that is less
	Replace  bool      // a file that is there
	Detached bool      // the signatures go to a file of their own
	Move     bool      // the agent's seat goes along
	For      string    // with Move: who alone may take it, by key or by name in the trust file

	begun bool // a snapshot was written to begin with
}

// Check refuses an export that contradicts itself: of one agent, or into a set, which a manifest may sign as a whole.
func (e *Export) Check(set, manifest bool) error {
	var wrong string
	switch {
	case e.For != "" && !e.Move:
		wrong = "--for names who may take the seat; add --move to hand it over"
	case e.Move && set:
		wrong = "--move hands over one agent at a time; leave --set out"
	case e.Move && e.Depth != perdure.Full:
		wrong = "an agent that moves takes its whole memory along: without it, it may do nothing that must happen " +
			"once; leave --depth out"
	case set && len(e.Recipients) > 0:
		wrong = "what a set shares cannot be encrypted to the readers of one capsule; leave --set out, or --to"
	case manifest && e.Detached:
		wrong = "signatures are detached or in a manifest; leave one of them out"
	case manifest && !set:
		wrong = "a manifest signs several capsules at once; name a folder for them with --set"
	default:
		return nil
	}
	return perdure.Invalid(errors.New(wrong))
}

// Exported is what came of an export.
type Exported struct {
	Agent   perdure.AgentID `json:"agent"`
	Name    string          `json:"name,omitempty"`
	File    string          `json:"file"`
	Form    string          `json:"form"`
	Depth   string          `json:"depth"`
	Entries int64           `json:"entries"`
	Bodies  int64           `json:"bodies"`
	Bytes   int64           `json:"bytes"`
	Heads   []perdure.Hash  `json:"heads"`
	Moved   bool            `json:"moved,omitempty"` // its seat was handed over
	Ended   bool            `json:"ended,omitempty"` // the agent has ended: nothing goes on
}

// Text is what came of it, for people.
func (x *Exported) Text() string {
	text := fmt.Sprintf("%s: %s, %d bytes, depth %s, head %s\n", x.File, view.Several(x.Entries, "entry"), x.Bytes,
		x.Depth, x.Heads[0])
	if x.Moved && !x.Ended {
		text += view.ShownName(cmp.Or(x.Name, x.Agent.Short())) +
			" goes on where this file is imported, and no longer here; import one copy only\n"
	}
	return text
}

// Export writes an agent as a capsule. One of less than the whole memory begins with a snapshot, which is written if
// there is none. With Move the seat is handed over first, so that the capsule says so; to do both again, after a crash
// for one, says that all such files are one. An agent whose seat goes to whoever takes it first leaves in no other way.
func (h *Home) Export(ctx context.Context, s perdure.Store, id perdure.AgentID, e Export) (*Exported, error) {
	if err := e.Check(false, false); err != nil {
		return nil, err
	}
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return nil, err
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := loose(a, place); err != nil && !e.begun && !e.Move {
		return nil, err
	}
	if e.Move && a.Fold().SeatLoose() && a.Fold().HandedOver(place) {
		h.note("its seat was handed over before, to whoever takes it first: import one file only, of this one and " +
			"those before it, and destroy the others")
	}
	if e.File == "" && e.Out == nil {
		e.File = capsule.FileName(a.Fold().Intent.Name, id)
	}
	if d := a.Depth(); d != perdure.Full && e.Held {
		e.Depth = d
		h.note("this store has %s: the capsule has depth %s", d.Words(), d)
	}
	if err := e.free(); err != nil {
		return nil, err
	}
	total := a.Fold().Count
	e.Progress = func(done, _ int64) { h.Progressed("export", min(done, total-1), total) }
	w := &exporter{h: h, s: s, a: a, Export: e}
	err = w.write(ctx)
	h.Progressed("", 0, 0)
	if errors.Is(err, capsule.ErrNoSnapshot) && !e.begun {
		if e.begun, err = true, h.snapshot(ctx, s, id); err != nil {
			return nil, perdure.WithHint(err, "export it at depth full")
		}
		return h.Export(ctx, s, id, e)
	}
	if err != nil && w.handed {
		err = perdure.WithHint(err,
			"its seat was handed over before that: move it again with perdure export --move, or take the seat back "+
				"with perdure seat take "+view.Callable(a)+" --yes --why TEXT")
	}
	if err != nil {
		return nil, err
	}
	if d := e.Depth; d.IsLast() && d.N > 0 && w.end.Entries == total && a.Depth() == perdure.Full {
		h.note("no snapshot has %d or more entries after it: the capsule has all %d", d.N, w.end.Entries)
	}
	return &Exported{id, a.Fold().Intent.Name, e.File, e.Form.String(), e.Depth.String(), w.end.Entries, w.end.Bodies,
		w.size, w.end.Heads, e.Move, a.Fold().Ended != nil}, nil
}

// free refuses files that are there, and folders that are not.
func (e *Export) free() error {
	if e.Out != nil {
		return nil
	}
	if err := folderFor(e.File); err != nil {
		return err
	}
	names := []string{e.File}
	if e.Detached {
		names = append(names, e.File+capsule.SigExt)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			return perdure.WithHint(fmt.Errorf("%s is not a regular file", name),
				"name a FILE, or - for standard output")
		} else if err == nil && !e.Replace {
			return perdure.WithHint(fmt.Errorf("%s is there already", name),
				"name another file; perdure export --force replaces it")
		}
	}
	return nil
}

// folderFor refuses a file or folder whose own folder is not there: a name that is spelled wrong makes no folders.
func folderFor(name string) error {
	dir := filepath.Dir(name)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return perdure.WithHint(perdure.Missing("there is no folder "+dir), "make it first: mkdir -p "+dir)
	case err == nil && !info.IsDir():
		return perdure.Invalid(fmt.Errorf("%s is a file and no folder", dir))
	}
	return err
}

// exporter writes one capsule.
type exporter struct {
	Export
	h      *Home
	s      perdure.Store
	a      *perdure.Agent
	end    *capsule.Index
	size   int64
	handed bool // the seat was handed over
}

func (w *exporter) write(ctx context.Context) error {
	fill := func(to io.Writer) error { return w.fill(ctx, to) }
	switch {
	case w.Out != nil:
		return errors.Join(fill(w.Out), ctx.Err())
	case w.Detached:
		w.Binding = capsule.Detached
		return w.writePair(fill)
	}
	err := disk.WriteWhole(w.File, fill)
	for _, of := range []string{"", capsule.StagedExt} { // the signatures of the capsule that was there
		if err != nil || !w.Replace {
			break
		}
		if err = disk.Remove(w.File + capsule.SigExt + of); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// writePair writes a capsule and its detached signatures, in the order that capsule.SignaturesOf reads them by.
func (w *exporter) writePair(fill func(io.Writer) error) error {
	staged := w.File + capsule.SigExt + capsule.StagedExt
	err := disk.WriteWhole(w.File, func(to io.Writer) error {
		return disk.WriteWhole(staged, func(sig io.Writer) error {
			w.Signatures = sig
			return fill(to)
		})
	})
	if err == nil {
		err = disk.Rename(staged, w.File+capsule.SigExt)
	}
	if err == nil {
		err = disk.Sync(filepath.Dir(w.File))
	}
	return err
}

// fill writes the capsule to a file that can be written; not before that the seat is handed over.
func (w *exporter) fill(ctx context.Context, to io.Writer) (err error) {
	if w.Move && !w.begun {
		if err := w.h.giveSeat(ctx, w.s, w.a.ID(), w.For); err != nil {
			return err
		}
		w.handed = true
	}
	n := &sized{w: to}
	w.end, err = capsule.Export(ctx, n, w.s, w.a.ID(), w.Options)
	w.size = n.n
	return err
}

// sized counts what is written.
type sized struct {
	w io.Writer
	n int64
}

func (s *sized) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.n += int64(n)
	return n, err
}

// giveSeat hands the seat of an agent over, to somebody or to anybody.
func (h *Home) giveSeat(ctx context.Context, s perdure.Store, id perdure.AgentID, taker string) error {
	n, err := h.Node(ctx, s)
	if err != nil {
		return err
	}
	var to perdure.Key
	if taker != "" {
		if to, err = takerKey(n.Trusted(), taker); err != nil {
			return perdure.Invalid(fmt.Errorf("whom it is for: %w", err))
		}
	}
	err = n.GiveSeat(ctx, id, to, "")
	switch {
	case errors.Is(err, perdure.ErrConflict):
		return perdure.WithHint(err, "wait until it rests, or pause it with perdure pause, and try again")
	case errors.Is(err, perdure.ErrDenied):
		return perdure.WithHint(err,
			"only the store that has the seat can hand it over; perdure seat show says where it is")
	}
	return err
}

// takerKey is the key of this name in the trust file, or as written.
func takerKey(trust *perdure.Trust, name string) (perdure.Key, error) {
	for _, t := range trust.Trustees() {
		if t.Name == name && !t.Revoked {
			return t.Key, nil
		}
	}
	k, _, err := perdure.ParseKey(name)
	return k, err
}

// snapshot writes the snapshot that a capsule without the whole memory begins with.
func (h *Home) snapshot(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	n, err := h.Node(ctx, s)
	if err != nil {
		return err
	}
	if _, err := n.Snapshot(ctx, id); err != nil {
		return err
	}
	h.note("wrote a snapshot of %s: the capsule begins there", id.Short())
	return nil
}

// SetMember is an agent that was written into a set.
type SetMember struct {
	Agent   perdure.AgentID `json:"agent"`
	File    string          `json:"file"`
	Form    string          `json:"form"`
	Depth   string          `json:"depth"`
	Binding string          `json:"binding"`
}

// ExportSet writes agents, by their names, into a folder of capsules that share the parts of large bodies. With
// manifest this home's key signs all of them together.
func (h *Home) ExportSet(ctx context.Context, s perdure.Store, dir string, agents []string, e Export,
	manifest bool) ([]SetMember, error) {
	if err := e.Check(true, manifest); err != nil {
		return nil, err
	}
	o := capsule.SetOptions{Options: e.Options}
	var ids []perdure.AgentID
	for _, agent := range agents {
		id, err := h.FindAgent(ctx, s, agent)
		if err == nil {
			err = h.leaves(ctx, s, id)
		}
		if err == nil && e.Depth != perdure.Full {
			err = h.beginning(ctx, s, id)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	switch {
	case e.Detached:
		o.Binding = capsule.Detached
	case manifest:
		key, err := h.Signer(ctx)
		if err != nil {
			return nil, err
		}
		o.Binding, o.Sign = capsule.WithManifest, key
	}
	set, err := capsule.OpenSet(dir)
	if err != nil {
		return nil, err
	}
	names, err := set.Export(ctx, s, o, ids...)
	if err = errors.Join(err, set.Close()); err != nil {
		return nil, err
	}
	var found []SetMember
	for i, name := range names {
		found = append(found, SetMember{ids[i], filepath.Join(dir, name), e.Form.String(), e.Depth.String(),
			o.Binding.String()})
	}
	return found, nil
}

// leaves refuses an agent of which no further copy may leave a store.
func (h *Home) leaves(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	a, err := h.Load(ctx, s, id)
	if err != nil {
		return err
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return err
	}
	return loose(a, place)
}

// beginning sees to it that an agent has a snapshot for a capsule to begin with.
func (h *Home) beginning(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	next, stop := iter.Pull2(s.Snapshots(ctx, id))
	defer stop()
	if _, err, ok := next(); ok {
		return err
	}
	return h.snapshot(ctx, s, id)
}

// ImportSet takes every capsule of a set in. One that is refused keeps out no other: all that went wrong is in the
// error.
func (h *Home) ImportSet(ctx context.Context, s perdure.Store, dir string, in Intake) (found []*Arrived, err error) {
	if err := h.admitting(ctx, &in); err != nil {
		return nil, err
	}
	set, err := capsule.OpenSet(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = set.Close() }() // it was only read
	var names []string
	for name, err := range set.Names() {
		if err != nil {
			return nil, err // before anything is taken in
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, noCapsule(dir)
	}
	for i, name := range names {
		h.Progressed("import agents", int64(i), int64(len(names)))
		from := func(o capsule.ImportOptions) (*capsule.Arrival, error) { return set.Import(ctx, s, name, o) }
		r, bad := h.takeIn(ctx, s, &in, from)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, bad))
			continue
		}
		found = append(found, r)
	}
	return found, err
}
