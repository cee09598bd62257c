package script_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// deed is something that happens to one of the copies.
type deed struct {
	what      string
	at, other int
	n         int // how often, or which order
}

func (d deed) String() string {
	switch d.what {
	case "merge":
		return fmt.Sprintf("merge %d>%d", d.at, d.other)
	case "order", "repeat", "cycle":
		return fmt.Sprintf("%s@%d %d", d.what, d.at, d.n)
	}
	return fmt.Sprintf("%s@%d", d.what, d.at)
}

// history is what happens to copies of an agent before they all meet.
type history struct {
	script string
	copies int
	deeds  []deed
}

func (h *history) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d copies:", h.script, h.copies)
	for _, d := range h.deeds {
		fmt.Fprintf(&b, " %s;", d)
	}
	return b.String()
}

// payers are the scripts of histories.
var payers = map[string]string{"pays": justPays, "reads too": readsToo, "reads after": thenReads}

// randomHistory is the history that a seed stands for.
func randomHistory(script string, seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 1))
	h := &history{script: script, copies: 1 + r.IntN(3)}
	for i := range 10 + r.IntN(25) {
		h.deeds = append(h.deeds, randomDeed(r, h.copies, i))
	}
	return h
}

func randomDeed(r *rand.Rand, copies, i int) deed {
	d := deed{at: r.IntN(copies), other: r.IntN(copies)}
	switch r.IntN(12) {
	case 0, 1:
		d.what, d.n = "order", 100+i
	case 2: // perhaps told in another copy as well
		d.what, d.n = "repeat", r.IntN(6)
	case 3, 4:
		d.what = "run"
	case 5, 6:
		d.what, d.n = "cycle", 1+r.IntN(5)
	case 7, 8, 9:
		d.what = "merge"
	case 10:
		d.what = []string{"lose", "take", "move", "move"}[r.IntN(4)]
	case 11:
		d.what = "hello"
	}
	return d
}

// do does it.
func (c *copies) do(d deed) {
	switch d.what {
	case "order":
		c.order(d.at, d.n, "")
	case "repeat":
		c.order(d.at, d.n, fmt.Sprint("order ", d.n))
	case "run":
		run(c.T, c.node(d.at), c.id)
	case "cycle":
		c.cycle(d.at, d.n)
	case "merge":
		c.merge(d.at, d.other)
	case "lose":
		c.lose()
	case "take":
		c.take(d.at)
	case "move":
		c.move(d.at)
	case "hello":
		n := c.node(d.at)
		n.SnapshotEvery = 1
		tell(c.T, n, c.id, perdure.Event{Name: "hello"})
	}
}

// play is what is wrong once all copies have met; empty: nothing.
func (h *history) play(t *testing.T) (wrong []string) {
	c := newCopies(t, h.copies, payer(payers[h.script]))
	for _, d := range h.deeds {
		c.do(d)
	}
	c.meet()
	for what := range c.told {
		if n := c.till.paid[what]; n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s was paid %d times", what, n))
		}
	}
	order := func(m perdure.Message) bool { return m.Name == "order" }
	a := load(t, c.node(c.seat), c.id)
	f := a.Fold()
	if slices.ContainsFunc(f.Unseen(), order) || len(f.Doubles()) > 0 || f.Sleep == nil {
		wrong = append(wrong, fmt.Sprintf("unseen %v, doubled %v, asleep: %v", f.Unseen(), f.Doubles(), f.Sleep != nil))
	}
	if f.Seats[0].Epoch == 1 && a.Straight() {
		wrong = append(wrong, c.heardTwice()...)
	}
	return wrong
}

// heardTwice is what more than one advice has seen that was asked for where the seat is.
func (c *copies) heardTwice() (twice []string) {
	seen := map[perdure.Hash]bool{}
	for e, err := range perdure.Memory(c.Context(), c.stores[c.seat], c.id) {
		if err != nil {
			c.Fatal(err)
		}
		advice, _ := e.Content().(perdure.Advice)
		for _, event := range advice.Seen {
			if seen[event] && !advice.Apart {
				twice = append(twice, event.Short()+" was told twice in a memory that never branched")
			}
			seen[event] = seen[event] || !advice.Apart
		}
	}
	return twice
}

// shrink leaves out of a history what it fails without. What is folded first is by chance, so each is tried often.
func (h *history) shrink(t *testing.T, tries int) *history {
	fails := func(h *history) bool {
		for range tries {
			if len(h.play(t)) > 0 {
				return true
			}
		}
		return false
	}
	for size := max(len(h.deeds)/2, 1); size > 0; {
		shorter := false
		for i := 0; i+size <= len(h.deeds); {
			less := &history{h.script, h.copies, slices.Delete(slices.Clone(h.deeds), i, i+size)}
			if fails(less) {
				h, shorter = less, true
			} else {
				i++
			}
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return h
}

// Copies of an agent are told orders, some of them the same under one id, run, stop in the middle of a turn, are merged
// with each other; the seat moves, and the place that has it is lost and restored from a copy. Once they all meet, the
// script has paid each order once, wherever it was told; and one that has no copies was told nothing twice. What is
// folded first is by chance, so no two runs are the same: PERDURE_HISTORIES says how many more are tried, of which one
// that fails is shortened.
func TestWhateverCopiesWereToldAScriptPaysOnce(t *testing.T) {
	t.Parallel()
	seeds, err := strconv.ParseUint(os.Getenv("PERDURE_HISTORIES"), 10, 64)
	if err != nil {
		seeds = 30
	}
	for name := range payers {
		for seed := range seeds {
			h := randomHistory(name, seed)
			wrong := h.play(t)
			if len(wrong) == 0 {
				continue
			}
			t.Errorf("seed %d: %v\n%s", seed, wrong, h)
			if err == nil {
				t.Errorf("shortened: %s", h.shrink(t, 40))
			}
		}
	}
}

// What each of these histories lost, in one order of folding, before advice of the seat was acted on that advice of a
// copy came after, before what woke a copy could wake the agent again, and before a copy's sleep could be interrupted.
func TestHistoriesThatLostAnOrder(t *testing.T) {
	t.Parallel()
	told := func(at, n int) deed { return deed{what: "order", at: at, n: n} }
	run := func(at int) deed { return deed{what: "run", at: at} }
	cycle := func(at, n int) deed { return deed{what: "cycle", at: at, n: n} }
	merge := func(at, to int) deed { return deed{what: "merge", at: at, other: to} }
	move := func(to int) deed { return deed{what: "move", at: to} }
	many := []deed{told(0, 100), cycle(0, 2)} // more copies than the fold keeps advice of
	for i := range 6 {
		many = append(many, told(i+1, i), cycle(i+1, 2))
	}
	for _, h := range []history{
		{"pays", 2, []deed{told(1, 1), run(1), told(0, 2), cycle(0, 2)}},
		{"reads too", 2, []deed{told(1, 1), told(0, 2), run(1), cycle(0, 2)}},
		{"pays", 3, []deed{told(0, 1), cycle(0, 4), move(2), cycle(2, 4), told(1, 2), merge(0, 1), run(1)}},
		{"pays", 3, []deed{told(0, 1), cycle(0, 3), merge(0, 2), move(1), run(1), told(2, 2), run(2)}},
		{"reads after", 2, []deed{told(0, 1), cycle(0, 5), told(1, 2), merge(0, 1), cycle(1, 2), cycle(0, 1)}},
		{"reads after", 2, []deed{told(0, 1), told(1, 2), cycle(0, 6), merge(0, 1), cycle(1, 5), told(0, 3),
			cycle(0, 1)}},
		{"reads after", 3, []deed{told(0, 1), told(1, 2), cycle(0, 5), move(2), run(0), cycle(2, 1)}},
		{"reads after", 3, []deed{told(0, 1), told(2, 2), cycle(0, 3), merge(0, 2), told(0, 3), cycle(0, 5), run(2)}},
		{"reads after", 2, []deed{told(0, 1), told(0, 2), cycle(0, 4), merge(0, 1), cycle(1, 3), cycle(0, 5)}},
		{"reads after", 2, []deed{told(0, 1), told(0, 2), cycle(0, 4), merge(0, 1), cycle(1, 3), cycle(0, 5),
			told(1, 3)}},
		{"pays", 7, many},
	} {
		for range 8 {
			if wrong := h.play(t); len(wrong) > 0 {
				t.Errorf("%v\n%s", wrong, &h)
				break
			}
		}
	}
}
