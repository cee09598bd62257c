package policy

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// Facts are what a decision depends on, all of it:
//
//	version   of the facts, 1
//	action    execute, mutate, delegate, sleep, wake, end, admit, document.read or document.write
//	resource  the tool, the scope of the child or of the document, or the agent itself
//	agent     id, name, kind, owner, scope, child, labels
//	policies  the hashes of the agent's own policy sets
//	context   what Schema says of the action
//
// Values are bool, int64, string, []any and map[string]any, and those that Data holds for arguments. Times are
// milliseconds.
type Facts map[string]any

const factsVersion = 1

// FactsOf are the facts of a request. An error says that the request cannot be judged; Decide denies it.
func FactsOf(a *perdure.Agent, r perdure.Request, now time.Time) (Facts, error) {
	v, err := factsOf(new(arena), a, &r, now)
	f, _ := v.plain().(map[string]any)
	return f, err
}

func factsOf(ar *arena, a *perdure.Agent, r *perdure.Request, now time.Time) (value, error) {
	f := a.Fold()
	t := perdure.TimeOf(now.Truncate(time.Second))
	moment := momentOf(ar, f, r, t)
	switch x := r.Action.(type) {
	case perdure.Execute:
		call, err := callFacts(ar, f, &x, r.Effect, t)
		return factsAbout(ar, f, r, "execute", x.Tool, ar.record(moment, spendingFacts(ar, f, t), call)), err
	case perdure.Delegate:
		scope := x.Scope
		if scope == "" {
			scope = f.Charter.Scope
		}
		return factsAbout(ar, f, r, "delegate", scope, ar.record(moment, spendingFacts(ar, f, t),
			ar.list([]named{{"child", childFacts(ar, &x)}}))), nil
	case perdure.Mutate:
		names, narrows := changes(&x)
		return factsAbout(ar, f, r, "mutate", "", ar.record(moment,
			ar.list([]named{{"changes", ar.texts(names)}, {"narrows", truth(narrows)}}))), nil
	case perdure.Sleep:
		return factsAbout(ar, f, r, "sleep", "", ar.record(moment)), nil
	case perdure.Wake:
		return factsAbout(ar, f, r, "wake", "", ar.record(moment)), nil
	case perdure.End:
		return factsAbout(ar, f, r, "end", "", ar.record(moment)), nil
	}
	return value{}, fmt.Errorf("facts of agent %s: no such action %T", f.Agent.Short(), r.Action)
}

// factsAbout is the facts of an action on a resource; none: the agent itself.
func factsAbout(ar *arena, f *perdure.Fold, r *perdure.Request, action, resource string, context value) value {
	id := f.Agent.String()
	if resource == "" && action != "execute" {
		resource = id
	}
	own := value{kind: isList, rec: ar.room(len(f.Charter.Policies))}
	for i, h := range f.Charter.Policies {
		own.rec[i].value = text(h.String())
	}
	return ar.record(ar.list([]named{
		{"agent", agentFacts(ar, f, id, r.Owner)}, {"action", text(action)}, {"context", context},
		{"version", number(factsVersion)}, {"policies", own}, {"resource", text(resource)},
	}))
}

// Hash is the SHA-256 of the canonical bytes of the facts.
func (f Facts) Hash() (perdure.Hash, error) {
	d, err := perdure.DataOf(map[string]any(f))
	return perdure.HashOf(d), err
}

// hash is the same for facts in the form of this package.
func (v *value) hash() (perdure.Hash, error) {
	buf := hashed.Get().(*[]byte)
	d := perdure.Data(v.append((*buf)[:0]))
	h, err := perdure.HashOf(d), d.Valid()
	if *buf = d; cap(d) <= maxHashed {
		hashed.Put(buf)
	}
	return h, err
}

// hashed is buffers for the canonical bytes of facts. Those that large arguments filled are not kept.
var hashed = sync.Pool{New: func() any { return new([]byte) }}

// MarshalJSON writes the facts as JSON.
func (f Facts) MarshalJSON() ([]byte, error) {
	d, err := perdure.DataOf(map[string]any(f))
	if err != nil {
		return nil, err
	}
	return d.MarshalJSON()
}

// agentFacts is who is asking. Owner is who owns it; zero: whom its charter names.
func agentFacts(ar *arena, f *perdure.Fold, id string, owner perdure.Key) value {
	if owner.IsZero() {
		owner = f.Charter.Owner
	}
	labels := ar.room(len(f.Intent.Labels))[:0]
	for k, v := range f.Intent.Labels {
		labels = append(labels, named{k, text(v)})
	}
	return ar.record(ar.list([]named{
		{"id", text(id)}, {"kind", text(f.Intent.Kind)}, {"name", text(f.Intent.Name)},
		{"child", truth(f.Lineage != nil && f.Lineage.Relation == perdure.Child)},
		{"owner", text(owner.String())}, {"scope", text(f.Charter.Scope)},
		{"labels", ar.record(sorted(labels))},
	}))
}

// momentOf is the facts every action has.
func momentOf(ar *arena, f *perdure.Fold, r *perdure.Request, t perdure.Time) []named {
	weekday := int64(t.Go().Weekday())
	if weekday == 0 {
		weekday = 7
	}
	return ar.list([]named{
		{"age", number(max(int64(t-f.Created)/1000, 0))}, {"now", number(int64(t))}, {"node", text(r.Node.String())},
		{"depth", number(f.Charter.Depth)},
		{"turns", number(f.Turns)}, {"denials", number(f.Denials)}, {"tainted", truth(!f.Taint.IsZero() || r.Tainted)},
		{"weekday", number(weekday)},
		{"approvals", number(int64(r.Approvals))},
	})
}

// spendingFacts is what has been spent and what is under way.
func spendingFacts(ar *arena, f *perdure.Fold, t perdure.Time) []named {
	living := int64(0)
	for i := range f.Children {
		if !f.Children[i].Ended {
			living++
		}
	}
	m := append(ar.room(7)[:0],
		named{"left", limits(ar, f.Left())}, named{"open", number(int64(len(f.Open)))},
		named{"calls", allCalls(f, t).facts(ar)},
		named{"spent", amounts(ar, f.Spent)}, named{"children", number(living)})
	if f.Intent.Deadline != 0 {
		m = append(m, named{"deadline", number(int64(f.Intent.Deadline))})
	}
	return append(m, named{"reserved", amounts(ar, f.Reserved())})
}

// callFacts is what is known of the tool and of this call.
func callFacts(ar *arena, f *perdure.Fold, x *perdure.Execute, effect perdure.Effect, t perdure.Time) ([]named, error) {
	if effect != perdure.Read && effect != perdure.Idempotent {
		effect = perdure.Once
	}
	args, err := argsOf(ar, x.Args)
	m := append(ar.room(6)[:0], named{"args", args}, named{"tool", text(x.Tool)},
		named{"effect", text(effect.String())})
	if took := latency(f, x.Tool); took > 0 { // decisions of before it was recorded have no such fact
		m = append(m, named{"latency", number(took / 1000)})
	}
	return append(m, named{"failures", number(failures(f, x.Tool))},
		named{"toolCalls", toolCalls(f, x.Tool, t).facts(ar)}), err
}

// argsOf is arguments as a record. Arguments that read differently from how they are written are refused: the tool
// might see others.
func argsOf(ar *arena, d perdure.Data) (value, error) {
	const none = "\xf6" // null
	if len(d) == 0 || string(d) == none {
		return ar.record(nil), nil
	}
	wrong := d.Valid() != nil
	if !wrong {
		_, ok := textKeys(d)
		wrong = !ok
	}
	if wrong {
		return ar.record(nil), errors.New("arguments: want canonical data with text keys")
	}
	if d[0]>>5 != 5 { // a map, in CBOR
		return ar.record(nil), fmt.Errorf("arguments: want a record of named values, got %s", kindOf(d.Value()))
	}
	return other(d, nil)
}

// textKeys reports whether every key in canonical data is a text, and what follows the data. A number as a key would
// read as text, and the tool sees a number.
func textKeys(d perdure.Data) (rest perdure.Data, ok bool) {
	major, info := d[0]>>5, d[0]&31
	n, d := uint64(info), d[1:]
	if info >= 24 {
		n = 0
		for range 1 << (info - 24) {
			n, d = n<<8|uint64(d[0]), d[1:]
		}
	}
	switch major { // of CBOR
	case 2, 3: // bytes and text
		return d[n:], true
	case 4: // a list
		for range n {
			if d, ok = textKeys(d); !ok {
				return nil, false
			}
		}
	case 5: // a map
		for range n {
			if d[0]>>5 != 3 {
				return nil, false
			}
			d, _ = textKeys(d)
			if d, ok = textKeys(d); !ok {
				return nil, false
			}
		}
	}
	return d, true
}

func childFacts(ar *arena, x *perdure.Delegate) value {
	var tools []named
	if x.Intent.Tools != nil {
		tools = ar.list([]named{{"tools", ar.texts(x.Intent.Tools)}})
	}
	return ar.record(ar.list([]named{{"kind", text(x.Intent.Kind)}, {"depth", number(x.Depth)},
		{"budget", limits(ar, x.Intent.Budget)}, {"advisor", text(x.Intent.Advisor)}}), tools)
}

// changes names what a mutation changes, and says whether it is bounds alone.
func changes(x *perdure.Mutate) (names []string, narrows bool) {
	narrows = true
	add := func(name string, present, bound bool) {
		if present {
			names, narrows = append(names, name), narrows && bound
		}
	}
	add("goal", x.Goal != nil, false)
	add("kind", x.Kind != nil, false)
	add("inputs", len(x.Inputs) > 0, false)
	add("labels", x.Labels != nil, false)
	add("scope", x.Scope != nil, true)
	add("budget", x.Budget != nil, true)
	add("deadline", x.Deadline != 0, true)
	add("tools", x.Tools != nil, true)
	add("depth", x.Depth != nil, true)
	return names, narrows
}

func amounts(ar *arena, s perdure.Spend) value {
	return ar.record(ar.list([]named{{"cost", number(s.Cost)}, {"calls", number(s.Calls)},
		{"tokens", number(s.Tokens)}}))
}

func limits(ar *arena, b *perdure.Budget) value {
	m := ar.room(3)[:0]
	add := func(name string, p *int64) {
		if p != nil {
			m = append(m, named{name, number(*p)})
		}
	}
	if b != nil {
		add("cost", b.Cost)
		add("calls", b.Calls)
		add("tokens", b.Tokens)
	}
	return ar.record(m)
}

// advisorRecord reports whether a record of signals is of an advisor, not of a tool.
func advisorRecord(name string) bool {
	_, advisor := phase.AdvisorIn(name)
	return advisor
}
