package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// position is how far a destination has been told, in a file of the home. It is not in memory: an agent's memory does
// not depend on who reads it.
type position struct {
	Feed perdure.Hash   `json:"feed"`           // whose position it is
	At   perdure.Cursor `json:"at"`             // everything up to here has been sent, or given up
	Last perdure.Time   `json:"last,omitempty"` // of the entry there
	// Since is from when on what happened is sent, in a feed that was begun anew and has not been read to its end yet;
	// zero: all of it.
	Since perdure.Time `json:"since,omitempty"`

	Once []string `json:"once,omitempty"` // ids of what is sent only once
	Sent int64    `json:"sent"`           // so far
	// Fault is why the next event has not been taken yet; empty: it was, or nobody has tried.
	Fault string `json:"fault,omitempty"`
}

// from is the position of a destination that is new: what was before now is not told, in a feed that is begun anew
// either.
func from(feed perdure.Hash, end perdure.Cursor) position {
	return position{Feed: feed, At: end, Last: perdure.TimeOf(time.Now())}
}

const (
	// maxOnce bounds the ids that are remembered.
	maxOnce = 4096
	// maxDead bounds the events that were given up and are kept. Of more, the oldest go.
	maxDead = 256
	// maxFile bounds what is read of a file of these.
	maxFile = 64 << 20
)

// Letter is an event that was given up.
type Letter struct {
	Event Event        `json:"event"`
	At    perdure.Time `json:"at"` // when it was given up
	Tries int          `json:"tries"`
	Why   string       `json:"why"`
}

// letters are the events of a destination that were given up.
type letters struct {
	Letters []Letter `json:"letters,omitempty"`
	Dropped int64    `json:"dropped,omitempty"` // how many more there were

	Sent int64        `json:"sent,omitempty"` // how many were taken after all
	Last perdure.Time `json:"last,omitempty"` // when
}

// files are those of a destination in a folder.
type files struct{ dir, name string }

func (f files) path(what string) string { return filepath.Join(f.dir, f.name+"."+what) }

// position reads how far the destination has been told; false: it never was.
func (f files) position() (p position, found bool, err error) {
	found, err = read(f.path("json"), &p)
	return p, found, err
}

func (f files) keep(p position) error { return write(f.path("json"), p) }

// locked calls g while no other process does with the same file.
func (f files) locked(what string, g func() error) error {
	lock, err := f.lock(what, true)
	if err != nil {
		return err
	}
	return errors.Join(g(), lock.Close())
}

// errHeld says that another process has a lock.
var errHeld = errors.New("another process tells this destination")

// lock takes a lock that the end of the process gives back, however it ends.
func (f files) lock(what string, wait bool) (disk.File, error) {
	if err := disk.MkdirAll(f.dir, 0o700); err != nil {
		return nil, err
	}
	file, err := disk.OpenFile(f.path(what), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(file, wait); err != nil {
		_ = file.Close()
		if !wait {
			err = errHeld
		}
		return nil, err
	}
	return file, nil
}

// bury keeps an event that was given up.
func (f files) bury(l Letter) error {
	return f.locked("dead.lock", func() error {
		all, err := f.dead()
		if err != nil {
			return err
		}
		all.Letters = slices.DeleteFunc(all.Letters, func(o Letter) bool { return o.Event.ID == l.Event.ID })
		if all.Letters = append(all.Letters, l); len(all.Letters) > maxDead {
			all.Dropped += int64(len(all.Letters) - maxDead)
			all.Letters = slices.Delete(all.Letters, 0, len(all.Letters)-maxDead)
		}
		return write(f.path("dead.json"), all)
	})
}

// raise removes events that have been sent after all.
func (f files) raise(ids map[string]bool) error {
	if len(ids) == 0 {
		return nil
	}
	return f.locked("dead.lock", func() error {
		all, err := f.dead()
		if err != nil {
			return err
		}
		before := len(all.Letters)
		all.Letters = slices.DeleteFunc(all.Letters, func(o Letter) bool { return ids[o.Event.ID] })
		all.Sent, all.Last = all.Sent+int64(before-len(all.Letters)), perdure.TimeOf(time.Now())
		return write(f.path("dead.json"), all)
	})
}

func (f files) dead() (all letters, err error) {
	_, err = read(f.path("dead.json"), &all)
	return all, err
}

// read reads a file as JSON; false: there is none.
func read(path string, into any) (bool, error) {
	b, err := disk.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// write puts a value in the place of a file, durably and at once.
func write(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := disk.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = disk.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, disk.Remove(f.Name()))
	}
	return disk.Sync(filepath.Dir(path))
}
