package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

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
	return Baseline{
		Name: "raw pgx, group commit, which compares the head and says where each entry stands in the order of arrival",
		Rate: rawSame.in(s),
		Others: []Contestant{
			{"plain", "raw pgx, a statement and a commit per append, which compares the head", s.plainAppends},
			{"bare", "raw pgx, group commit of one INSERT, which compares nothing and keeps no order of arrival",
				rawBare.in(s)},
		},
	}
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
