package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // the engine whose version is checked

	"github.com/perdure/perdure"
)

func doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Check the installation, and say how to fix what is wrong",
		Long: `Doctor checks the program, the store and what is in it, the clock, the disk, the key, whom it trusts, its policies, and what its nodes can
do: tools, programs, MCP servers, secrets, advisors and their keys, as node.yaml of the store's folder and the flags say. It says
how to fix what is wrong, and exits with 1 if anything is.

It changes nothing, but with --reindex it rebuilds every index of the store from its entries; others may use the store meanwhile, unless
the file is damaged. With --repair it verifies every agent, salvages what can be read of a damaged store or agent, says what is lost, and keeps
the damaged files; and agents you own that cannot be folded, because entries came late to a past that gc had dropped, are made usable again.
What it cannot bring back a good copy does: perdure import takes what is good of both. With --forget it no longer misses agents that
were seen here and are not here any more; an old copy of one is still noticed.`,
		Example: `  perdure doctor
  perdure doctor --mcp fs="npx @modelcontextprotocol/server-filesystem ."
  perdure doctor --reindex
  perdure doctor --json --jq '.[] | select(.health=="wrong") | .fix'`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	p := powerFlags(c)
	reindex := c.Flags().Bool("reindex", false, "rebuild every index of the store from its entries")
	repair := c.Flags().Bool("repair", false, "salvage what can be read of damaged agents, and mend those that entries which came late keep from being folded")
	forget := c.Flags().Bool("forget", false, "forget agents that were seen here and are not here any more")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := h.find(); err != nil {
			return err
		}
		h.looks, h.mends = true, *reindex || *repair
		if h.mends && h.scheme == "mem" {
			return misuse(c, errors.New("a store in memory is gone when the command ends; name another with --store"))
		}
		d := &doctor{c: c, h: h, p: p}
		d.repair, d.forget = *repair, *forget
		d.examine(*reindex)
		if err := c.Context().Err(); err != nil {
			return err
		}
		values := make([]any, len(d.found))
		bad := 0
		for i, f := range d.found {
			values[i] = f
			if f.Health == unwell {
				bad++
			}
		}
		if err := out.list(values, d.write); err != nil {
			return err
		}
		if bad > 0 {
			return &answered{fmt.Errorf("%d things are wrong", bad)}
		}
		return nil
	}
	return c
}

// How something is.
const (
	well   = "ok"
	odd    = "look" // worth a look
	unwell = "wrong"
)

// examined is one thing a doctor looked at.
type examined struct {
	What   string `json:"what"`
	Health string `json:"health"`
	Found  string `json:"found"`
	Fix    string `json:"fix,omitempty"`
}

// doctor looks at everything and keeps what was found.
type doctor struct {
	repair bool
	forget bool
	c      *cobra.Command
	h      *home
	p      *powers
	found  []examined
}

func (d *doctor) say(what, health, fix, format string, args ...any) {
	d.found = append(d.found, examined{what, health, fmt.Sprintf(format, args...), fix})
}

func (d *doctor) write(w io.Writer) error {
	s := styleOf(w)
	for _, f := range d.found {
		health := fmt.Sprintf("%-5s", f.Health)
		switch f.Health {
		case well:
			health = s.good(health)
		case odd:
			health = s.warn(health)
		default:
			health = s.bad(health)
		}
		text := fmt.Sprintf("%s  %-8s  %s\n", health, f.What, oneLine(f.Found, 0))
		if f.Fix != "" {
			text += "                 " + s.dim("fix: "+inLine(f.Fix)) + "\n"
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

func (d *doctor) examine(reindex bool) {
	d.say("program", well, "", "perdure %s, format %d, %s %s/%s", version, perdure.FormatVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	d.engine()
	if !d.modes() {
		return // whatever else is there, somebody else may have put it there
	}
	newest := d.store(reindex)
	d.clock(newest)
	if d.h.dir != "" {
		d.folder()
		d.key()
		d.strays()
	}
	d.policies()
	d.powers()
}

// minSQLite is the first version without the bug that could damage a database when its log is reset.
const minSQLite = "3.51.3"

func (d *doctor) engine() {
	db, err := sql.Open("sqlite", ":memory:")
	var got string
	if err == nil {
		err = errors.Join(db.QueryRowContext(d.c.Context(), "SELECT sqlite_version()").Scan(&got), db.Close())
	}
	var a, b, x, y, z, w int
	switch {
	case err != nil:
		d.say("sqlite", unwell, "build perdure again with the module versions in go.mod", "%v", err)
		return
	default:
		_, err1 := fmt.Sscanf(got, "%d.%d.%d", &a, &b, &x)
		_, err2 := fmt.Sscanf(minSQLite, "%d.%d.%d", &y, &z, &w)
		if err1 != nil || err2 != nil || a*1_000_000+b*1000+x < y*1_000_000+z*1000+w {
			d.say("sqlite", unwell, "build perdure with a newer modernc.org/sqlite", "version %s can damage a database when its log is reset; %s does not", got, minSQLite)
			return
		}
	}
	d.say("sqlite", well, "", "version %s", got)
}

// store opens the store and lists it. It returns the newest entry's time as the index knows it.
func (d *doctor) store(reindex bool) (newest perdure.Time) {
	if d.h.scheme == "mem" {
		d.say("store", odd, "name a store with --store or "+storeEnv, "in memory: nothing outlives the command")
		return 0
	}
	if _, err := os.Stat(d.h.file); errors.Is(err, fs.ErrNotExist) {
		health := odd
		if reindex {
			health = unwell
		}
		d.say("store", health, "make an agent with "+suggest("new"), "there is none at %s yet", d.h.file)
		return 0
	}
	agents, survives := 0, ""
	var recent, all []perdure.Listing
	d.integrity(reindex || d.repair)
	err := d.h.use(false, func(ctx context.Context, s perdure.Store) error {
		survives = survivedBy(s)
		if r, ok := s.(perdure.Reindexer); reindex && ok {
			bar := newProgress(d.c, "reindex", 0)
			err := r.Reindex(ctx, func(done, total int) { bar.total = int64(total); bar.to(int64(done)) })
			bar.end()
			if err != nil && ctx.Err() == nil {
				d.say("index", unwell, "perdure doctor --repair", "%v", err)
			}
		}
		if d.repair {
			if err := d.heal(ctx, s); err != nil {
				return err
			}
		}
		if f, ok := s.(interface{ Faults() map[string]error }); ok {
			for name, fault := range f.Faults() {
				d.say("file", odd, "perdure doctor --repair, or import another copy", "%s is left alone: %v", name, fault)
			}
		}
		l, err := lister(s)
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
		if d.repair {
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
		return d.missing(ctx, s, all)
	})
	if err != nil {
		d.say("store", unwell, "perdure doctor --repair, restore it from a backup, or name another with --store", "%v", err)
		return 0
	}
	done := ""
	if reindex {
		done = ", every index rebuilt"
	}
	d.say("store", well, "", "%s opens, %s%s", d.h.file, several(int64(agents), "agent"), done)
	if survives != "" {
		d.say("durable", well, "", "what is written survives %s", survives)
	}
	return newest
}

// mend makes the agents usable again that entries which came late keep from being folded.
func (d *doctor) mend(ctx context.Context, s perdure.Store, all []perdure.Listing) error {
	n, err := d.h.node(s)
	if err != nil {
		return err
	}
	mended := 0
	for _, one := range all {
		e, err := n.Mend(ctx, one.Agent)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			d.say("repair", unwell, "import a good copy of it", "%s: %v", one.Agent.Short(), err)
		case e != nil:
			mended++
			d.say("repair", well, "", "%s: entries that came after a collection are folded after it from here on", one.Agent.Short())
		}
	}
	if mended == 0 {
		d.say("repair", well, "", "there was nothing to mend")
	}
	return nil
}

const (
	// maxExamined is how many memories a doctor verifies, those that changed last.
	maxExamined = 16
	// maxExaminedEntries bounds the entries of one it verifies: a longer memory is for perdure verify, which shows how far it is.
	maxExaminedEntries = 20_000
)

// latest keeps the agents that changed last, latest first.
func latest(of []perdure.Listing, one perdure.Listing) []perdure.Listing {
	if one.Entries > maxExaminedEntries {
		return of
	}
	i, _ := slices.BinarySearchFunc(of, one, func(a, b perdure.Listing) int { return cmp.Compare(b.Updated, a.Updated) })
	of = slices.Insert(of, i, one)
	return of[:min(len(of), maxExamined)]
}

// memories verifies those of some agents.
func (d *doctor) memories(ctx context.Context, s perdure.Store, of []perdure.Listing) error {
	sound := 0
	for _, one := range of {
		err := unsound(ctx, s, one.Agent)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			d.say("memory", unwell, "perdure doctor --repair, then take a good copy of it in with perdure import", "%s %s: %v", one.Agent.Short(), one.Name, err)
		default:
			sound++
		}
	}
	if sound > 0 {
		d.say("memory", well, "", "%s verified, of the agents that changed last; %s AGENT for any other", several(int64(sound), "memory"), suggest("verify"))
	}
	return nil
}

// clock looks whether the clock can be right: after this program was thought of, and not before what is already written.
func (d *doctor) clock(newest perdure.Time) {
	now := time.Now()
	switch {
	case now.Year() < 2025:
		d.say("clock", unwell, "set the clock, for example with timedatectl set-ntp true", "it says %s", now.UTC().Format(time.RFC3339))
	case newest != 0 && newest.Go().After(now.Add(time.Minute)):
		d.say("clock", odd, "compare this machine's clock with the one that wrote them", "it says %s, and the store has entries of %s", now.UTC().Format(time.RFC3339), newest)
	default:
		d.say("clock", well, "", "%s", now.UTC().Format(time.RFC3339))
	}
}

// minFree is how much room a disk should have: below it the next backup or large body may not fit.
const minFree = 256 << 20

// folder looks whether the folder can be written, and has room.
func (d *doctor) folder() {
	dir := d.h.dir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return // the first agent makes it
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		d.say("folder", unwell, "give this user the right to write "+dir, "%v", err)
		return
	}
	free, err := freeSpace(dir)
	if err != nil {
		d.say("folder", odd, "", "%s can be written; its free space is not known: %v", dir, err)
		return
	}
	if free < minFree {
		d.say("folder", unwell, "make room on the disk of "+dir, "%d MiB are free", free>>20)
		return
	}
	d.say("folder", well, "", "%s can be written, %d MiB are free", dir, free>>20)
}

// key looks whether the key can be read, by its owner alone, and is trusted.
func (d *doctor) key() {
	path := filepath.Join(d.h.dir, keyFile)
	s, err := perdure.ReadKey(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, perdure.ErrNotFound):
		d.say("key", odd, suggest("key new"), "there is none at %s yet", path)
		return
	case err != nil:
		d.say("key", unwell, "chmod 600 "+path+", if it is yours and nobody else has read it", "%v", err)
		return
	}
	t, err := d.h.trust()
	switch {
	case err != nil:
		d.say("trust", unwell, "correct that line of "+filepath.Join(d.h.dir, trustFile), "%v", err)
	case !t.Allows(s.Key(), perdure.MayOwn, "home"):
		d.say("trust", odd, suggest("key trust")+" "+s.VerifierKey()+" --rights own", "this store's own key is not trusted with what it writes")
	default:
		d.say("trust", well, "", "%s named", several(int64(len(t.Trustees())), "key"))
	}
	d.say("key", well, "", "%s %s, readable by its owner alone", s.Name, s.Key().Short())
}
