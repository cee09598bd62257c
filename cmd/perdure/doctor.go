package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	_ "modernc.org/sqlite" // the engine whose version is checked

	"github.com/perdure/perdure"
)

func doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Check the installation, and say how to fix what is wrong",
		Long: `Doctor checks the program, the store, the key, whom it trusts, its policies, the clock and the disk, and says how to fix what is wrong.
It changes nothing, but with --reindex it rebuilds every index of the store from its entries; others may use the store meanwhile.`,
		Example: `  perdure doctor
  perdure doctor --reindex
  perdure doctor --json`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	reindex := c.Flags().Bool("reindex", false, "rebuild every index of the store from its entries")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		if err := h.locate(); err != nil {
			return err
		}
		if *reindex && h.scheme == "mem" {
			return misuse(c, errors.New("a store in memory is gone when the command ends; name another with --store"))
		}
		d := &doctor{c: c, h: h}
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
	c     *cobra.Command
	h     *home
	found []examined
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
			text += "                 " + s.dim("fix: "+f.Fix) + "\n"
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
	newest := d.store(reindex)
	d.clock(newest)
	if d.h.dir == "" {
		return
	}
	d.folder()
	d.key()
	d.policies()
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
		d.say("store", health, "make an agent with perdure new", "there is none at %s yet", d.h.file)
		return 0
	}
	agents := 0
	err := d.h.use(false, func(ctx context.Context, s perdure.Store) error {
		if r, ok := s.(perdure.Reindexer); reindex && ok {
			bar := newProgress(d.c, "reindex", 0)
			err := r.Reindex(ctx, func(done, total int) { bar.total = int64(total); bar.to(int64(done)) })
			bar.end()
			if err != nil {
				return fmt.Errorf("reindex: %w", err)
			}
		}
		if f, ok := s.(interface{ Faults() map[string]error }); ok {
			for name, fault := range f.Faults() {
				d.say("file", odd, "restore it from another copy, or move it away", "%s is left alone: %v", name, fault)
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
		}
		return nil
	})
	if err != nil {
		d.say("store", unwell, "restore it from a backup, or name another with --store", "%v", err)
		return 0
	}
	done := ""
	if reindex {
		done = ", every index rebuilt"
	}
	d.say("store", well, "", "%s opens, %d agents%s", d.h.file, agents, done)
	return newest
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
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		d.say("folder", odd, "", "%s can be written; its free space is not known: %v", dir, err)
		return
	}
	free := uint64(disk.Bavail) * uint64(disk.Bsize) //nolint:unconvert // the types differ between systems
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
		d.say("key", odd, "perdure key new", "there is none at %s yet", path)
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
		d.say("trust", odd, "perdure key trust "+s.VerifierKey()+" --rights own", "this store's own key is not trusted with what it writes")
	default:
		d.say("trust", well, "", "%d keys are named", len(t.Trustees()))
	}
	d.say("key", well, "", "%s %s, readable by its owner alone", s.Name, s.Key().Short())
}

// policies looks whether they load.
func (d *doctor) policies() {
	set, err := (&powers{policies: new([]string)}).policy(d.h)
	if err != nil {
		d.say("policy", unwell, "correct the files in "+filepath.Join(d.h.dir, policyDir), "%v", err)
		return
	}
	d.say("policy", well, "", "%d rules, set %s", len(set.Rules()), set.Hash().Short())
}
