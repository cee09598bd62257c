package dir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
)

// row is what the index knows of an agent. The last row of an agent counts.
type row struct {
	Agent perdure.AgentID `json:"agent"`

	// As read out of its file when that had this size and time.
	File     string           `json:"file,omitempty"`
	Size     int64            `json:"size,omitempty"`
	Mod      int64            `json:"mod,omitempty"`
	Heads    []perdure.Hash   `json:"heads,omitempty"`
	Earliest perdure.Time     `json:"earliest,omitempty"`
	First    *perdure.Listing `json:"first,omitempty"` // as genesis has it

	capsule.Lease

	Listing *perdure.Listing `json:"listing,omitempty"` // as folded by a node
	Listed  perdure.Hash     `json:"listed,omitzero"`   // the heads it was folded at, see headsHash
}

// journal is the index: rows that are appended to a file that all processes share. It is never synced: what is lost is
// found again in the files of the agents, but for claims, which save work and nothing else.
type journal struct {
	dir   string
	looks bool // nothing is written: what is new is remembered

	mu   sync.Mutex
	f    disk.File
	off  int64
	rows map[perdure.AgentID]row
}

const (
	journalName = "journal"
	lockName    = "lock"
	// compactAbove is the size above which a journal is written anew when most of it is out of date.
	compactAbove = 1 << 20
)

func openJournal(dir string, looks bool) (*journal, error) {
	j := &journal{dir: dir, looks: looks, rows: map[perdure.AgentID]row{}}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j, j.catchUp()
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return nil
	}
	f := j.f
	j.f = nil
	return f.Close()
}

// exclusive calls f while nobody else, in any process, changes the index or makes files. It comes before mu: whoever
// makes a file reads rows inside of it.
func (j *journal) exclusive(f func() error) error {
	if j.looks {
		return f()
	}
	lock, err := capsule.LockFile(filepath.Join(j.dir, lockName))
	if err != nil {
		return err
	}
	err = f()
	if cerr := lock.Close(); err == nil {
		err = cerr
	}
	return err
}

// catchUp reads what other processes have written.
func (j *journal) catchUp() error {
	path := filepath.Join(j.dir, journalName)
	there, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if j.f != nil {
		if here, err := j.f.Stat(); err == nil && there != nil && os.SameFile(here, there) && there.Size() >= j.off {
			if there.Size() == j.off {
				return nil
			}
			return j.readOn()
		}
		_ = j.f.Close()
		j.f = nil
	}
	if j.looks {
		if j.f, err = disk.OpenPlain(path, os.O_RDONLY, 0); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	} else if err = disk.MkdirAll(j.dir, folderMode(filepath.Dir(j.dir))); err == nil {
		j.f, err = disk.OpenPlain(path, os.O_RDWR|os.O_CREATE, disk.ModeIn(j.dir))
	}
	if err != nil {
		return err
	}
	j.off, j.rows = 0, map[perdure.AgentID]row{}
	return j.readOn()
}

// readOn reads whole lines from where it was left. A line that is none is passed over: it is only an index.
func (j *journal) readOn() error {
	b, err := io.ReadAll(io.NewSectionReader(j.f, j.off, 1<<40))
	if err != nil {
		return err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	j.off += int64(len(b))
	for line := range bytes.Lines(b) {
		var r row
		if json.Unmarshal(line, &r) == nil && !r.Agent.IsZero() {
			j.rows[r.Agent] = r
		}
	}
	return nil
}

// current are the rows, up to date.
func (j *journal) current() (map[perdure.AgentID]row, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.catchUp(); err != nil {
		return nil, err
	}
	out := make(map[perdure.AgentID]row, len(j.rows))
	for id, r := range j.rows {
		out[id] = r
	}
	return out, nil
}

// row is what the index knows of an agent, as of when it was last brought up to date.
func (j *journal) row(id perdure.AgentID) row {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rows[id]
}

// is reports whether a file is as it was when the row was read out of it.
func (r *row) is(now fs.FileInfo) bool {
	return r.Size == now.Size() && r.Mod == now.ModTime().UnixNano() && len(r.Heads) > 0
}

// byFile are the rows, up to date, by the name of the file they were read out of.
func (j *journal) byFile() (map[string]row, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.catchUp(); err != nil {
		return nil, err
	}
	out := make(map[string]row, len(j.rows))
	for _, r := range j.rows {
		if r.File != "" {
			out[r.File] = r
		}
	}
	return out, nil
}

// update changes the row of an agent, unless change returns an error.
func (j *journal) update(id perdure.AgentID, change func(*row) error) error {
	return j.exclusive(func() error {
		j.mu.Lock()
		defer j.mu.Unlock()
		if err := j.catchUp(); err != nil {
			return err
		}
		r := j.rows[id]
		r.Agent = id
		if err := change(&r); err != nil {
			return err
		}
		return j.write([]row{r})
	})
}

// note records what was read out of files.
func (j *journal) note(read []row) error {
	return j.exclusive(func() error {
		j.mu.Lock()
		defer j.mu.Unlock()
		if err := j.catchUp(); err != nil {
			return err
		}
		for i, r := range read {
			old := j.rows[r.Agent]
			old.Agent, old.File, old.Size, old.Mod, old.Heads, old.Earliest, old.First = r.Agent, r.File, r.Size, r.Mod,
				r.Heads, r.Earliest, r.First
			read[i] = old
		}
		return j.write(read)
	})
}

// write appends rows.
func (j *journal) write(rows []row) error {
	if j.looks {
		for _, r := range rows {
			j.rows[r.Agent] = r
		}
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	if _, err := j.f.WriteAt(b.Bytes(), j.off); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	for _, r := range rows {
		j.rows[r.Agent] = r
	}
	if j.off += int64(b.Len()); j.off > compactAbove && j.off > 2048*int64(len(j.rows)+1) {
		return j.compact()
	}
	return nil
}

// compact puts a journal of the rows that count in the place of the old one.
func (j *journal) compact() error {
	f, err := disk.CreateTemp(j.dir, journalName+".*.tmp")
	if err != nil {
		return err
	}
	if err := f.Chmod(disk.ModeIn(j.dir)); err != nil {
		return errors.Join(err, f.Close(), disk.Remove(f.Name()))
	}
	enc := json.NewEncoder(f)
	for _, r := range j.rows {
		if err = enc.Encode(r); err != nil {
			break
		}
	}
	if err == nil {
		err = disk.Rename(f.Name(), filepath.Join(j.dir, journalName))
	}
	if err != nil {
		_ = f.Close()
		_ = disk.Remove(f.Name())
		return err
	}
	_ = j.f.Close()
	j.f = f
	j.off, err = f.Seek(0, io.SeekEnd)
	return err
}

// forget empties the index, but for who holds which agent.
func (j *journal) forget() error {
	return j.exclusive(func() error {
		j.mu.Lock()
		defer j.mu.Unlock()
		if err := j.catchUp(); err != nil {
			return err
		}
		for id, r := range j.rows {
			j.rows[id] = row{Agent: id, Lease: capsule.Lease{Node: r.Node, Fence: r.Fence, Until: r.Until}}
		}
		if j.looks {
			return errLooks
		}
		return j.compact()
	})
}
