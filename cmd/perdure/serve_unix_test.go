//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/webhook"
)

// restart starts a server again that was killed, where it was.
func (s *servedStore) restart() {
	s.t.Helper()
	s.start(strings.TrimPrefix(s.url, "http://"))
}

// posts is somebody who posts signed events until each is acknowledged.
type posts struct {
	t    *testing.T
	key  webhook.Key
	http *http.Client
	ok   atomic.Int64 // acknowledged
}

// send posts one event, again and again.
func (p *posts) send(url func() string, agent, id string) {
	body := fmt.Appendf(nil, `{"name":"paid","data":{"id":%q}}`, id)
	for try := 0; ; try++ {
		if p.t.Context().Err() != nil {
			return
		}
		req, err := http.NewRequestWithContext(p.t.Context(), "POST", url()+"/v1/agents/"+agent+"/events",
			bytes.NewReader(body))
		if err == nil {
			err = webhook.Sign(req.Header, id, time.Now(), body, p.key)
		}
		if err != nil {
			p.t.Error(err)
			return
		}
		res, err := p.http.Do(req)
		if err != nil {
			time.Sleep(5 * time.Millisecond) // it is down
			continue
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err == nil && res.StatusCode == http.StatusOK {
			p.ok.Add(1)
			return
		}
		if err == nil && res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests {
			p.t.Errorf("event %s: %d %s", id, res.StatusCode, text)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAServerThatIsKilledLosesAndDoublesNoPost(t *testing.T) {
	const events, agents, kills = 1000, 8, 4
	store := filepath.Join(t.TempDir(), "home")
	for i := range agents {
		must(t, exitOK, "new", "listen", "--name", fmt.Sprint("a", i), "--store", store)
	}
	secret := "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("s"), 32))
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(store, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("crm.secret", secret)
	write("node.yaml", "hooks:\n  - {name: crm, secret: \"file:crm.secret\"}\n")
	key, err := webhook.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, store, "--no-node")
	var lock sync.Mutex
	url := func() string {
		lock.Lock()
		defer lock.Unlock()
		return s.url
	}
	p := &posts{t: t, key: key, http: &http.Client{Timeout: 20 * time.Second}}
	var sending sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range events {
		sending.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			p.send(url, fmt.Sprint("a", i%agents), fmt.Sprintf("msg-%04d", i))
		})
	}
	for k := range kills { // in the middle of many
		for p.ok.Load() < int64((k+1)*events/(kills+1)) && t.Context().Err() == nil && !t.Failed() {
			time.Sleep(time.Millisecond)
		}
		s.kill()
		lock.Lock()
		s.restart()
		lock.Unlock()
	}
	sending.Wait()
	if got := p.ok.Load(); got != events {
		t.Fatalf("%d of %d were acknowledged", got, events)
	}
	s.kill()
	seen := map[string]int{}
	for i := range agents {
		name := fmt.Sprint("a", i)
		out := must(
			t,
			exitOK,
			"log",
			name,
			"--store",
			store,
			"-o",
			"jsonl",
			"--jq",
			`select(.body.event.id) | .body.event.id`,
		)
		for _, id := range strings.Fields(out) {
			seen[id]++
		}
		must(t, exitOK, "verify", name, "--store", store)
	}
	for i := range events {
		if id := fmt.Sprintf("msg-%04d", i); seen[id] != 1 {
			t.Errorf("%s is in memory %d times, want once", id, seen[id])
		}
	}
	if len(seen) != events {
		t.Errorf("there are %d events in memory, want %d", len(seen), events)
	}
}

func TestAKilledServerDoesWhatHasAKeyOnce(t *testing.T) {
	store := filepath.Join(t.TempDir(), "home")
	all := token(t, store, "me", "--verbs", "all")
	s := serve(t, store, "--no-node")
	const creates = 200
	var lock sync.Mutex
	at := func() *client.Client {
		lock.Lock()
		defer lock.Unlock()
		return &client.Client{URL: s.url, Token: all, HTTP: http.DefaultClient}
	}
	var done atomic.Int64
	var creating sync.WaitGroup
	slots := make(chan struct{}, 32)
	for i := range creates {
		creating.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			name, once := fmt.Sprintf("n%03d", i), client.Once(fmt.Sprint("key-", i))
			for t.Context().Err() == nil {
				a, err := at().Create(t.Context(), client.Intent{Goal: "exist once", Name: name}, once)
				if err == nil {
					tell := client.Once(fmt.Sprint("event-", i))
					_, err = at().Send(t.Context(), a.Agent.String(), client.Event{Name: "paid"}, tell)
				}
				if err == nil {
					pause := client.Once(fmt.Sprint("pause-", i))
					if _, err = at().Pause(t.Context(), a.Agent.String(), "", pause); err == nil {
						done.Add(1)
						return
					}
				}
				var p *client.Problem
				if asProblem(err, &p) && p.Status < 500 && p.Kind != "too-many" {
					t.Error(err)
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	for k := range 3 {
		for done.Load() < int64((k+1)*creates/4) && !t.Failed() && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		s.kill()
		lock.Lock()
		s.restart()
		lock.Unlock()
	}
	creating.Wait()
	s.kill()
	names := strings.Fields(must(t, exitOK, "ls", "--store", store, "--jq", ".[].name"))
	if len(names) != creates {
		t.Errorf("there are %d agents, want %d", len(names), creates)
	}
	for i := range creates {
		out := must(
			t,
			exitOK,
			"log",
			fmt.Sprintf("n%03d", i),
			"--store",
			store,
			"-o",
			"jsonl",
			"--jq",
			`select(.kind=="event") | .body.event.name`,
		)
		if strings.Join(strings.Fields(out), " ") != "paid pause" {
			t.Errorf("n%03d was told %q, want that it is paid and pauses, once each", i, out)
		}
	}
}

func TestAServerStopsWithoutLosingAnyRequest(t *testing.T) {
	store := filepath.Join(t.TempDir(), "home")
	must(t, exitOK, "new", "listen", "--name", "a", "--store", store)
	all := token(t, store, "me", "--verbs", "all")
	s := serve(t, store)
	c := &client.Client{URL: s.url, Token: all}
	var sent atomic.Int64
	var sending sync.WaitGroup
	stop := make(chan struct{})
	for i := range 8 {
		sending.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				ev := client.Event{Name: "e", ID: fmt.Sprintf("%d-%d", i, n)}
				if _, err := c.Send(context.Background(), "a", ev); err != nil {
					return // it takes no more
				}
				sent.Add(1)
			}
		})
	}
	for sent.Load() < 50 {
		time.Sleep(time.Millisecond)
	}
	tail := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		res, err := http.DefaultClient.Do(mustRequest(ctx, s.url+"/v1/tail", all))
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
		}
		tail <- err
	}()
	time.Sleep(100 * time.Millisecond)
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && (!asExit(err, &exit) || exit.ExitCode() != exitInterrupted) {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v to stop", took)
	}
	close(stop)
	sending.Wait()
	<-tail
	out := must(
		t,
		exitOK,
		"log",
		"a",
		"--store",
		store,
		"-o",
		"jsonl",
		"--jq",
		`select(.body.event.id) | .body.event.id`,
	)
	if got := int64(len(strings.Fields(out))); got < sent.Load() {
		t.Errorf("%d were acknowledged, and %d are in memory", sent.Load(), got)
	}
}

func asProblem(err error, p **client.Problem) bool { return errors.As(err, p) }

func asExit(err error, e **exec.ExitError) bool { return errors.As(err, e) }

func mustRequest(ctx context.Context, url, token string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return req
}
