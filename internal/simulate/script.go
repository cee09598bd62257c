package simulate

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// Kind is what an operation does.
type Kind string

// The operations. What A, B and C mean is said beside each; agents, nodes, stores and people are numbers, taken modulo
// how many there are.
const (
	Create  Kind = "create"  // an agent begins: A its program, B its store, C its features
	Tell    Kind = "tell"    // a person tells agent A an event: B who, C which
	Pause   Kind = "pause"   // a person pauses agent A: B who
	Resume  Kind = "resume"  // a person lets agent A go on: B who
	Vote    Kind = "vote"    // a person answers the questions of agent A: B who, C odd: no
	Settle  Kind = "settle"  // a person settles what is in doubt of agent A: B who
	Grant   Kind = "grant"   // a person grants agent A more: B who
	Edit    Kind = "edit"    // a person edits agent A: B who, C what
	End     Kind = "end"     // a person ends agent A: B who
	Fork    Kind = "fork"    // a person forks agent A: B who, C odd: live
	Copy    Kind = "copy"    // agent A goes from a store to another, as a capsule: B from, C to
	Collect Kind = "collect" // node B collects agent A
	Crash   Kind = "crash"   // node A dies at one of its next calls: B which, C before, after or in the middle of it
	Fail    Kind = "fail"    // some calls of node A fail: B how many, C odd: after they were done
	Cut     Kind = "cut"     // node A cannot reach its store for a time: B how long
	Freeze  Kind = "freeze"  // node A stands still for a time, its clock goes on: B how long
	Start   Kind = "start"   // node A is started if it is dead
	Stop    Kind = "stop"    // node A is told to stop
	Advance Kind = "advance" // time passes in which nothing is let go on: B how long
	Skew    Kind = "skew"    // node A works on agent B with a clock that is wrong by C
	Reopen  Kind = "reopen"  // store A is closed and opened again, if it is a real one
)

// Op is one operation. It takes place before a step.
type Op struct {
	Step    int
	Kind    Kind
	A, B, C int
}

func (o Op) String() string { return fmt.Sprintf("%d %s %d %d %d", o.Step, o.Kind, o.A, o.B, o.C) }

// Script is everything that is random about a run.
type Script struct {
	Seed   uint64
	Stores []string // mem, sqlite or dir
	Nodes  []int    // the store of each
	Ops    []Op
}

// String is the script as Parse reads it.
func (s *Script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\nstores %s\nnodes %s\n", s.Seed, strings.Join(s.Stores, " "),
		strings.Trim(fmt.Sprint(s.Nodes), "[]"))
	for _, o := range s.Ops {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}

// Parse reads a script.
func Parse(r io.Reader) (*Script, error) {
	s := new(Script)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		var err error
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "seed":
			_, err = fmt.Sscan(words[1], &s.Seed)
		case words[0] == "stores":
			s.Stores = words[1:]
		case words[0] == "nodes":
			for _, w := range words[1:] {
				var n int
				if _, err = fmt.Sscan(w, &n); err != nil {
					break
				}
				s.Nodes = append(s.Nodes, n)
			}
		default:
			var o Op
			_, err = fmt.Sscan(lines.Text(), &o.Step, &o.Kind, &o.A, &o.B, &o.C)
			s.Ops = append(s.Ops, o)
		}
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
	}
	return s, lines.Err()
}

// shares are how often an operation comes, of all of them.
var shares = []struct {
	kind  Kind
	share int
}{
	{Create, 8}, {Tell, 14}, {Pause, 5}, {Resume, 5}, {Vote, 10}, {Settle, 4}, {Grant, 3}, {Edit, 3}, {End, 1},
	{Fork, 2}, {Copy, 7},
	{Collect, 5}, {Crash, 8}, {Fail, 5}, {Cut, 3}, {Freeze, 2}, {Start, 6}, {Stop, 2}, {Advance, 4}, {Skew, 3},
	{Reopen, 1},
}

// Generate makes the script of a seed. Real stores come in when disk is set.
func Generate(seed uint64, disk bool) *Script {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &Script{Seed: seed}
	for range 1 + r.IntN(3) {
		kind := "mem"
		if disk {
			kind = []string{"mem", "sqlite", "dir"}[r.IntN(3)]
		}
		s.Stores = append(s.Stores, kind)
	}
	for i := range s.Stores {
		for range 1 + r.IntN(2) {
			s.Nodes = append(s.Nodes, i)
		}
	}
	total := 0
	for _, sh := range shares {
		total += sh.share
	}
	step := 0
	for range 1 + r.IntN(3) {
		s.Ops = append(s.Ops, Op{0, Create, r.IntN(1 << 16), r.IntN(64), r.IntN(1 << 16)})
	}
	for range 30 + r.IntN(60) {
		step += r.IntN(40)
		n := r.IntN(total)
		i := slices.IndexFunc(shares, func(sh struct {
			kind  Kind
			share int
		}) bool {
			n -= sh.share
			return n < 0
		})
		s.Ops = append(s.Ops, Op{step, shares[i].kind, r.IntN(1 << 16), r.IntN(64), r.IntN(1 << 16)})
	}
	return s
}
