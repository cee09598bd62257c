package webhook_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/webhook"
)

// serverEnv has the folder of a server that this test binary is to be.
const serverEnv = "PERDURE_WEBHOOK_SERVER"

// killSecret signs the posts of this test.
const killSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// killedNode is a node over the store of a folder.
func killedNode(ctx context.Context, dir string) (*perdure.Node, error) {
	key, err := keyfile.Read(filepath.Join(dir, "key"))
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, filepath.Join(dir, "store.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return &perdure.Node{Store: s, Key: key}, nil
}

// serveUntilKilled is the child: it says where it listens, and serves.
func serveUntilKilled(dir string) error {
	n, err := killedNode(context.Background(), dir)
	if err != nil {
		return err
	}
	k, err := webhook.ParseKey(killSecret)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("listening", l.Addr())
	d := &home.Desk{Home: &home.Home{}, Store: n.Store, Node: n}
	h := d.Hooked(webhook.Hook{Name: "crm", Keys: []webhook.Key{k}})
	return http.Serve(l, h) //nolint:gosec // it is killed
}

// TestAKilledServerLosesAndRepeatsNothing kills a server while many post, starts it again and has everybody post again
// what was not acknowledged, and some of what was.
func TestAKilledServerLosesAndRepeatsNothing(t *testing.T) {
	if dir := os.Getenv(serverEnv); dir != "" {
		fmt.Fprintln(os.Stderr, serveUntilKilled(dir))
		os.Exit(1)
	}
	dir := t.TempDir()
	if err := keyfile.Write(filepath.Join(dir, "key"), signer(t, "node")); err != nil {
		t.Fatal(err)
	}
	n, err := killedNode(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Store.Close() }()
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "be tested"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	key := mustKey(t, killSecret)
	const posts = 200
	var mu sync.Mutex
	acked := map[string]bool{}
	round := func(killAt int) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledServerLosesAndRepeatsNothing$")
		cmd.Env = append(os.Environ(), serverEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		line := bufio.NewScanner(out)
		for line.Scan() && !strings.HasPrefix(line.Text(), "listening ") {
		}
		url := "http://" + strings.TrimPrefix(line.Text(), "listening ") + "/v1/agents/" + a.ID().String() + "/events"
		var wait sync.WaitGroup
		for i := range posts {
			id := fmt.Sprint("msg_", i)
			mu.Lock()
			done := acked[id] && i%3 > 0
			mu.Unlock()
			if done {
				continue
			}
			wait.Go(func() {
				body := fmt.Sprintf(`{"name":"order","data":%d}`, i)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
				if err == nil {
					err = webhook.Sign(r.Header, id, time.Now(), []byte(body), key)
				}
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					return // it was killed
				}
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					return
				}
				mu.Lock()
				acked[id] = true
				if len(acked) == killAt {
					_ = cmd.Process.Kill()
				}
				mu.Unlock()
			})
		}
		wait.Wait()
	}
	for _, killAt := range []int{40, 110, posts + 1} {
		round(killAt)
	}
	if len(acked) != posts {
		t.Errorf("%d posts were acknowledged in the end, want %d", len(acked), posts)
	}
	count := map[string]int{}
	for e, err := range perdure.Memory(t.Context(), n.Store, a.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok && ev.ID != "" {
			count[ev.ID]++
		}
	}
	for i := range posts {
		if id := fmt.Sprint("msg_", i); count[id] != 1 {
			t.Errorf("%s is in memory %d times, want once", id, count[id])
		}
	}
}
