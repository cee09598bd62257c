package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// rawCommitters is how many transactions are under way at a time, as many as the store has.
const rawCommitters = 4

// rawGroup appends with nothing but pgx, one statement for all that is waiting.
type rawGroup struct {
	tables string                                        // makes what it needs for $1 agents in a schema
	text   string                                        // appends, and returns a row for each entry
	args   func(batch []rawAppend, payload []byte) []any // of text
	single string                                        // text for one entry, which takes no arrays apart
	one    func(r rawAppend, payload []byte) []any       // of single
}

// rawSame does what every store must that appends only where the head is the one the writer knows, and has a feed: it
// looks for the agent by its id, moves its head, and adds the entry, of the same size, with its name and a place in the
// order of arrival that can be asked for.
var rawSame = rawGroup{
	tables: `DROP TABLE IF EXISTS %[1]s.raw_heads, %[1]s.raw_log;
		CREATE TABLE %[1]s.raw_heads(agent bigint PRIMARY KEY, id bytea NOT NULL UNIQUE, head bytea NOT NULL)
			WITH (fillfactor=70);
		INSERT INTO %[1]s.raw_heads SELECT a, decode(lpad(to_hex(a), 64, '0'), 'hex'), decode(repeat('00', 32), 'hex')
			FROM generate_series(0, %[2]d-1) a;
		CREATE TABLE %[1]s.raw_log(agent bigint NOT NULL, pos bigint GENERATED ALWAYS AS IDENTITY, name bytea NOT NULL,
			data bytea NOT NULL, PRIMARY KEY (agent, pos));
		CREATE INDEX ON %[1]s.raw_log(pos);
		ALTER TABLE %[1]s.raw_log ALTER data SET STORAGE EXTERNAL`,
	text: `WITH moved AS (UPDATE %[1]s.raw_heads h SET head=r.fresh
		FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[]) AS r(id, old, fresh, data)
		WHERE h.id=r.id AND h.head=r.old RETURNING h.agent, r.fresh, r.data)
		INSERT INTO %[1]s.raw_log (agent, name, data) SELECT agent, fresh, data FROM moved RETURNING pos, name`,
	args: func(batch []rawAppend, payload []byte) []any {
		var ids, olds, names, data [][]byte
		for _, r := range batch {
			ids, olds = append(ids, plainHead(r.agent)), append(olds, plainHead(r.seq))
			names, data = append(names, plainHead(r.seq+1)), append(data, payload)
		}
		return []any{ids, olds, names, data}
	},
	single: `WITH moved AS (UPDATE %[1]s.raw_heads SET head=$3 WHERE id=$1 AND head=$2 RETURNING agent)
		INSERT INTO %[1]s.raw_log (agent, name, data) SELECT agent, $3::bytea, $4::bytea FROM moved RETURNING pos, name`,
	one: func(r rawAppend, payload []byte) []any {
		return []any{plainHead(r.agent), plainHead(r.seq), plainHead(r.seq + 1), payload}
	},
}

// rawBare is one table, whose key refuses a second entry of one number, and one INSERT for all that is waiting.
var rawBare = rawGroup{
	tables: `DROP TABLE IF EXISTS %[1]s.raw; CREATE TABLE %[1]s.raw(agent bigint NOT NULL, seq bigint NOT NULL,
		data bytea NOT NULL, PRIMARY KEY (agent, seq)); ALTER TABLE %[1]s.raw ALTER data SET STORAGE EXTERNAL;
		SELECT %[2]d`,
	text: "INSERT INTO %s.raw SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) RETURNING seq",
	args: func(batch []rawAppend, payload []byte) []any {
		var agents, seqs []int64
		var data [][]byte
		for _, r := range batch {
			agents, seqs, data = append(agents, int64(r.agent)), append(seqs, int64(r.seq)), append(data, payload)
		}
		return []any{agents, seqs, data}
	},
	single: "INSERT INTO %s.raw VALUES ($1, $2, $3) RETURNING seq",
	one:    func(r rawAppend, payload []byte) []any { return []any{r.agent, r.seq, payload} },
}

// in is how many appends a second it makes in a schema.
func (g *rawGroup) in(s *schemaPlace) func(ctx context.Context, set Appends) (float64, error) {
	return func(ctx context.Context, set Appends) (float64, error) {
		pool, err := pgxpool.New(ctx, s.plain)
		if err != nil {
			return 0, err
		}
		defer pool.Close()
		perWriter := max(set.Agents/set.Writers, 1)
		_, err = pool.Exec(ctx, fmt.Sprintf(g.tables, s.schema, set.Writers*perWriter), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return 0, fmt.Errorf("create raw tables: %w", err)
		}
		payload := make([]byte, set.Payload+300) // an entry of this payload has about so many bytes more
		if _, err := rand.Read(payload); err != nil {
			return 0, err
		}
		ended := make(chan struct{}, rawCommitters)
		queues := make([]chan rawAppend, rawCommitters)
		for i := range queues {
			queues[i] = make(chan rawAppend, 1024)
			go func() {
				for first := range queues[i] {
					g.commit(ctx, pool, s.schema, payload, waitingWith(first, queues[i]))
				}
				ended <- struct{}{}
			}()
		}
		began := time.Now()
		err = each(set.Writers, func(w int) error {
			for i := range set.Each {
				r := rawAppend{agent: w*perWriter + i%perWriter, seq: i / perWriter, done: make(chan error, 1)}
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
			<-ended
		}
		return float64(set.Writers*set.Each) / took.Seconds(), err
	}
}

// commit appends in one transaction what is waiting.
func (g *rawGroup) commit(ctx context.Context, pool *pgxpool.Pool, schema string, payload []byte, batch []rawAppend) {
	text, args := g.text, g.args(batch, payload)
	if len(batch) == 1 {
		text, args = g.single, g.one(batch[0], payload)
	}
	tag, err := pool.Exec(ctx, fmt.Sprintf(text, schema), args...)
	if err == nil && tag.RowsAffected() != int64(len(batch)) {
		err = errors.New("append to the raw table: the head is another one")
	}
	for _, r := range batch {
		r.done <- err
	}
}

// waitingWith is a request and those that wait behind it.
func waitingWith(first rawAppend, queue <-chan rawAppend) []rawAppend {
	batch := []rawAppend{first}
	for len(batch) < 1024 {
		select {
		case r, ok := <-queue:
			if !ok {
				return batch
			}
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}
