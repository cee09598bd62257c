package perdure

import (
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/condition"
)

// CheckTrigger says what is wrong with the conditions of a trigger, if anything.
func CheckTrigger(t Trigger) error {
	var env *condition.Env
	var src string
	switch t := t.(type) {
	case On:
		env, src = eventEnv(), t.Filter
	case When:
		env, src = foldEnv(), t.Condition
	case Every:
		env, src = pollEnv(), t.Until
	case Any:
		return checkAll(t.Of)
	case All:
		return checkAll(t.Of)
	case At, After, Done, Gather:
	}
	if src == "" {
		return nil
	}
	_, err := env.Compile(src)
	return err
}

func checkAll(of []Trigger) error {
	for _, t := range of {
		if err := CheckTrigger(t); err != nil {
			return err
		}
	}
	return nil
}

var (
	foldEnv  = sync.OnceValue(func() *condition.Env { return mustEnv() })
	eventEnv = sync.OnceValue(func() *condition.Env { return mustEnv(condition.EventVars...) })
	pollEnv  = sync.OnceValue(func() *condition.Env { return mustEnv(condition.PollVars...) })
)

func mustEnv(more ...condition.Var) *condition.Env {
	env, err := condition.NewEnv(append(slices.Clone(condition.FoldVars), more...)...)
	if err != nil {
		panic(err)
	}
	return env
}

// conditionVars are the values of condition.FoldVars.
func (f *Fold) conditionVars(now time.Time) map[string]any {
	amounts := func(s Spend) map[string]any {
		return map[string]any{"cost": s.Cost, "tokens": s.Tokens, "calls": s.Calls}
	}
	vars := make(map[string]any, len(f.Vars))
	for k, v := range f.Vars {
		vars[k] = v.Value()
	}
	left := map[string]any{}
	if b := f.Left(); b != nil {
		for name, p := range map[string]*int64{"cost": b.Cost, "tokens": b.Tokens, "calls": b.Calls} {
			if p != nil {
				left[name] = *p
			}
		}
	}
	unseen := f.Unseen()
	inbox := make([]any, 0, len(unseen))
	for i := range unseen {
		inbox = append(inbox, unseen[i].Name)
	}
	var asleep time.Duration
	if f.Sleep != nil {
		asleep = now.Sub(f.Sleep.Since.Go())
		if ahead(f.Sleep.Since, TimeOf(now)) {
			asleep = longestLimit // nobody knows how long; as with After, it is long enough
		}
	}
	return map[string]any{
		"now": now, "asleep": asleep, "vars": vars, "spent": amounts(f.Spent), "left": left, "turns": f.Turns,
		"inbox":    inbox,
		"children": f.childrenVars(), "signals": f.signalVars(),
	}
}

// signalVars is what conditions know of how calls ended of late.
func (f *Fold) signalVars() map[string]any {
	all := make(map[string]any, len(f.Tools))
	for i := range f.Tools {
		t := &f.Tools[i]
		recent := make([]any, len(t.Last))
		for j := range t.Last {
			recent[j] = t.Last[j].Signal.String()
		}
		of := map[string]any{"recent": recent, "calls": t.Calls}
		if n := len(t.Last); n > 0 {
			of["last"], of["at"] = recent[n-1], t.Last[n-1].Time.Go()
			if took := t.Last[n-1].Took; took > 0 {
				of["took"] = time.Duration(took) * time.Microsecond
			}
		}
		all[t.Tool] = of
	}
	return all
}

// childrenVars is what conditions know of children.
func (f *Fold) childrenVars() map[string]any {
	n := f.count(nil)
	return map[string]any{"open": n.open, "ended": n.ok + n.failed, "ok": n.ok, "failed": n.failed}
}
