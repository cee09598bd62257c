package nats

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/natstest"
	"github.com/perdure/perdure/storetest"
)

// The URLs of the server and of the cluster that the tests of this process and its children share.
const (
	serverEnv  = "PERDURE_TEST_NATS"
	clusterEnv = "PERDURE_TEST_NATS_CLUSTER"
)

// parallel is how many tests run at a time: they wait for servers and disks, and leave processors idle.
const parallel = "6"

// shared is the server of this process; nil in a child.
var shared *natstest.Server

func TestMain(m *testing.M) {
	natstest.Main()
	if os.Getenv(serverEnv) == "" {
		var err error
		if shared, err = natstest.New(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Setenv(serverEnv, shared.URL("NAME"))
	}
	if err := flag.Set("test.parallel", parallel); err != nil { // go test -parallel comes after it
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if shared != nil {
		shared.Remove()
	}
	os.Exit(code)
}

// urlAt is the URL of a store of its own for each path.
func urlAt(env, path string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	return strings.Replace(os.Getenv(env), "NAME", fmt.Sprintf("s%016x", h.Sum64()), 1)
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Kind{Open: func(ctx context.Context, path string) (perdure.Store, error) {
		return Open(ctx, urlAt(serverEnv, path), Options{})
	}})
}

// TestStoreOnACluster is the same with three copies of everything.
func TestStoreOnACluster(t *testing.T) {
	if os.Getenv(clusterEnv) == "" {
		t.Setenv(clusterEnv, natstest.StartCluster(t, 3).URL("NAME"))
	}
	storetest.Run(t, storetest.Kind{Open: func(ctx context.Context, path string) (perdure.Store, error) {
		return Open(ctx, urlAt(clusterEnv, path), Options{Patience: patient})
	}})
}
