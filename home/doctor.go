package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// How something is.
const (
	Well   = "ok"
	Odd    = "look" // worth a look
	Unwell = "wrong"
)

// Examined is one thing a doctor looked at.
type Examined struct {
	What   string `json:"what"`
	Health string `json:"health"`
	Found  string `json:"found"`
	Fix    string `json:"fix,omitempty"`
}

// Doctor looks at everything and keeps what was found.
type Doctor struct {
	Version string // of the program
	Reindex bool   // rebuild every index of the store
	Repair  bool   // salvage what can be read of damaged agents
	Forget  bool   // forget agents that were seen here and are not here any more

	ctx    context.Context
	h      *Home
	p      *Powers
	found  []Examined
	unseen string // where a witness that could not be read lies now
}

func (d *Doctor) say(what, health, fix, format string, args ...any) {
	d.found = append(d.found, Examined{what, health, fmt.Sprintf(format, args...), fix})
}

// Examine looks at a home, its store, and what its nodes can do.
func (d *Doctor) Examine(ctx context.Context, h *Home, p *Powers) ([]Examined, error) {
	d.ctx, d.h, d.p, d.found = ctx, h, p, nil
	d.all()
	return d.found, ctx.Err()
}

func (d *Doctor) all() {
	d.say("program", Well, "", "perdure %s, format %d, %s %s/%s", d.Version, perdure.FormatVersion, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
	d.engine()
	if !d.modes() {
		return // whatever else is there, somebody else may have put it there
	}
	newest := d.store()
	d.clock(newest)
	if d.h.Dir != "" {
		d.folder()
		d.key()
		d.strays()
	}
	d.policies()
	d.powers()
	d.fleet()
	d.peers()
}

// minSQLite is the first version without the bug that could damage a database when its log is reset.
const minSQLite = "3.51.3"

func (d *Doctor) engine() {
	got, err := sqlite.Engine(d.ctx)
	var a, b, x, y, z, w int
	switch {
	case err != nil:
		d.say("sqlite", Unwell, "build perdure again with the module versions in go.mod", "%v", err)
		return
	default:
		_, err1 := fmt.Sscanf(got, "%d.%d.%d", &a, &b, &x)
		_, err2 := fmt.Sscanf(minSQLite, "%d.%d.%d", &y, &z, &w)
		if err1 != nil || err2 != nil || a*1_000_000+b*1000+x < y*1_000_000+z*1000+w {
			d.say("sqlite", Unwell, "build perdure with a newer modernc.org/sqlite",
				"version %s can damage a database when its log is reset; %s does not", got, minSQLite)
			return
		}
	}
	d.say("sqlite", Well, "", "version %s", got)
}

// store opens the store and lists it. It returns the newest entry's time as the index knows it.
func (d *Doctor) store() (newest perdure.Time) {
	if d.h.Scheme == "mem" {
		d.say("store", Odd, "name a store, or set "+StoreEnv, "in memory: nothing outlives the command")
		return 0
	}
	if !d.h.there() {
		d.storeless()
		return 0
	}
	agents, survives := 0, ""
	var recent, all []perdure.Listing
	d.placed()
	failed := d.integrity(d.Reindex || d.Repair)
	sees := d.witness()
	err := d.h.Use(d.ctx, false, func(ctx context.Context, s perdure.Store) error {
		survives = SurvivedBy(s)
		if err := writable(ctx, s); err != nil {
			d.say("store", Unwell, d.storeFix(err), "%v", err)
		}
		if r, ok := s.(reindexer); d.Reindex && ok {
			err := r.Reindex(ctx, func(done, total int) { d.h.Progressed("reindex", int64(done), int64(total)) })
			if err != nil && ctx.Err() == nil {
				d.say("index", Unwell, "perdure doctor --repair", "%v", err)
			}
		}
		if d.Repair {
			if err := d.heal(ctx, s); err != nil {
				return err
			}
		}
		if err := d.births(ctx, s); err != nil {
			return err
		}
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
		l, err := view.Lister(s)
		if err != nil {
			return err
		}
		for one, err := range l.List(ctx, perdure.Filter{}) {
			if err != nil {
				return err
			}
			agents++
			newest = max(newest, one.Updated)
			recent, all = latest(recent, one), append(all, one)
		}
		if d.Repair {
			if err := d.mend(ctx, s, all); err != nil {
				return err
			}
		}
		if err := d.index(ctx, s, all); err != nil {
			return err
		}
		if err := d.memories(ctx, s, recent); err != nil {
			return err
		}
		if d.unseen != "" {
			if err := d.seeAgain(ctx, s, all); err != nil {
				return err
			}
		}
		if err := d.seats(ctx, s, recent); err != nil {
			return err
		}
		if !sees {
			return nil
		}
		return d.missing(ctx, s, all)
	})
	if err != nil && failed {
		return 0 // it was said why, and what to do
	}
	if err != nil {
		d.say("store", Unwell, d.storeFix(err), "%v", err)
		return 0
	}
	done := ""
	if d.Reindex {
		done = ", every index rebuilt"
	}
	d.say("store", Well, "", "%s opens, %s%s", d.h.File, view.Several(int64(agents), "agent"), done)
	if survives != "" {
		d.say("durable", Well, "", "what is written survives %s", survives)
	}
	return newest
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

const (
	// maxExamined is how many memories a doctor verifies, those that changed last.
	maxExamined = 16
	// maxExaminedEntries bounds the entries of one it verifies: a longer memory is for perdure verify, which shows how
	// far it is.
	maxExaminedEntries = 20_000
)

// latest keeps the agents that changed last, latest first.
func latest(of []perdure.Listing, one perdure.Listing) []perdure.Listing {
	if one.Entries > maxExaminedEntries {
		return of
	}
	i, _ := slices.BinarySearchFunc(of, one, func(a, b perdure.Listing) int {
		return cmp.Compare(b.Updated, a.Updated)
	})
	of = slices.Insert(of, i, one)
	return of[:min(len(of), maxExamined)]
}

// memories verifies those of some agents.
func (d *Doctor) memories(ctx context.Context, s perdure.Store, of []perdure.Listing) error {
	sound := 0
	for _, one := range of {
		err := unsound(ctx, s, one.Agent)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			d.say("memory", Unwell, d.afterRepair("then take a good copy of it in with perdure import"), "%s %s: %v",
				one.Agent.Short(), one.Name, err)
		default:
			sound++
		}
	}
	if sound > 0 {
		d.say("memory", Well, "", "%s verified, of the agents that changed last; perdure verify AGENT for any other",
			view.Several(int64(sound), "memory"))
	}
	return nil
}

// seats says whether this store is a copy: the seats of its agents are in another one.
func (d *Doctor) seats(ctx context.Context, s perdure.Store, of []perdure.Listing) error {
	at, err := d.h.PlaceOf(ctx, s)
	if err != nil {
		return err
	}
	away := int64(0)
	for _, one := range of {
		if a, err := perdure.Load(ctx, s, one.Agent); err == nil && a.Fold().Ended == nil &&
			view.SeatOf(a.Fold(), at) == view.SeatElsewhere {
			away++
		}
	}
	if away > 0 {
		d.say("seat", Odd,
			`if this store was restored or moved, and the other is gone: perdure seat take --all --why "restored from a backup"`,
			"the seat of %s, of those that changed last, is in another store: nothing that must happen once is done "+
				"here", view.Several(away, "agent"))
	}
	return ctx.Err()
}

// clock looks whether the clock can be right: after this program was thought of, and not before what is already
// written.
func (d *Doctor) clock(newest perdure.Time) {
	now := time.Now()
	switch {
	case now.Year() < 2025:
		d.say("clock", Unwell, "set the clock, for example with timedatectl set-ntp true", "it says %s",
			now.UTC().Format(time.RFC3339))
	case newest != 0 && newest.Go().After(now.Add(time.Minute)):
		d.say("clock", Odd, "compare this machine's clock with the one that wrote them",
			"it says %s, and the store has entries of %s", now.UTC().Format(time.RFC3339), newest)
	default:
		d.say("clock", Well, "", "%s", now.UTC().Format(time.RFC3339))
	}
}

// minFree is how much room a disk should have: below it the next backup or large body may not fit.
const minFree = 256 << 20

// folder looks whether the folder can be written, and has room.
func (d *Doctor) folder() {
	dir := d.h.Dir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return // the first agent makes it
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		d.say("folder", Unwell, "give this user the right to write "+dir, "%v", err)
		return
	}
	free, err := disk.Free(dir)
	if err != nil {
		d.say("folder", Odd, "", "%s can be written; its free space is not known: %v", dir, err)
		return
	}
	if free < minFree {
		d.say("folder", Unwell, "make room on the disk of "+dir, "%d MiB are free", free>>20)
		return
	}
	d.say("folder", Well, "", "%s can be written, %d MiB are free", dir, free>>20)
}

// noKey says that there is no key, and whether there was one.
func (d *Doctor) noKey(path string) {
	lost := d.h.lostKey(d.ctx)
	var hint *perdure.Hint
	_, unhomed := os.Stat(filepath.Join(d.h.Dir, TrustFile))
	switch {
	case lost != nil && d.h.Loose && errors.Is(unhomed, fs.ErrNotExist): // a copy by itself, such as a backup
		d.say("key", Well, "", "none lies beside this store: its agents answer to the key of the home it is from")
	case lost == nil:
		d.say("key", Odd, "perdure key new", "there is none at %s yet", path)
	case errors.As(lost, &hint):
		d.say("key", Unwell, hint.Do, "%v", lost)
	default:
		d.say("key", Unwell, "", "there is none at %s: %v", path, lost)
	}
}

// key looks whether the key can be read, by its owner alone, and is trusted.
func (d *Doctor) key() {
	path := filepath.Join(d.h.Dir, KeyFile)
	s, err := keyfile.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, perdure.ErrNotFound):
		d.noKey(path)
		return
	case err != nil:
		fix := "chmod 600 " + path + ", if it is yours and nobody else has read it"
		if hint := new(perdure.Hint); errors.As(err, &hint) {
			fix = hint.Do
		}
		d.say("key", Unwell, fix, "%v", err)
		return
	}
	t, err := d.h.ReadTrust() // as it is written: whoever has a key trusts it
	switch {
	case err != nil:
		d.say("trust", Unwell, "correct that line of "+filepath.Join(d.h.Dir, TrustFile), "%v", err)
	case slices.ContainsFunc(t.Trustees(), func(l perdure.Trustee) bool { return l.Key == s.Key() && l.Revoked }):
		d.say("key", Unwell, "if that was a mistake, and nobody else has the key: perdure key trust "+s.VerifierKey()+
			" --rights own; then perdure key rotate gives this store another",
			"%s %s, which signs here, was revoked in the trust file: nothing it writes counts", s.Name, s.Key().Short())
		return
	case !t.Allows(s.Key(), perdure.MayOwn, "home") && slices.ContainsFunc(t.Trustees(), founding):
		d.say("key", Unwell, "put the key of this home back; or, if this one is to take its place: perdure key trust "+
			s.VerifierKey()+" --rights own",
			"%s %s is not the key that this home was made with: agents here answer to "+
				"another", s.Name, s.Key().Short())
		return
	case !t.Allows(s.Key(), perdure.MayOwn, "home"):
		d.say("trust", Odd, "perdure key trust "+s.VerifierKey()+" --rights own",
			"this store's own key is not trusted with what it writes")
	default:
		d.say("trust", Well, "", "%s named", view.Several(int64(len(t.Trustees())), "key"))
	}
	d.say("key", Well, "", "%s %s, readable by its owner alone", s.Name, s.Key().Short())
}

// founding reports whether a line of the trust file is that of a key that was made with the home.
func founding(who perdure.Trustee) bool {
	return who.Rights&perdure.MayOwn != 0 && !who.Revoked && who.Comment == madeComment
}

// reindexer is a store that can rebuild its indexes from its entries.
type reindexer interface {
	// Reindex rebuilds every derived index. Progress is called now and then with the number of agents done and their
	// total.
	Reindex(ctx context.Context, progress func(done, total int)) error
}

var (
	_ reindexer = (*sqlite.Store)(nil)
	_ reindexer = (*dir.Store)(nil)
)
