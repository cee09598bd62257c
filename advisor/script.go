package advisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/condition"
)

// Script is an advisor that proposes what is written down: for tests and demonstrations. What it proposes next is a function of the
// agent alone, so any node that has the script goes on where another stopped. The package documentation describes the format.
type Script struct {
	// Store is where entries are read that the agent no longer holds. Without it, a script that uses results works for memories of a
	// few hundred entries; beyond that this node is incapable of it.
	Store perdure.Store

	turns   []turn
	history bool // it uses results of earlier turns
}

// turn is one turn of a script.
type turn struct {
	item
	when    *condition.Program
	repeat  int64
	text    item
	actions []item
	names   []string // of the actions, "" where an action has none
}

// whenVars are the variables of a condition of a script.
var whenVars = []condition.Var{
	{Name: "turn", Kind: condition.Int},  // the place of the turn in the script, from 1
	{Name: "round", Kind: condition.Int}, // which of its repetitions, from 1
	{Name: "turns", Kind: condition.Int}, // how often the advisor was asked before
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

// LoadScript reads a script. An error names the line.
func LoadScript(r io.Reader) (*Script, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxScript+1))
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	if len(b) > MaxScript {
		return nil, fmt.Errorf("script: longer than %d bytes", MaxScript)
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
	s := new(Script)
	if err := s.load(&doc); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	return s, nil
}

// load reads the turns and proposes each once without values, to find what is wrong with it.
func (s *Script) load(doc *yaml.Node) error {
	top, err := fromYAML(doc.Content[0], 0)
	if err != nil {
		return err
	}
	var failed error
	o := top.object(nil, &failed).require("turns")
	turns, _ := field[[]item](o, "turns", "a list")
	o.done()
	if failed == nil && len(turns) == 0 {
		return top.errorf("there are no turns")
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
		check := func(text string, at item) (any, error) {
			history, err := checkTemplate(text, names)
			if err != nil {
				return nil, at.errorf("%v", err)
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
func readTurn(i item, failed *error) turn {
	t := turn{item: i, repeat: 1}
	o := i.object(nil, failed)
	if _, ok := o.get("repeat"); ok {
		if t.repeat = o.count("repeat"); t.repeat < 1 || t.repeat > maxRepeat {
			o.fail(o.fields["repeat"].errorf("repeat is %d, want 1 to %d", t.repeat, maxRepeat))
		}
	}
	if src := o.str("when"); src != "" {
		env, err := whenEnv()
		if err == nil {
			t.when, err = env.Compile(src)
		}
		if err != nil {
			o.fail(o.fields["when"].errorf("%v", err))
		}
	}
	t.text, _ = o.get("text")
	o.get("recheck")
	o.get("stale")
	if do, ok := o.get("do"); ok {
		t.actions, ok = do.v.([]item)
		if !ok || len(t.actions) == 0 || len(t.actions) > maxActions {
			o.fail(do.errorf("do is %s, want a list of 1 to %d actions", kindOf(do.v), maxActions))
		}
		o.done()
	} else {
		t.actions = []item{i.without("repeat", "when", "text", "recheck", "stale")}
	}
	for _, a := range t.actions {
		in := a.object(nil, failed)
		name := in.str("as")
		if _, given := in.fields["as"]; given && !isName(name) {
			in.fail(in.fields["as"].errorf("as is %q, want a name of letters, digits and underscores", name))
		}
		t.names = append(t.names, name)
	}
	return t
}

// without is an object without some of its fields.
func (i item) without(names ...string) item {
	m, ok := i.v.(map[string]item)
	if !ok {
		return i
	}
	rest := make(map[string]item, len(m))
	for k, v := range m {
		rest[k] = v
	}
	for _, name := range names {
		delete(rest, name)
	}
	return item{rest, i.at}
}

// propose is the advice of a turn. Each action carries its place in the script, which is where the next turn is found from.
func (t *turn) propose(text func(string, item) (any, error), number int, round int64) (perdure.Advice, error) {
	var failed error
	advice := perdure.Advice{Seen: []perdure.Hash{}}
	for n, i := range t.actions {
		o := i.object(text, &failed)
		o.get("as")
		act := o.action()
		o.done()
		if _, isMutate := act.(perdure.Mutate); failed == nil && !isMutate && callOf(act) != "" {
			o.fail(i.errorf("call is not for a script to set; name the action with as"))
		}
		if failed != nil {
			return advice, failed
		}
		advice.Actions = append(advice.Actions, placed(act, place{name: t.names[n], turn: number, round: round, index: n}))
	}
	if advice.Basis = t.item.object(text, &failed).basis(); failed != nil {
		return advice, failed
	}
	if t.text.v != nil {
		s, ok := t.text.v.(string)
		if !ok {
			return advice, t.text.errorf("text is %s, want text", kindOf(t.text.v))
		}
		v, err := text(s, t.text)
		if err != nil {
			return advice, err
		}
		advice.Text = textOf(v)
	}
	return advice, nil
}

// Instant is true: what it proposes can be had again at any time.
func (s *Script) Instant() bool { return true }

// Advise implements perdure.Advisor.
func (s *Script) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	f := a.Fold()
	before, err := s.forkedFrom(ctx, f)
	if err != nil {
		return perdure.Advice{}, err
	}
	past, err := s.past(ctx, a, before)
	if err != nil {
		return perdure.Advice{}, err
	}
	at, err := s.place(ctx, a)
	if err != nil {
		return perdure.Advice{}, err
	}
	if len(f.Proposals) == 0 && before != nil {
		at = resumed(before[0].Fold())
	}
	if at.over() {
		return perdure.Advice{Seen: seen(f)}, nil // it has said so before, and was not let end
	}
	n, round := at.turn, at.round+1
	if n == 0 || round > s.rounds(n) {
		n, round = n+1, 1
	}
	for ; n <= len(s.turns); n, round = n+1, 1 {
		t := &s.turns[n-1]
		vars := past.vars(f, n, round)
		if t.when != nil {
			if holds, err := t.when.Eval(vars); err != nil || !holds { // what cannot be evaluated does not hold, as with triggers
				continue
			}
		}
		advice, err := t.propose(func(text string, at item) (any, error) { return expand(text, at, vars) }, n, round)
		if err != nil {
			return ending(f, perdure.Failed, fmt.Sprintf("script: turn %d: %v", n, err)), nil
		}
		advice.Seen = seen(f)
		since(f, advice.Actions)
		return advice, nil
	}
	return ending(f, perdure.OK, "the script is over"), nil
}

// forkedFrom is the agents a fork descends from as they were where each was forked, the nearest first; none for who is no fork, and where
// they are not in the store.
func (s *Script) forkedFrom(ctx context.Context, f *perdure.Fold) ([]*perdure.Agent, error) {
	var all []*perdure.Agent
	for in := f.Lineage; in != nil && in.Relation == perdure.Fork && s.Store != nil && len(all) < maxForks; {
		a, err := perdure.AgentAt(perdure.Memory(ctx, s.Store, in.Parent), in.Cause)
		if errors.Is(err, perdure.ErrNotFound) || errors.Is(err, perdure.ErrRejected) {
			break
		}
		if err != nil {
			return nil, err
		}
		all, in = append(all, a), a.Fold().Lineage
	}
	return all, nil
}

// resumed is the place a fork goes on from: that of the agent it was forked from, or before it, if nothing of its turn had been decided.
func resumed(f *perdure.Fold) place {
	at := placeOf(f)
	if n := len(f.Proposals); n > 0 && at.turn > 0 && !slices.Contains(f.Proposals[n-1].Decided, true) {
		at.round--
	}
	return at
}

// rounds is how often a turn is proposed. A script that became shorter has no more rounds of a turn it lost.
func (s *Script) rounds(n int) int64 {
	if n > len(s.turns) {
		return 0
	}
	return s.turns[n-1].repeat
}

// ending is the advice to end.
func ending(f *perdure.Fold, signal perdure.Signal, note string) perdure.Advice {
	return perdure.Advice{Seen: seen(f), Actions: []perdure.Action{perdure.End{Signal: signal, Note: note, Call: overCall}}}
}

// seen are the events that have woken the agent. The others stay, so that a later turn can still sleep until one of them.
func seen(f *perdure.Fold) []perdure.Hash {
	out := []perdure.Hash{}
	for _, m := range f.Inbox {
		if m.Spent {
			out = append(out, m.Event)
		}
	}
	return out
}
