package home

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/schema"
)

// stateSchemas is the schemas of a home for a node that runs: of one that is not known it finds out whether it came
// since.
type stateSchemas struct {
	h *Home

	mu   sync.Mutex
	all  *schema.Registry
	when time.Time // the folder was changed last, as far as all has it; zero: it may have been changed since
}

var (
	_ perdure.StateChecker = (*stateSchemas)(nil)
	_ perdure.Teller       = (*stateSchemas)(nil)
)

func (h *Home) stateSchemas() (*stateSchemas, error) {
	c := &stateSchemas{h: h}
	return c, c.read()
}

// tick is the coarsest that file systems measure time: two seconds on FAT. What changes a folder within a tick of its
// last change leaves the same time on it.
const tick = 2 * time.Second

// read reads the schemas. That the folder is still as it was then is believed only if its last change was long before.
func (c *stateSchemas) read() error {
	when, began := c.changed(), time.Now()
	all, err := c.h.Schemas()
	if err != nil {
		return err
	}
	if began.Sub(when).Abs() <= tick {
		when = time.Time{}
	}
	c.mu.Lock()
	c.all, c.when = all, when
	c.mu.Unlock()
	return nil
}

// changed is when a schema was last put into the folder, or taken out of it; zero: there is none, or nobody can tell.
func (c *stateSchemas) changed() (at time.Time) {
	if c.h.Dir == "" {
		return at
	}
	if info, err := os.Stat(filepath.Join(c.h.Dir, schemaDir)); err == nil {
		at = info.ModTime()
	}
	return at
}

// by calls f with the schemas, and once more if it lacked one and the folder has changed since they were read.
func (c *stateSchemas) by(f func(all *schema.Registry) (lacks bool)) {
	c.mu.Lock()
	all, when := c.all, c.when
	c.mu.Unlock()
	if !f(all) {
		return
	}
	if c.changed().Equal(when) {
		return
	}
	if c.read() != nil {
		return // one is damaged: those that were read before still count
	}
	c.mu.Lock()
	all = c.all
	c.mu.Unlock()
	f(all)
}

// CheckState implements perdure.StateChecker.
func (c *stateSchemas) CheckState(of perdure.Hash, vars map[string]perdure.Data) (err error) {
	c.by(func(all *schema.Registry) bool {
		err = all.CheckState(of, vars)
		return errors.Is(err, perdure.ErrIncapable)
	})
	return err
}

// MoveState implements perdure.StateChecker.
func (c *stateSchemas) MoveState(from, to perdure.Hash, vars map[string]perdure.Data) (
	out map[string]perdure.Data, err error) {
	c.by(func(all *schema.Registry) bool {
		out, err = all.MoveState(from, to, vars)
		return errors.Is(err, perdure.ErrIncapable)
	})
	return out, err
}

// Tell implements perdure.Teller.
func (c *stateSchemas) Tell(of perdure.Hash) (text perdure.Data) {
	c.by(func(all *schema.Registry) bool {
		text = all.Tell(of)
		return len(text) == 0
	})
	return text
}
