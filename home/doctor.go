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
	"syscall"
	"time"

	"github.com/perdure/perdure"
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
	trust, err := d.h.Trust()
	if err != nil {
		return err
	}
	away, others := int64(0), int64(0)
	for _, one := range of {
		a, err := perdure.Load(ctx, s, one.Agent)
		if err != nil || a.Fold().Ended != nil {
			continue
		}
		switch {
		case view.SeatOf(a.Fold(), at) != view.SeatElsewhere:
		case a.Fold().Charter.Owner == d.h.nodeKey():
			away++
		default:
			others++
		}
		if lack := view.Unable(a, trust, d.h.nodeKey(), time.Now()); lack != "" {
			d.say("agent", Odd, "set that up in "+filepath.Join(d.h.Dir, NodeFileName)+"; see perdure help node.yaml",
				"%s does not go on: it needs %s, and the last node that looked had none", view.Called(a), lack)
		}
	}
	if away > 0 {
		d.say("seat", Odd,
			`if this store was restored or moved, and the other is gone: perdure seat take --all --why "restored from a backup"`,
			"the seat of %s, of those that changed last, is in another store: nothing that must happen once is done "+
				"here", view.Several(away, "agent"))
	}
	if others > 0 {
		d.say("seat", Well, "", "%s: what must happen once is done where the seat is",
			view.Counted(others, "agent of another owner is a copy here", "agents of other owners are copies here"))
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
		fix := "give this user the right to write " + dir
		if errors.Is(err, syscall.EROFS) {
			fix = "mount the disk of " + dir + " so that it can be written"
		}
		d.say("folder", Unwell, fix, "%v", err)
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
