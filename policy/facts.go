package policy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Facts are what a decision depends on, all of it:
//
//	version   of the facts, 1
//	action    execute, mutate, delegate, sleep, wake, end or admit
//	resource  the tool, the scope of the child, or the agent itself
//	agent     id, name, kind, owner, scope, child, labels
//	policies  the hashes of the agent's own policy sets
//	context   what Schema says of the action
//
// Values are bool, int64, string, []any and map[string]any, and those that Data holds for arguments. Times are milliseconds.
type Facts map[string]any

const factsVersion = 1

// FactsOf are the facts of a request. An error says that the request cannot be judged; Decide denies it.
func FactsOf(a *perdure.Agent, r perdure.Request, now time.Time) (Facts, error) {
	v, err := factsOf(a, &r, now)
	f, _ := v.plain().(map[string]any)
	return f, err
}

func factsOf(a *perdure.Agent, r *perdure.Request, now time.Time) (value, error) {
	f := a.Fold()
	t := perdure.TimeOf(now.Truncate(time.Second))
	moment := momentOf(f, r, t)
	switch x := r.Action.(type) {
	case perdure.Execute:
		call, err := callFacts(f, &x, r.Effect, t)
		return factsAbout(f, "execute", x.Tool, record(moment, spendingFacts(f, t), call)), err
	case perdure.Delegate:
		scope := x.Scope
		if scope == "" {
			scope = f.Charter.Scope
		}
		return factsAbout(f, "delegate", scope, record(moment, spendingFacts(f, t), []named{{"child", childFacts(&x)}})), nil
	case perdure.Mutate:
		names, narrows := changes(&x)
		return factsAbout(f, "mutate", "", record(moment, []named{{"changes", texts(names)}, {"narrows", truth(narrows)}})), nil
	case perdure.Sleep:
		return factsAbout(f, "sleep", "", record(moment)), nil
	case perdure.Wake:
		return factsAbout(f, "wake", "", record(moment)), nil
	case perdure.End:
		return factsAbout(f, "end", "", record(moment)), nil
	}
	return value{}, fmt.Errorf("facts of agent %s: no such action %T", f.Agent.Short(), r.Action)
}

// factsAbout is the facts of an action on a resource; none: the agent itself.
func factsAbout(f *perdure.Fold, action, resource string, context value) value {
	id := f.Agent.String()
	if resource == "" && action != "execute" {
		resource = id
	}
	own := value{kind: isList, rec: make([]named, len(f.Charter.Policies))}
	for i, h := range f.Charter.Policies {
		own.rec[i].value = text(h.String())
	}
	return record([]named{
		{"agent", agentFacts(f, id)}, {"action", text(action)}, {"context", context}, {"version", number(factsVersion)}, {"policies", own}, {"resource", text(resource)},
	})
}

// Hash is the SHA-256 of the canonical bytes of the facts.
func (f Facts) Hash() (perdure.Hash, error) {
	d, err := perdure.DataOf(map[string]any(f))
	return perdure.HashOf(d), err
}

// hash is the same for facts in the form of this package.
func (v *value) hash() (perdure.Hash, error) {
	buf := hashed.Get().(*[]byte)
	defer hashed.Put(buf)
	*buf = v.append((*buf)[:0])
	return perdure.HashOf(*buf), perdure.Data(*buf).Valid()
}

var hashed = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

// MarshalJSON writes the facts as JSON.
func (f Facts) MarshalJSON() ([]byte, error) {
	d, err := perdure.DataOf(map[string]any(f))
	if err != nil {
		return nil, err
	}
	return d.MarshalJSON()
}

// agentFacts is who is asking.
func agentFacts(f *perdure.Fold, id string) value {
	labels := make([]named, 0, len(f.Intent.Labels))
	for k, v := range f.Intent.Labels {
		labels = append(labels, named{k, text(v)})
	}
	return record([]named{
		{"id", text(id)}, {"kind", text(f.Intent.Kind)}, {"name", text(f.Intent.Name)}, {"child", truth(f.Lineage != nil && f.Lineage.Relation == perdure.Child)},
		{"owner", text(f.Charter.Owner.String())}, {"scope", text(f.Charter.Scope)}, {"labels", record(sorted(labels))},
	})
}

// momentOf is the facts every action has.
func momentOf(f *perdure.Fold, r *perdure.Request, t perdure.Time) []named {
	weekday := int64(t.Go().Weekday())
	if weekday == 0 {
		weekday = 7
	}
	return []named{
		{"age", number(max(int64(t-f.Created)/1000, 0))}, {"now", number(int64(t))}, {"node", text(r.Node.String())}, {"depth", number(f.Charter.Depth)},
		{"turns", number(f.Turns)}, {"denials", number(f.Denials)}, {"tainted", truth(!f.Taint.IsZero())}, {"weekday", number(weekday)},
		{"approvals", number(int64(r.Approvals))},
	}
}

// spendingFacts is what has been spent and what is under way.
func spendingFacts(f *perdure.Fold, t perdure.Time) []named {
	living := int64(0)
	for i := range f.Children {
		if !f.Children[i].Ended {
			living++
		}
	}
	m := append(make([]named, 0, 7),
		named{"left", limits(f.Left())}, named{"open", number(int64(len(f.Open)))}, named{"calls", allCalls(f, t).facts()},
		named{"spent", amounts(f.Spent)}, named{"children", number(living)})
	if f.Intent.Deadline != 0 {
		m = append(m, named{"deadline", number(int64(f.Intent.Deadline))})
	}
	return append(m, named{"reserved", amounts(f.Reserved())})
}

// callFacts is what is known of the tool and of this call.
func callFacts(f *perdure.Fold, x *perdure.Execute, effect perdure.Effect, t perdure.Time) ([]named, error) {
	if effect != perdure.Read && effect != perdure.Idempotent {
		effect = perdure.Once
	}
	args, err := argsOf(x.Args)
	return []named{
		{"args", args}, {"tool", text(x.Tool)}, {"effect", text(effect.String())}, {"failures", number(failures(f, x.Tool))},
		{"toolCalls", toolCalls(f, x.Tool, t).facts()},
	}, err
}

// argsOf is arguments as a record. Arguments that read differently from how they are written are refused: the tool might see others.
func argsOf(d perdure.Data) (value, error) {
	const none = "\xf6" // null
	if len(d) == 0 || string(d) == none {
		return record(nil), nil
	}
	wrong := d.Valid() != nil
	if !wrong {
		_, ok := textKeys(d)
		wrong = !ok
	}
	if wrong {
		return record(nil), errors.New("arguments: want canonical data with text keys")
	}
	if d[0]>>5 != 5 { // a map, in CBOR
		return record(nil), fmt.Errorf("arguments: want a record of named values, got %s", kindOf(d.Value()))
	}
	return other(d, nil)
}

// textKeys reports whether every key in canonical data is a text, and what follows the data. A number as a key would read as text, and the
// tool sees a number.
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

func childFacts(x *perdure.Delegate) value {
	var tools []named
	if x.Intent.Tools != nil {
		tools = []named{{"tools", texts(x.Intent.Tools)}}
	}
	return record([]named{{"kind", text(x.Intent.Kind)}, {"depth", number(x.Depth)}, {"budget", limits(x.Intent.Budget)}, {"advisor", text(x.Intent.Advisor)}}, tools)
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

func amounts(s perdure.Spend) value {
	return record([]named{{"cost", number(s.Cost)}, {"calls", number(s.Calls)}, {"tokens", number(s.Tokens)}})
}

func limits(b *perdure.Budget) value {
	var m []named
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
	return record(m)
}

// advisorRecord reports whether a record of signals is of an advisor, not of a tool.
func advisorRecord(name string) bool { return strings.HasPrefix(name, "advisor:") }
