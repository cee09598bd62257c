package advisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/advisor/internal/action"
	"github.com/perdure/perdure/advisor/internal/bound"

	"github.com/perdure/perdure"
)

// builtins are the calls every model is offered beside the tools: they become actions of their own. A tool of the same
// name takes the place of one.
var builtins = []perdure.Spec{
	builtin("wait", "Sleep until a time, for some seconds, until an event arrives, or until enough of those you "+
		"delegated to have ended, whichever comes first. Nothing is spent while asleep.",
		`"children":{"type":"string","description":"all: every child has ended; any: one succeeded; quorum:N: N succeeded; first-failure: one did not. Counts those at work and those delegated to in the same turn"},"of":{"type":"array","items":{"type":"string"},"description":"the ids of the children that children is about, when not all of them"},"seconds":{"type":"number","description":"how long"},"until":{"type":"string","description":"a time such as 2027-01-31T09:00:00Z"},"event":{"type":"string","description":"the name of an event"},"note":{"type":"string","description":"what for"},"recheck":`+readsSchema+`,"stale_seconds":{"type":"number","description":"look again at recheck only after sleeping this long; absent: always"}`),
	builtin("recheck", "Name what the other calls of this turn rest on. If they are decided late, because an "+
		"approval took long or nobody ran you, these reads are made again first; if one comes to something else, "+
		"nothing is done and you are asked again. Call it in the same turn.",
		`"reads":`+readsSchema+`,"seconds":{"type":"number","description":"how long they hold; absent: an hour"}`,
		"reads"),
	builtin("ask", "Ask a person a question and sleep until the answer arrives.",
		`"question":{"type":"string"},"seconds":{"type":"number","description":"how long to wait for it at most"}`,
		"question"),
	builtin("delegate", "Hand a part of the work to a new agent of its own, within your bounds. It works beside you; "+
		"its end is told to you.",
		`"goal":{"type":"string"},"name":{"type":"string"},"inputs":{"type":"object"},"tools":{"type":"array","items":{"type":"string"},"description":"the tools it may use; absent: those you may"},`+
			`"budget":{"type":"object","additionalProperties":false,"properties":{"cost":{"type":"integer","description":"millionths of a dollar"},"tokens":{"type":"integer"},"calls":{"type":"integer"}},"description":"how much of your budget it may use; absent: all that is left"},`+
			`"scope":{"type":"string","description":"a part of your own scope, such as yours/part"},"until":{"type":"string","description":"when it must have ended, such as 2027-01-31T09:00:00Z"},`+
			`"depth":{"type":"integer","description":"how many generations it may delegate to in turn; absent: none"},"advisor":{"type":"string","description":"who thinks for it, if not whoever thinks for any agent"}`, "goal"),
	builtin("finish", "End for good: the goal is reached, or cannot be.",
		`"result":{"description":"what came of it"},"success":{"type":"boolean","description":"false: the goal cannot be reached"},"note":{"type":"string"}`),
}

// readsSchema is the schema of reads to make again.
const readsSchema = `{"type":"array","maxItems":64,"items":{"type":"object","additionalProperties":false,"properties":{"tool":{"type":"string"},"args":{"type":"object"}},"required":["tool"]},"description":"calls that only read, as you made them before"}`

// builtin describes a built-in call by the properties of its arguments.
func builtin(name, description, properties string, required ...string) perdure.Spec {
	schema := `{"type":"object","additionalProperties":false,"properties":{` + properties + `}`
	if len(required) > 0 {
		schema += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	args, err := perdure.DataFromJSON([]byte(schema + "}"))
	if err != nil {
		panic(err)
	}
	return perdure.Spec{Name: name, Description: description, Args: args}
}

type waitArgs struct {
	Children string   `json:"children,omitempty"`
	Of       []string `json:"of,omitempty"`
	Seconds  float64  `json:"seconds,omitempty"`
	Until    string   `json:"until,omitempty"`
	Event    string   `json:"event,omitempty"`
	Note     string   `json:"note,omitempty"`

	Recheck []readArgs `json:"recheck,omitempty"`
	Stale   float64    `json:"stale_seconds,omitempty"`
}

// readArgs is a read to make again.
type readArgs struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args,omitempty"`
}

type recheckArgs struct {
	Reads   []readArgs `json:"reads"`
	Seconds float64    `json:"seconds,omitempty"`
}

type askArgs struct {
	Question string  `json:"question"`
	Seconds  float64 `json:"seconds,omitempty"`
}

type delegateArgs struct {
	Goal    string          `json:"goal"`
	Name    string          `json:"name,omitempty"`
	Inputs  json.RawMessage `json:"inputs,omitempty"`
	Tools   []string        `json:"tools,omitempty"`
	Budget  *budgetArgs     `json:"budget,omitempty"`
	Scope   string          `json:"scope,omitempty"`
	Until   string          `json:"until,omitempty"`
	Depth   int64           `json:"depth,omitempty"`
	Advisor string          `json:"advisor,omitempty"`
}

type budgetArgs struct {
	Cost   *int64 `json:"cost,omitempty"`
	Tokens *int64 `json:"tokens,omitempty"`
	Calls  *int64 `json:"calls,omitempty"`
}

type finishArgs struct {
	Result  json.RawMessage `json:"result,omitempty"`
	Success *bool           `json:"success,omitempty"`
	Note    string          `json:"note,omitempty"`
}

// builtinAction is a call of a built-in as an action. Its error is for the model.
func builtinAction(name, id, args string) (perdure.Action, error) {
	switch name {
	case "wait":
		var w waitArgs
		if err := strictArgs(args, &w); err != nil {
			return nil, err
		}
		return w.action(id)
	case "ask":
		var q askArgs
		if err := strictArgs(args, &q); err != nil {
			return nil, err
		}
		if q.Question == "" {
			return nil, errors.New("question is empty")
		}
		t := perdure.Trigger(perdure.On{Event: perdure.AnswerEvent})
		if wait := bound.Seconds(q.Seconds); wait > 0 {
			t = perdure.Any{Of: []perdure.Trigger{t, perdure.After{Millis: wait.Milliseconds()}}}
		}
		return perdure.Sleep{Trigger: t, Note: q.Question, Call: id}, nil
	case "delegate":
		var d delegateArgs
		if err := strictArgs(args, &d); err != nil {
			return nil, err
		}
		return d.action(id)
	}
	var f finishArgs
	if err := strictArgs(args, &f); err != nil {
		return nil, err
	}
	result, err := dataOrNone(f.Result)
	if err != nil {
		return nil, err
	}
	end := perdure.End{Signal: perdure.OK, Result: result, Note: f.Note, Call: id}
	if f.Success != nil && !*f.Success {
		end.Signal = perdure.Failed
	}
	return end, nil
}

// longestSleep bounds how long a model can put its agent to sleep for: until long after anybody remembers.
const longestSleep = 10 * 365 * 24 * time.Hour

func (w *waitArgs) action(id string) (perdure.Action, error) {
	var of []perdure.Trigger
	if w.Seconds > 0 {
		of = append(of, perdure.After{Millis: int64(min(w.Seconds, longestSleep.Seconds()) * 1000)})
	}
	if w.Until != "" {
		at, err := untilTime(w.Until)
		if err != nil {
			return nil, err
		}
		of = append(of, perdure.At{Time: at})
	}
	if w.Children != "" || len(w.Of) > 0 {
		g, err := w.gather()
		if err != nil {
			return nil, err
		}
		of = append(of, g)
	}
	if w.Event != "" {
		of = append(of, perdure.On{Event: w.Event})
	}
	sleep := perdure.Sleep{Trigger: perdure.Any{Of: of}, Note: w.Note, Call: id}
	switch len(of) {
	case 0:
		return nil, errors.New("give seconds, until, event or children")
	case 1:
		sleep.Trigger = of[0]
	}
	var err error
	if sleep.Recheck, err = reads(w.Recheck); err == nil && len(sleep.Recheck) > 0 {
		sleep.Stale = max(bound.Seconds(w.Stale).Milliseconds(), 1)
	}
	return sleep, err
}

// reads are reads to make again, under the names the model knows their tools by.
func reads(args []readArgs) ([]perdure.Execute, error) {
	var out []perdure.Execute
	for i, r := range args {
		data, err := dataOrNone(r.Args)
		switch {
		case r.Tool == "":
			return nil, fmt.Errorf("read %d names no tool", i+1)
		case err != nil:
			return nil, fmt.Errorf("read %d: %w", i+1, err)
		case i >= action.MaxReads:
			return nil, fmt.Errorf("more than %d reads", action.MaxReads)
		}
		out = append(out, perdure.Execute{Tool: r.Tool, Args: data})
	}
	return out, nil
}

// basis is what a call of recheck names.
func (r *recheckArgs) basis(id string) (*perdure.Basis, error) {
	calls, err := reads(r.Reads)
	if err == nil && len(calls) == 0 {
		err = errors.New("reads is empty")
	}
	if err != nil {
		return nil, err
	}
	b := &perdure.Basis{Stale: bound.Seconds(r.Seconds).Milliseconds(), Call: id}
	for _, x := range calls {
		b.Reads = append(b.Reads, perdure.Assumption{Read: x})
	}
	return b, b.Check()
}

// recheckCall is a basis as the call that named it.
func recheckCall(b *perdure.Basis) (ToolCall, bool) {
	if b == nil || b.Call == "" {
		return ToolCall{}, false
	}
	args := recheckArgs{Seconds: float64(b.Stale) / 1000}
	for i := range b.Reads {
		args.Reads = append(args.Reads, readOf(&b.Reads[i].Read))
	}
	text, err := json.Marshal(args)
	if err != nil {
		text = []byte("{}")
	}
	return ToolCall{ID: b.Call, Name: "recheck", Args: string(text)}, true
}

func readOf(x *perdure.Execute) readArgs {
	r := readArgs{Tool: x.Tool}
	if len(x.Args) > 0 {
		r.Args = x.Args.JSON()
	}
	return r
}

func untilTime(text string) (perdure.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Unix() <= 0 || at.Year() > 9999 {
		return 0, fmt.Errorf("until is %q, want a time such as 2027-01-31T09:00:00Z", bound.Text(text, 64))
	}
	return perdure.TimeOf(at), nil
}

// gather is the trigger of children that are waited for.
func (w *waitArgs) gather() (perdure.Trigger, error) {
	if w.Children == "" {
		return nil, errors.New("of needs children: " + action.Enough)
	}
	ids := make([]perdure.AgentID, len(w.Of))
	for i, s := range w.Of {
		if err := ids[i].UnmarshalText([]byte(s)); err != nil || ids[i].IsZero() {
			return nil, fmt.Errorf("of has %q, want the ids of children", bound.Text(s, 80))
		}
	}
	return action.Gather(w.Children, ids...)
}

// action is the delegation. What is wider than the agent itself is made narrower, or refused, when it is decided.
func (d *delegateArgs) action(id string) (perdure.Action, error) {
	if d.Goal == "" {
		return nil, errors.New("goal is empty")
	}
	inputs, err := dataOrNone(d.Inputs)
	if err != nil {
		return nil, err
	}
	act := perdure.Delegate{Intent: perdure.Intent{Goal: d.Goal, Name: d.Name, Inputs: inputs, Tools: d.Tools,
		Advisor: d.Advisor}, Scope: d.Scope, Depth: d.Depth, Call: id}
	if b := d.Budget; b != nil {
		for _, n := range []*int64{b.Cost, b.Tokens, b.Calls} {
			if n != nil && *n < 0 {
				return nil, fmt.Errorf("budget has %d, want zero or more", *n)
			}
		}
		act.Intent.Budget = &perdure.Budget{Cost: b.Cost, Tokens: b.Tokens, Calls: b.Calls}
	}
	if d.Until != "" {
		if act.Intent.Deadline, err = untilTime(d.Until); err != nil {
			return nil, err
		}
	}
	if d.Scope != "" {
		if err := perdure.CheckScope(d.Scope); err != nil {
			return nil, err
		}
	}
	if d.Depth < 0 {
		return nil, fmt.Errorf("depth is %d, want zero or more", d.Depth)
	}
	return act, nil
}

// builtinCall is an action as the built-in call it was.
func builtinCall(act perdure.Action) (name, args string) {
	var v any
	switch x := act.(type) {
	case perdure.Sleep:
		name, v = sleepCall(&x)
	case perdure.Delegate:
		d := delegateArgs{Goal: x.Intent.Goal, Name: x.Intent.Name, Tools: x.Intent.Tools, Scope: x.Scope,
			Depth: x.Depth, Advisor: x.Intent.Advisor}
		if b := x.Intent.Budget; b != nil {
			d.Budget = &budgetArgs{Cost: b.Cost, Tokens: b.Tokens, Calls: b.Calls}
		}
		if t := x.Intent.Deadline; t != 0 {
			d.Until = t.Go().UTC().Format(time.RFC3339)
		}
		if len(x.Intent.Inputs) > 0 {
			d.Inputs = x.Intent.Inputs.JSON()
		}
		name, v = "delegate", d
	case perdure.End:
		f := finishArgs{Note: x.Note}
		if len(x.Result) > 0 {
			f.Result = x.Result.JSON()
		}
		if x.Signal != perdure.OK {
			f.Success = new(bool)
		}
		name, v = "finish", f
	case perdure.Execute, perdure.Mutate, perdure.Wake:
	}
	b, err := json.Marshal(v)
	if err != nil {
		return name, "{}"
	}
	return name, string(b)
}

func sleepCall(s *perdure.Sleep) (string, any) {
	of := []perdure.Trigger{s.Trigger}
	if list, ok := s.Trigger.(perdure.Any); ok {
		of = list.Of
	}
	w := waitArgs{Note: s.Note}
	for i := range s.Recheck {
		w.Recheck = append(w.Recheck, readOf(&s.Recheck[i]))
	}
	if s.Stale > 1 {
		w.Stale = float64(s.Stale) / 1000
	}
	for _, t := range of {
		switch t := t.(type) {
		case perdure.After:
			w.Seconds = float64(t.Millis) / 1000
		case perdure.At:
			w.Until = t.Time.Go().UTC().Format(time.RFC3339)
		case perdure.On:
			w.Event = t.Event
		case perdure.Gather:
			w.Children = gatherWord(t)
			for _, id := range t.Of {
				w.Of = append(w.Of, id.String())
			}
		case perdure.Done, perdure.When, perdure.Every, perdure.Any, perdure.All:
		}
	}
	if w.Event == perdure.AnswerEvent && w.Until == "" {
		return "ask", askArgs{Question: w.Note, Seconds: w.Seconds}
	}
	return "wait", w
}

// gatherWord is the word a gathering was asked for with.
func gatherWord(g perdure.Gather) string {
	switch {
	case g.Failed > 0:
		return "first-failure"
	case g.OK == 1:
		return "any"
	case g.OK > 1:
		return fmt.Sprintf("quorum:%d", g.OK)
	}
	return "all"
}

// strictArgs reads the arguments of a call. Its error is for the model.
func strictArgs(args string, v any) error {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	dec := json.NewDecoder(strings.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("the arguments are not as described: %w", err)
	}
	if dec.More() {
		return errors.New("the arguments are not as described: there is more after them")
	}
	return nil
}

// dataOrNone is JSON as data; null and nothing are none.
func dataOrNone(b json.RawMessage) (perdure.Data, error) {
	if len(b) == 0 || bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		return nil, nil
	}
	return perdure.DataFromJSON(b)
}
