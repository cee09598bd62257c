package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Witness is a perdure.Witness in a file of its own, beside a store or far from it. Several processes may use one at
// once. It is not synced: a power cut may lose what it saw last, and then it notices less. What it has written is in
// the file itself, so that nothing depends on a log that lies beside it.
type Witness struct {
	// Own reports whether the store that was noted is the one of whoever asks. Nil: if its name is the same.
	Own func(noted string) bool

	mu    sync.Mutex
	c     *conn
	store string             // where agents are seen
	fresh map[about]Sighting // not written yet
	kept  map[about]Sighting // as the file has them, while no other connection writes to it
	as    int64              // the version of the file that kept is of
	timer *time.Timer
	looks bool      // it is only asked
	eager bool      // it is told what nothing else knows
	shut  bool      // it is closed
	err   error     // that kept the last of it from being written
	tried time.Time // when that was
	path  string
	lost  error // why it cannot even be asked
	blind bool  // it could not be written: it is opened again before the next try
}

// Sighting is how far a memory had come when it was seen last.
type Sighting struct {
	perdure.Sighting
	Agent perdure.AgentID
	Store string // where; empty: it was not noted
}

// about is what a row is about: an agent, or a copy of it whose seat is elsewhere.
type about struct {
	perdure.AgentID
	copied bool
}

// table is where such rows are.
func (a about) table() string {
	if a.copied {
		return "copies"
	}
	return "seen"
}

var _ perdure.Witness = (*Witness)(nil)

// witnessEvery is how long sightings wait to be written together: so many steps of one agent cost one row.
const witnessEvery = 50 * time.Millisecond

// witnessTrust is how long a witness that could write is believed to be able to.
const witnessTrust = time.Second

// Seen implements perdure.Witness.
func (w *Witness) Seen(_ context.Context, id perdure.AgentID) (perdure.Sighting, error) {
	s, err := w.Sighting(id)
	return s.Sighting, err
}

// Sighting is Seen, and where.
func (w *Witness) Sighting(id perdure.AgentID) (Sighting, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.sighting(about{id, false})
	if err != nil {
		return s, err
	}
	c, err := w.sighting(about{id, true})
	return s.or(c), err
}

// or is a sighting, or that of a copy in the same store, if it came further: it had all that had been seen before.
func (s Sighting) or(c Sighting) Sighting {
	if len(c.Heads) == 0 || c.Elsewhere || len(s.Heads) > 0 && s.Seq >= c.Seq {
		return s
	}
	c.Copy, c.Given = true, s.Given
	return c
}

// sighting is what was seen of one thing. The caller holds the lock.
func (w *Witness) sighting(of about) (Sighting, error) {
	if s, ok := w.fresh[of]; ok {
		return s, nil
	}
	current := w.current()
	if s, ok := w.kept[of]; ok && current {
		return s, nil
	}
	var out Sighting
	err := w.rows(of, " WHERE agent = ?", func(s Sighting) { out = s }, of.AgentID[:])
	if err != nil {
		return out, fmt.Errorf("ask the witness about agent %s: %w", of.Short(), w.failed(err))
	}
	if current {
		w.keep(of, out)
	}
	return out, nil
}

// maxKept bounds what is kept of the file, at about 200 bytes each.
const maxKept = 1 << 14

// current forgets what is kept if another connection has written to the file since, and reports whether what is read
// now may be kept: the file was opened to be written, and can be asked. To ask for its version costs a fraction of what
// a row does. The caller holds the lock.
func (w *Witness) current() bool {
	if w.looks || w.shut || w.blind || w.c == nil {
		clear(w.kept)
		return false
	}
	version, found, err := w.c.number("PRAGMA data_version")
	if err != nil || !found || version != w.as {
		clear(w.kept)
		w.as = version
	}
	return err == nil && found
}

// keep notes what the file has of one thing. The caller holds the lock.
func (w *Witness) keep(of about, s Sighting) {
	if w.kept == nil || len(w.kept) >= maxKept {
		w.kept = map[about]Sighting{}
	}
	w.kept[of] = s
}

// Sightings yields all that was seen, also what is not written yet. After an error it yields nothing more: what else
// was seen is not known.
func (w *Witness) Sightings() iter.Seq2[Sighting, error] {
	return func(yield func(Sighting, error) bool) {
		all, err := w.sightings()
		if err != nil {
			yield(Sighting{}, err)
			return
		}
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (w *Witness) sightings() (map[perdure.AgentID]Sighting, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, copies := map[perdure.AgentID]Sighting{}, map[perdure.AgentID]Sighting{}
	for copied, found := range map[bool]map[perdure.AgentID]Sighting{false: all, true: copies} {
		if err := w.rows(about{copied: copied}, "", func(s Sighting) { found[s.Agent] = s }); err != nil {
			return nil, fmt.Errorf("ask the witness about all agents: %w", w.failed(err))
		}
		for of, s := range w.fresh {
			if of.copied == copied && s.Seq >= found[of.AgentID].Seq {
				found[of.AgentID] = s
			}
		}
	}
	for id, c := range copies {
		if s := all[id].or(c); len(s.Heads) > 0 {
			all[id] = s
		}
	}
	return all, nil
}

// failed notes an error, which Fault says until the file was opened again and can be written. The caller holds the
// lock.
func (w *Witness) failed(err error) error {
	if err != nil {
		w.err, w.blind, w.tried = err, true, time.Now()
	}
	return err
}

// errShut says that a witness notes nothing.
var errShut = errors.New("it is closed, or was opened to be asked only: what is seen is not noted")

// rows reads what is written, and refuses rows that cannot have been written so: one that is taken for less than was
// seen would let an older copy do again what was done. The caller holds the lock.
func (w *Witness) rows(of about, where string, f func(Sighting), args ...driver.Value) error {
	for w.looks && !w.shut {
		if err := w.lookAgain(); err != nil {
			return err
		}
		var all []Sighting
		err := w.read(of, where, func(s Sighting) { all = append(all, s) }, args...)
		if w.c != nil && w.c.stale() { // what was read may be of two states of the file
			continue
		}
		for _, s := range all {
			f(s)
		}
		return err
	}
	return w.read(of, where, f, args...)
}

// read is rows of the file as it was opened.
func (w *Witness) read(of about, where string, f func(Sighting), args ...driver.Value) error {
	switch {
	case w.shut:
		return errShut
	case w.c == nil:
		return w.lost
	}
	each := func(v []driver.Value) error {
		s, ok := sighting(v)
		if !ok {
			return errForgot
		}
		s.Elsewhere = !w.own(s.Store)
		f(s)
		return nil
	}
	var err error
	for _, columns := range []string{"at, store, given", "at, store, NULL", "NULL, NULL, NULL"} {
		err = w.c.query("SELECT agent, seq, heads, "+columns+" FROM "+of.table()+where, each, args...)
		if err == nil || !strings.Contains(err.Error(), "no such column") {
			break // else it is of an earlier version, and only looked at
		}
	}
	if err != nil && of.copied && w.looks && strings.Contains(err.Error(), "no such table") {
		return nil // it is of an earlier version
	}
	if err != nil && (forgot(err) || strings.Contains(err.Error(), "no such table")) {
		err = witnessError(w.path, fmt.Errorf("%w: %w", errForgot, err))
	}
	return err
}

// own reports whether a store that was noted is the one that is asked about.
func (w *Witness) own(noted string) bool {
	if w.Own != nil {
		return w.Own(noted)
	}
	return noted == w.store
}

// sighting reads a row; false if it is none that was written.
func sighting(v []driver.Value) (s Sighting, ok bool) {
	id, isID := v[0].([]byte)
	seq, isSeq := v[1].(int64)
	packed, isPacked := v[2].([]byte)
	if !isID || len(id) != hashSize || !isSeq || seq < 0 || !isPacked || len(packed) == 0 ||
		len(packed)%hashSize != 0 {
		return s, false
	}
	s = Sighting{Agent: perdure.AgentID(id), Sighting: perdure.Sighting{Seq: seq,
		Heads: make([]perdure.Hash, len(packed)/hashSize), At: perdure.Time(integer(v[3])), Given: integer(v[5]) != 0}}
	s.Store, _ = v[4].(string)
	for i := range s.Heads {
		copy(s.Heads[i][:], packed[i*hashSize:])
	}
	return s, true
}

// See remembers how far an agent has come, unless more was seen of it before. They are written a moment later, or by
// Close; of an eager witness at once.
func (w *Witness) See(id perdure.AgentID, s perdure.Sighting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := about{id, s.Copy}
	if w.looks || w.shut || w.fresh[of].Seq > s.Seq {
		return
	}
	s.Heads, s.At = slices.Clone(s.Heads), perdure.TimeOf(time.Now())
	w.fresh[of] = Sighting{s, id, w.store}
	if w.eager && !w.blind {
		w.sync()
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(witnessEvery, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.write()
		})
	}
}

// Sync implements perdure.Witness. A power cut may still lose what it writes.
func (w *Witness) Sync() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.fresh) > 0 && !w.blind {
		w.sync()
	}
}

// sync writes what is fresh now instead of later. The caller holds the lock.
func (w *Witness) sync() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.write()
}

// Eager has sightings written as they are told, so that a process that is killed loses none of them: where an agent
// is run in a file, nothing but the witness knows in its home how far it has come.
func (w *Witness) Eager() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eager = true
}

// write writes what is fresh. The caller holds the lock.
func (w *Witness) write() {
	w.timer = nil
	if w.looks || w.shut || len(w.fresh) == 0 && !w.blind {
		return
	}
	w.tried = time.Now()
	if w.blind && !w.regain() || len(w.fresh) == 0 {
		return
	}
	err := w.c.exec("BEGIN IMMEDIATE")
	if err == nil {
		w.current() // from here on nobody else writes
	}
	for of, s := range w.fresh {
		if err != nil {
			break
		}
		packed := make([]byte, 0, len(s.Heads)*hashSize)
		for _, h := range s.Heads {
			packed = append(packed, h[:]...)
		}
		err = w.c.exec("INSERT INTO "+of.table()+"(agent, seq, heads, at, store, given) VALUES (?, ?, ?, ?, ?, ?) "+
			"ON CONFLICT DO UPDATE SET seq = excluded.seq, heads = excluded.heads, at = excluded.at, "+
			"store = excluded.store, given = excluded.given WHERE excluded.seq >= "+of.table()+".seq", of.AgentID[:],
			s.Seq, packed, int64(s.At), s.Store, s.Given)
	}
	if err == nil {
		err = w.c.exec("COMMIT")
	} else {
		_ = w.c.exec("ROLLBACK") // there may be no transaction
	}
	if w.failed(err) == nil { // SQLite opens what it cannot write as read-only, and then goes on so
		w.err, w.blind = nil, false
		for of, s := range w.fresh { // of one that is not kept, the file may have had more
			if was, ok := w.kept[of]; ok && s.Seq >= was.Seq {
				w.kept[of] = s
			}
		}
		clear(w.fresh)
		_, _, _ = w.c.number("PRAGMA wal_checkpoint(PASSIVE)") // the next one does what this one could not
	}
}

// regain opens the file of a blind witness to write to it, or else to look, and reports whether it can be written. What
// was open is closed first: connections of a process share what SQLite found out about the file. The caller holds the
// lock.
func (w *Witness) regain() bool {
	if w.c != nil {
		_ = w.c.close() // nothing was written
	}
	clear(w.kept) // the versions of two connections say nothing about each other
	w.lost = nil
	if w.c, w.err = writeWitness(w.path); w.err == nil {
		w.blind = false
		return true
	}
	look, err := LookWitness(w.path)
	if w.lost = err; err == nil {
		w.c = look.c
	}
	return false
}

// Fault says why sightings cannot be written, or could not be read; nil: they can, as far as was tried within the last
// second.
func (w *Witness) Fault() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looks || w.shut {
		return errShut
	}
	if (w.blind || len(w.fresh) > 0) && time.Since(w.tried) > witnessTrust {
		if w.timer != nil {
			w.timer.Stop()
		}
		w.write()
	}
	return w.err
}

// Forget forgets what was seen of an agent.
func (w *Witness) Forget(id perdure.AgentID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forget(about{id, false}, about{id, true})
}

// ForgetCopy forgets what was seen of a copy of an agent whose seat was elsewhere, and nothing else.
func (w *Witness) ForgetCopy(id perdure.AgentID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forget(about{id, true})
}

// forget forgets what was seen of things. The caller holds the lock.
func (w *Witness) forget(all ...about) (err error) {
	for _, of := range all {
		delete(w.fresh, of)
		delete(w.kept, of)
		switch {
		case w.looks || w.shut:
			return errShut
		case w.blind:
			return w.err
		}
		err = errors.Join(err, w.c.exec("DELETE FROM "+of.table()+" WHERE agent = ?", of.AgentID[:]))
	}
	return w.failed(err)
}

// Unplace forgets where an agent was seen, so that nobody misses it there. How far it had come stays: an older copy of
// it is noticed still.
func (w *Witness) Unplace(id perdure.AgentID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := about{id, false}
	if s, ok := w.fresh[of]; ok {
		s.Store = ""
		w.fresh[of] = s
	}
	delete(w.kept, of)
	if err := w.forget(about{id, true}); err != nil {
		return err
	}
	return w.failed(w.c.exec("UPDATE seen SET store = NULL WHERE agent = ?", id[:]))
}

// Close writes what is fresh and closes the file.
func (w *Witness) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.write()
	err := w.err
	if w.c != nil {
		err = errors.Join(err, w.c.close())
	}
	w.c, w.shut, w.err = nil, true, nil
	return err
}
