package simulate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/perdure/perdure"
)

// tool acts upon the world, which is what the subjects know to have been done.
type tool struct {
	r    *run
	who  *life
	spec perdure.Spec
	weak bool // this node cannot, now and then
}

// checked is a tool that can be asked what happened.
type checked struct{ tool }

// specs are the tools there are.
var specs = []perdure.Spec{
	{Name: "look", Effect: perdure.Read},
	{Name: "note", Effect: perdure.Idempotent, Reserve: perdure.Spend{Cost: 2}},
	{Name: "ask.note", Effect: perdure.Idempotent},
	{Name: "pay", Effect: perdure.Once, Reserve: perdure.Spend{Cost: 5}, Reconciles: true},
	{Name: "ask.pay", Effect: perdure.Once, Reconciles: true},
	{Name: "wire", Effect: perdure.Once},
	{Name: "far", Effect: perdure.Idempotent},
	{Name: "forbidden", Effect: perdure.Idempotent},
}

// rules are the policy of every node.
const rules = `
@id("all") permit (principal, action, resource);
@id("admit") permit (principal, action == Action::"admit", resource);
@id("never") forbid (principal, action == Action::"execute", resource == Tool::"forbidden");
@id("one") @obligation("approval:alice,bob;escalate=1m:carol;expires=20m")
forbid (principal, action == Action::"execute", resource == Tool::"ask.note");
@id("two") @obligation("approval:;quorum=2;expires=40m")
forbid (principal, action == Action::"execute", resource == Tool::"ask.pay");
`

// toolset is the tools of one life of a node. A weak one lacks some.
func (r *run) toolset(who *life, weak bool) []perdure.Tool {
	var tools []perdure.Tool
	for _, s := range specs {
		if weak && s.Name == "far" {
			continue
		}
		s.Deadline = 20 * time.Second
		t := tool{r: r, who: who, spec: s, weak: weak}
		if s.Reconciles {
			tools = append(tools, &checked{t})
		} else {
			tools = append(tools, &t)
		}
	}
	return tools
}

// Spec implements perdure.Tool.
func (t *tool) Spec() perdure.Spec { return t.spec }

// act names an effect: what an agent was advised to do at a place of its program.
func act(c perdure.Call, tool string) string { return fmt.Sprint(tool, c.Args.Value()) }

// Call implements perdure.Tool.
func (t *tool) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	r := t.r
	name := act(c, t.spec.Name)
	sub := r.subject(c.Agent)
	try := r.begins(t.who, c, &t.spec, name)
	label := fmt.Sprintf("%s %s %s", t.who.name, r.short(c.Agent), name)
	r.sched.park(t.who, label+" begins")
	d := draw(r.sched.chance("tool", sub.n, name, try))
	switch d.n(14) {
	case 0:
		return perdure.Result{}, errors.New("it did not work")
	case 1:
		return perdure.Result{Signal: perdure.Throttled, RetryAfter: time.Duration(d.n(9000)) * time.Millisecond}, nil
	case 2:
		if t.weak {
			return perdure.Result{}, fmt.Errorf("not from here: %w", perdure.ErrIncapable)
		}
	case 3:
		panic("tool")
	case 4, 5:
		r.wait(ctx, t.who, time.Duration(d.n(30_000))*time.Millisecond) // perhaps longer than it has
	case 6:
		r.wait(ctx, t.who, time.Hour)
	}
	if ctx.Err() == nil {
		r.perform(c, name, &t.spec)
	}
	res := perdure.Result{Data: must(perdure.DataOf(int64(try))), Spend: perdure.Spend{Cost: t.spec.Reserve.Cost}}
	if r.sabotaged("overspend") {
		res.Spend.Calls = 50
	}
	err := ctx.Err()
	switch d.n(12) {
	case 0:
		r.wait(ctx, t.who, time.Hour) // done, and nobody is told
		err = ctx.Err()
	case 1:
		panic("tool, after it was done")
	case 2:
		err = fmt.Errorf("the line broke: %w", perdure.ErrInDoubt)
	case 3:
		if t.spec.Effect.Repeatable() {
			res.Signal = perdure.Partial
		}
	}
	r.sched.park(t.who, label+" ends")
	return res, err
}

// Reconcile implements perdure.Reconciler. Now and then it cannot tell.
func (t *checked) Reconcile(_ context.Context, c perdure.Call) (perdure.Result, error) {
	r, name := t.r, act(c, t.spec.Name)
	r.sched.park(t.who, fmt.Sprintf("%s %s %s reconciles", t.who.name, r.short(c.Agent), name))
	sub := r.subject(c.Agent)
	d := draw(r.sched.chance("reconcile", sub.n, name))
	if d.n(3) == 0 {
		return perdure.Result{}, errors.New("nobody can tell")
	}
	if sub.happened(name) {
		return perdure.Result{}, nil
	}
	return perdure.Result{Signal: perdure.Failed, Note: "it did not happen"}, nil
}

// happened says whether an effect has happened. If it has not, it will not.
func (s *subject) happened(name string) bool {
	if s.done[name] > 0 {
		return true
	}
	s.off[name] = true
	return false
}

// wait lets time pass until ctx ends.
func (r *run) wait(ctx context.Context, who *life, d time.Duration) {
	timer := time.NewTimer(d + 137*time.Microsecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-who.died:
		runtime.Goexit()
	}
}

// lookEvery is how long a node need not look whether a person has paused an agent it is at work on.
const lookEvery = time.Millisecond

// begins looks whether an effect may begin, and says for which time it does.
func (r *run) begins(who *life, c perdure.Call, spec *perdure.Spec, name string) (try int) {
	r.world.Lock()
	defer r.world.Unlock()
	r.tally["effects begun"]++
	sub := r.subject(c.Agent)
	r.checks["paused agents begin nothing"]++
	for _, at := range r.book(who.store, c.Agent).pauses {
		if r.now().After(at.Add(lookEvery)) {
			r.violate("paused agents begin nothing", "%s began %s of %s %s after its pause was acknowledged at %s",
				who.name, spec.Name,
				r.short(c.Agent), r.now().Sub(at), who.store.name)
		}
	}
	if sub.rehearse && spec.Effect != perdure.Read {
		r.violate("rehearsals touch nothing", "%s began %s for %s, which only rehearses", who.name, spec.Name,
			r.short(c.Agent))
	}
	sub.tries[name]++
	return sub.tries[name]
}

// perform makes an effect happen, unless somebody looked and found that it had not: then it will not.
func (r *run) perform(c perdure.Call, name string, spec *perdure.Spec) {
	r.world.Lock()
	defer r.world.Unlock()
	sub := r.subject(c.Agent)
	r.tally["effects done"]++
	switch spec.Effect {
	case perdure.Idempotent:
		r.checks["an effect has one key"]++
		if was := sub.keys[name]; was != "" && was != c.Key && !sub.copied {
			r.violate("an effect has one key", "%s of %s was performed under the keys %.8s and %.8s", name,
				r.short(c.Agent), was, c.Key)
		}
		sub.keys[name] = c.Key
		if r.sabotaged("rekey") {
			sub.keys[name] = "another"
		}
	case perdure.Once:
		if sub.off[name] {
			return
		}
		sub.done[name]++
		if r.sabotaged("double") {
			sub.done[name]++
		}
		r.checks["once is once"]++
		if n := sub.done[name]; n > 1 {
			r.violate("once is once", "%s of %s happened %d times", name, r.short(c.Agent), n)
		}
	}
}
