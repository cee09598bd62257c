package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/pgtest"
)

// TestChangedRowsAreNoticed changes rows of the log as somebody could who may write to the database: none is served.
func TestChangedRowsAreNoticed(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	other := enginetest.NewWriter(t, s)
	for name, text := range map[string]string{
		"a byte of an entry":     `UPDATE ~log SET data=set_byte(data, 90, get_byte(data, 90) # 1) WHERE agent=$1 AND pos=$2`,
		"the last byte":          `UPDATE ~log SET data=set_byte(data, length(data)-1, get_byte(data, length(data)-1) # 1) WHERE agent=$1 AND pos=$2`,
		"a name":                 `UPDATE ~log SET names=set_byte(names, 3, get_byte(names, 3) # 1) WHERE agent=$1 AND pos=$2`,
		"no names":               `UPDATE ~log SET names='' WHERE agent=$1 AND pos=$2`,
		"a row cut short":        `UPDATE ~log SET data=substr(data, 1, length(data)-9) WHERE agent=$1 AND pos=$2`,
		"a row that is too long": `UPDATE ~log SET data=data||'x' WHERE agent=$1 AND pos=$2`,
		"a row of nothing":       `UPDATE ~log SET data='' WHERE agent=$1 AND pos=$2`,
		"a row that is gone":     `DELETE FROM ~log WHERE agent=$1 AND pos=$2`,
		"a row of another agent": fmt.Sprintf(`UPDATE ~log SET data=l.data, names=l.names FROM ~log l JOIN ~agents a ON a.key=l.agent
			WHERE log.agent=$1 AND log.pos=$2 AND a.id='\x%s'`, other.Agent.ID()),
		"a length beyond the data": "UPDATE ~log SET data='\\xffffffff0f'||data WHERE agent=$1 AND pos=$2",
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.NewWriter(t, s)
			for range 3 {
				if err := w.Write(t.Context(), t, s); err != nil {
					t.Fatal(err)
				}
			}
			id := w.Agent.ID()
			var key, pos int64
			const find = `SELECT agent, pos FROM ~log WHERE agent=(SELECT key FROM ~agents WHERE id=$1)
				ORDER BY pos OFFSET 2 LIMIT 1`
			if err := s.pool.QueryRow(t.Context(), s.sql(find), id[:]).Scan(&key, &pos); err != nil {
				t.Fatal(err)
			}
			text = strings.ReplaceAll(text, "log.", s.schema+".log.")
			tag, err := s.pool.Exec(t.Context(), s.sql(text), key, pos)
			if err != nil || tag.RowsAffected() != 1 {
				t.Fatalf("%v, %d rows", err, tag.RowsAffected())
			}
			if a, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, id)); err == nil {
				t.Fatalf("a memory of %d entries was served", a.Fold().Count)
			}
			for item, err := range s.Feed(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if item.ID() == id && item.Seq == 2 && name != "a row that is gone" &&
					!bytes.Equal(item.Name[:], w.Agent.Heads()[0][:]) {
					t.Errorf("the feed yields entry %s of the changed row", item.Name.Short())
				}
			}
		})
	}
}

// TestPasswordsAreNeverSaid opens stores with passwords that are right and wrong, and looks for them in what is said.
func TestPasswordsAreNeverSaid(t *testing.T) {
	server := pgtest.Start(t)
	conf := "local all all scram-sha-256\n"
	if err := os.WriteFile(filepath.Join(server.Dir, "data", "pg_hba.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.SQL("SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	with := func(password, rest string) string {
		return fmt.Sprintf("postgres://%s:%s@/%s?host=%s%s", pgtest.User, password, pgtest.Database, server.Dir, rest)
	}
	s := open(t, with(pgtest.Password, ""), Options{})
	if strings.Contains(s.Label(), pgtest.Password) || !strings.Contains(s.Label(), server.Dir) {
		t.Errorf("the store is called %s", s.Label())
	}
	const wrong = "wrong-s3cret"
	for _, url := range []string{
		with(wrong, ""), with(wrong, "&schema=Bad"), with(wrong, "&pool_max_conns=many"), with(wrong, "&sslmode=odd"),
		with(wrong, "%zz"), "postgres://u:" + wrong + "@127.0.0.1:1/x", "postgres://u:" + wrong + "@[::1/x",
		"postgres://u:" + wrong + "@127.0.0.1:notaport/x", "postgres://u@127.0.0.1:1/x?password=" + wrong,
		"postgresql:" + wrong, "postgres://" + wrong + "%@/",
	} {
		got, err := Open(t.Context(), url, Options{Patience: time.Millisecond})
		if err == nil {
			_ = got.Close()
			t.Errorf("a store with a wrong password was opened")
			continue
		}
		if text := fmt.Sprintf("%v %+v %q", err, err, err); strings.Contains(text, wrong) {
			t.Errorf("the error says the password: %s", text)
		}
	}
}

// TestOpeningSaysWhatToDo opens what cannot be opened.
func TestOpeningSaysWhatToDo(t *testing.T) {
	needServer(t)
	url := os.Getenv(serverEnv)
	if _, err := Open(t.Context(), urlAt("nothing here"), Options{Existing: true}); !errors.Is(
		err,
		perdure.ErrNotFound,
	) {
		t.Errorf("a store that is not there: %v", err)
	}
	var hint *perdure.Hint
	if _, err := Open(t.Context(), strings.Replace(url, "/perdure?", "/absent?", 1), Options{}); !errors.As(
		err,
		&hint,
	) {
		t.Errorf("a database that is not there: %v", err)
	}
	at := urlAt(t.Name())
	s := open(t, at, Options{})
	if _, err := s.pool.Exec(t.Context(), s.sql("UPDATE ~meta SET version=$1"), Version+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), at, Options{}); !errors.As(err, &hint) || !strings.Contains(err.Error(), "version") {
		t.Errorf("a store of a newer version: %v", err)
	}
	look := open(t, urlAt(t.Name()+"look"), Options{})
	w := enginetest.NewWriter(t, look)
	looks := open(t, urlAt(t.Name()+"look"), Options{Look: true})
	if err := w.Write(t.Context(), t, looks); !errors.Is(err, errLooks) {
		t.Errorf("append to a store that is looked at: %v", err)
	}
	if _, err := looks.Claim(t.Context(), w.Agent.ID(), w.Key(), time.Second); !errors.Is(err, errLooks) {
		t.Errorf("claim in a store that is looked at: %v", err)
	}
	w.Kept(t, looks)
}

// TestDurabilityIsTheServers opens a store as users whose commits wait for different things.
func TestDurabilityIsTheServers(t *testing.T) {
	needServer(t)
	for set, want := range map[string]string{
		"on":    "power cut of the server (synchronous_commit=on)",
		"off":   "not a crash of the server (synchronous_commit=off)",
		"local": "(synchronous_commit=local)",
	} {
		s := open(t, urlAt(t.Name()+set)+"&options=-c%20synchronous_commit%3D"+set, Options{})
		if got := s.Survives(); !strings.Contains(got, want) {
			t.Errorf("synchronous_commit=%s: writes survive %s", set, got)
		}
		before, _, err := s.FeedEnd(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var soft bool
		if err := s.pool.QueryRow(t.Context(), s.sql("SELECT soft FROM ~meta")).
			Scan(&soft); err != nil ||
			soft != (set == "off") {
			t.Errorf("synchronous_commit=%s: soft is %v, %v", set, soft, err)
		}
		again := open(t, urlAt(t.Name()+set), Options{})
		if after, _, err := again.FeedEnd(t.Context()); err != nil || after != before {
			t.Errorf("another handle has another feed: %v", err)
		}
	}
}

// TestSchemasAreUpgradedUnderLoad brings a schema to the next version while writers append.
func TestSchemasAreUpgradedUnderLoad(t *testing.T) {
	needServer(t)
	url := urlAt(t.Name())
	s := open(t, url, Options{})
	downgrade := "DROP INDEX ~agents_held; UPDATE ~meta SET version=1"
	if _, err := s.pool.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Split(downgrade, ";") {
		if _, err := s.pool.Exec(t.Context(), s.sql(text)); err != nil {
			t.Fatal(err)
		}
	}
	var writers []*enginetest.Writer
	for range 8 {
		writers = append(writers, enginetest.NewWriter(t, s))
	}
	stop := make(chan struct{})
	group := enginetest.Hammer(t, s, stop, writers)
	opened := make(chan error, 4)
	for range cap(opened) { // several processes find the old version at once
		go func() {
			other, err := Open(context.Background(), url, Options{})
			if err == nil {
				err = other.Close()
			}
			opened <- err
		}()
	}
	for range cap(opened) {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
	close(stop)
	group.Wait()
	var version int
	var valid bool
	const text = "SELECT version, (SELECT indisvalid FROM pg_index WHERE indexrelid=to_regclass($1)) FROM ~meta"
	if err := s.pool.QueryRow(t.Context(), s.sql(text), s.schema+".agents_held").
		Scan(&version, &valid); err != nil || version != Version ||
		!valid {
		t.Errorf("version %d, index valid: %v, %v", version, valid, err)
	}
	for _, w := range writers {
		w.Kept(t, s)
	}
}

// bouncer runs PgBouncer in transaction mode before the shared server, and returns a URL through it.
func bouncer(t *testing.T) string {
	t.Helper()
	needServer(t)
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("PgBouncer is not installed (Debian: apt-get install pgbouncer): the store behind it is not tested")
	}
	return shared.Pooled(t, program)
}

func TestStoreBehindPgBouncer(t *testing.T) {
	url := bouncer(t) + fmt.Sprintf("&schema=pooled_%d", time.Now().UnixNano()) // its feed is to be its own
	s := open(t, url, Options{})
	if !s.Pooled() {
		t.Fatal("the pooler was not noticed")
	}
	other := open(t, url, Options{})
	seen := make(chan perdure.AgentID, 1024)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for id, err := range other.Watch(ctx) {
			if err != nil {
				return
			}
			seen <- id
		}
	}()
	var writers []*enginetest.Writer
	for range 8 {
		writers = append(writers, enginetest.NewWriter(t, s))
	}
	stop := make(chan struct{})
	group := enginetest.Hammer(t, s, stop, writers)
	deadline := time.After(patient)
	for told := map[perdure.AgentID]bool{}; len(told) < len(writers) && !told[perdure.AgentID{}]; {
		select {
		case id := <-seen:
			told[id] = true
		case <-deadline:
			t.Fatalf("a watcher behind the pooler was told of %d of %d agents", len(told), len(writers))
		}
	}
	close(stop)
	group.Wait()
	for _, w := range writers {
		w.Kept(t, other)
		c, err := s.Claim(t.Context(), w.Agent.ID(), w.Key(), time.Minute)
		if err == nil {
			err = other.Release(t.Context(), c, w.Agent.Heads(), 0)
		}
		if err != nil {
			t.Error(err)
		}
	}
	n := 0
	for _, err := range other.Feed(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	want := 0
	for _, w := range writers {
		want += int(w.Agent.Fold().Count)
	}
	if n != want {
		t.Errorf("the feed has %d entries, want %d", n, want)
	}
}
