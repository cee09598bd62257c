package home

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/internal/sidedb"
	"github.com/perdure/perdure/view"
)

// dealingsFile is what a home knows of other places: how far it has come with each, and what they have acknowledged.
// Nothing an agent does depends on it: without it agents are compared anew, and the private notes of roles stay until
// somebody passes them on again.
const dealingsFile = "exchange.db"

// Dealings is that file, in use.
type Dealings struct{ db *sql.DB }

// OpenDealings opens what this home knows of other places. A home in memory forgets it.
func (h *Home) OpenDealings(ctx context.Context) (*Dealings, error) {
	path := ""
	if h.Dir != "" {
		path = filepath.Join(h.Dir, dealingsFile)
		if err := ownFile(path); err != nil {
			return nil, fmt.Errorf("open %s: %w", dealingsFile, err)
		}
	}
	db, err := sidedb.Open(ctx, path, "synchronous(NORMAL)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dealingsFile, err)
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, `
CREATE TABLE IF NOT EXISTS receipts (agent TEXT NOT NULL, peer TEXT NOT NULL, at INTEGER NOT NULL,
	receipt TEXT NOT NULL, PRIMARY KEY (agent, peer)) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS peers (peer TEXT PRIMARY KEY, theirs TEXT NOT NULL, ours TEXT NOT NULL,
	standing TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS owed (peer TEXT NOT NULL, agent TEXT NOT NULL, why TEXT NOT NULL, tries INTEGER NOT NULL,
	next INTEGER NOT NULL, PRIMARY KEY (peer, agent)) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS pulled (agent TEXT PRIMARY KEY, peer TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE IF NOT EXISTS shared (agent TEXT NOT NULL, place TEXT NOT NULL, PRIMARY KEY (agent, place))
	WITHOUT ROWID, STRICT;`)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", dealingsFile, err), db.Close())
	}
	return &Dealings{db}, nil
}

// ownFile makes a file for the owner alone where there is none, and takes it from others where they could read it.
func ownFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	return errors.Join(err, f.Close())
}

// lookDealings opens them only if they are there; nil: they are not.
func (h *Home) lookDealings(ctx context.Context) (*Dealings, error) {
	if h.Dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(h.Dir, dealingsFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return h.OpenDealings(ctx)
}

// Close ends the use of it.
func (d *Dealings) Close() error { return d.db.Close() }

// Keep keeps what a peer has acknowledged of an agent, in the place of what it acknowledged before.
func (d *Dealings) Keep(ctx context.Context, peer string, r *exchange.Receipt) error {
	text, err := json.Marshal(r)
	if err == nil {
		_, err = d.db.ExecContext(ctx, "INSERT OR REPLACE INTO receipts (agent, peer, at, receipt) VALUES (?, ?, ?, ?)",
			r.Agent.String(), peer, r.Time.UnixMilli(), string(text))
	}
	if err != nil {
		return fmt.Errorf("keep the receipt of %s: %w", peer, err)
	}
	return nil
}

// came notes that an agent was pulled from a place because something is to be told to it: that goes back there.
func (d *Dealings) came(ctx context.Context, id perdure.AgentID, place string) error {
	_, err := d.db.ExecContext(ctx, "INSERT OR REPLACE INTO pulled (agent, peer) VALUES (?, ?)", id.String(), place)
	if err != nil {
		return fmt.Errorf("keep where agent %s came from: %w", id.Short(), err)
	}
	return nil
}

// cameFrom is the place that an agent was pulled from; none: it was not. Where an older version noted it, it is a name
// of a peer, and no place.
func (d *Dealings) cameFrom(ctx context.Context, id perdure.AgentID) (place string, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT peer FROM pulled WHERE agent = ?", id.String()).Scan(&place)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read where agent %s came from: %w", id.Short(), err)
	}
	return place, nil
}

// share notes that somebody passed the private notes of a role to a place, or from it, by name: from then on what is
// new goes there by itself.
func (d *Dealings) share(ctx context.Context, place string, id perdure.AgentID) error {
	_, err := d.db.ExecContext(ctx, "INSERT OR IGNORE INTO shared (agent, place) VALUES (?, ?)", id.String(), place)
	if err != nil {
		return fmt.Errorf("keep that agent %s was passed on: %w", id.Short(), err)
	}
	return nil
}

// shared reports whether somebody has done so.
func (d *Dealings) shared(ctx context.Context, place string, id perdure.AgentID) (bool, error) {
	n := 0
	err := d.db.QueryRowContext(ctx, "SELECT count(*) FROM shared WHERE agent = ? AND place = ?", id.String(), place).
		Scan(&n)
	if err != nil {
		return false, fmt.Errorf("read where agent %s was passed to: %w", id.Short(), err)
	}
	return n > 0, nil
}

// Receipts are what peers have acknowledged last of an agent, by their names.
func (d *Dealings) Receipts(ctx context.Context, id perdure.AgentID) (all map[string]*exchange.Receipt, err error) {
	rows, err := d.db.QueryContext(ctx, "SELECT peer, receipt FROM receipts WHERE agent = ?", id.String())
	if err != nil {
		return nil, fmt.Errorf("read receipts: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	all = map[string]*exchange.Receipt{}
	for rows.Next() {
		var peer, text string
		if err := rows.Scan(&peer, &text); err != nil {
			return nil, fmt.Errorf("read receipts: %w", err)
		}
		r := new(exchange.Receipt)
		if json.Unmarshal([]byte(text), r) == nil && (r.Key.IsZero() || r.Check(id) == nil) {
			all[peer] = r
		}
	}
	return all, rows.Err()
}

// Standing is how it stands with a peer.
type Standing struct {
	Tried    perdure.Time `json:"tried,omitzero"` // the last time it was talked to
	Met      perdure.Time `json:"met,omitzero"`   // the last time that went well
	Fault    string       `json:"fault,omitempty"`
	Failures int          `json:"failures,omitempty"` // in a row
	About    *About       `json:"about,omitempty"`    // what it said of itself last

	theirs, ours string // how far what arrives there and here has been dealt with
	with         string // where it was then, and which store it had
}

// keptStanding is a Standing as the file has it.
type keptStanding struct {
	*Standing
	With string `json:"with,omitempty"`
}

// standing is how it stands with a peer; of one never met, nothing.
func (d *Dealings) standing(ctx context.Context, peer string) (*Standing, error) {
	s, text := new(Standing), ""
	err := d.db.QueryRowContext(ctx, "SELECT theirs, ours, standing FROM peers WHERE peer = ?", peer).
		Scan(&s.theirs, &s.ours, &text)
	if errors.Is(err, sql.ErrNoRows) {
		return s, nil
	}
	kept := keptStanding{Standing: s}
	if err == nil {
		err = json.Unmarshal([]byte(text), &kept)
	}
	if s.with = kept.With; err != nil {
		return s, fmt.Errorf("read how it stands with %s: %w", peer, err)
	}
	return s, nil
}

// note keeps how it stands with a peer.
func (d *Dealings) note(ctx context.Context, peer string, s *Standing) error {
	text, err := json.Marshal(keptStanding{s, s.with})
	if err == nil {
		_, err = d.db.ExecContext(ctx,
			"INSERT OR REPLACE INTO peers (peer, theirs, ours, standing) VALUES (?, ?, ?, ?)",
			peer, s.theirs, s.ours, string(text))
	}
	if err != nil {
		return fmt.Errorf("keep how it stands with %s: %w", peer, err)
	}
	return nil
}

const (
	// maxRefused bounds the agents of one peer that are tried again: a hostile one may name as many as it likes.
	maxRefused = 1 << 16
	// maxWhy bounds what is kept of why, which a server may say.
	maxWhy = 600
)

// Owed is an agent that is still to be passed to or from a peer.
type Owed struct {
	Agent perdure.AgentID `json:"agent"`
	Why   string          `json:"why,omitempty"` // it was not, the last time; empty: it was not tried
	Tries int             `json:"tries,omitempty"`
	Next  perdure.Time    `json:"next,omitzero"`
}

const (
	// patientTries is how many times an agent fails to pass before what happens to it does not have it tried at once
	// any more, but changedWait later at the latest: one that changes all the time would be tried all the time.
	patientTries = 5
	changedWait  = 10 * time.Second
)

// owe notes that agents are to be passed, as soon as possible. Of those that failed before it forgets nothing but when.
func (d *Dealings) owe(ctx context.Context, peer string, ids []perdure.AgentID) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	soon := perdure.TimeOf(time.Now().Add(changedWait))
	for _, id := range ids { // next - 1: paid tells a pass in progress by its exact time, and must not pay for this
		if _, err = tx.ExecContext(ctx, `INSERT INTO owed (peer, agent, why, tries, next) VALUES (?, ?, '', 0, 0)
			ON CONFLICT DO UPDATE SET next = CASE WHEN tries < ? THEN 0 ELSE max(min(next - 1, ?), 0) END`,
			peer, id.String(), patientTries, int64(soon)); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// Owing are the agents that are to be passed to or from a peer by a time, at most so many.
func (d *Dealings) Owing(ctx context.Context, peer string, by time.Time, limit int) (all []Owed, err error) {
	rows, err := d.db.QueryContext(ctx,
		"SELECT agent, why, tries, next FROM owed WHERE peer = ? AND next <= ? ORDER BY next, agent LIMIT ?",
		peer, int64(perdure.TimeOf(by)), limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var o Owed
		var id string
		if err := rows.Scan(&id, &o.Why, &o.Tries, &o.Next); err != nil {
			return nil, err
		}
		if err := o.Agent.UnmarshalText([]byte(id)); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, rows.Err()
}

// untried is how many agents are to be passed to or from a peer and were not tried yet, up to so many.
func (d *Dealings) untried(ctx context.Context, peer string, most int) (int, error) {
	return d.count(ctx, peer, "tries = 0", most)
}

func (d *Dealings) count(ctx context.Context, peer, which string, most int) (n int, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM owed WHERE peer = ? AND "+which+" LIMIT ?)",
		peer, most).Scan(&n)
	return n, err
}

// take notes that agents that are owed are about to be passed: what is owed of them from then on is not paid with it.
func (d *Dealings) take(ctx context.Context, peer string, all []Owed) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	now := perdure.TimeOf(time.Now())
	for i := range all {
		all[i].Next = now // never zero, as what is owed anew has it
		if _, err = tx.ExecContext(ctx, "UPDATE owed SET next = ? WHERE peer = ? AND agent = ?", int64(now), peer,
			all[i].Agent.String()); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// paid notes what came of passing an agent that was taken: nil, it is done; else it is tried again later, unless very
// many are: then when something happens to it. One that is owed anew since stays so, and has failed no more if it
// passed.
func (d *Dealings) paid(ctx context.Context, peer string, o *Owed, fault error, next time.Time) error {
	if fault == nil {
		_, err := d.db.ExecContext(ctx, `DELETE FROM owed WHERE peer = ?1 AND agent = ?2 AND next = ?3;
			UPDATE owed SET why = '', tries = 0, next = 0 WHERE peer = ?1 AND agent = ?2`, peer, o.Agent.String(),
			int64(o.Next))
		return err
	}
	if o.Tries == 0 {
		if refused, err := d.count(ctx, peer, "tries > 0", maxRefused); err != nil || refused == maxRefused {
			return errors.Join(err, d.paid(ctx, peer, o, nil, next))
		}
	}
	anew := int64(0)
	if o.Tries+1 >= patientTries {
		anew = int64(perdure.TimeOf(time.Now().Add(changedWait)))
	}
	_, err := d.db.ExecContext(ctx, `UPDATE owed SET why = ?, tries = ?, next = CASE next WHEN ? THEN ? ELSE ? END
		WHERE peer = ? AND agent = ?`,
		view.Cut(withDo(fault), maxWhy), o.Tries+1, int64(o.Next), int64(perdure.TimeOf(next)), anew, peer,
		o.Agent.String())
	return err
}
