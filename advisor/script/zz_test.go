package script_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/perdure/perdure"
)

func TestZZ(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	text := map[string]string{"pays": justPays, "reads too": readsToo, "reads after": thenReads}[os.Getenv("TEXT")]
	r := rand.New(rand.NewPCG(seed, 1))
	c := newCopies(t, 1+r.IntN(3), payer(text))
	trace = func(s string) { fmt.Println(s) }
	for i := range 10 + r.IntN(25) {
		c.random(r, i)
	}
	c.meet()
	trace = nil
	idle, err := c.node(c.seat).RunAgent(t.Context(), c.id)
	fmt.Printf("%+v %v\n", idle, err)
	a := load(t, c.node(c.seat), c.id)
	for _, s := range a.Fold().Seats {
		fmt.Printf("seat %s given %v epoch %d at %s\n", s.Claim.Short(), s.Given, s.Epoch, s.At.Short())
	}
	fmt.Println(a.Diverged())
	fmt.Println(c.till.paid)
	for e := range perdure.Memory(t.Context(), c.stores[c.seat], c.id) {
		p := ""
		for _, h := range e.Parents {
			p += h.Short() + " "
		}
		b := fmt.Sprintf("%+v", e.Content())
		if ev, ok := e.Content().(perdure.Event); ok {
			b = ev.Name + " " + string(ev.Data.JSON()) + fmt.Sprintf("%+v", ev.Notice)
		}
		if a, ok := e.Content().(perdure.Advice); ok {
			b = fmt.Sprint("apart ", a.Apart, " epoch ", a.Epoch, " seen ")
			for _, s := range a.Seen {
				b += s.Short() + " "
			}
			for _, act := range a.Actions {
				b += fmt.Sprintf("%T %s ", act, perdure.CallOf(act))
				if x, ok := act.(perdure.Execute); ok {
					b += string(x.Args.JSON())
				}
			}
		}
		if d, ok := e.Content().(perdure.Decision); ok {
			b = fmt.Sprintf("of %s %d %v %v", d.Advice.Short(), d.Index, d.Verdict.Answer, d.Verdict.Rules)
			if w, ok := d.Action.(perdure.Wake); ok {
				b += " wake from " + w.Sleep.Short()
				for _, h := range w.By {
					b += " by " + h.Short()
				}
			}
		}
		if o, ok := e.Content().(perdure.Outcome); ok {
			b = fmt.Sprint("of ", o.Decision.Short(), " ", o.Signal, " ", o.Note)
		}
		if len(b) > 200 {
			b = b[:200]
		}
		fmt.Println(e.Seq, e.Name.Short(), "<", p, e.Kind, b)
	}
}
