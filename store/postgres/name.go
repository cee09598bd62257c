package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure"
)

// Name is a store as a URL names it.
type Name struct {
	Label  string // for people: without the password
	schema string // quoted
	plain  string // not quoted
	config *pgxpool.Config
	mode   bool // the URL says how statements are run
}

// DefaultSchema is the schema of a store whose URL names none.
const DefaultSchema = "perdure"

// poolSize is how many connections one process has at most, unless the URL says pool_max_conns: more of them are
// slower.
const poolSize = 16

// errURL is what is wrong with a URL, without the URL, which may hold a password.
var errURL = errors.New(
	"want postgres://USER@HOST/DATABASE[?schema=NAME]; a password belongs in ~/.pgpass or PGPASSWORD",
)

// schemaName is what a schema may be called.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Parse reads postgres://USER@HOST:PORT/DATABASE?schema=NAME. Every other parameter is PostgreSQL's own, and so are the
// variables of the environment (PGHOST, PGPASSWORD, PGSERVICE, …) and ~/.pgpass. Its errors never hold the password.
func Parse(text string) (*Name, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" {
		return nil, perdure.Invalid(fmt.Errorf("name of a PostgreSQL store: %w", errURL))
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, perdure.Invalid(fmt.Errorf("name of a PostgreSQL store: its parameters cannot be read: %w", errURL))
	}
	n := &Name{plain: DefaultSchema, mode: values.Has("default_query_exec_mode")}
	if values.Has("schema") {
		n.plain = values.Get("schema")
		if len(values["schema"]) != 1 || !schemaName.MatchString(n.plain) || strings.HasPrefix(n.plain, "pg_") {
			return nil, perdure.Invalid(fmt.Errorf("schema %q: want one name of small letters, digits and _", n.plain))
		}
		values.Del("schema")
	}
	if conns := values.Get("pool_max_conns"); values.Has("pool_max_conns") {
		if most, err := strconv.Atoi(conns); err != nil || most < 1 || most > 10_000 {
			return nil, perdure.Invalid(fmt.Errorf("pool_max_conns=%s: want a number from 1 to 10000", conns))
		}
	}
	n.schema = pgx.Identifier{n.plain}.Sanitize()
	u.RawQuery = strings.ReplaceAll(values.Encode(), "+", "%20") // the driver takes a + as it is
	if n.config, err = pgxpool.ParseConfig(u.String()); err != nil {
		return nil, perdure.Invalid(fmt.Errorf("name of a PostgreSQL store: %s: %w", reason(err), errURL))
	}
	if !values.Has("pool_max_conns") {
		n.config.MaxConns = poolSize
	}
	if n.config.ConnConfig.RuntimeParams["application_name"] == "" {
		n.config.ConnConfig.RuntimeParams["application_name"] = "perdure"
	}
	n.Label = n.label(u, values)
	return n, nil
}

// label is the URL without its password. The schema is part of it: two of them in one database are two stores.
func (n *Name) label(u *url.URL, values url.Values) string {
	shown := *u
	if u.User != nil {
		shown.User = url.User(u.User.Username())
	}
	kept := url.Values{}
	for _, key := range []string{"host", "port", "dbname", "service"} { // the ones that say where it is
		if values.Has(key) {
			kept.Set(key, values.Get(key))
		}
	}
	if n.plain != DefaultSchema {
		kept.Set("schema", n.plain)
	}
	shown.RawQuery, shown.Fragment = strings.ReplaceAll(kept.Encode(), "%2F", "/"), ""
	return shown.String()
}

// reason is why the driver refuses a URL, without the URL.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	if text := err.Error(); !strings.Contains(text, "://") && !strings.Contains(text, "password") {
		return text
	}
	return "it cannot be read"
}
