package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/store/sqlite"
)

// Memory as the folder of a Place is a store in memory.
const Memory = "mem:"

// Place is where a benchmark keeps its store: a new folder that is removed afterwards, never a store people use.
type Place struct {
	Folder string      // below which the new folder is made; empty: the one for temporary files; or Memory
	Sync   sqlite.Sync // what an acknowledged write survives

	Dir string // the new folder, while With runs; empty for a store in memory and on a server

	server  serverPlace // while With runs: the new store on a server
	durable string      // what the server says of it
}

// InMemory reports whether the store under test is in memory.
func (p *Place) InMemory() bool { return p.Folder == Memory }

// Check refuses what is not a folder.
func (p *Place) Check() error {
	switch {
	case p.OnServer():
		return p.checkServer()
	case !p.InMemory() && strings.Contains(p.Folder, ":"):
		return fmt.Errorf("--store %s: want mem:, postgres://USER@HOST/DATABASE, nats://HOST/NAME or a folder",
			p.Folder)
	}
	return nil
}

// With makes the folder, calls f and removes the folder.
func (p *Place) With(f func() error) error {
	if p.InMemory() {
		return f()
	}
	if p.OnServer() {
		return p.onServer(f)
	}
	dir, err := os.MkdirTemp(p.under(), "perdure-bench-")
	if err != nil {
		return err
	}
	p.Dir = dir
	return errors.Join(f(), os.RemoveAll(dir))
}

func (p *Place) under() string {
	if p.Folder == "" {
		return os.TempDir()
	}
	return p.Folder
}

// Open opens the store under test, under the name that a home has for it.
func (p *Place) Open(ctx context.Context) (perdure.Store, error) {
	if p.InMemory() {
		return new(perdure.MemStore), nil
	}
	if p.server != nil {
		s, survives, err := p.server.open(ctx)
		if err != nil {
			return nil, err
		}
		p.durable = "every acknowledged step survives " + survives
		return s, nil
	}
	return sqlite.Open(ctx, filepath.Join(p.Dir, "store.db"), sqlite.Options{Sync: p.Sync})
}

// Label fills in what was measured, and what is durable.
func (p *Place) Label(f *Figures) {
	if p.InMemory() {
		f.Store, f.Durable = "mem", "nothing: the store is in memory"
		return
	}
	if p.OnServer() {
		f.Store, f.Durable = p.server.kind(), p.durable
		return
	}
	f.Store, f.Durable = "sqlite", durability(p.Sync)
	if disk.InMemory(p.Dir) {
		f.Durable = "nothing: " + filepath.Dir(p.Dir) +
			" is a file system in memory (tmpfs), where a sync costs nothing; name a folder on a disk with --store"
	}
}

// durability says what an acknowledged step survives.
func durability(level sqlite.Sync) string {
	if level == sqlite.Normal {
		return "an acknowledged step is in SQLite's log, which is not synced (WAL, synchronous=NORMAL): it survives " +
			level.Survives()
	}
	return "every acknowledged step is synced to the disk (SQLite in WAL mode, synchronous=FULL): it survives kill " +
		"-9 and a power cut"
}
