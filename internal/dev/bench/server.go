package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/nats"
	"github.com/perdure/perdure/store/postgres"
)

// serverPlace is a new store on a server, which is removed afterwards.
type serverPlace interface {
	kind() string
	at() string // the URL of the store
	open(ctx context.Context) (s perdure.Store, survives string, err error)
	baseline() Baseline
	drop() error
}

// OnServer reports whether the store under test is on a server.
func (p *Place) OnServer() bool {
	scheme, _, found := strings.Cut(p.Folder, "://")
	return found && (scheme == "postgres" || scheme == "postgresql" || scheme == "nats" || scheme == "tls")
}

// checkServer refuses what names no server.
func (p *Place) checkServer() (err error) {
	if strings.HasPrefix(p.Folder, "postgres") {
		_, err = postgres.Parse(p.Folder)
	} else {
		_, err = nats.Parse(p.Folder)
	}
	return err
}

// onServer calls f with a new store, which is removed afterwards.
func (p *Place) onServer(f func() error) error {
	u, err := url.Parse(p.Folder)
	if err != nil {
		return errors.New("--store: the URL cannot be read")
	}
	id := make([]byte, 6)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	name := "perdure_bench_" + hex.EncodeToString(id)
	if strings.HasPrefix(u.Scheme, "postgres") {
		p.server = newSchema(u, name)
	} else {
		u.Path = "/" + name
		p.server = &natsPlace{url: u.String()}
	}
	return errors.Join(f(), p.server.drop())
}

// made is what names the store of this place to another process.
func (p *Place) made() string {
	if p.server != nil {
		return p.server.at()
	}
	return p.Dir
}

// enter has the place be the one that another process made.
func (p *Place) enter() {
	switch {
	case !p.OnServer():
		p.Dir = p.Folder
	case strings.HasPrefix(p.Folder, "postgres"):
		p.server = &schemaPlace{url: p.Folder}
	default:
		p.server = &natsPlace{url: p.Folder}
	}
}

// schemaPlace is a new schema on a PostgreSQL server.
type schemaPlace struct {
	url    string // of the store
	plain  string // of the database
	schema string
}

func newSchema(u *url.URL, name string) *schemaPlace {
	s := &schemaPlace{schema: name}
	q := u.Query()
	q.Del("schema")
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	s.plain = u.String()
	q.Set("schema", s.schema)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	s.url = u.String()
	return s
}

func (s *schemaPlace) kind() string { return "postgres" }
func (s *schemaPlace) at() string   { return s.url }

func (s *schemaPlace) baseline() Baseline {
	return Baseline{Name: "raw pgx, group commit", Rate: s.rawAppends, Plain: s.plainAppends,
		PlainName: "raw pgx, a statement and a commit per append, which compares the head"}
}

func (s *schemaPlace) open(ctx context.Context) (perdure.Store, string, error) {
	store, err := postgres.Open(ctx, s.url, postgres.Options{})
	if err != nil {
		return nil, "", err
	}
	return store, store.Survives(), nil
}

func (s *schemaPlace) drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.plain)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "DROP SCHEMA IF EXISTS "+s.schema+" CASCADE")
	return errors.Join(err, c.Close(ctx))
}

// rawCommitters is how many transactions are under way at a time, as many as the store has.
const rawCommitters = 4

// rawAppends is the floor: appends a second of the same payload with nothing but pgx: one table, whose key refuses a
// second entry of one number, and one INSERT for all that is waiting.
func (s *schemaPlace) rawAppends(ctx context.Context, set Appends) (float64, error) {
	pool, err := pgxpool.New(ctx, s.plain)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	table := s.schema + ".raw"
	_, err = pool.Exec(ctx, "DROP TABLE IF EXISTS "+table+"; CREATE TABLE "+table+
		"(agent bigint NOT NULL, seq bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (agent, seq)); "+
		"ALTER TABLE "+table+" ALTER data SET STORAGE EXTERNAL", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return 0, fmt.Errorf("create raw table: %w", err)
	}
	payload := make([]byte, set.Payload+300) // an entry of this payload has about so many bytes more
	if _, err := rand.Read(payload); err != nil {
		return 0, err
	}
	queues, ended := make([]chan rawAppend, rawCommitters), make(chan error, rawCommitters)
	for i := range queues {
		queues[i] = make(chan rawAppend, 1024)
		go func() { ended <- rawServer(ctx, pool, table, payload, queues[i]) }()
	}
	began := time.Now()
	err = each(set.Writers, func(w int) error {
		for i := range set.Each {
			r := rawAppend{agent: w, seq: i, done: make(chan error, 1)}
			queues[w%rawCommitters] <- r
			if err := <-r.done; err != nil {
				return err
			}
		}
		return nil
	})
	took := time.Since(began)
	for _, q := range queues {
		close(q)
	}
	for range queues {
		err = errors.Join(err, <-ended)
	}
	return float64(set.Writers*set.Each) / took.Seconds(), err
}

// rawServer commits whatever is waiting in one transaction.
func rawServer(ctx context.Context, pool *pgxpool.Pool, table string, payload []byte, queue <-chan rawAppend) error {
	text := "INSERT INTO " + table + " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"
	for first := range queue {
		batch := []rawAppend{first}
		for more := true; more && len(batch) < 1024; {
			select {
			case r, ok := <-queue:
				if more = ok; ok {
					batch = append(batch, r)
				}
			default:
				more = false
			}
		}
		var agents, seqs []int64
		var data [][]byte
		for _, r := range batch {
			agents, seqs, data = append(agents, int64(r.agent)), append(seqs, int64(r.seq)), append(data, payload)
		}
		_, err := pool.Exec(ctx, text, agents, seqs, data)
		for _, r := range batch {
			r.done <- err
		}
	}
	return nil
}
