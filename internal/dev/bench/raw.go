package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the engine the embedded store is built on
)

// Baseline is what the store under test is measured against.
func (p *Place) Baseline() Baseline {
	switch {
	case p.InMemory():
		return Baseline{}
	case p.server != nil:
		return p.server.baseline()
	}
	path := filepath.Join(p.Dir, "raw.db")
	return Baseline{Name: "raw SQLite, group commit", Rate: func(ctx context.Context, s Appends) (float64, error) {
		return rawAppends(ctx, path, s)
	}}
}

// rawAppends is the floor: appends a second of the same payload with nothing but SQLite, one committer and the
// durability of the store.
func rawAppends(ctx context.Context, path string, s Appends) (float64, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous("+s.Sync+
		")&_pragma=page_size(4096)")
	if err != nil {
		return 0, fmt.Errorf("open raw database: %w", err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx,
		`CREATE TABLE e (rid INTEGER PRIMARY KEY, agent INTEGER, seq INTEGER, data BLOB, UNIQUE (agent, seq))`); err != nil {
		return 0, fmt.Errorf("create raw table: %w", err)
	}
	payload := make([]byte, s.Payload+300) // an entry of this payload has about so many bytes more
	if _, err := rand.Read(payload); err != nil {
		return 0, err
	}
	requests := make(chan rawAppend, 1024)
	ended := make(chan struct{})
	var failed error // why no more is committed; it is set when ended is closed
	go func() {
		defer close(ended)
		failed = rawCommitter(ctx, db, payload, requests)
	}()
	began := time.Now()
	err = each(s.Writers, func(w int) error {
		for i := range s.Each {
			r := rawAppend{agent: w, seq: i, done: make(chan error, 1)}
			select {
			case requests <- r:
			case <-ended: // nobody answers any more
				return failed
			}
			select {
			case err := <-r.done:
				if err != nil {
					return err
				}
			case <-ended:
				return failed
			}
		}
		return nil
	})
	took := time.Since(began)
	close(requests)
	<-ended
	return float64(s.Writers*s.Each) / took.Seconds(), cmp.Or(err, failed)
}

// rawAppend is one append waiting for its commit.
type rawAppend struct {
	agent, seq int
	done       chan error
}

// rawCommitter commits whatever is waiting in one transaction.
func rawCommitter(ctx context.Context, db *sql.DB, payload []byte, requests <-chan rawAppend) error {
	insert, err := db.PrepareContext(ctx, `INSERT INTO e (agent, seq, data) VALUES (?, ?, ?)`)
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	for first := range requests {
		batch := waitingWith(first, requests)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, r := range batch {
			if _, err = tx.StmtContext(ctx, insert).ExecContext(ctx, r.agent, r.seq, payload); err != nil {
				break
			}
		}
		if err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback()
		}
		for _, r := range batch {
			r.done <- err
		}
	}
	return nil
}
