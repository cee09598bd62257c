package simulate

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/entropy"
	"github.com/perdure/perdure/policy"
)

// Options say how a script is run.
type Options struct {
	Sabotage string    // what is broken on purpose, to see that it is noticed
	Trace    io.Writer // every step
}

// Report is what a run came to.
type Report struct {
	Steps      int
	Trace      string         // the hash of everything that happened
	Tail       []string       // the last of it
	Violations []Violation    // at most a few
	Faults     map[string]int // that were made, by kind
	Checks     map[string]int // that were made, by invariant
	Tally      map[string]int // what else there was
}

// Violation is something that must not be.
type Violation struct {
	Invariant string
	What      string
	Step      int
}

func (v Violation) String() string {
	return fmt.Sprintf("step %d: %s: %s", v.Step, v.Invariant, v.What)
}

// run is one run.
type run struct {
	script *Script
	o      Options
	sched  *sched
	stores []*stock
	nodes  []*machine
	people []*person
	trust  *perdure.Trust
	policy *policy.Set
	skewed chan session  // made outside, as is the next: who waits on them stops the clock
	worked chan struct{} // the session is over

	subjects []*subject
	touched  []touch
	acts     int
	at       time.Time // the time here while somebody works in another; zero: it is now
	ahead    time.Time // the time they work in

	world sync.Mutex // is held by what a tool does outside of steps: several begin, and are done, at one moment

	mu         sync.Mutex
	violations []Violation
	faults     map[string]int
	checks     map[string]int
	tally      map[string]int
	rounds     map[touch]string
}

// machine is a node through all its lives.
type machine struct {
	n     int
	key   *perdure.Signer
	s     *stock
	weak  bool // the first node of each store has everything
	life  *life
	born  time.Time
	lives int
}

// session is some work in another time.
type session struct {
	at   time.Time
	work func()
}

// running lets one run at a time have the source of salts.
var running sync.Mutex

// Run runs a script.
func Run(t *testing.T, s *Script, o Options) *Report {
	t.Helper()
	running.Lock()
	defer running.Unlock()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // what one step sets in motion goes on in one order
	salts := entropy.Reader
	entropy.Reader = &locked{r: rand.NewChaCha8([32]byte{byte(s.Seed), byte(s.Seed >> 8), byte(s.Seed >> 16),
		byte(s.Seed >> 24)})}
	defer func() { entropy.Reader = salts }()
	r := &run{script: s, o: o, skewed: make(chan session), worked: make(chan struct{}), faults: map[string]int{},
		checks: map[string]int{}, tally: map[string]int{}}
	var others sync.WaitGroup
	others.Go(func() {
		for w := range r.skewed {
			synctest.Test(t, func(*testing.T) {
				time.Sleep(time.Until(w.at))
				w.work()
			})
			r.worked <- struct{}{}
		}
	})
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(epoch))
		r.sched = newSched(s.Seed)
		r.sched.trace.out = o.Trace
		r.setUp(dir)
		r.play()
		if len(r.violations) == 0 {
			r.finish()
		}
		r.tearDown()
	})
	close(r.skewed)
	others.Wait()
	return &Report{Steps: r.sched.steps, Trace: r.sched.trace.hash(), Tail: r.sched.trace.tail(),
		Violations: r.violations, Faults: r.faults,
		Checks: r.checks, Tally: r.tally}
}

// epoch is when runs begin.
var epoch = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// locked is a source of salts for one after the other.
type locked struct {
	mu sync.Mutex
	r  io.Reader
}

func (l *locked) Read(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(b)
}

// signers are keys made once: the same in every run.
var signers = sync.OnceValue(func() []*perdure.Signer {
	names := []string{"alice", "bob", "carol"}
	for i := range 9 {
		names = append(names, fmt.Sprint("node", i))
	}
	var keys []*perdure.Signer
	for i, name := range names {
		seed := make([]byte, ed25519.SeedSize)
		seed[0] = byte(i + 1)
		keys = append(keys, must(perdure.NewSigner(name, ed25519.NewKeyFromSeed(seed))))
	}
	return keys
})

var theRules = sync.OnceValue(func() *policy.Set {
	return must(policy.Parse(policy.File{Name: "rules.cedar", Text: []byte(rules)}))
})

func (r *run) setUp(dir string) {
	var who []perdure.Trustee
	for i, k := range signers() {
		rights := perdure.MayOwn
		if i == 2 {
			rights = perdure.MayAuthor | perdure.MayApprove
		}
		who = append(who, perdure.Trustee{Key: k.Key(), Name: k.Name, Rights: rights, Scope: perdure.AnyScope})
		if i < 3 {
			r.people = append(r.people, &person{k.Name, k})
		}
	}
	r.trust, r.policy = perdure.NewTrust(who...), theRules()
	for i, kind := range r.script.Stores {
		s := &stock{name: fmt.Sprint("s", i), kind: kind, path: dir, books: map[perdure.AgentID]*book{}}
		if err := s.open(r.trust); err != nil {
			panic(err)
		}
		r.stores = append(r.stores, s)
	}
	seen := map[int]bool{}
	for i, s := range r.script.Nodes {
		m := &machine{n: i, key: signers()[3+i%9], s: r.stores[s%len(r.stores)], weak: seen[s]}
		seen[s] = true
		r.nodes = append(r.nodes, m)
		r.start(m)
	}
}

// start begins a new life of a node, unless it lives.
func (r *run) start(m *machine) {
	if m.life != nil && !m.life.gone() {
		return
	}
	m.lives++
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{name: fmt.Sprintf("n%d.%d", m.n, m.lives), store: m.s, loop: ctx, cancel: cancel,
		died: make(chan struct{}), tells: make(chan struct{}, 1)}
	m.life, m.born = l, time.Now()
	n := r.node(m, l)
	go func() {
		defer l.ended.Store(true)
		_ = n.Run(ctx)
	}()
	r.sched.settle()
}

// node is a node for one life.
func (r *run) node(m *machine, l *life) *perdure.Node {
	return &perdure.Node{
		Store: &port{r, l, m.s}, Key: m.key, Policy: r.policy, PolicyHash: r.policy.Hash(), Trust: r.trust,
		Tools:       r.toolset(l, m.weak),
		Advisors:    map[string]perdure.Advisor{"instant": &advisor{r, l, true}, "costly": &advisor{r, l, false}},
		Concurrency: 3, Parallel: parallel, Quantum: 8, SnapshotEvery: 12, CollectEvery: 10 * time.Minute,
		Grace:     5 * time.Second,
		CacheSize: -(m.n % 2), // all or none: which one goes out of a full one is left to chance
	}
}

// play runs the operations of the script.
func (r *run) play() {
	ops := r.script.Ops
	idle := 0
	for len(r.violations) == 0 && (len(ops) > 0 || r.sched.steps < 1) {
		for len(ops) > 0 && (ops[0].Step <= r.sched.steps || idle > 3) {
			r.do(ops[0])
			ops, idle = ops[1:], 0
			if len(r.violations) > 0 {
				return
			}
		}
		if len(ops) == 0 {
			return
		}
		if r.one(20 * time.Minute) {
			idle = 0
		} else {
			idle++
		}
	}
}

// one makes one step, and lets time pass if there is none to make. It reports whether it made one.
func (r *run) one(most time.Duration) bool {
	r.spread()
	if !r.sched.step() {
		r.sched.settle()
		if !r.sched.step() {
			r.sched.idle(most)
			return false
		}
	}
	r.spread()
	n := r.sched.steps
	if c := r.sched.chance("time", n); c%3 == 0 {
		r.sched.elapse([]time.Duration{200, 700, 1300, 5100, 40_300}[c/3%5] * time.Microsecond)
	}
	if n%48 == 0 {
		r.checkSome(n)
	}
	return true
}

// do does one operation.
func (r *run) do(op Op) {
	r.sched.trace.add(op.String())
	m := r.nodes[op.A%len(r.nodes)]
	span := []time.Duration{time.Second, 12 * time.Second, 3 * time.Minute, time.Hour}[op.B%4]
	switch op.Kind {
	case Create:
		r.create(op)
	case Tell, Pause, Resume, Vote, Settle, Grant, Edit, End:
		r.tells(op, func(p *person, sub *subject, f *perdure.Fold) []perdure.Event { return says(op, p, sub, f) })
	case Fork:
		r.fork(op)
	case Copy:
		r.copies(op)
	case Collect:
		r.collect(op)
	case Crash:
		m.life.crash, m.life.how, m.life.writes = 1+op.B%24, op.C%3, op.C/3%3 > 0
	case Fail:
		m.life.fail, m.life.late = 1+op.B%4, op.C%2 == 1
	case Cut:
		m.life.cut = time.Now().Add(span)
	case Freeze:
		r.faults["freeze"]++
		m.life.frozen = time.Now().Add(span)
	case Start:
		r.start(m)
	case Stop:
		r.faults["stop"]++
		m.life.cancel()
	case Advance:
		r.faults["jump ahead"]++
		r.sched.elapse(span)
	case Skew:
		r.skew(op, m)
	case Reopen:
		r.reopen(r.stores[op.A%len(r.stores)])
	}
	for _, sub := range r.subjects { // what goes wrong anywhere is a reason to look again everywhere
		sub.facts++
	}
	r.sched.settle()
}

// skew has a node work on an agent with a clock that is wrong, in a life of its own.
func (r *run) skew(op Op, m *machine) {
	sub, _ := r.place(op.B, 0)
	if sub == nil {
		return
	}
	if _, err := m.s.inner.Heads(context.Background(), sub.id); err != nil || m.s.kind != "mem" {
		return
	}
	by := []time.Duration{-3 * time.Hour, -time.Minute, 2 * time.Minute, 5 * time.Hour, 400 * 24 * time.Hour}[op.C%5]
	r.faults[map[bool]string{true: "clock back", false: "clock ahead"}[by < 0]]++
	r.at = time.Now()
	r.ahead = r.at.Add(by)
	for _, o := range r.subjects { // it looks at relatives, too, and says when to look at them next
		o.skewed = r.ahead
	}
	// by more than nodes would wait: the clock of the machine was, and all of its nodes died with it
	ahead := by > time.Hour
	for _, o := range r.nodes {
		if ahead && o.s == m.s {
			r.end(o.life)
		}
	}
	w := session{at: r.at.Add(by)}
	r.acts++
	w.work = func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		l := &life{name: fmt.Sprintf("n%d.skew%d", m.n, r.acts), store: m.s, inline: true, cancel: cancel,
			died: make(chan struct{})}
		if op.C%3 == 0 {
			l.crash, l.how = 1+op.C/15%20, op.C/5%2
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = r.node(m, l).RunAgent(ctx, sub.id)
		}()
		<-ended
		l.dead.Store(true)
	}
	r.skewed <- w
	<-r.worked
	r.at, r.ahead = time.Time{}, time.Time{}
	r.sched.settle()
	for _, o := range r.nodes {
		if ahead && o.s == m.s {
			r.start(o)
		}
	}
}

// now is the time here, whatever time somebody works in.
func (r *run) now() time.Time {
	if !r.at.IsZero() {
		return r.at
	}
	return time.Now()
}

// reopen closes a store and opens it again. Nobody is in a call meanwhile: they wait before it.
func (r *run) reopen(s *stock) {
	if s.kind == "mem" {
		return
	}
	r.faults["reopen"]++
	if err := s.inner.Close(); err != nil {
		r.violate("stores close", "%s: %v", s.name, err)
	}
	if err := s.open(r.trust); err != nil {
		panic(err)
	}
}

// tearDown ends everybody.
func (r *run) tearDown() {
	for _, m := range r.nodes {
		r.end(m.life)
	}
	r.sched.mu.Lock()
	left := r.sched.parked
	r.sched.parked = nil
	r.sched.mu.Unlock()
	for _, p := range left {
		p.who.dead.Store(true)
		p.let <- false
	}
	time.Sleep(24 * time.Hour) // for those who wait for a time, to find that they are dead
	synctest.Wait()
	for _, s := range r.stores {
		_ = s.inner.Close()
	}
}

// sabotaged reports whether something is broken on purpose, from some step on.
func (r *run) sabotaged(what string) bool { return r.o.Sabotage == what && r.sched.steps > 40 }

// violate reports what must not be.
func (r *run) violate(invariant, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.violations) < 5 {
		r.violations = append(r.violations, Violation{invariant, fmt.Sprintf(format, args...), r.sched.steps})
	}
}
