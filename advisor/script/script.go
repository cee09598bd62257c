package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure/advisor/internal/action"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/condition"
)

// Advisor is an advisor that proposes what is written down: for tests and demonstrations. What it proposes next is a
// function of the agent alone, so any node that has the script goes on where another stopped. The package documentation
// describes the format.
type Advisor struct {
	// Store is where entries are read that the agent no longer holds. Without it, a script that uses results works for
	// memories of a few hundred entries; beyond that this node is incapable of it.
	Store perdure.Store

	turns   []turn
	history bool // it uses results of earlier turns
}

// turn is one turn of a script.
type turn struct {
	item    action.Item
	when    *condition.Program
	repeat  int64
	text    action.Item
	actions []action.Item
	names   []string // of the actions, "" where an action has none
	says    bool     // it has no action: its text is said to people, and their answer waited for
}

// saysOnly reports whether a turn has nothing but a text, and perhaps a name for the answer.
func saysOnly(i action.Item) bool {
	rest, _ := i.Without("repeat", "when", "text", "as").V.(map[string]action.Item)
	return len(rest) == 0
}

// whenVars are the variables of a condition of a script.
var whenVars = []condition.Var{
	{Name: "turn", Kind: condition.Int},    // the place of the turn in the script, from 1
	{Name: "round", Kind: condition.Int},   // which of its repetitions, from 1
	{Name: "turns", Kind: condition.Int},   // how often the advisor was asked before
	{Name: "kind", Kind: condition.String}, // of the intent: "chat" for an agent that people talk to
	{Name: "inputs", Kind: condition.Dyn},
	{Name: "vars", Kind: condition.MapDyn},
	{Name: "results", Kind: condition.MapDyn},
	{Name: "last", Kind: condition.MapDyn},
	{Name: "inbox", Kind: condition.ListDyn},
	{Name: "said", Kind: condition.ListDyn}, // what people said since the last turn
}

var whenEnv = sync.OnceValues(func() (*condition.Env, error) { return condition.NewEnv(whenVars...) })

// ConditionVariables are the names that a condition of a script (when of a turn) knows.
func ConditionVariables() (names []string) {
	for _, v := range whenVars {
		names = append(names, v.Name)
	}
	return names
}

// Load reads a script. An error names the line.
func Load(r io.Reader) (*Advisor, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	if len(b) > MaxSize {
		return nil, fmt.Errorf("script: longer than %d bytes", MaxSize)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(b)))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, errors.New("script: it is empty; want turns and a list")
	} else if err != nil {
		return nil, fmt.Errorf("script: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("script: there is more than one document; put all turns into one")
	}
	s := new(Advisor)
	if err := s.load(&doc); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return s, nil
}

// load reads the turns and proposes each once without values, to find what is wrong with it.
func (s *Advisor) load(doc *yaml.Node) error {
	top, err := action.FromYAML(doc.Content[0], 0)
	if err != nil {
		return err
	}
	var failed error
	o := top.Object(nil, &failed).Require("turns")
	turns, _ := action.Field[[]action.Item](o, "turns", "a list")
	o.Done()
	if failed == nil && len(turns) == 0 {
		return top.Errorf("there are no turns")
	}
	names := map[string]bool{}
	for n, i := range turns {
		t := readTurn(i, &failed)
		if failed != nil {
			return fmt.Errorf("turn %d: %w", n+1, failed)
		}
		for _, name := range t.names {
			names[name] = true
		}
		s.turns = append(s.turns, t)
	}
	if failed != nil {
		return failed
	}
	for n, t := range s.turns {
		check := func(text string, at action.Item) (any, error) {
			history, err := checkTemplate(text, names)
			if err != nil {
				return nil, at.Errorf("%v", err)
			}
			s.history = s.history || history
			return text, nil
		}
		if _, err := t.propose(check, n+1, 1); err != nil {
			return fmt.Errorf("turn %d: %w", n+1, err)
		}
		s.history = s.history || (t.when != nil && readsHistory.MatchString(t.when.String()))
	}
	return nil
}

// readTurn reads one turn.
func readTurn(i action.Item, failed *error) turn {
	t := turn{item: i, repeat: 1}
	o := i.Object(nil, failed)
	if _, ok := o.Get("repeat"); ok {
		if t.repeat = o.Count("repeat"); t.repeat < 1 || t.repeat > maxRepeat {
			o.Fail(o.Fields["repeat"].Errorf("repeat is %d, want 1 to %d", t.repeat, maxRepeat))
		}
	}
	if src := o.Str("when"); src != "" {
		env, err := whenEnv()
		if err == nil {
			t.when, err = env.Compile(src)
		}
		if err != nil {
			o.Fail(o.Fields["when"].Errorf("%v", err))
		}
	}
	t.text, _ = o.Get("text")
	o.Get("recheck")
	o.Stale()
	if do, ok := o.Get("do"); ok {
		t.actions, ok = do.V.([]action.Item)
		if !ok || len(t.actions) == 0 || len(t.actions) > action.MaxActions {
			o.Fail(do.Errorf("do is %s, want a list of 1 to %d actions", action.KindOf(do.V), action.MaxActions))
		}
		o.Done()
	} else {
		t.actions = []action.Item{i.Without("repeat", "when", "text", "recheck", "stale")}
		t.says = t.text.V != nil && saysOnly(i)
	}
	for _, a := range t.actions {
		in := a.Object(nil, failed)
		name := in.Str("as")
		if _, given := in.Fields["as"]; given && !isName(name) {
			in.Fail(in.Fields["as"].Errorf("as is %q, want a name of letters, digits and underscores", name))
		}
		t.names = append(t.names, name)
	}
	return t
}

// propose is the advice of a turn. Each action carries its place in the script, which is where the next turn is found
// from.
func (t *turn) propose(text func(string, action.Item) (any, error), number int, round int64) (perdure.Advice, error) {
	var failed error
	advice := perdure.Advice{Seen: []perdure.Hash{}}
	for n, i := range t.actions {
		if t.says {
			break
		}
		o := i.Object(text, &failed)
		o.Get("as")
		act := o.Action()
		o.Done()
		if _, isMutate := act.(perdure.Mutate); failed == nil && !isMutate && callOf(act) != "" {
			o.Fail(i.Errorf("call is not for a script to set; name the action with as"))
		}
		if failed != nil {
			return advice, failed
		}
		advice.Actions = append(advice.Actions, placed(act, place{name: t.names[n], turn: number, round: round,
			index: n}))
	}
	if advice.Basis = t.item.Object(text, &failed).Basis(); failed != nil {
		return advice, failed
	}
	if t.text.V != nil {
		s, ok := t.text.V.(string)
		if !ok {
			return advice, t.text.Errorf("text is %s, want text", action.KindOf(t.text.V))
		}
		v, err := text(s, t.text)
		if err != nil {
			return advice, err
		}
		advice.Text = action.TextOf(v)
	}
	if t.says {
		said := placed(action.Say(advice.Text), place{name: t.names[0], turn: number, round: round})
		advice.Actions, advice.Text = []perdure.Action{said}, ""
	}
	return advice, nil
}

// Instant is true: what it proposes can be had again at any time.
func (s *Advisor) Instant() bool { return true }

// Advise implements perdure.Advisor.
func (s *Advisor) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	f := a.Fold()
	before, err := s.forkedFrom(ctx, f)
	if err != nil {
		return perdure.Advice{}, err
	}
	past, err := s.past(ctx, a, before)
	if err != nil {
		return perdure.Advice{}, err
	}
	at, left, err := s.place(ctx, a) // left: of the turn that it goes on in; nil: all
	if err != nil {
		return perdure.Advice{}, err
	}
	if len(f.Proposals) == 0 && before != nil {
		at, left = resumed(before)
	}
	if at.over() {
		return perdure.Advice{Seen: past.seen(f, at)}, nil // it has said so before, and was not let end
	}
	seen := past.seen(f, at)
	n, round := at.turn, at.round+1
	if n == 0 || round > s.rounds(n) {
		n, round = n+1, 1
	}
	for ; n <= len(s.turns); n, round, left = n+1, 1, nil {
		t := &s.turns[n-1]
		vars := past.vars(f, n, round)
		if t.when != nil && left == nil { // of a turn that had begun, it held
			if what := s.unknown(past, t.when.String(), at); what != "" {
				return perdure.Advice{}, errGone(n, what)
			}
			// what cannot be evaluated does not hold, as with triggers
			if holds, err := t.when.Eval(vars); err != nil || !holds {
				continue
			}
		}
		advice, err := t.propose(func(text string, in action.Item) (any, error) {
			if what := s.unknown(past, text, at); what != "" && strings.Contains(text, "${") {
				return nil, errGone(n, what)
			}
			return expand(text, in, vars)
		}, n, round)
		if errors.Is(err, perdure.ErrIncapable) {
			return perdure.Advice{}, err
		}
		if err != nil {
			return ending(seen, perdure.Failed, fmt.Sprintf("script: turn %d: %v", n, err)), nil
		}
		if left != nil {
			if advice.Actions = only(advice.Actions, left); len(advice.Actions) == 0 {
				continue // the script was changed since
			}
		}
		advice.Seen = seen
		action.Since(f, advice.Actions)
		return advice, nil
	}
	return ending(seen, perdure.OK, "the script is over"), nil
}

// forkedFrom is the agents a fork descends from as they were where each was forked, the nearest first; none for who is
// no fork, and where they are not in the store.
func (s *Advisor) forkedFrom(ctx context.Context, f *perdure.Fold) ([]*perdure.Agent, error) {
	var all []*perdure.Agent
	for in := f.Lineage; in != nil && in.Relation == perdure.Fork && s.Store != nil && len(all) < maxForks; {
		a, err := perdure.AgentAt(perdure.Memory(ctx, s.Store, in.Parent), in.Cause)
		if errors.Is(err, perdure.ErrNotFound) || errors.Is(err, perdure.ErrRejected) && len(f.Proposals) > 0 {
			break
		}
		if errors.Is(err, perdure.ErrRejected) { // it is here, and what it did would be done again
			return nil, fmt.Errorf("%w: how far the agent had come that this one was forked from: %w",
				perdure.ErrIncapable, err)
		}
		if err != nil {
			return nil, err
		}
		all, in = append(all, a), a.Fold().Lineage
	}
	return all, nil
}

// rounds is how often a turn is proposed. A script that became shorter has no more rounds of a turn it lost.
func (s *Advisor) rounds(n int) int64 {
	if n > len(s.turns) {
		return 0
	}
	return s.turns[n-1].repeat
}

// ending is the advice to end.
func ending(seen []perdure.Hash, signal perdure.Signal, note string) perdure.Advice {
	return perdure.Advice{Seen: seen, Actions: []perdure.Action{perdure.End{Signal: signal, Note: note,
		Call: overCall}}}
}

// seen are the events that have woken the agent, and those of the wake that the script goes on from, which may not be
// the one that counts where copies met. The others stay, so that a later turn can still sleep until one of them.
func (p *past) seen(f *perdure.Fold, at place) []perdure.Hash {
	out := []perdure.Hash{}
	var by []perdure.Hash
	if i := slices.IndexFunc(p.woke, at.is); i >= 0 {
		by = p.woke[i].by
	}
	for _, m := range f.Inbox {
		if m.Spent || slices.Contains(by, m.Event) {
			out = append(out, m.Event)
		}
	}
	return out
}
