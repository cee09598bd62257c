package postgres

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/storetest"
)

// serverEnv is the URL of the server that the tests of this process and its children share.
const serverEnv = "PERDURE_TEST_POSTGRES"

// shared is the server of this process; nil in a child, and where none is installed.
var shared *pgtest.Server

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) == "" && pgtest.Missing() == "" {
		var err error
		if shared, err = pgtest.New(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Setenv(serverEnv, shared.URL())
	}
	code := m.Run()
	if shared != nil {
		shared.Remove()
	}
	os.Exit(code)
}

// urlAt is the URL of a store of its own for each path.
func urlAt(path string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	return fmt.Sprintf("%s&schema=s%016x", os.Getenv(serverEnv), h.Sum64())
}

// needServer skips a test where there is no server.
func needServer(t *testing.T) {
	t.Helper()
	if why := pgtest.Missing(); why != "" {
		t.Skip(why)
	}
}

func TestStore(t *testing.T) {
	needServer(t)
	storetest.Run(t, storetest.Kind{Open: func(ctx context.Context, path string) (perdure.Store, error) {
		return Open(ctx, urlAt(path), Options{})
	}})
}
