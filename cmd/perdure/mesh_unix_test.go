//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// cuttable is a way to an address that can be cut: connections break in the middle of what they carry, and no new one
// comes about.
type cuttable struct {
	ln     net.Listener
	passed atomic.Int64 // bytes of answers that came through

	mu    sync.Mutex
	to    string // the address; empty: nobody is there
	cut   bool
	most  int64 // bytes of answers after which a connection breaks; zero: it does not
	conns map[net.Conn]bool
}

func newCuttable(t *testing.T) *cuttable {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cuttable{ln: ln, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = ln.Close(); c.set(true) })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go c.carry(conn)
		}
	}()
	return c
}

func (c *cuttable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut = cut; cut {
		for conn := range c.conns {
			_ = conn.Close()
		}
	}
}

func (c *cuttable) hold(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		_ = conn.Close()
		return false
	}
	c.conns[conn] = true
	return true
}

func (c *cuttable) drop(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
	_ = conn.Close()
}

// carry passes on what comes.
func (c *cuttable) carry(from net.Conn) {
	if !c.hold(from) {
		return
	}
	defer c.drop(from)
	c.mu.Lock()
	address, most := c.to, c.most
	c.mu.Unlock()
	to, err := net.Dial("tcp", address)
	if err != nil || !c.hold(to) {
		return
	}
	defer c.drop(to)
	done := make(chan struct{}, 2)
	pump := func(w net.Conn, r io.Reader) {
		_, _ = io.Copy(w, r) // it ends when one of them does
		done <- struct{}{}
	}
	go pump(to, from)
	var answers io.Reader = to
	if most > 0 {
		answers = io.LimitReader(to, most)
	}
	go pump(&counted{from, &c.passed}, answers)
	<-done
}

// counted counts what is written to a connection.
type counted struct {
	net.Conn
	n *atomic.Int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.n.Add(int64(n))
	return n, err
}

// mesh is nodes with stores of their own, each a peer of all others.
type mesh struct {
	t     *testing.T
	nodes []*servedStore
	homes []string
	ways  []*cuttable
	work  string // where effects leave their marks

	limits string // what else is said of peers
	https  []*client.Client
}

const meshScript = `turns:
  - sleep: {on: go}
  - execute: {tool: shell, args: {script: "echo x >> ${inputs.name}-1"}}
  - sleep: {on: more}
  - execute: {tool: shell, args: {script: "echo x >> ${inputs.name}-2"}}
  - end: {result: done}
`

const meshPolicy = `@id("all")
permit (principal, action, resource);
@id("peers")
permit (principal, action == Action::"admit", resource) when { context.trusted };
`

// newMesh starts nodes that trust each other and sync all agents over ways that can be cut.
func newMesh(t *testing.T, n int, more func(node int, work, script string) string) *mesh {
	t.Helper()
	m := &mesh{t: t, work: t.TempDir()}
	m.begin(n, more)
	return m
}

// begin starts the nodes.
func (m *mesh) begin(n int, more func(node int, work, script string) string) {
	t := m.t
	t.Helper()
	root := t.TempDir()
	script := filepath.Join(root, "script.yaml")
	m.write(script, meshScript)
	keys := make([]string, n)
	for i := range n {
		home := filepath.Join(root, fmt.Sprint("home", i))
		m.homes = append(m.homes, home)
		must(t, exitOK, "key", "new", "--name", fmt.Sprint("n", i), "--store", home)
		keys[i] = strings.TrimSpace(must(t, exitOK, "key", "show", "--jq", ".text", "--store", home))
		m.write(filepath.Join(home, "policies", "all.cedar"), meshPolicy)
	}
	targets := make([][]*cuttable, n)
	for i, home := range m.homes {
		conf := more(i, m.work, script) + "peers:\n"
		for j := range n {
			if i == j {
				continue
			}
			must(t, exitOK, "key", "trust", keys[j], "--rights", "own", "--scope", "*", "--store", home)
			way := newCuttable(t)
			m.ways, targets[j] = append(m.ways, way), append(targets[j], way)
			conf += fmt.Sprintf("  - {name: n%d, url: \"https://%s\", key: \"%s\", every: 300ms%s}\n", j, way.ln.Addr(),
				keys[j], m.limits)
		}
		m.write(filepath.Join(home, "node.yaml"), conf)
	}
	for i, home := range m.homes {
		s := serve(t, home, "--tls", "--listen", "unix:")
		m.nodes = append(m.nodes, s)
		address := m.reached(s)
		for _, way := range targets[i] {
			way.mu.Lock()
			way.to = address
			way.mu.Unlock()
		}
		m.https = append(m.https, &client.Client{URL: "unix:" + filepath.Join(home, "serve.sock")})
	}
}

// able is what a node is told that can do everything.
func able(_ int, work, script string) string {
	return fmt.Sprintf("advisor: script:%s\nfiles: %s\nprograms: [sh]\n", script, work)
}

// reached is where a server listens for others, as it logs.
func (m *mesh) reached(s *servedStore) string {
	m.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(s.log)
		if err != nil {
			m.t.Fatal(err)
		}
		if _, rest, ok := strings.Cut(string(b), "at=https://"); ok && strings.Contains(rest, " ") {
			address, _, _ := strings.Cut(rest, " ")
			return address
		}
	}
	m.t.Fatal("it does not serve others")
	return ""
}

func (m *mesh) write(path, text string) {
	m.t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// tell tells an agent something at a node, as soon as the node has it.
func (m *mesh) tell(ctx context.Context, node int, agent, event string) {
	for ctx.Err() == nil {
		_, err := m.https[node].Send(ctx, agent, client.Event{Name: event}, client.Once(agent+event))
		if err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// cutAtRandom cuts ways and heals them, until a time; then all are whole.
func (m *mesh) cutAtRandom(r *rand.Rand, until time.Time) {
	for time.Now().Before(until) {
		way := m.ways[r.IntN(len(m.ways))]
		way.set(true)
		time.Sleep(time.Duration(20+r.IntN(150)) * time.Millisecond)
		if r.IntN(3) > 0 {
			way.set(false)
		}
	}
	for _, way := range m.ways {
		way.set(false)
	}
}

// folds are what each node derives of an agent; empty where it has not ended.
func (m *mesh) folds(ctx context.Context, agent string) (all []string, ended bool) {
	ended = true
	for _, c := range m.https {
		a, _, err := c.Show(ctx, agent, "")
		if err != nil || a.Ended == nil {
			return nil, false
		}
		v, err := c.State(ctx, agent, "")
		if err != nil {
			return nil, false
		}
		all = append(all, fmt.Sprint(a.Heads, a.Ended.Signal, perdure.HashOf(v)))
	}
	return all, ended
}

// settled waits until every agent has ended on every node, and all derive the same.
func (m *mesh) settled(ctx context.Context, agents []string) {
	m.t.Helper()
	for _, agent := range agents {
		for {
			folds, ended := m.folds(ctx, agent)
			same := ended
			for _, f := range folds {
				same = same && f == folds[0]
			}
			if same {
				break
			}
			if ctx.Err() != nil {
				m.fail(agent, folds)
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// fail says how an agent stands where.
func (m *mesh) fail(agent string, folds []string) {
	m.t.Helper()
	m.t.Errorf("%s did not come to one end everywhere: %q", agent, folds)
	for i, home := range m.homes {
		out, errs, _ := perdureIn(m.t, "", "show", agent, "--store", home)
		m.t.Logf("node %d: %s%s", i, out, errs)
		log, _ := os.ReadFile(m.nodes[i].log)
		m.t.Logf("log %d: %s", i, log[max(0, len(log)-2000):])
	}
}

// effects counts how often each effect happened.
func (m *mesh) effects(agents []string) {
	m.t.Helper()
	for _, agent := range agents {
		for step := 1; step <= 2; step++ {
			b, err := os.ReadFile(filepath.Join(m.work, fmt.Sprintf("%s-%d", agent, step)))
			if err != nil || string(b) != "x\n" {
				m.t.Errorf("effect %d of %s: %q %v, want it once", step, agent, b, err)
			}
		}
	}
}

// meshFor is how long ways are cut: short, unless PERDURE_MESH says otherwise, such as 5m.
func meshFor(t *testing.T) time.Duration {
	if text := os.Getenv("PERDURE_MESH"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("PERDURE_MESH: %v", err)
		}
		return d
	}
	return 6 * time.Second
}

func TestFiveNodesThatAreCutApartComeToOneEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts five servers")
	}
	const nodes = 5
	cutting := meshFor(t)
	agents := 10
	if cutting > time.Minute {
		agents = 100
	}
	m := newMesh(t, nodes, able)
	ctx, stop := context.WithTimeout(t.Context(), cutting+5*time.Minute)
	defer stop()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var names []string
	var telling sync.WaitGroup
	until := time.Now().Add(cutting)
	for i := range agents {
		name := fmt.Sprint("agent", i)
		names = append(names, name)
		at := r.IntN(nodes)
		in := client.Intent{Name: name, Goal: "work", Inputs: []byte(`{"name":"` + name + `"}`)}
		_, err := m.https[at].Create(ctx, in)
		if err != nil {
			t.Fatal(err)
		}
		first, second := r.IntN(nodes), r.IntN(nodes)
		wait := time.Duration(r.Int64N(int64(cutting)))
		telling.Go(func() {
			m.tell(ctx, first, name, "go")
			time.Sleep(wait)
			m.tell(ctx, second, name, "more")
		})
	}
	m.cutAtRandom(r, until)
	telling.Wait()
	m.settled(ctx, names)
	m.effects(names)
}

// create makes an agent at a node.
func (m *mesh) create(ctx context.Context, node int, name, advisor, inputs string) perdure.AgentID {
	m.t.Helper()
	made, err := m.https[node].Create(ctx, client.Intent{Name: name, Goal: "work", Advisor: advisor,
		Inputs: []byte(inputs)})
	if err != nil {
		m.t.Fatal(err)
	}
	return made.Agent
}

// A node without the tool hands the agent over, with its seat, to the peer that has it.
func TestAnAgentMovesToTheNodeThatCanServeIt(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts servers")
	}
	m := newMesh(t, 2, func(node int, work, script string) string {
		if node == 1 {
			return able(node, work, script) + "scopes: [home]\n"
		}
		return fmt.Sprintf("advisor: script:%s\n", script)
	})
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	m.create(ctx, 0, "mover", "", `{"name":"mover"}`)
	m.tell(ctx, 0, "mover", "go")
	m.tell(ctx, 0, "mover", "more")
	m.settled(ctx, []string{"mover"})
	m.effects([]string{"mover"})
	out := must(t, exitOK, "seat", "show", "mover", "--store", m.homes[1], "--json", "--jq", ".standing")
	if strings.TrimSpace(out) != "here" {
		t.Errorf("the seat is %s, want it moved", out)
	}
}

// Both sides of a cut go on with an agent; only the one with the seat acts, and afterwards both know the same.
func TestBothSidesOfACutBecomeOne(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts servers")
	}
	m := newMesh(t, 2, func(node int, work, script string) string {
		return able(node, work, script) + "copies: work\n"
	})
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	m.create(ctx, 0, "twin", "", `{"name":"twin"}`)
	for _, _, err := m.https[1].Show(ctx, "twin", ""); err != nil && ctx.Err() == nil; {
		time.Sleep(50 * time.Millisecond)
		_, _, err = m.https[1].Show(ctx, "twin", "")
	}
	for _, way := range m.ways {
		way.set(true)
	}
	m.tell(ctx, 1, "twin", "go")
	m.tell(ctx, 0, "twin", "go")
	time.Sleep(time.Second) // both decide what they may
	for _, way := range m.ways {
		way.set(false)
	}
	m.tell(ctx, 1, "twin", "more")
	m.settled(ctx, []string{"twin"})
	m.effects([]string{"twin"})
}

// A message reaches an agent that only a peer has, and wakes it there, also outside the scope that is synced.
func TestMessagesReachAgentsOfPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts servers")
	}
	m := &mesh{t: t, work: t.TempDir(), limits: ", scope: nowhere"}
	m.write(filepath.Join(m.work, "hear.yaml"), "turns:\n  - sleep: {on: found}\n  - end: {result: heard}\n")
	m.write(filepath.Join(m.work, "tell.yaml"), "turns:\n  - execute: {tool: send, args: {to: agent, "+
		"agent: \"${inputs.to}\", event: found}}\n  - end: {result: told}\n")
	m.begin(2, func(_ int, work, _ string) string {
		return fmt.Sprintf("advisors: {hear: \"script:%[1]s/hear.yaml\", tell: \"script:%[1]s/tell.yaml\"}\n", work)
	})
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	id := m.create(ctx, 1, "hearer", "hear", `{}`)
	m.create(ctx, 0, "teller", "tell", `{"to":"`+id.String()+`"}`)
	for {
		a, _, err := m.https[1].Show(ctx, "hearer", "")
		if err == nil && a.Ended != nil {
			return
		}
		if ctx.Err() != nil {
			m.fail("hearer", nil)
			m.fail("teller", nil)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
