package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
)

// file is a capsule file in the folder, as last looked at.
type file struct {
	agent perdure.AgentID
	info  fs.FileInfo // nil: not looked at yet
	fault error       // why it is left alone, until it changes
}

// changed reports whether the file is another one now, or has been written to.
func (f *file) changed(now fs.FileInfo) bool {
	return f.info == nil || f.info.Size() != now.Size() || !f.info.ModTime().Equal(now.ModTime()) ||
		!os.SameFile(f.info, now)
}

// agent is an agent in the folder.
type agent struct {
	main  string      // the name of its file
	seen  fs.FileInfo // of the file, when what follows was read out of it; nil: never
	heads []perdure.Hash
	due   perdure.Time     // the earliest of the heads
	first *perdure.Listing // as genesis has it
}

// list names the capsule files in the folder.
func (s *Store) list() (map[string]fs.FileInfo, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	out := make(map[string]fs.FileInfo, len(entries))
	for _, d := range entries {
		name := d.Name()
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, capsule.Ext) || !d.Type().IsRegular() {
			continue
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		out[name] = info
	}
	return out, nil
}

// look finds out which files have come, gone and changed, and merges the copies of an agent into one. The caller holds
// mu.
func (s *Store) look() error {
	now, err := s.list()
	if err != nil {
		return err
	}
	var known map[string]row // what the index says of files, once there is one to ask about
	for name, f := range s.files {
		if now[name] == nil {
			delete(s.files, name)
			if !s.looks {
				_ = capsule.DropIndex(s.rowsOf(name)) // it is only an index
			}
			if a := s.agents[f.agent]; a != nil && a.main == name {
				delete(s.agents, f.agent)
			}
		}
	}
	names := make([]string, 0, len(now))
	for name := range now {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := s.files[name]
		if f != nil && !f.changed(now[name]) {
			continue
		}
		if f == nil && known == nil {
			if known, err = s.journal.byFile(); err != nil {
				return err
			}
		}
		if r, ok := known[name]; ok && f == nil && r.is(now[name]) {
			f = &file{agent: r.Agent} // whoever opens it looks whose it is
			s.files[name] = f
		} else if f == nil || f.fault != nil {
			f = s.meet(name)
			s.files[name] = f
		}
		f.info = now[name]
	}
	for _, name := range names {
		if f := s.files[name]; f.fault == nil && s.agents[f.agent] == nil {
			s.agents[f.agent] = &agent{main: name}
		}
	}
	for _, name := range names {
		f := s.files[name]
		if f.fault != nil || s.agents[f.agent].main == name {
			continue
		}
		other, err := s.choose(name, f)
		if err == nil && !s.looks {
			err = s.merge(other, f)
		}
		if err != nil {
			s.files[other].fault = err
		}
	}
	return nil
}

// meet finds out whose file it is.
func (s *Store) meet(name string) *file {
	l, err := s.openLog(name)
	if err != nil {
		return &file{fault: err}
	}
	f := &file{agent: l.Agent()}
	if l.Len() == 0 {
		f.fault = errors.New("it ends before its first entries are complete: it is being copied, or was cut short")
	}
	_ = l.Keep() // it is only an index
	if err := l.Close(); err != nil {
		f.fault = err
	}
	return f
}

// choose decides which of two copies of an agent is the one to keep, and returns the other: one that counts, else the
// one with the proper name. It returns an error if the other has entries that may not join the one to keep.
func (s *Store) choose(name string, f *file) (other string, err error) {
	main := s.agents[f.agent]
	proper := func(name string) bool { return strings.HasSuffix(name, "-"+f.agent.Short()+capsule.Ext) }
	keep, other := main.main, name
	if proper(other) && !proper(keep) {
		keep, other = other, keep
	}
	if s.depth(other).Kind < s.depth(keep).Kind { // the one that has more of the past
		keep, other = other, keep
	}
	if s.trust != nil {
		if !s.counts(keep) && s.counts(other) {
			keep, other = other, keep
		}
		err = s.enters(keep, other)
	}
	if main.main != keep {
		main.main, main.seen = keep, nil
	}
	return other, err
}

// depth is how much of its agent a file holds.
func (s *Store) depth(name string) perdure.Depth {
	l, err := s.openLog(name)
	if err != nil {
		return perdure.Last(0)
	}
	defer func() { _ = l.Close() }() // it was only read
	d, err := l.Depth(s.trust)
	if err != nil {
		return perdure.Last(0)
	}
	return d
}

// counts reports whether the agent in a file counts.
func (s *Store) counts(name string) bool {
	l, err := s.openLog(name)
	if err != nil {
		return false
	}
	defer func() { _ = l.Close() }() // it was only read
	a, err := s.trust.Fold(memoryOf(l))
	return err == nil && s.trust.Counts(a) == nil
}

// enters refuses entries of a copy of an agent that may not join the one to keep, if that counts.
func (s *Store) enters(keep, other string) error {
	if !s.counts(keep) {
		return nil
	}
	to, err := s.openLog(keep)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	from, err := s.openLog(other)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	here, err := s.trust.Fold(memoryOf(to))
	if err != nil {
		return err
	}
	if err := s.trust.Joins(here, memoryOf(to), memoryOf(from), to.Has); err != nil {
		return fmt.Errorf("it would bring entries that do not count here: %w", err)
	}
	return nil
}

// memoryOf is the entries of a file.
func memoryOf(l *capsule.Log) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for item, err := range capsule.Pages(0, func(at perdure.Cursor, n int) ([]perdure.Item, error) {
			return l.Read(at, n)
		}) {
			if !yield(item.Entry, err) {
				return
			}
		}
	}
}

// merge adds what another copy of an agent holds to its file, all or nothing, and removes the copy: then all of it is
// in one place. A copy that does not verify, or that would keep the agent from being folded, is left alone.
func (s *Store) merge(name string, f *file) error {
	main := s.agents[f.agent]
	other, err := capsule.OpenLog(s.path(name))
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }()
	depth, err := other.Depth(s.trust)
	if err != nil {
		return err
	}
	memory := memoryOf(other)
	if _, err := perdure.Verify(memory, perdure.VerifyOptions{Depth: depth}); err != nil {
		return err
	}
	h, err := s.opened(f.agent, main)
	if err != nil {
		return err
	}
	defer s.done(f.agent, h)
	if err := h.Lock(); err != nil {
		return err
	}
	defer h.Unlock()
	if err := s.mergeable(main.main, memory); err != nil {
		return err
	}
	if err := addAll(h.Log, depth, memory); err != nil {
		return err
	}
	if err := disk.Remove(s.path(name)); err != nil {
		return err
	}
	delete(s.files, name)
	return nil
}

// mergeable refuses entries that would keep the agent in a file from being folded.
func (s *Store) mergeable(name string, memory iter.Seq2[*perdure.Entry, error]) error {
	l, err := s.openLog(name) // one that is locked for writing is not read from
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // it was only read
	return perdure.Mergeable(memoryOf(l), memory)
}

// atOnce is how many bytes of bodies are added to a file as they are; with more, a new file takes the place of the old
// one. Tests make it less.
var atOnce = 8 << 20

// addAll adds the entries of a copy of a depth that a file lacks, all or nothing.
func addAll(l *capsule.Log, depth perdure.Depth, memory iter.Seq2[*perdure.Entry, error]) error {
	var batch []*perdure.Entry
	size := 0
	for e, err := range memory {
		if err != nil {
			return err
		}
		if l.Has(e.Name) {
			continue
		}
		if e.BodyBytes() == nil && depth == perdure.Headers {
			return errors.New("it has entries without their bodies that the other copy lacks: import a copy of depth " +
				"full")
		}
		if size += len(e.BodyBytes()); size <= atOnce {
			batch = append(batch, e)
		} else {
			batch = nil // they are read again
		}
	}
	if size > atOnce {
		return l.AddAll(memory)
	}
	_, err := l.Add(batch...)
	return err
}

// Faults says which files are left alone and why: no capsule, changed, of a newer version, copies that do not verify.
func (s *Store) Faults() map[string]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]error{}
	if err := s.look(); err != nil {
		out[s.dir] = err
	}
	for name, f := range s.files {
		if f.fault != nil {
			out[name] = fmt.Errorf("%s: %w", name, f.fault)
		}
	}
	return out
}

// Apart reports whether an agent lies in several files that could be joined. Of these a folder that is only looked at
// shows one.
func (s *Store) Apart() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.look(); err != nil {
		return false, err
	}
	for name, f := range s.files {
		if f.fault == nil && s.agents[f.agent].main != name {
			return true, nil
		}
	}
	return false, nil
}

// survey looks at the folder and reads what has changed of every agent. The caller holds mu.
func (s *Store) survey(rows map[perdure.AgentID]row) error {
	if err := s.look(); err != nil {
		return err
	}
	var read []row
	for id, a := range s.agents {
		f := s.files[a.main]
		if f == nil || f.info == nil || a.seen != nil && !(&file{info: a.seen}).changed(f.info) {
			continue
		}
		if r, ok := rows[id]; ok && a.seen == nil && r.File == a.main && r.is(f.info) {
			a.seen, a.heads, a.due, a.first = f.info, r.Heads, r.Earliest, r.First
			continue
		}
		if err := s.read(id, a); err != nil {
			f.fault = err
			continue
		}
		a.seen = f.info
		read = append(read, a.row(id, f.info))
	}
	if len(read) == 0 {
		return nil
	}
	return s.journal.note(read)
}

// row is what the index keeps of an agent whose file is as it was read.
func (a *agent) row(id perdure.AgentID, info fs.FileInfo) row {
	return row{Agent: id, File: a.main, Size: info.Size(), Mod: info.ModTime().UnixNano(), Heads: a.heads,
		Earliest: a.due, First: a.first}
}

// read reads what the indexes need out of the file of an agent. The caller holds mu.
func (s *Store) read(id perdure.AgentID, a *agent) error {
	h, err := s.opened(id, a)
	if err != nil {
		return err
	}
	defer s.done(id, h)
	if err := h.Refresh(); err != nil {
		return err
	}
	_ = h.Keep() // it is only an index
	a.heads, a.due = h.Heads(), h.Due()
	if a.first != nil {
		return nil
	}
	items, err := h.Read(0, 1)
	if err != nil || len(items) == 0 || items[0].Content() == nil {
		return err
	}
	l, err := capsule.First(items[0].Entry)
	if err == nil {
		a.first = &l
	}
	return err
}
