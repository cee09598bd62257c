package advisor

import (
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// actionNames are the actions that can be proposed.
var actionNames = []string{"execute", "sleep", "mutate", "delegate", "end"}

// action reads the one action an object holds.
func (o *object) action() perdure.Action {
	var name string
	for _, n := range actionNames {
		if _, ok := o.get(n); ok && name == "" {
			name = n
		} else if ok {
			o.fail(o.errorf("%s and %s are two actions; give each its own place in the list", name, n))
		}
	}
	if name == "" {
		o.fail(o.errorf("there is no action; want one of %s", strings.Join(actionNames, ", ")))
		return nil
	}
	in := o.fields[name].object(o.text, o.err)
	defer in.done()
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

func (o *object) execute() perdure.Execute {
	x := perdure.Execute{Tool: o.require("tool").str("tool"), Args: o.free("args"), Deadline: o.millis("deadline"), Call: o.str("call")}
	if x.Tool == "" {
		o.fail(o.errorf("tool is empty; name one"))
	}
	return x
}

func (o *object) sleep() perdure.Sleep {
	return perdure.Sleep{
		Note: o.template("note"), Stale: o.millis("stale"), Recheck: list(o, "recheck", o.call), Call: o.str("call"),
		Trigger: o.trigger(0),
	}
}

// call reads a call that a sleep makes by itself.
func (o *object) call(i item) perdure.Execute {
	in := i.object(o.text, o.err)
	defer in.done()
	return in.execute()
}

// basis reads what proposals rest on: recheck, and how long that holds, stale.
func (o *object) basis() *perdure.Basis {
	b := perdure.Basis{Stale: o.millis("stale")}
	for _, x := range list(o, "recheck", o.call) {
		b.Reads = append(b.Reads, perdure.Assumption{Read: x})
	}
	if len(b.Reads) == 0 {
		if _, given := o.get("stale"); given {
			o.fail(o.errorf("stale says how long recheck holds; name the reads there"))
		}
		return nil
	}
	if len(b.Reads) > maxReads {
		o.fail(o.fields["recheck"].errorf("recheck has %d reads, at most %d are allowed", len(b.Reads), maxReads))
	}
	return &b
}

// triggerNames are the triggers there are.
var triggerNames = []string{"after", "at", "on", "when", "every", "any", "all", "child", "children"}

// trigger reads the one trigger an object holds among its fields.
func (o *object) trigger(depth int) perdure.Trigger {
	var name string
	for _, n := range triggerNames {
		if _, ok := o.get(n); ok && name == "" {
			name = n
		} else if ok {
			o.fail(o.errorf("%s and %s are two triggers; put them into any or all", name, n))
		}
	}
	if name == "" || depth > maxDepth {
		o.fail(o.errorf("there is no trigger; want one of %s", strings.Join(triggerNames, ", ")))
		return nil
	}
	t := o.triggerNamed(name, depth)
	if *o.err == nil {
		if err := perdure.CheckTrigger(t); err != nil {
			o.fail(o.fields[name].errorf("%v", err))
		}
	}
	return t
}

func (o *object) triggerNamed(name string, depth int) perdure.Trigger {
	of := func(i item) perdure.Trigger {
		in := i.object(o.text, o.err)
		defer in.done()
		return in.trigger(depth + 1)
	}
	i := o.fields[name]
	switch name {
	case "after":
		return perdure.After{Millis: o.millis(name)}
	case "at":
		return perdure.At{Time: o.time(name)}
	case "when":
		return perdure.When{Condition: o.str(name)}
	case "child":
		return perdure.Done{Child: o.agent(name)}
	case "children":
		return o.children(i)
	case "any", "all":
		triggers := list(o, name, of)
		if len(triggers) == 0 {
			o.fail(i.errorf("%s has no triggers; give at least one", name))
		}
		if name == "any" {
			return perdure.Any{Of: triggers}
		}
		return perdure.All{Of: triggers}
	case "on":
		if event, ok := i.v.(string); ok {
			return perdure.On{Event: event}
		}
		in := i.object(o.text, o.err).require("event")
		defer in.done()
		return perdure.On{Event: in.str("event"), Filter: in.str("filter")}
	}
	in := i.object(o.text, o.err).require("interval", "poll", "until")
	defer in.done()
	every := perdure.Every{Millis: in.millis("interval"), Until: in.str("until")}
	if poll, ok := in.get("poll"); ok {
		every.Poll = in.call(poll)
	}
	if every.Millis < 1 {
		in.fail(i.errorf("interval is shorter than a millisecond"))
	}
	return every
}

// agent is the id of an agent. One that a template stands for is known when the turn comes.
func (o *object) agent(name string) perdure.AgentID {
	var id perdure.AgentID
	if s := o.template(name); !strings.Contains(s, opening) {
		if err := id.UnmarshalText([]byte(s)); err != nil || id.IsZero() {
			o.fail(o.fields[name].errorf("%s is %q, want the id of an agent", name, s))
		}
	}
	return id
}

// children reads a word for how many children are enough, or an object with that and the children it is about.
func (o *object) children(i item) perdure.Trigger {
	word, isWord := i.v.(string)
	var of []perdure.AgentID
	if !isWord {
		in := i.object(o.text, o.err).require("enough", "of")
		defer in.done()
		word = in.str("enough")
		of = list(in, "of", func(c item) perdure.AgentID {
			one := item{map[string]item{"of": c}, c.at}.object(o.text, o.err)
			return one.agent("of")
		})
		if len(of) == 0 {
			in.fail(i.errorf("of has no children; name at least one"))
		}
	}
	t, err := gather(word, of...)
	if err != nil {
		o.fail(i.errorf("%v", err))
	}
	return t
}

func (o *object) mutate() perdure.Mutate {
	m := perdure.Mutate{
		Goal: o.optional("goal"), Kind: o.optional("kind"), Inputs: o.free("inputs"), Labels: o.labels("labels"), Scope: o.optional("scope"),
		Budget: o.budget("budget"), Deadline: o.time("deadline"), Tools: o.words("tools"), Depth: o.optionalCount("depth"), Note: o.template("note"),
	}
	if m.Scope != nil {
		o.scope(*m.Scope)
	}
	return m
}

func (o *object) scope(s string) {
	if err := perdure.CheckScope(s); err != nil {
		o.fail(o.fields["scope"].errorf("%v", err))
	}
}

func (o *object) delegate() perdure.Delegate {
	d := perdure.Delegate{
		Intent: perdure.Intent{
			Name: o.str("name"), Goal: o.require("goal").template("goal"), Kind: o.str("kind"), Inputs: o.free("inputs"), Budget: o.budget("budget"),
			Deadline: o.time("deadline"), Advisor: o.str("advisor"), Tools: o.words("tools"), Labels: o.labels("labels"),
		},
		Scope: o.str("scope"), Depth: o.count("depth"), Call: o.str("call"),
	}
	if d.Scope != "" {
		o.scope(d.Scope)
	}
	return d
}

func (o *object) end() perdure.End {
	e := perdure.End{Signal: perdure.OK, Result: o.free("result"), Note: o.template("note"), Call: o.str("call")}
	if name := o.str("signal"); name != "" {
		n := slices.Index(e.Signal.CanonNames(), name)
		if n <= 0 {
			o.fail(o.fields["signal"].errorf("signal is %q; want one of %s", name, strings.Join(e.Signal.CanonNames()[1:], ", ")))
			n = int(perdure.OK)
		}
		e.Signal = perdure.Signal(n)
	}
	return e
}
