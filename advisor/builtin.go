package advisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// AnswerEvent is the event that answers a question a model asked with the built-in ask: tell the agent one of this name.
const AnswerEvent = "answer"

// builtins are the calls every model is offered beside the tools: they become actions of their own. A tool of the same name takes the place
// of one.
var builtins = []perdure.Spec{
	builtin("wait", "Sleep until a time, for some seconds, or until an event arrives, whichever comes first. Nothing is spent while asleep.",
		`"seconds":{"type":"number","description":"how long"},"until":{"type":"string","description":"a time such as 2027-01-31T09:00:00Z"},"event":{"type":"string","description":"the name of an event"},"note":{"type":"string","description":"what for"}`),
	builtin("ask", "Ask a person a question and sleep until the answer arrives.",
		`"question":{"type":"string"},"seconds":{"type":"number","description":"how long to wait for it at most"}`, "question"),
	builtin("delegate", "Hand a part of the work to a new agent of its own, within your bounds. Its end is told to you.",
		`"goal":{"type":"string"},"name":{"type":"string"},"inputs":{"type":"object"},"tools":{"type":"array","items":{"type":"string"},"description":"the tools it may use; absent: those you may"}`, "goal"),
	builtin("finish", "End for good: the goal is reached, or cannot be.",
		`"result":{"description":"what came of it"},"success":{"type":"boolean","description":"false: the goal cannot be reached"},"note":{"type":"string"}`),
}

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
	Seconds float64 `json:"seconds,omitempty"`
	Until   string  `json:"until,omitempty"`
	Event   string  `json:"event,omitempty"`
	Note    string  `json:"note,omitempty"`
}

type askArgs struct {
	Question string  `json:"question"`
	Seconds  float64 `json:"seconds,omitempty"`
}

type delegateArgs struct {
	Goal   string          `json:"goal"`
	Name   string          `json:"name,omitempty"`
	Inputs json.RawMessage `json:"inputs,omitempty"`
	Tools  []string        `json:"tools,omitempty"`
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
		t := perdure.Trigger(perdure.On{Event: AnswerEvent})
		if wait := boundedWait(q.Seconds); wait > 0 {
			t = perdure.Any{Of: []perdure.Trigger{t, perdure.After{Millis: wait.Milliseconds()}}}
		}
		return perdure.Sleep{Trigger: t, Note: q.Question, Call: id}, nil
	case "delegate":
		var d delegateArgs
		if err := strictArgs(args, &d); err != nil {
			return nil, err
		}
		if d.Goal == "" {
			return nil, errors.New("goal is empty")
		}
		inputs, err := dataOrNone(d.Inputs)
		if err != nil {
			return nil, err
		}
		return perdure.Delegate{Intent: perdure.Intent{Goal: d.Goal, Name: d.Name, Inputs: inputs, Tools: d.Tools}, Call: id}, nil
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
		at, err := time.Parse(time.RFC3339, w.Until)
		if err != nil || at.Unix() <= 0 || at.Year() > 9999 {
			return nil, fmt.Errorf("until is %q, want a time such as 2027-01-31T09:00:00Z", shorten(w.Until, 64))
		}
		of = append(of, perdure.At{Time: perdure.TimeOf(at)})
	}
	if w.Event != "" {
		of = append(of, perdure.On{Event: w.Event})
	}
	switch len(of) {
	case 0:
		return nil, errors.New("give seconds, until or event")
	case 1:
		return perdure.Sleep{Trigger: of[0], Note: w.Note, Call: id}, nil
	}
	return perdure.Sleep{Trigger: perdure.Any{Of: of}, Note: w.Note, Call: id}, nil
}

// builtinCall is an action as the built-in call it was.
func builtinCall(act perdure.Action) (name, args string) {
	var v any
	switch x := act.(type) {
	case perdure.Sleep:
		name, v = sleepCall(&x)
	case perdure.Delegate:
		d := delegateArgs{Goal: x.Intent.Goal, Name: x.Intent.Name, Tools: x.Intent.Tools}
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
	for _, t := range of {
		switch t := t.(type) {
		case perdure.After:
			w.Seconds = float64(t.Millis) / 1000
		case perdure.At:
			w.Until = t.Time.Go().UTC().Format(time.RFC3339)
		case perdure.On:
			w.Event = t.Event
		case perdure.Done, perdure.When, perdure.Every, perdure.Any, perdure.All:
		}
	}
	if w.Event == AnswerEvent && w.Until == "" {
		return "ask", askArgs{Question: w.Note, Seconds: w.Seconds}
	}
	return "wait", w
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

// wireNames are the names tools have on the wire, where only letters, digits, _ and - are allowed.
type wireNames struct {
	wire map[string]string
	tool map[string]string
}

// newWireNames gives each tool a name of its own.
func newWireNames(tools []perdure.Spec) *wireNames {
	n := &wireNames{wire: map[string]string{}, tool: map[string]string{}}
	for _, t := range tools {
		base := plainName(t.Name)
		name := base
		for i := 2; n.tool[name] != ""; i++ {
			name = fmt.Sprintf("%s_%d", base, i)
		}
		n.wire[t.Name], n.tool[name] = name, t.Name
	}
	return n
}

// toWire is the name of a tool on the wire, also of one that is no longer offered.
func (n *wireNames) toWire(tool string) string {
	if w, ok := n.wire[tool]; ok {
		return w
	}
	return plainName(tool)
}

// longestName is what every provider allows.
const longestName = 60

func plainName(s string) string {
	b := []byte(s[:min(len(s), longestName)])
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return "_"
	}
	return string(b)
}

// offered is the tools and built-ins an agent may use, by name.
func offered(tools []perdure.Spec, f *perdure.Fold) []perdure.Spec {
	var out []perdure.Spec
	for _, t := range tools {
		if f.Intent.Tools == nil || slices.Contains(f.Intent.Tools, t.Name) {
			out = append(out, t)
		}
	}
	for _, b := range builtins {
		taken := slices.ContainsFunc(out, func(t perdure.Spec) bool { return t.Name == b.Name })
		if !taken && (b.Name != "delegate" || f.Charter.Depth > 0) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b perdure.Spec) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// isBuiltin reports whether a name offered is that of a built-in, not of a tool.
func isBuiltin(tools []perdure.Spec, name string) bool {
	return slices.ContainsFunc(builtins, func(b perdure.Spec) bool { return b.Name == name }) &&
		!slices.ContainsFunc(tools, func(t perdure.Spec) bool { return t.Name == name })
}
