package home

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Tend does what a node needs besides running agents, until ctx ends or what it returns is called: destinations are
// told what happens, agents pass to and from peers, and the node follows the trust file.
func (h *Home) Tend(ctx context.Context, d *Desk, log *slog.Logger) (stop func(), err error) {
	untold, err := h.notifying(ctx, d.Node, log)
	if err != nil {
		return nil, err
	}
	unpeered, err := h.Peering(ctx, d, log)
	if err != nil {
		untold()
		return nil, err
	}
	unfollow := h.FollowTrust(ctx, d.Node, log)
	return func() { unfollow(); unpeered(); untold() }, nil
}

// RunAgents runs the agents of a store until ctx ends, as the process that does so here: one that would only run them
// if nobody else does leaves them to it.
func (h *Home) RunAgents(ctx context.Context, n *perdure.Node, log *slog.Logger) error {
	defer h.attending(n, log)()
	defer h.Enroll(ctx, n, log)()
	defer SayStopping(ctx, n.Grace, log)()
	return n.Run(ctx)
}

// stopsAtOnce is how soon a node stops that nothing keeps.
const stopsAtOnce = 300 * time.Millisecond

// SayStopping logs, once a context has ended and its work has not, for how long that may go on. What it returns is
// called when the work has ended.
func SayStopping(ctx context.Context, grace time.Duration, log *slog.Logger) (ended func()) {
	over := make(chan struct{})
	go func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		select {
		case <-over:
		case <-time.After(stopsAtOnce):
			log.Info("stopping: what is under way may still end; Ctrl-C again stops at once", "within", grace.String())
		}
	}()
	return sync.OnceFunc(func() { close(over) })
}

// attending says that this process runs the agents of the store, until what it returns is called.
func (h *Home) attending(n *perdure.Node, log *slog.Logger) func() {
	leave, ours, err := h.attend(n.PolicyHash)
	if err != nil {
		log.Warn("say that a node runs here", "err", err)
	}
	if err != nil || !ours {
		return func() {}
	}
	return func() { _ = leave() } // it ends with the process anyway
}

// RunNode runs a node over its store until ctx ends: its agents, and what Tend and Observed do.
func (h *Home) RunNode(ctx context.Context, n *perdure.Node, version string, log *slog.Logger) error {
	defer h.attending(n, log)()
	advisors, tools := Describe(n)
	log.Info("running", "store", h.Where(), "key", n.Key.Key().Short(), "advisors", advisors, "tools", tools,
		"policy", n.PolicyHash.Short())
	unobserved, err := h.Observed(n, version, log)
	if err != nil {
		return err
	}
	defer unobserved()
	untend, err := h.Tend(ctx, &Desk{Home: h, Store: n.Store, Node: n}, log)
	if err != nil {
		return err
	}
	defer untend()
	defer h.Enroll(ctx, n, log)()
	defer SayStopping(ctx, n.Grace, log)()
	return n.Run(ctx)
}

// Attendant runs the agents of a store while nobody else does.
type Attendant struct {
	Home   *Home
	Store  perdure.Store
	Powers *Powers
	Log    *slog.Logger

	mu  sync.Mutex
	why error // why nothing runs them, as far as is known
}

const (
	// attendEvery is how often it looks whether the process that runs the agents still does.
	attendEvery = time.Second
	// attendAgain is when it tries again what it cannot do, such as to start what node.yaml names.
	attendAgain = 15 * time.Second
)

// Lacks is why nothing runs the agents, as far as is known; nil: something does.
func (a *Attendant) Lacks() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.why
}

func (a *Attendant) set(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why != nil && (a.why == nil || why.Error() != a.why.Error()) {
		a.Log.Warn("agents are not run", "err", why)
	}
	a.why = why
}

// Run runs agents whenever nobody else does, until ctx ends.
func (a *Attendant) Run(ctx context.Context) {
	for ctx.Err() == nil {
		leave, ours, err := a.Home.Attend()
		if ours {
			err = errors.Join(a.run(ctx), leave())
		}
		again := attendEvery
		if ctx.Err() == nil {
			a.set(err)
		}
		if err != nil {
			again = attendAgain
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// run runs agents until ctx ends or it cannot.
func (a *Attendant) run(ctx context.Context) error {
	powers := *a.Powers
	n, err := powers.Node(ctx, a.Home, a.Store, a.Log)
	if err != nil {
		return err
	}
	if a.set(nil); len(n.Advisors) == 0 {
		a.set(perdure.WithHint(errors.New("no advisor is configured here"), a.Home.addAdvisor()))
	}
	stop := a.Home.FollowTrust(ctx, n, a.Log)
	leave := a.Home.Enroll(ctx, n, a.Log)
	err = n.Run(ctx)
	leave()
	stop()
	return errors.Join(err, powers.Close())
}
