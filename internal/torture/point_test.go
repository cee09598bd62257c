//go:build unix

package torture

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/perdure/perdure"
)

// points is where a child kills itself: at the so-manieth of the points it passes, which lie before and after advice,
// every append and every effect. Zero is nowhere.
type points struct {
	at     int64
	stops  bool // it stops there, again and again
	passed atomic.Int64
}

// pass is a point.
func (p *points) pass() {
	if p == nil || p.at == 0 {
		return
	}
	n := p.passed.Add(1)
	if p.stops && n%p.at == 0 {
		_ = standStill()
		return
	}
	if n == p.at && !p.stops {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it arrives
	}
}

// paidAdvisor is the name of the advisor whose advice costs something.
const paidAdvisor = "paid"

// adviser passes points around advice. One that is paid complains when it is asked for advice that is recorded already.
type adviser struct {
	store  perdure.Store
	points *points
	paid   bool
	rivals bool // that may have asked, too
}

func (v *adviser) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	v.points.pass()
	defer v.points.pass()
	if v.paid && !v.rivals {
		truth, err := perdure.Load(ctx, v.store, a.ID())
		if err != nil {
			return perdure.Advice{}, err
		}
		if got, want := a.Fold().Turns, truth.Fold().Turns; got != want {
			fmt.Fprintf(os.Stderr, "asked for advice of turn %d, and memory has %d\n", got, want)
		}
	}
	advice, err := advise(ctx, a)
	if v.paid {
		advice.Usage = &perdure.Usage{In: 10, Cost: 1}
	}
	return advice, err
}

// Instant says whether asking again costs nothing: see perdure.Advisor.
func (v *adviser) Instant() bool { return !v.paid }

// pointed is a tool with points around its effects.
type pointed struct {
	perdure.Tool
	points *points
	begun  *beginnings
}

func (t *pointed) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	if err := t.begun.note(t.Spec(), c); err != nil {
		return perdure.Result{}, err
	}
	t.points.pass()
	defer t.points.pass()
	return t.Tool.Call(ctx, c)
}

// reconciling is pointed for a tool that can be asked what happened.
type reconciling struct {
	pointed
	perdure.Reconciler
}

// withPoints puts points around the effects of tools.
func withPoints(tools []perdure.Tool, p *points, b *beginnings) []perdure.Tool {
	out := make([]perdure.Tool, len(tools))
	for i, t := range tools {
		out[i] = &pointed{t, p, b}
		if r, ok := t.(perdure.Reconciler); ok {
			out[i] = &reconciling{pointed{t, p, b}, r}
		}
	}
	return out
}
