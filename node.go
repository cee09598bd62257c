package perdure

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/entropy"
	"github.com/perdure/perdure/seal"
)

// Node runs agents. It keeps nothing they depend on: kill it at any moment and another node goes on from the store. Its
// exported fields are set before use and not changed afterwards; zero fields mean the documented default.
type Node struct {
	Store    Store
	Key      *Signer            // signs what the node writes
	Policy   Policy             // nil denies everything
	Trust    *Trust             // whose entries count, besides those of Key; nil: nobody's
	TrustNow func() *Trust      // whose entries count now, asked whenever it matters; nil: as Trust or SetTrust said
	Tools    []Tool             // what it can do
	Advisors map[string]Advisor // by the name an intent asks for; "" for those that name none

	State   StateChecker // knows the schemas of agents' states; nil: agents that name one wait for another node
	Guard   Guard        // refuses what must not enter memory; nil: everything may
	Witness Witness      // remembers how far memories had come; nil: a store that was put back is not noticed
	// opens sealed arguments for tools; nil: they stay sealed, and tools that need them fail
	Vault seal.Vault
	// Scopes of the agents it works on, and what is below them; none: any. Others are left to other nodes.
	Scopes        []string
	Place         Place         // where this node's agents have their seat; zero: in the store, if that is Placed
	PolicyHash    Hash          // names the policy set in the entries written under it
	Concurrency   int           // agents worked on at once; zero: 64
	Parallel      int           // effects of one agent performed at once; zero: 8
	Quantum       int           // cycles an agent gets before others have their turn; zero: 64
	Lease         time.Duration // of a claim: how long a dead node keeps others off; zero: 10 s, at most MaxLease
	Grace         time.Duration // how long effects under way may go on when Run is stopped; zero: 10 s
	SnapshotEvery int           // entries between snapshots; zero: 256
	// Seated leaves agents alone whose seat is in another store: they are worked on there, and what is told to them
	// here reaches them by exchange. Without it copies think and do what can be repeated.
	Seated       bool
	CollectEvery time.Duration // how often Run drops bodies that have outlived their time; zero: never
	CacheSize    int           // agents kept folded between cycles; zero: 256, negative: none
	Log          *slog.Logger  // nil: nothing is logged
	Observer     Observer      // is told what the node does; nil: nobody is

	// Survivors are the processes of this machine still at work on the effect with this key: a node, which may be
	// stopped, or what one that is gone left behind. While there are any it can neither be settled nor found not to
	// have happened. Nil: nobody looks. See tool.Survivors.
	Survivors func(key string) []int
	// Working makes known to Survivors, until done is called, that this process is at work on a once effect: from
	// before its decision is durable until its outcome is. Nil: nobody is told. See tool.Working.
	Working func(key string) (done func())
	// Barred says why an agent must be left alone, although it can be claimed: a file of it is run beside the store. It
	// is asked after each claim, and wraps ErrConflict if this ends by itself. Nil: nothing is.
	Barred func(AgentID) error

	setup sync.Once
	caps  Capabilities
	tools map[string]Tool

	schemas map[string]any // of the arguments of tools
	unfit   error          // why no agent can be worked on with these tools

	mu    sync.Mutex
	cache cache
	rests map[AgentID]leftAlone // what this node has nothing to do for, until its heads change
	told  bool                  // the store tells of what arrives
	loops map[*loop]bool        // that run

	unheard map[AgentID]*unheard  // polls that were not recorded
	working map[AgentID]int       // how many are at work on an agent here
	waiters map[AgentID][]*waiter // who wait for the end of agents
	unwatch context.CancelFunc    // ends the watch for them; nil: there is none

	rehearsals map[AgentID]*rehearsal // what forks rehearse with
	refusals   known[refusal]         // agents that do not count here because of who vouches for their past
	instance   Key                    // names this node in claims: its key may be that of other processes, too
	trusted    atomic.Pointer[trusting]
	placed     atomic.Pointer[Place] // where the seat of its agents is; nil: not known yet
	had        known[gone]           // an earlier seat of agents that have it elsewhere
	urged      atomic.Int64          // the Time of the last TryAgain
}

// leftAlone is an agent this node found nothing to do for.
type leftAlone struct {
	head  Hash // of its heads; zero: whatever they are
	until time.Time
	known time.Time // when its heads were last known to be these; zero: something may have arrived
}

// errNoKey says that a node has nothing to sign with: everything it does is signed.
var errNoKey = errors.New("this node has no key to sign with: set Node.Key, for example with GenerateSigner or " +
	"keyfile.Read")

// init makes the node ready. It returns an error when no entry can be written with it.
func (n *Node) init() error {
	if n.Key == nil {
		return errNoKey
	}
	n.setup.Do(func() {
		n.tools = make(map[string]Tool, len(n.Tools))
		n.caps = Capabilities{Node: n.Key.Key(), Scopes: n.Scopes, Tools: make(map[string]Spec, len(n.Tools)),
			Since: TimeOf(time.Now())}
		for _, t := range n.Tools {
			spec := t.Spec()
			_, spec.Reconciles = t.(Reconciler)
			n.tools[spec.Name], n.caps.Tools[spec.Name] = t, spec
		}
		n.schemas, n.unfit = argumentSchemas(n.caps.Tools), n.CheckTools()
		for name := range n.Advisors {
			n.caps.Advisors = append(n.caps.Advisors, name)
		}
		slices.Sort(n.caps.Advisors)
		n.trusted.Store(n.withKey(n.Trust))
		n.rests, n.rehearsals = map[AgentID]leftAlone{}, map[AgentID]*rehearsal{}
		n.unheard = map[AgentID]*unheard{}
		if _, err := io.ReadFull(entropy.Reader, n.instance[:]); err != nil {
			n.instance = n.caps.Node // it is then kept apart from nodes with other keys only
		}
		if n.Log == nil {
			n.Log = slog.New(slog.DiscardHandler)
		}
	})
	return nil
}

// fit is init, and says why no agent can be worked on with these tools, if so.
func (n *Node) fit() error {
	if err := n.init(); err != nil {
		return err
	}
	return n.unfit
}

// TryAgain has the node not wait for what failed up to now, nor take it for a sign of what it cannot do: a person has
// put it right, or wants to know. What fails after that is waited for as usual.
func (n *Node) TryAgain() {
	if n.init() != nil {
		return
	}
	n.urged.Store(int64(TimeOf(time.Now())))
	n.wakeAll()
}

// load folds an agent for this node to act on.
func (n *Node) load(ctx context.Context, id AgentID) (*Agent, error) {
	return n.trust().Load(ctx, n.Store, id)
}

// Load is an agent of this node's store that counts here: what this process holds of it, if that is still all there is,
// else what Trust.Load derives. It refuses (key.trusted) one that does not count: what that says of itself, whose child
// it is and where it belongs, is nothing to act on.
func (n *Node) Load(ctx context.Context, id AgentID) (a *Agent, err error) {
	if err := n.init(); err != nil {
		return nil, err
	}
	if a = n.kept(ctx, id); a == nil {
		a, err = n.load(ctx, id)
	}
	if err == nil {
		err = n.trust().Counts(a)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (n *Node) capabilities(claimed bool, busy []Hash) Capabilities {
	c := n.caps
	c.Claimed, c.Busy, c.Trust, c.Seated = claimed, busy, n.trust(), n.Seated
	c.Urged = Time(n.urged.Load())
	if p := n.placed.Load(); p != nil {
		c.Seat = *p
	}
	if n.Witness != nil {
		c.Blind = n.Witness.Fault()
	}
	return c
}

// Needs is what an agent needs to go on that this node does not have: a tool, an advisor as advisor:NAME, or as
// scope:SCOPE a node that works on agents of its scope. Empty: it needs nothing, or waits for something else.
func (n *Node) Needs(ctx context.Context, id AgentID) (string, error) {
	a, err := n.Load(ctx, id)
	if err != nil {
		return "", err
	}
	idle, _ := Plan(a, n.capabilities(false, nil), time.Now()).(Idle)
	return idle.Needs, nil
}

func (n *Node) tool(name string) Tool { return n.tools[name] }

func (n *Node) spec(tool string) (Spec, bool) {
	s, ok := n.caps.Tools[tool]
	return s, ok
}

func (n *Node) parallel() int { return max(1, or(n.Parallel, 8)) }

func (n *Node) snapshotEvery() int64 { return int64(or(n.SnapshotEvery, 256)) }

// or is v, or its default when zero.
func or[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// begin starts work on an agent, from the cache if its heads are still the heads.
func (n *Node) begin(ctx context.Context, id AgentID) (*work, error) {
	if err := n.fit(); err != nil {
		return nil, err
	}
	if _, err := n.here(ctx); err != nil {
		return nil, err
	}
	a := n.kept(ctx, id)
	n.mu.Lock()
	n.cache.drop(id)
	n.mu.Unlock()
	w := &work{n: n}
	if a != nil {
		if w.a, w.heads = a, a.Heads(); !n.lacks(ctx, a) {
			return w, nil // seen when it was put there, and no other copy of it has gone on since
		}
	} else if err := w.reload(ctx, id); err != nil {
		return w, err
	}
	var err error
	if w.behind, err = n.behind(ctx, w.a); err == nil {
		n.see(ctx, w.a, w.behind)
	}
	return w, err
}

// kept is the agent in the cache if its heads are still the heads, else nil.
func (n *Node) kept(ctx context.Context, id AgentID) *Agent {
	n.mu.Lock()
	a := n.cache.get(id)
	n.mu.Unlock()
	if a == nil {
		return nil
	}
	if heads, err := n.Store.Heads(ctx, id); err != nil || !slices.Equal(heads, a.Heads()) {
		return nil
	}
	if a.depth != Full { // its past may have come since, which changes no head
		if d, err := DepthOf(ctx, n.Store, id); err != nil || d != a.depth {
			return nil
		}
	}
	return a
}

// keep puts the agent into the cache for the next cycle, unless work was lost.
func (n *Node) keep(w *work) {
	switch {
	case w.a == nil || w.behind != nil:
	case len(w.pending) > 0:
		n.mu.Lock()
		delete(n.rehearsals, w.a.ID()) // it may have been given what was not written
		n.mu.Unlock()
	default:
		n.remember(w.a)
	}
}

// remember puts an agent into the cache. It is one that load returned, with what this node wrote since, and no older
// than one seen here.
func (n *Node) remember(a *Agent) {
	size := or(n.CacheSize, 256)
	if size < 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cache.put(a, size)
}

// index records the line about an agent, if the store keeps one. It says nothing of what could not be written: a line
// of more entries than there are would hide what they come to, such as a doubt, until there are more.
func (n *Node) index(ctx context.Context, w *work) error {
	a := w.a
	if len(w.pending) > 0 {
		a = w.base
	}
	l, ok := n.Store.(Lister)
	if !ok || a == nil {
		return nil
	}
	line := a.listing(n.trust(), time.Now())
	line.Waiting = line.Waiting || w.behind != nil || w.copied
	ctx, done := outlasting(ctx, leaveWithin)
	defer done()
	return l.Index(ctx, w.heads, line)
}
