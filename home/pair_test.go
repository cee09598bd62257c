package home_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
)

// crashing is a disk on which nothing changes any more from one of its steps on.
type crashing struct {
	disk.System
	left int
}

var errCrashed = errors.New("the machine is off")

func (c *crashing) step(do func() error) error {
	if c.left--; c.left < 0 {
		return errCrashed
	}
	return do()
}

func (c *crashing) Rename(_, _ string, do func() error) error { return c.step(do) }
func (c *crashing) Sync(_ string, do func() error) error      { return c.step(do) }

// Wherever the writing of a capsule with detached signatures stops, what is there can be read: all of the old one or
// all of the new one.
func TestCapsuleAndItsSignaturesAreReplacedTogether(t *testing.T) {
	dir := t.TempDir()
	h := &home.Home{URL: filepath.Join(dir, "home")}
	within(t, h, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "be copied"},
			Charter: perdure.Charter{Owner: n.Key.Key(), Scope: "home"}})
		if err != nil {
			return err
		}
		entries, finished := 1, false
		for crash := 0; !finished; crash++ {
			folder := filepath.Join(dir, fmt.Sprint("crash", crash))
			if err := os.Mkdir(folder, 0o700); err != nil {
				return err
			}
			file := filepath.Join(folder, "copy.agent")
			export := func() error {
				_, err := h.Export(ctx, s, a.ID(), home.Export{Options: capsule.Options{Depth: perdure.Full},
					File: file, Replace: true, Detached: true})
				return err
			}
			if err := export(); err != nil {
				return err
			}
			if _, err := n.Tell(ctx, a.ID(), perdure.Event{Name: "more"}); err != nil {
				return err
			}
			undo := disk.Replace(folder, &crashing{left: crash})
			err := export()
			undo()
			if finished = err == nil; !finished && !errors.Is(err, errCrashed) {
				return err
			}
			switch got, err := entriesIn(file); {
			case err != nil:
				t.Errorf("stopped at step %d: %v", crash, err)
			case got != entries && got != entries+1, finished && got != entries+1:
				t.Errorf("stopped at step %d: %d entries, want %d or %d", crash, got, entries, entries+1)
			}
			if err := export(); err != nil {
				return err
			}
			if got, err := entriesIn(file); err != nil || got != entries+1 {
				t.Errorf("written again after step %d: %d entries, %v", crash, got, err)
			}
			if _, err := os.Stat(file + capsule.SigExt + capsule.StagedExt); err == nil {
				t.Errorf("written again after step %d: something is left", crash)
			}
			if _, err := h.Export(ctx, s, a.ID(), home.Export{Options: capsule.Options{Depth: perdure.Full}, File: file,
				Replace: true}); err != nil {
				return err
			}
			if got, err := entriesIn(file); err != nil || got != entries+1 {
				t.Errorf("replaced by one with its signatures inside: %d entries, %v", got, err)
			}
			entries++
		}
		if entries < 6 {
			t.Errorf("only %d steps: the crashes do not reach the files", entries)
		}
		return nil
	})
}

// entriesIn is how many entries a capsule has that verify.
func entriesIn(file string) (n int, err error) {
	r, done, err := home.OpenCapsule(file, nil)
	if err != nil {
		return 0, err
	}
	for _, err = range r.Entries() {
		if err != nil {
			return n, errors.Join(err, done())
		}
		n++
	}
	return n, done()
}
