package action

import (
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// actionNames are the actions that can be proposed.
var actionNames = []string{"execute", "sleep", "mutate", "delegate", "end"}

// Action reads the one action an object holds.
func (o *Object) Action() perdure.Action {
	var name string
	for _, n := range actionNames {
		if _, ok := o.Get(n); ok && name == "" {
			name = n
		} else if ok {
			o.Fail(o.Errorf("%s and %s are two actions; give each its own place in the list", name, n))
		}
	}
	if name == "" {
		what := "there is no action"
		if len(o.Fields) > 0 {
			what += " called " + strings.Join(slices.Sorted(maps.Keys(o.Fields)), " or ")
		}
		o.Fail(o.Errorf("%s; want one of %s", what, strings.Join(actionNames, ", ")))
		return nil
	}
	in := o.Fields[name].Object(o.text, o.err)
	defer in.Done()
	switch name {
	case "execute":
		return in.execute()
	case "sleep":
		return in.sleep()
	case "mutate":
		return in.mutate()
	case "delegate":
		return in.delegate()
	}
	return in.end()
}

func (o *Object) execute() perdure.Execute {
	x := perdure.Execute{Tool: o.Require("tool").Str("tool"), Args: o.free("args"), Deadline: o.millis("deadline"),
		Call: o.Str("call")}
	if x.Tool == "" {
		o.Fail(o.Errorf("tool is empty; name one"))
	}
	return x
}

func (o *Object) sleep() perdure.Sleep {
	return perdure.Sleep{
		Note: o.template("note"), Stale: o.millis("stale"), Recheck: List(o, "recheck", o.call), Call: o.Str("call"),
		Trigger: o.trigger(0),
	}
}

// call reads a call that a sleep makes by itself.
func (o *Object) call(i Item) perdure.Execute {
	in := i.Object(o.text, o.err)
	defer in.Done()
	return in.execute()
}

// Stale reads how long what proposals rest on holds, in milliseconds; 0: it is not said.
func (o *Object) Stale() int64 {
	b := &perdure.Basis{Stale: o.millis("stale")}
	if err := b.Check(); err != nil {
		o.Fail(o.Fields["stale"].Errorf("%v", err))
	}
	return b.Stale
}

// Basis reads what proposals rest on: recheck, and how long that holds, stale.
func (o *Object) Basis() *perdure.Basis {
	b := perdure.Basis{Stale: o.Stale()}
	for _, x := range List(o, "recheck", o.call) {
		b.Reads = append(b.Reads, perdure.Assumption{Read: x})
	}
	if len(b.Reads) == 0 {
		if _, given := o.Get("stale"); given {
			o.Fail(o.Errorf("stale says how long recheck holds; name the reads there"))
		}
		return nil
	}
	if len(b.Reads) > MaxReads {
		o.Fail(o.Fields["recheck"].Errorf("recheck has %d reads, at most %d are allowed", len(b.Reads), MaxReads))
	}
	return &b
}

// triggerNames are the triggers there are.
var triggerNames = []string{"after", "at", "on", "when", "every", "any", "all", "child", "children"}

// trigger reads the one trigger an object holds among its fields.
func (o *Object) trigger(depth int) perdure.Trigger {
	var name string
	for _, n := range triggerNames {
		if _, ok := o.Get(n); ok && name == "" {
			name = n
		} else if ok {
			o.Fail(o.Errorf("%s and %s are two triggers; put them into any or all", name, n))
		}
	}
	if name == "" || depth > maxDepth {
		o.Fail(o.Errorf("there is no trigger; want one of %s", strings.Join(triggerNames, ", ")))
		return nil
	}
	t := o.triggerNamed(name, depth)
	if *o.err == nil {
		if err := perdure.CheckTrigger(t); err != nil {
			o.Fail(o.Fields[name].Errorf("%v", err))
		}
	}
	return t
}

func (o *Object) triggerNamed(name string, depth int) perdure.Trigger {
	of := func(i Item) perdure.Trigger {
		in := i.Object(o.text, o.err)
		defer in.Done()
		return in.trigger(depth + 1)
	}
	i := o.Fields[name]
	switch name {
	case "after":
		return perdure.After{Millis: o.millis(name)}
	case "at":
		return perdure.At{Time: o.time(name)}
	case "when":
		return perdure.When{Condition: o.Str(name)}
	case "child":
		return perdure.Done{Child: o.agent(name)}
	case "children":
		return o.children(i)
	case "any", "all":
		triggers := List(o, name, of)
		if len(triggers) == 0 {
			o.Fail(i.Errorf("%s has no triggers; give at least one", name))
		}
		if name == "any" {
			return perdure.Any{Of: triggers}
		}
		return perdure.All{Of: triggers}
	case "on":
		if event, ok := i.V.(string); ok {
			if event == "" {
				o.Fail(i.Errorf("on has no event; name one"))
			}
			return perdure.On{Event: event}
		}
		in := i.Object(o.text, o.err).Require("event")
		defer in.Done()
		return perdure.On{Event: in.Str("event"), Filter: in.Str("filter")}
	}
	in := i.Object(o.text, o.err).Require("interval", "poll", "until")
	defer in.Done()
	every := perdure.Every{Millis: in.millis("interval"), Until: in.Str("until")}
	if poll, ok := in.Get("poll"); ok {
		every.Poll = in.call(poll)
	}
	if every.Millis < 1 {
		in.Fail(i.Errorf("interval is shorter than a millisecond"))
	}
	return every
}

// agent is the id of an agent. One that a template stands for is known when the turn comes.
func (o *Object) agent(name string) perdure.AgentID {
	var id perdure.AgentID
	if s := o.template(name); !strings.Contains(s, Opening) {
		if err := id.UnmarshalText([]byte(s)); err != nil || id.IsZero() {
			o.Fail(o.Fields[name].Errorf("%s is %q, want the id of an agent", name, s))
		}
	}
	return id
}

// children reads a word for how many children are enough, or an object with that and the children it is about.
func (o *Object) children(i Item) perdure.Trigger {
	word, isWord := i.V.(string)
	var of []perdure.AgentID
	if !isWord {
		in := i.Object(o.text, o.err).Require("enough", "of")
		defer in.Done()
		word = in.Str("enough")
		of = List(in, "of", func(c Item) perdure.AgentID {
			one := Item{map[string]Item{"of": c}, c.At}.Object(o.text, o.err)
			return one.agent("of")
		})
		if len(of) == 0 {
			in.Fail(i.Errorf("of has no children; name at least one"))
		}
	}
	t, err := Gather(word, of...)
	if err != nil {
		o.Fail(i.Errorf("%v", err))
	}
	return t
}

func (o *Object) mutate() perdure.Mutate {
	m := perdure.Mutate{
		Goal: o.optional("goal"), Kind: o.optional("kind"), Inputs: o.free("inputs"), Labels: o.labels("labels"),
		Scope:  o.optional("scope"),
		Budget: o.budget("budget"), Deadline: o.time("deadline"), Tools: o.words("tools"),
		Depth: o.optionalCount("depth"), Note: o.template("note"),
	}
	if m.Scope != nil {
		o.scope(*m.Scope)
	}
	return m
}

func (o *Object) scope(s string) {
	if err := perdure.CheckScope(s); err != nil {
		o.Fail(o.Fields["scope"].Errorf("%v", err))
	}
}

func (o *Object) delegate() perdure.Delegate {
	d := perdure.Delegate{
		Intent: perdure.Intent{
			Name: o.Str("name"), Goal: o.Require("goal").template("goal"), Kind: o.Str("kind"),
			Inputs: o.free("inputs"), Budget: o.budget("budget"),
			Deadline: o.time("deadline"), Advisor: o.Str("advisor"), Tools: o.words("tools"),
			Labels: o.labels("labels"),
		},
		Scope: o.Str("scope"), Depth: o.Count("depth"), Call: o.Str("call"),
	}
	if d.Scope != "" {
		o.scope(d.Scope)
	}
	return d
}

func (o *Object) end() perdure.End {
	e := perdure.End{Signal: perdure.OK, Result: o.free("result"), Note: o.template("note"), Call: o.Str("call")}
	if name := o.Str("signal"); name != "" {
		n := slices.Index(e.Signal.CanonNames(), name)
		if n <= 0 {
			o.Fail(o.Fields["signal"].Errorf("signal is %q; want one of %s", name,
				strings.Join(e.Signal.CanonNames()[1:], ", ")))
			n = int(perdure.OK)
		}
		e.Signal = perdure.Signal(n)
	}
	return e
}
