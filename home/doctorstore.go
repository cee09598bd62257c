package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// store opens the store and looks at what is in it. It returns the newest entry's time as the index knows it.
func (d *Doctor) store() (newest perdure.Time) {
	if d.h.Scheme == "mem" {
		d.say("store", Odd, "name a store, or set "+StoreEnv, "in memory: nothing outlives the command")
		return 0
	}
	if !d.h.there() {
		d.storeless()
		return 0
	}
	d.placed()
	failed := d.integrity(d.Reindex || d.Repair)
	in := contents{witnessed: d.witness()}
	err := d.h.Use(d.ctx, false, func(ctx context.Context, s perdure.Store) error { return d.inside(ctx, s, &in) })
	switch {
	case err != nil && failed: // it was said why, and what to do
		return 0
	case err != nil:
		d.say("store", Unwell, d.storeFix(err), "%v", err)
		return 0
	}
	d.opens(&in)
	return in.newest
}

// contents are what a doctor finds in a store.
type contents struct {
	witnessed   bool // the home knows which agents were here
	lasting     lasting
	newest      perdure.Time
	recent, all []perdure.Listing
}

// opens says that the store can be used, and what of it lasts.
func (d *Doctor) opens(in *contents) {
	done := ""
	if d.Reindex {
		done = ", every index rebuilt"
	}
	d.say("store", Well, "", "%s opens, %s%s", d.h.File, view.Several(int64(len(in.all)), "agent"), done)
	if in.lasting == nil {
		return
	}
	health := Well
	if !in.lasting.Lasts() {
		health = Odd
	}
	d.say("durable", health, "", "what is written survives %s", in.lasting.Survives())
}

// inside looks at an open store: whether it takes entries, its index and files, and then its agents.
func (d *Doctor) inside(ctx context.Context, s perdure.Store, in *contents) error {
	in.lasting = lastingOf(s)
	if err := writable(ctx, s); err != nil {
		d.say("store", Unwell, d.storeFix(err), "%v", err)
	}
	d.reindex(ctx, s)
	if d.Repair {
		if err := d.heal(ctx, s); err != nil {
			return err
		}
	}
	if err := d.births(ctx, s); err != nil {
		return err
	}
	d.leftovers(ctx, s)
	d.faults(s)
	if err := in.list(ctx, s); err != nil {
		return err
	}
	return d.agents(ctx, s, in)
}

// reindex rebuilds every index of the store, where that is asked for.
func (d *Doctor) reindex(ctx context.Context, s perdure.Store) {
	if x, ok := s.(interface{ Sound(context.Context) error }); ok && !d.Reindex {
		if err := x.Sound(ctx); err != nil && ctx.Err() == nil {
			d.say("index", Unwell, d.storeFix(err), "%v", err)
		}
	}
	r, ok := s.(reindexer)
	if !ok || !d.Reindex {
		return
	}
	err := r.Reindex(ctx, func(done, total int) { d.h.Progressed("reindex", int64(done), int64(total)) })
	if err != nil && ctx.Err() == nil {
		d.say("index", Unwell, "perdure doctor --repair", "%v", err)
	}
}

// faults says which files of a folder were cut short, and which are left alone.
func (d *Doctor) faults(s perdure.Store) {
	if f, ok := s.(interface{ Cut() map[string]string }); ok {
		for name, aside := range f.Cut() {
			d.say("repair", Odd, "import another copy of it, if there is one",
				"%s was cut short: what is whole of it is in its place; as it was it is kept as %s", name, aside)
		}
	}
	if f, ok := s.(interface{ Faults() map[string]error }); ok {
		for name, fault := range f.Faults() {
			d.say("file", Odd, d.faultFix(name), "%s is left alone: %v", name, fault)
		}
	}
}

// list reads which agents there are, by the index as it stands.
func (in *contents) list(ctx context.Context, s perdure.Store) error {
	l, ok := s.(perdure.Lister)
	if !ok {
		_, err := view.Lister(s)
		return err
	}
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return err
		}
		in.newest = max(in.newest, one.Updated)
		in.recent, in.all = latest(in.recent, one), append(in.all, one)
	}
	return nil
}

// keepers looks for agents that keep documents of this home and do not count any more: while one is held, memory is.
func (d *Doctor) keepers(ctx context.Context, s perdure.Store, all []perdure.Listing) {
	trust, err := d.h.Trust()
	w, blind := d.h.lookWitness()
	if err != nil || blind != nil || w == nil {
		return // what is wrong with these is said of them
	}
	for _, one := range all {
		if !workspace.Keeps(one.Kind) {
			continue
		}
		ours, err := workspace.Ours(ctx, s, w, trust, one.Agent)
		if err != nil || !ours {
			continue
		}
		a, err := perdure.Load(ctx, s, one.Agent)
		if err != nil {
			continue // its memory is looked at by itself
		}
		if held := trust.Counts(a); held != nil {
			d.say("documents", Unwell, "to keep what is there: perdure resume "+one.Agent.Short(), "%s is held: %s",
				view.Called(a), view.HeldText(held))
		}
	}
}

// agents looks at the agents of a store, and for those that were seen in it and are gone.
func (d *Doctor) agents(ctx context.Context, s perdure.Store, in *contents) error {
	if d.Repair {
		if err := d.mend(ctx, s, in.all); err != nil {
			return err
		}
	}
	if err := d.index(ctx, s, in.all); err != nil {
		return err
	}
	if err := d.memories(ctx, s, in.recent); err != nil {
		return err
	}
	d.keepers(ctx, s, in.all)
	if d.unseen != "" {
		if err := d.seeAgain(ctx, s, in.all); err != nil {
			return err
		}
	}
	if err := d.seats(ctx, s, in.recent); err != nil || !in.witnessed {
		return err
	}
	return d.missing(ctx, s, in.all)
}

// storeFix is what to do about a store that cannot be used: what the error says, if it does. A store of a newer
// version, or on a server that does not answer, is not damaged, and is not to be replaced by an older one.
func (d *Doctor) storeFix(err error) string {
	var hint *perdure.Hint
	if errors.As(err, &hint) && !strings.Contains(hint.Do, "doctor --repair") {
		return hint.Do
	}
	return d.afterRepair("restore it from a backup, or name another store")
}

// storeless says that there is no store, and whether there was one: agents were seen in it.
func (d *Doctor) storeless() {
	gone := int64(0)
	if d.h.Dir != "" && d.witness() {
		var err error
		if d.Forget {
			err = d.missing(d.ctx, new(perdure.MemStore), nil)
		} else {
			gone, err = d.h.sighted()
		}
		if err != nil {
			d.say("seen", Unwell, "perdure doctor --repair", "%v", err)
		}
	}
	health := Odd
	if d.Reindex {
		health = Unwell
	}
	if gone == 0 {
		d.say("store", health, "make an agent with perdure new", "there is none at %s yet", d.h.File)
		return
	}
	was := "was"
	if gone > 1 {
		was = "were"
	}
	d.say("store", Unwell, "restore it from a backup, or import copies of the agents; or perdure doctor --forget, if "+
		"they are to stay gone", "there is none at %s, and %s %s seen in it", d.h.File,
		view.Several(gone, "agent"), was)
}

// afterRepair is what to do about damage: to repair it, unless that is what was just done, and something else.
func (d *Doctor) afterRepair(or string) string {
	if !d.Repair {
		return "perdure doctor --repair, " + or
	}
	return strings.TrimPrefix(strings.TrimPrefix(or, "or "), "then ")
}

// faultFix is what to do about a file of a folder that cannot be used: to repair does nothing for one without entries.
func (d *Doctor) faultFix(name string) string {
	path := filepath.Join(d.h.File, name)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && capsule.Owner(path).IsZero() {
		return "move it out of " + d.h.File + ": there is no entry of an agent in it"
	}
	return d.afterRepair("or import another copy")
}

// mend makes the agents usable again that entries which came late keep from being folded.
func (d *Doctor) mend(ctx context.Context, s perdure.Store, all []perdure.Listing) error {
	n, err := d.h.Node(ctx, s)
	if err != nil {
		return err
	}
	for _, one := range all {
		e, err := n.Mend(ctx, one.Agent)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			d.say("repair", Unwell, "import a good copy of it", "%s: %v", one.Agent.Short(), err)
		case e != nil:
			d.say("repair", Well, "", "%s: entries that came after a collection are folded after it from here on",
				one.Agent.Short())
		}
	}
	if !slices.ContainsFunc(d.found, func(e Examined) bool { return e.What == "repair" }) {
		d.say("repair", Well, "", "there was nothing to mend")
	}
	return nil
}
