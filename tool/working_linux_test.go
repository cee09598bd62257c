package tool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

func TestCallsUnderWayAreSeen(t *testing.T) {
	t.Parallel()
	one, two := tool.Working("one of two"), tool.Working("two of two")
	again := tool.Working("one of two")
	seen := func(key string, want bool) {
		t.Helper()
		if got := slices.Contains(tool.Survivors(key), os.Getpid()); got != want {
			t.Errorf("this process is seen at work on %s: %v, want %v", key, got, want)
		}
	}
	seen("one of two", true)
	seen("two of two", true)
	seen("one", false)
	seen("", false)
	one()
	one()
	seen("one of two", true)
	again()
	seen("one of two", false)
	seen("two of two", true)
	two()
	seen("two of two", false)
}

func BenchmarkWorking(b *testing.B) {
	for b.Loop() {
		tool.Working("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")()
	}
}

// TestAServerThatWasCutOffIsAtWorkUntilItAnswers: the server takes no notice that nobody waits for its answer any more.
func TestAServerThatWasCutOffIsAtWorkUntilItAnswers(t *testing.T) {
	t.Parallel()
	release := filepath.Join(t.TempDir(), "release")
	tools := connected(t, stdio(t, "TEST_RELEASE="+release))
	ctx, cut := context.WithCancel(t.Context())
	const key = "the key of a call that is cut off"
	over := make(chan error)
	go func() {
		_, err := named(t, tools, "t.deaf").Call(ctx, perdure.Call{Key: key})
		over <- err
	}()
	for len(tool.Survivors(key)) == 0 {
		time.Sleep(time.Millisecond)
	}
	server := tool.Survivors(key)
	cut()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Fatalf("got error %v, want canceled", err)
	}
	if got := tool.Survivors(key); !slices.Equal(got, server) || slices.Contains(got, os.Getpid()) {
		t.Errorf("at work after the cut: %v, want the server, %v", got, server)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for len(tool.Survivors(key)) > 0 { // until it has answered
		time.Sleep(time.Millisecond)
	}
	res, err := named(t, tools, "t.pid").Call(t.Context(), perdure.Call{})
	if err != nil || !strings.Contains(string(res.Data.JSON()), strconv.Itoa(server[0])) {
		t.Errorf("got %s, %v: want the server that was cut off, %v, which is alive", res.Data.JSON(), err, server)
	}
}
