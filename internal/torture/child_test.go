//go:build unix

package torture

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/store/sqlite"
)

// childEnv tells a process that these tests started what it is to do.
const childEnv = "PERDURE_TORTURE_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childEnv); task != "" {
		var c child
		err := json.Unmarshal([]byte(task), &c)
		if err == nil {
			err = c.run(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	for _, f := range atExit {
		f()
	}
	os.Exit(code)
}

// child is a process that runs a node until it is killed.
type child struct {
	Dir    string // holds the store, the world and the ledger of what was acknowledged
	Name   string // of its key
	Agents int    // how many living agents there are to be at least
	Finish bool   // make no agents, and leave when all have ended
	Flaw   flaw   // what it does wrong, for the harness to find
	// there are other processes: leases end under a node that is slow, and then advice can be asked for twice
	Rivals bool
	Point  int64  // at which of its points it kills itself; zero: it waits to be killed
	Holds  string // it does nothing but to stop in the middle of a write to this store
	Stops  bool   // there, and at every so-manieth after it, it stops instead, until it is told to go on
}

// flaw is something a child does wrong on purpose.
type flaw string

const (
	hasty  flaw = "hasty"  // says that entries are acknowledged before they are
	bold   flaw = "bold"   // repeats effects of class once
	sloppy flaw = "sloppy" // finds that an effect did not happen without looking
	tardy  flaw = "tardy"  // begins effects after their deadlines
)

func (c *child) store() string  { return filepath.Join(c.Dir, "store.db") }
func (c *child) world() world   { return world{filepath.Join(c.Dir, "world")} }
func (c *child) ledger() string { return filepath.Join(c.Dir, "acknowledged."+c.Name) }

// signerOf is the key of a name: the same in every process.
func signerOf(name string) *perdure.Signer {
	h := perdure.HashOf([]byte(name))
	return must(perdure.NewSigner(name, ed25519.NewKeyFromSeed(h[:])))
}

// others are the keys of the other processes, which may find out what came of what this one began.
func (c *child) others() (keys []perdure.Key) {
	for _, name := range []string{"red", "blue"} {
		if c.Rivals && name != c.Name {
			keys = append(keys, signerOf(name).Key())
		}
	}
	return keys
}

func (c *child) run(ctx context.Context) (err error) {
	if c.Holds != "" {
		return holdAndStop(ctx, c.Holds)
	}
	s, err := sqlite.Open(ctx, c.store(), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ledger, err := os.OpenFile(c.ledger(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	// the life before may have been killed in the middle of a line
	if _, err := io.WriteString(ledger, "\n"); err != nil {
		return err
	}
	p := &points{at: c.Point, stops: c.Stops}
	n := newNode(&witnessed{Store: s, ledger: ledger, points: p, hasty: c.Flaw == hasty}, signerOf(c.Name), c.world())
	if c.Flaw == bold || c.Flaw == sloppy {
		n.Tools[0] = &careless{n.Tools[0].(*checked), c.Flaw}
	}
	n.Tools = withPoints(n.Tools, p, &beginnings{file: filepath.Join(c.Dir, "late"), tardy: c.Flaw == tardy})
	n.Advisors = map[string]perdure.Advisor{"": &adviser{store: s, points: p},
		paidAdvisor: &adviser{s, p, true, c.Rivals}}

	n.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if _, err := io.WriteString(os.Stdout, "open\n"); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- n.Run(ctx) }()
	for alive := 1; alive > 0 || !c.Finish; {
		if alive, err = c.look(ctx, n); err != nil {
			break
		}
		for ; alive < c.Agents && !c.Finish; alive++ {
			if _, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Name: fmt.Sprint("by ", os.Getpid()),
				Goal: "all steps", Advisor: []string{"", paidAdvisor}[alive%2]},
				Charter: perdure.Charter{Scope: "torture", Depth: 1, Delegates: c.others()}}); err != nil {
				return err
			}
		}
		if err = pause(ctx, 5*time.Millisecond); err != nil {
			break
		}
	}
	stop()
	return errors.Join(err, <-ran)
}

// look settles what needs a person and counts the agents that have something left to do.
func (c *child) look(ctx context.Context, n *perdure.Node) (alive int, err error) {
	for l, err := range n.Store.(perdure.Lister).List(ctx, perdure.Filter{}) {
		if err != nil {
			return 0, err
		}
		if l.State == phase.Terminated {
			continue
		}
		a, err := perdure.Load(ctx, n.Store, l.Agent) // the listing is an index: it may be behind
		if err != nil {
			return 0, err
		}
		if a.Fold().Ended == nil || len(a.Fold().Open) > 0 {
			alive++
		}
		if err := settle(ctx, n, c.world(), a); err != nil {
			return 0, err
		}
	}
	return alive, nil
}

// careless is a tool of class once that is not treated as one.
type careless struct {
	*checked
	flaw flaw
}

func (t *careless) Spec() perdure.Spec {
	s := t.checked.Spec()
	if t.flaw == bold {
		s.Effect = perdure.Idempotent
	}
	return s
}

func (t *careless) Reconcile(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	if t.flaw == sloppy {
		return perdure.Result{Signal: perdure.Failed}, nil
	}
	return t.checked.Reconcile(ctx, c)
}

// witnessed is a store that writes down what it acknowledged, as soon as it has.
type witnessed struct {
	*sqlite.Store
	ledger *os.File
	points *points
	hasty  bool // or sooner
}

func (s *witnessed) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash,
	entries ...*perdure.Entry) error {
	return s.note(id, entries, func() error { return s.Store.Append(ctx, id, heads, entries...) })
}

func (s *witnessed) AppendListed(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, l perdure.Listing,
	entries ...*perdure.Entry) error {
	return s.note(id, entries, func() error { return s.Store.AppendListed(ctx, id, heads, l, entries...) })
}

func (s *witnessed) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	return s.note(id, entries, func() error { return s.Store.Put(ctx, id, entries...) })
}

func (s *witnessed) note(id perdure.AgentID, entries []*perdure.Entry, write func() error) error {
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s\n", id, e.Name)
	}
	steps := []func() error{write, func() error {
		_, err := s.ledger.Write(b.Bytes())
		return err
	}}
	if s.hasty {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		s.points.pass()
		if err := step(); err != nil {
			return err
		}
	}
	s.points.pass()
	return nil
}
