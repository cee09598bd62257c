package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// program is what an agent does: so many turns, each of which follows from a number.
type program struct {
	Seed  int
	Turns int64
	Once  int // it pays
	Gen   int // how many generations it may still delegate to
}

func (p program) String() string {
	return fmt.Sprintf("program %d %d %d %d", p.Seed, p.Turns, p.Once, p.Gen)
}

func parseProgram(goal string) (p program) {
	if _, err := fmt.Sscanf(goal, "program %d %d %d %d", &p.Seed, &p.Turns, &p.Once, &p.Gen); err != nil {
		return program{}
	}
	return p
}

// advisor advises what the program of an agent says.
type advisor struct {
	r       *run
	who     *life
	instant bool
}

// Instant says whether asking again costs nothing: see perdure.Advisor.
func (v *advisor) Instant() bool { return v.instant }

// Advise implements perdure.Advisor. It fails now and then, but not twice at the same place.
func (v *advisor) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	f := a.Fold()
	v.r.sched.park(v.who, fmt.Sprintf("%s advise %s %d", v.who.name, v.r.short(a.ID()), f.Turns))
	sub, turn := v.r.subject(a.ID()), f.Turns
	sub.asked[turn]++
	if n := sub.asked[turn]; n > maxAsked+sub.facts {
		v.r.violate("work is bounded", "the advisor of %s was asked %d times at turn %d", v.r.short(a.ID()), n, turn)
	}
	p := parseProgram(f.Intent.Goal)
	r := draw(v.r.sched.chance("turn", p.Seed, turn))
	if sub.asked[turn] == 1 {
		switch r.n(30) {
		case 0:
			return perdure.Advice{}, errors.New("the model is overloaded")
		case 1:
			panic("advisor")
		}
	}
	if v.r.sabotaged("spin") {
		label := map[string]string{"n": fmt.Sprint(len(sub.entries))}
		sub.asked[turn] = 0
		return perdure.Advice{Actions: []perdure.Action{perdure.Mutate{Labels: label}}}, nil
	}
	if turn >= p.Turns {
		return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
	}
	advice := perdure.Advice{Text: "turn"}
	if !v.instant {
		advice.Usage = &perdure.Usage{In: 3, Out: 1}
	}
	if r.n(14) == 0 {
		return advice, nil // it has nothing to propose: it waits for an event
	}
	for i := range 1 + r.n(3) {
		advice.Actions = append(advice.Actions, v.action(f, &p, &r, i))
	}
	return advice, nil
}

// maxAsked bounds how often an advisor is asked at one turn when nothing goes wrong around the agent.
const maxAsked = 12

// action is the next thing a program does.
func (v *advisor) action(f *perdure.Fold, p *program, r *dice, i int) perdure.Action {
	args := must(perdure.DataOf(map[string]any{"turn": f.Turns, "i": int64(i)}))
	switch n := r.n(24); {
	case n < 12:
		names := []string{"look", "look", "note", "note", "ask.note", "forbidden", "far"}
		if p.Once > 0 {
			names = append(names, "pay", "pay", "wire", "ask.pay")
		}
		return perdure.Execute{Tool: names[r.n(len(names))], Args: args, Call: fmt.Sprint("c", i)}
	case n < 18:
		return v.sleep(f, r, args)
	case n < 20:
		return perdure.Mutate{Labels: map[string]string{"turn": fmt.Sprint(f.Turns)}}
	case n < 23 && p.Gen > 0:
		child := program{Seed: p.Seed*31 + int(f.Turns)*7 + i, Turns: 1 + int64(r.n(4)), Once: p.Once, Gen: p.Gen - 1}
		in := perdure.Intent{Goal: child.String(), Advisor: f.Intent.Advisor}
		if f.Intent.Budget != nil {
			calls := int64(2)
			in.Budget = &perdure.Budget{Calls: &calls}
		}
		in.Deadline = f.Intent.Deadline
		return perdure.Delegate{Intent: in, Depth: int64(child.Gen), Call: fmt.Sprint("d", i)}
	case n == 23 && r.n(4) == 0:
		return perdure.End{Signal: []perdure.Signal{perdure.OK, perdure.Failed}[r.n(2)]}
	}
	return perdure.Execute{Tool: "look", Args: args}
}

// sleep is a sleep of some kind.
func (v *advisor) sleep(f *perdure.Fold, r *dice, args perdure.Data) perdure.Sleep {
	var trigger func(depth int) perdure.Trigger
	trigger = func(depth int) perdure.Trigger {
		switch n := r.n(11); {
		case n == 0:
			return perdure.At{Time: perdure.TimeOf(time.Now().Add(time.Duration(r.n(600)) * time.Second))}
		case n < 3:
			return perdure.After{Millis: int64(r.n(900_000))}
		case n < 5:
			return perdure.On{Event: event(r.n(events))}
		case n == 5:
			return perdure.On{Event: event(r.n(events)), Filter: "event.data.n >= 0"}
		case n == 6:
			return perdure.When{Condition: "size(inbox) >= 2 || asleep > duration('9m')"}
		case n == 7:
			return must(f.Gathered([]string{"all", "any", "first-failure"}[r.n(3)]))
		case n == 8:
			poll := perdure.Execute{Tool: "look", Args: args}
			return perdure.Every{Millis: 1000 + int64(r.n(60_000)), Poll: poll, Until: "result >= 3"}
		case depth == 0:
			return perdure.After{Millis: 1000}
		case n == 9:
			return perdure.Any{Of: []perdure.Trigger{trigger(depth - 1), trigger(depth - 1)}}
		}
		return perdure.All{Of: []perdure.Trigger{trigger(depth - 1), trigger(depth - 1)}}
	}
	s := perdure.Sleep{Trigger: trigger(1)}
	if r.n(4) == 0 {
		s.Stale, s.Recheck = 1000, []perdure.Execute{{Tool: "look", Args: args}}
	}
	return s
}

// events is how many kinds of events people tell of.
const events = 3

func event(n int) string { return fmt.Sprint("e", n%events) }

// dice are chances that follow from a number.
type dice struct{ x uint64 }

func draw(x uint64) dice { return dice{x} }

// n is a number below n.
func (d *dice) n(n int) int {
	d.x = d.x*6364136223846793005 + 1442695040888963407
	return int((d.x >> 33) % uint64(n))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
