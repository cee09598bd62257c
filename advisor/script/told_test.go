package script_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
)

// till counts what was paid.
type till struct {
	mu   sync.Mutex
	paid map[string]int
}

func (*till) Spec() perdure.Spec { return perdure.Spec{Name: "pay", Effect: perdure.Once} }

func (p *till) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paid[string(c.Args.JSON())]++
	return perdure.Result{}, nil
}

// payer is a script that pays an order as often as it is told one, with something before the payment.
func payer(between string) string {
	var b strings.Builder
	b.WriteString("turns:\n")
	for i := range 45 {
		turn := "  - sleep: {on: order}\n    as: gNR\n" + between
		b.WriteString(strings.ReplaceAll(turn, "NR", fmt.Sprint(i)))
	}
	return b.String()
}

const (
	justPays = "  - execute: {tool: pay, args: {n: \"${results.gNR.result.n}\"}}\n"
	readsToo = "  - do:\n    - execute: {tool: echo, args: {n: NR}}\n    " +
		"- execute: {tool: pay, args: {n: \"${results.gNR.result.n}\"}}\n"
	thenReads = justPays + "  - execute: {tool: echo, args: {n: NR}}\n"
)

// copies are the copies of one agent, each in a store of its own.
type copies struct {
	*testing.T
	id     perdure.AgentID
	text   string
	till   *till
	stores []*perdure.MemStore
	nodes  map[*perdure.MemStore]*perdure.Node
	seat   int // which has it; -1: the one that had it is lost
	told   map[string]bool
}

func newCopies(t *testing.T, n int, text string) *copies {
	c := &copies{T: t, text: text, till: &till{paid: map[string]int{}}, told: map[string]bool{},
		nodes: map[*perdure.MemStore]*perdure.Node{}}
	for range n {
		c.stores = append(c.stores, new(perdure.MemStore))
	}
	c.id = create(t, c.node(0), nil)
	run(t, c.node(0), c.id)
	for i := range c.stores[1:] {
		c.merge(0, i+1)
	}
	return c
}

// node is a node as a new process on a store has it.
func (c *copies) node(at int) *perdure.Node {
	n := c.nodes[c.stores[at]]
	if n == nil {
		s := read(c.T, c.text)
		s.Store = c.stores[at]
		n = newNode(c.T, c.stores[at], s, new(echo), c.till)
		c.nodes[c.stores[at]] = n
	}
	return &perdure.Node{Store: n.Store, Key: n.Key, Policy: n.Policy, Tools: n.Tools, Advisors: n.Advisors}
}

func (c *copies) merge(from, to int) {
	if from != to {
		copytest.Merge(c.T, c.stores[from], c.stores[to], c.id)
	}
}

// order tells a copy to pay something, under an id if that is not empty.
func (c *copies) order(at int, n int, id string) {
	data, err := perdure.DataOf(map[string]any{"n": n})
	if err != nil {
		c.Fatal(err)
	}
	tell(c.T, c.node(at), c.id, perdure.Event{Name: "order", Data: data, ID: id})
	c.told[fmt.Sprintf(`{"n":%d}`, n)] = true
}

// cycle does a few steps for a copy.
func (c *copies) cycle(at, steps int) {
	n := c.node(at)
	for range steps {
		if _, err := n.Cycle(c.Context(), c.id); err != nil {
			c.Fatal(err)
		}
	}
}

// move hands the seat over to another copy.
func (c *copies) move(to int) {
	if c.seat < 0 || c.seat == to {
		return
	}
	if err := c.node(c.seat).GiveSeat(c.Context(), c.id, perdure.Key{}, "moving"); err != nil {
		c.Fatal(err)
	}
	c.merge(c.seat, to)
	for !c.seated(to) {
		c.cycle(to, 1)
	}
	c.merge(to, c.seat) // a seat that was handed over must not be taken twice
	c.seat = to
}

// seated reports whether a copy has the seat.
func (c *copies) seated(at int) bool {
	place, err := c.stores[at].Place(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	seats := load(c.T, c.node(at), c.id).Fold().Seats
	return len(seats) == 1 && seats[0].At == place.ID && !seats[0].Given
}

// lose replaces the store with the seat by a copy of it.
func (c *copies) lose() {
	if c.seat < 0 {
		return
	}
	c.stores = append(c.stores, new(perdure.MemStore))
	c.merge(c.seat, len(c.stores)-1)
	c.stores = append(c.stores[:c.seat], c.stores[c.seat+1:]...)
	c.seat = -1
}

func (c *copies) take(at int) {
	if c.seat >= 0 {
		return
	}
	for i := range c.stores { // who has not heard who had it would dispute it
		c.merge(i, at)
	}
	if err := c.node(at).TakeSeat(c.Context(), c.id, "it is lost"); err != nil {
		c.Fatal(err)
	}
	c.seat = at
}

// meet brings everything to the copy with the seat, and from there to all.
func (c *copies) meet() {
	c.take(0)
	for range 3 { // what it does about what comes may be merged as well
		for i := range c.stores {
			c.merge(i, c.seat)
		}
		run(c.T, c.node(c.seat), c.id)
		for i := range c.stores {
			c.merge(c.seat, i)
			run(c.T, c.node(i), c.id)
		}
	}
}

// Two copies are woken by two orders, and whichever wake and whichever advice is folded first when they meet, both are
// paid, once. So is one that only the copy without the seat was told, from whose wake the script goes on.
func TestEachOrderThatWokeACopyIsPaidOnce(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"pays": justPays} {
		for first := range 5 {
			for _, steps := range []int{1, 2, 9} { // how far the copies come before they meet
				c := newCopies(t, 2, payer(text))
				for range first {
					tell(t, c.node(0), c.id, perdure.Event{Name: "hello"})
				}
				for range 4 - first {
					tell(t, c.node(1), c.id, perdure.Event{Name: "hello"})
				}
				c.order(1, 2, "")
				c.cycle(1, steps)
				if first != 2 {
					c.order(0, 1, "")
					c.cycle(0, steps)
				}
				c.meet()
				for what := range c.told {
					if c.till.paid[what] != 1 {
						t.Errorf("%s, %d first, %d steps: paid %v", name, first, steps, c.till.paid)
					}
				}
			}
		}
	}
}
