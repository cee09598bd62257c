package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// integrity looks through the file of a store, and puts a sound one in its place if it is to be mended. It reports
// whether that went wrong.
func (d *Doctor) integrity(mends bool) (failed bool) {
	if d.h.Scheme != "sqlite" {
		return false
	}
	ctx, file := d.ctx, d.h.File
	damage := sqlite.Damage(ctx, file)
	if hint := new(perdure.Hint); damage != nil && errors.As(d.h.agentFile(), &hint) {
		d.say("file", Unwell, hint.Do, "%v", hint.Err)
		return true
	}
	switch {
	case errors.Is(damage, sqlite.ErrNewer):
		d.say("file", Unwell, "use a newer perdure: this one leaves the file as it is", "%v", damage)
		return true
	case damage == nil:
		d.say("file", Well, "", "%s is whole, version %d", file, sqlite.Version)
		return false
	case !mends:
		d.say("file", Unwell, "perdure doctor --repair, or restore it from a backup", "%v", damage)
		return false
	}
	r, err := sqlite.Rebuild(ctx, file)
	if err != nil {
		d.say("file", Unwell,
			"stop whatever uses it and try again, or move it away and restore a backup or import good copies", "%v",
			err)
		return true
	}
	d.say("file", Well, "", "%v; a sound file with the %s that can be read is in its place, the damaged one is %s",
		damage, view.Several(r.Rows, "row"), r.Aside)
	switch {
	case r.Rows == 0 && r.Born > 0:
		d.say("file", Odd, "import good copies of its agents, or restore it from a backup",
			"all that was left in it are the first entries of %s", view.Several(r.Born, "agent"))
	case r.Rows == 0:
		d.say("file", Odd, "import good copies of its agents, or restore it from a backup",
			"nothing of a store was left in it: the new one is empty")
	}
	if r.Words > 0 {
		d.say("file", Well, "", "%s that entries name could be restored",
			view.Counted(int64(r.Words), "damaged key or policy", "damaged keys or policies"))
	}
	if r.Lowered > 0 {
		d.say("file", Odd, "import whole copies of them",
			"nothing says any more whether all of %s is here: only what may be done with a part is done with them",
			view.Several(int64(r.Lowered), "agent"))
	}
	if r.Unnamed {
		d.say("file", Odd, "", "it does not say any more which store it was: it counts as a new one")
	}
	if r.Stranded > 0 {
		d.say("file", Odd, "import good copies of the missing agents: the rows are then matched to them",
			"%s to no known agent",
			view.Counted(r.Stranded, "row set aside in it belongs", "rows set aside in it belong"))
	}
	return false
}

// witness looks whether what was seen here can be read, and puts it aside if it cannot and is to be mended. It reports
// whether it can be asked.
func (d *Doctor) witness() bool {
	if d.unseen = ""; d.h.Dir == "" {
		return true
	}
	path := filepath.Join(d.h.Dir, witnessFile)
	damage := sqlite.WitnessDamage(path)
	if damage == nil {
		return true
	}
	if !d.Repair {
		d.say("seen", Unwell, "perdure doctor --repair", "%v", damage)
		return false
	}
	to, err := sqlite.PutAside(path)
	if err != nil {
		d.say("seen", Unwell, "stop whatever uses it and try again", "%v; it could not be put aside: %v", damage, err)
		return false
	}
	d.unseen = to
	return true
}

// seeAgain tells a new witness how far the agents of the store have come.
func (d *Doctor) seeAgain(ctx context.Context, s perdure.Store, all []perdure.Listing) error {
	seen := 0
	for _, one := range all {
		a, err := perdure.Load(ctx, s, one.Agent)
		if err != nil {
			continue // it is said elsewhere
		}
		if err := d.h.sight(ctx, s, a); err != nil {
			return err
		}
		seen++
	}
	d.say("seen", Odd, "if this store is not the newest there was, import newer copies before you run anything",
		"%s could not be read and is %s now; a new one says how far %s of this store came: whether one of them had "+
			"come further, "+
			"or was here and is gone, nobody can tell any more", witnessFile, d.unseen,
		view.Several(int64(seen), "agent"))
	return nil
}

// hashes are the keys and policies that entries here may name, as far as the home can say: what is damaged is restored
// from them.
func (h *Home) hashes() (out []perdure.Hash) {
	if h.Dir == "" {
		return nil
	}
	if s, err := keyfile.Read(filepath.Join(h.Dir, KeyFile)); err == nil {
		out = append(out, perdure.Hash(s.Key()))
	}
	if t, err := h.Trust(); err == nil {
		for _, one := range t.Trustees() {
			out = append(out, perdure.Hash(one.Key))
		}
	}
	sets := []*policy.Set{policy.Default()}
	if set, err := LoadPolicy(h, nil); err == nil {
		sets = append(sets, set)
	}
	if known, err := knownPolicies(h, true); err == nil {
		sets = append(sets, known...)
	}
	for _, set := range sets {
		out = append(out, set.Hash())
	}
	return out
}

// heal verifies every agent and salvages what is left of those that are damaged.
func (d *Doctor) heal(ctx context.Context, s perdure.Store) error {
	h, ok := s.(perdure.Healer)
	if !ok {
		return nil
	}
	names := map[perdure.AgentID]string{}
	if l, err := view.Lister(s); err == nil {
		for one, err := range l.List(ctx, perdure.Filter{}) {
			if err != nil {
				return err
			}
			names[one.Agent] = one.Name
		}
	}
	ill, err := h.Ailing(ctx)
	if err != nil {
		return err
	}
	for id, x := range ill {
		names[id] = x.Name
	}
	defer d.h.Progressed("verify every agent", int64(len(names)), int64(len(names)))
	ids := slices.SortedFunc(maps.Keys(names), func(a, b perdure.AgentID) int {
		return perdure.Hash(a).Compare(perdure.Hash(b))
	})
	leave := ""
	for i, id := range ids {
		d.h.Progressed("verify every agent", int64(i), int64(len(ids)))
		damage := unsound(ctx, s, id)
		x, ailing := ill[id]
		sound := damage == nil
		if err := ctx.Err(); err != nil {
			return err
		}
		if damage == nil && !ailing {
			continue
		}
		if damage == nil || x.Gone {
			damage = x.Reason
		}
		if depth, err := perdure.DepthOf(ctx, s, id); err == nil && depth != perdure.Full {
			d.say("repair", Unwell, "import the whole memory",
				"%s: %v; only a part of its memory is here, which is not repaired", view.CalledBy(names[id], id),
				damage)
			continue
		}
		leave = cmp.Or(leave, d.healOne(ctx, s, h, id, names[id], damage, sound))
	}
	if leave != "" {
		d.say("repair", Odd, "stop the nodes, copy the store (perdure copy --from "+view.Pasted(Shown(d.h.remote))+
			" --to a store of another name), then run perdure seat take --all there", "%s", leave)
	}
	return nil
}

// healOne salvages what is left of an agent. If nodes of other homes share the store, and a part of it is lost, it is
// paused before any of them goes on: what this home has seen keeps only its own nodes from doing again what is lost.
// What lies aside of one that is sound an earlier repair may have left: it was paused then, and somebody resumed it. It
// returns why the store is best left, if it is.
func (d *Doctor) healOne(ctx context.Context, s perdure.Store, h perdure.Healer, id perdure.AgentID, name string,
	damage error, sound bool) (leave string) {
	what := view.CalledBy(name, id)
	done, err := d.alone(ctx, s, id)
	if err != nil {
		d.say("repair", Unwell, "a node is at work on it: stop it, and repair again", "%s: %v", what, err)
		return ""
	}
	defer done()
	got, err := h.Heal(ctx, id, nil)
	if err != nil {
		fix := "import a good copy of it"
		if hint := new(perdure.Hint); errors.As(err, &hint) {
			fix = hint.Do
		}
		d.say("repair", Unwell, fix, "%s: %v", what, err)
		if d.h.remote == "" || sound || unsound(ctx, s, id) != nil {
			return ""
		}
		got.Short = true // it was written, and how much is lost nobody knows
	} else {
		d.healed(what, damage, got)
		if d.h.remote == "" || got.Entries == 0 || got.Aside == 0 && !got.Short {
			return got.Leave
		}
	}
	switch paused, err := d.pause(ctx, s, id, sound && !got.Short); {
	case err != nil:
		d.say("repair", Unwell, "perdure pause "+id.Short(),
			"%s: repaired, but not paused, and what it did in the part that is lost might be done again: %v", what, err)
	case paused:
		d.say("repair", Odd, "import a good copy of it, or find out what it did, then perdure resume "+id.Short(),
			"%s: a part of its memory is lost, and what it did there might be done again: it is paused", what)
	}
	return got.Leave
}

// alone keeps nodes of other homes from an agent until done is called. It fails if one is at work on it.
func (d *Doctor) alone(ctx context.Context, s perdure.Store, id perdure.AgentID) (done func(), err error) {
	c, ok := s.(perdure.Claimer)
	if d.h.remote == "" || !ok {
		return func() {}, nil
	}
	k, err := perdure.GenerateSigner("doctor") // a node is named by what no other process has
	if err != nil {
		return nil, err
	}
	claim, err := c.Claim(ctx, id, k.Key(), time.Minute)
	if errors.Is(err, perdure.ErrConflict) {
		return nil, err
	}
	if err != nil {
		return func() {}, nil // it is too damaged for a node, too
	}
	return func() { _ = c.Release(context.WithoutCancel(ctx), claim, nil, 0) }, nil
}

// lostNote is why an agent is paused of which a part is lost.
const lostNote = "a part of its memory is lost, and what it did there might be done again"

// pause pauses an agent of which a part is lost, if it has not ended; once where nothing new is lost.
func (d *Doctor) pause(ctx context.Context, s perdure.Store, id perdure.AgentID, once bool) (paused bool, err error) {
	a, err := perdure.Load(ctx, s, id)
	ended := false
	if err == nil {
		ended, err = d.h.Ended(a)
	}
	if err != nil || ended {
		return false, err
	}
	n, err := d.h.Node(ctx, s)
	if err != nil {
		return false, err
	}
	if once {
		for e, err := range perdure.Backwards(ctx, s, id, nil) {
			if err != nil {
				return false, err
			}
			ev, _ := e.Content().(perdure.Event)
			if was, _ := ev.Notice.(perdure.Pause); was.Note == lostNote && e.Origin == n.Key.Key() {
				return false, nil
			}
		}
	}
	_, err = n.Pause(ctx, id, lostNote)
	return err == nil, err
}

// unsound says what is wrong with the memory of an agent, as far as it is here.
func unsound(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	depth, _ := perdure.DepthOf(ctx, s, id) // if that fails, so does reading the memory
	_, err := perdure.Verify(perdure.Memory(ctx, s, id), perdure.VerifyOptions{Depth: depth})
	return err
}

// healed says what became of an agent, and what is lost of it.
func (d *Doctor) healed(what string, damage error, got perdure.Healed) {
	lost := ""
	if n := len(got.Gaps); n > 0 {
		lost = fmt.Sprintf(", nothing is left of seq %s", seqs(got.Gaps))
	}
	switch {
	case got.Entries == 0 && got.Aside == 0:
		fix := "import a good copy of it"
		if d.h.Scheme == "sqlite" {
			fix += "; or perdure doctor --forget, if it is to stay gone"
		}
		d.say("repair", Unwell, fix, "%s: nothing of it can be read (%v)", what, damage)
	case got.Entries == 0:
		d.say("repair", Unwell, "import a good copy of it: what can be read joins it",
			"%s: nothing of it can be used%s; %s (%v)", what, lost,
			view.Counted(got.Aside, "piece of it lies aside", "pieces of it lie aside"), damage)
	case got.Aside > 0:
		d.say("repair", Odd, "import a good copy of it: what can be read joins it",
			"%s: %s could be salvaged%s; %s (%v)", what, view.Several(got.Entries, "entry"), lost,
			view.Counted(got.Aside, "piece of it that lies aside has no place",
				"pieces of it that lie aside have no place"),
			damage)
	default:
		d.say("repair", Well, "", "%s: it has %s (%v)", what, view.Several(got.Entries, "entry"), damage)
	}
}

// seqs is numbers in a row as ranges.
func seqs(all []int64) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		part := fmt.Sprint(all[i])
		if j > i {
			part = fmt.Sprintf("%d to %d", all[i], all[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ", ")
}

// missing says which agents are older than they were seen here, damaged, or gone.
func (d *Doctor) missing(ctx context.Context, s perdure.Store, all []perdure.Listing) error {
	if d.h.Dir == "" {
		return nil
	}
	if d.Forget {
		gone, err := d.h.Forget(ctx, s)
		if err != nil {
			return err
		}
		d.say("seen", Well, "", "%s forgotten", view.Several(int64(len(gone)), "agent"))
	}
	found, err := d.h.Check(ctx, s, all, true)
	if err != nil {
		return err
	}
	wrong := 0
	for _, one := range found {
		what, fix := one.Wrong()
		if what == "" {
			continue
		}
		if d.Repair {
			fix = strings.TrimPrefix(fix, "perdure doctor --repair, or ")
		}
		if wrong++; wrong <= maxDiffering {
			d.say("seen", Unwell, fix, "%s", what)
		}
	}
	if wrong > maxDiffering {
		d.say("seen", Unwell, "perdure ls names them", "%s more", view.Several(int64(wrong-maxDiffering), "agent"))
	}
	return nil
}

// bearer is a store that keeps the first entry of each agent twice.
type bearer interface {
	Unborn(ctx context.Context) (int64, error)
	KeepBirths(ctx context.Context) (int64, error)
}

var _ bearer = (*sqlite.Store)(nil)

// births looks whether the first entry of each agent is kept twice, and sees to it when the store is to be mended.
func (d *Doctor) births(ctx context.Context, s perdure.Store) error {
	b, ok := s.(bearer)
	if !ok {
		return nil
	}
	n, err := b.Unborn(ctx)
	if err == nil && n > 0 && d.Repair {
		var made int64
		if made, err = b.KeepBirths(ctx); err == nil {
			d.say("repair", Well, "", "the first entries of %s are kept a second time", view.Several(made, "agent"))
			n, err = b.Unborn(ctx)
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		d.say("copies", Unwell, d.afterRepair("or restore it from a backup"), "%v", err)
	case n > 0:
		d.say("copies", Odd, d.afterRepair("if a page of the file is ever lost"),
			"the first entries of %s are not kept a second time", view.Several(n, "agent"))
	}
	return nil
}

// sweeper is a store whose long bodies are files of their own.
type sweeper interface {
	Strays(ctx context.Context, remove bool) (size int64, err error)
}

var _ sweeper = (*sqlite.Store)(nil)

// leftovers looks for bodies that nothing refers to, and has them removed when the store is mended.
func (d *Doctor) leftovers(ctx context.Context, s perdure.Store) {
	x, ok := s.(sweeper)
	if !ok {
		return
	}
	const text = "%s of bodies were left by something that was cut short"
	size, err := x.Strays(ctx, d.Repair)
	switch long := view.BytesText(size); {
	case err != nil:
		d.say("stray", Odd, "", "bodies that nothing refers to: %v", err)
	case size > 0 && d.Repair:
		d.say("stray", Well, "", text+": they are removed", long)
	case size > 0:
		d.say("stray", Odd, "perdure doctor --repair", text, long)
	}
}
