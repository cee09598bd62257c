package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/yamltext"
)

// Case is one line of a table of tests: facts, and what the policy is to answer.
type Case struct {
	Name     string         `yaml:"name"`
	Action   string         `yaml:"action"`   // none: execute
	Resource string         `yaml:"resource"` // of an execute the tool, of a delegate the scope of the child
	Agent    map[string]any `yaml:"agent"`    // in place of those of Sample; null takes a fact away
	Context  map[string]any `yaml:"context"`  // likewise; times as RFC 3339
	Policies []string       `yaml:"policies"` // the hashes of the agent's own policy sets
	Want     string         `yaml:"want"`     // allow, ask or deny
	Rules    []string       `yaml:"rules"`    // the rules that must be among those that decided
}

// CaseResult is what came of one Case.
type CaseResult struct {
	Case        Case
	Explanation Explanation
	Wrong       string // what differs from what was wanted; "" when nothing does
}

// CaseReport is a result as programs read it.
type CaseReport struct {
	Name   string   `json:"name"`
	OK     bool     `json:"ok"`
	Want   string   `json:"want"`
	Got    string   `json:"got"`
	Wrong  string   `json:"wrong,omitempty"`
	Rules  []string `json:"rules"`
	Reason string   `json:"reason,omitempty"`
}

// Report is the result as programs read it.
func (r *CaseResult) Report() CaseReport {
	v := &r.Explanation.Verdict
	return CaseReport{r.Case.Name, r.Wrong == "", r.Case.Want, v.Answer.String(), r.Wrong, v.Rules, v.Reason}
}

// RunTests runs a table of cases, a YAML or JSON list of Case:
//
//   - name: a payment asks two people
//     resource: bank.pay
//     context: {effect: once, args: {cents: 500}}
//     want: ask
//     rules: [payments-ask]
//
// It returns a result for each. An error says that the table itself cannot be read; a field it does not know is one.
func (s *Set) RunTests(table io.Reader) ([]CaseResult, error) {
	cases, err := decodeCases(table)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read policy tests: %w; a case has name, action, resource, agent, context, policies, "+
			"want and rules", err)
	}
	if len(cases) == 0 {
		return nil, errors.New("read policy tests: no case in the table")
	}
	results := make([]CaseResult, len(cases))
	for i, c := range cases {
		f, err := c.facts()
		if err != nil {
			return nil, fmt.Errorf("policy test %d (%s): %w", i+1, c.Name, err)
		}
		results[i] = CaseResult{Case: c, Explanation: s.ExplainFacts(f)}
		results[i].Wrong = c.compare(&results[i].Explanation.Verdict)
	}
	return results, nil
}

// maxTable bounds a table: it is written by people.
const maxTable = 16 << 20

// decodeCases reads a table.
func decodeCases(table io.Reader) (cases []Case, err error) {
	text, err := io.ReadAll(io.LimitReader(table, maxTable+1))
	if err == nil && len(text) > maxTable {
		err = fmt.Errorf("it is longer than %d bytes", maxTable)
	}
	if err == nil {
		err = yamltext.Check(text)
	}
	if err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	return cases, yamltext.Plain(dec.Decode(&cases), map[string]string{
		"[]policy.Case": "a list of cases, each of which begins with a dash, as in - name: …",
		"policy.Case":   "a case with fields, such as name: …", "map[string]any": "names and values, such as {a: 1}",
		"[]string": "a list, such as [a, b]", "string": "text"})
}

// compare says how a verdict differs from what the case wants.
func (c *Case) compare(v *perdure.Verdict) string {
	if got := v.Answer.String(); got != c.Want {
		return fmt.Sprintf("got %s by %s (%s), want %s", got, strings.Join(v.Rules, ", "), v.Reason, c.Want)
	}
	for _, want := range c.Rules {
		if !slices.Contains(v.Rules, want) {
			return fmt.Sprintf("decided by %s, want %s among them", strings.Join(v.Rules, ", "), want)
		}
	}
	return ""
}

// facts is the facts of a case: a sample with what the case changes.
func (c *Case) facts() (Facts, error) {
	if !slices.Contains(perdure.Answer(0).CanonNames(), c.Want) {
		return nil, fmt.Errorf("want: %q: one of allow, ask, deny", c.Want)
	}
	action := c.Action
	if action == "" {
		action = "execute"
	}
	f := Sample(action)
	if f == nil {
		return nil, fmt.Errorf("action: no such action as %q", action)
	}
	context, _ := f["context"].(map[string]any)
	if c.Resource != "" {
		f["resource"] = c.Resource
		if action == "execute" {
			context["tool"] = c.Resource
		}
	}
	policies := make([]any, len(c.Policies))
	for i, p := range c.Policies {
		policies[i] = p
	}
	f["policies"] = policies
	agent, _ := f["agent"].(map[string]any)
	for _, o := range []struct{ base, over map[string]any }{{agent, c.Agent}, {context, c.Context}} {
		if err := override(o.base, o.over); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Sample is the facts of an unremarkable agent that wants to do something unremarkable; nil when there is no such
// action.
func Sample(action string) Facts {
	const id = "0000000000000000000000000000000000000000000000000000000000000001"
	none := func() map[string]any { return map[string]any{"cost": int64(0), "tokens": int64(0), "calls": int64(0)} }
	idle := func() map[string]any { return map[string]any{"minute": int64(0), "hour": int64(0), "total": int64(0)} }
	context := map[string]any{
		"now": time.Date(2026, 1, 7, 12, 0, 0, 0, time.UTC).UnixMilli(), "weekday": int64(3), "age": int64(60),
		"node": id, "approvals": int64(0),
		"depth": int64(1), "tainted": false, "turns": int64(1), "denials": int64(0),
	}
	f := Facts{
		"version": int64(factsVersion), "action": action, "resource": id, "policies": []any{}, "context": context,
		"agent": map[string]any{"id": id, "name": "sample", "kind": "", "owner": id, "scope": "test", "child": false,
			"labels": map[string]any{}},
	}
	spending := map[string]any{"spent": none(), "reserved": none(), "left": map[string]any{}, "open": int64(0),
		"children": int64(0), "calls": idle()}
	switch action {
	case "execute":
		f["resource"] = "sample"
		maps.Copy(context, spending)
		maps.Copy(context, map[string]any{"tool": "sample", "effect": "once", "toolCalls": idle(), "failures": int64(0),
			"args": map[string]any{}})
	case "delegate":
		f["resource"] = "test"
		maps.Copy(context, spending)
		context["child"] = map[string]any{"kind": "", "advisor": "", "depth": int64(0), "budget": map[string]any{}}
	case "mutate":
		context["changes"], context["narrows"] = []any{"budget"}, true
	case actionAdmit:
		maps.Copy(context, map[string]any{"trusted": false, "contested": false, "advisor": "",
			"budget": map[string]any{}, "spent": none()})
	case actionRead, actionWrite:
		f["resource"] = "test"
		maps.Copy(context, map[string]any{"path": "notes/sample.md", "kind": "observation", "tier": "team"})
	case "sleep", "wake", "end":
	default:
		return nil
	}
	return f
}

// override puts facts in place of others. Records are merged but for arguments, and null takes a fact away.
func override(base, over map[string]any) error {
	for key, v := range over {
		plain, err := plainValue(key, v)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		old, wasRecord := base[key].(map[string]any)
		rec, isRecord := plain.(map[string]any)
		switch {
		case plain == nil:
			delete(base, key)
		case wasRecord && isRecord && key != "args":
			if err := override(old, rec); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		default:
			base[key] = plain
		}
	}
	return nil
}

// Set puts a value, as YAML or JSON writes it, in place of a fact: tainted, spent.cost, args, agent.scope. Null takes
// an optional fact away. A fact that does not exist for the action is an error.
func (f Facts) Set(path, value string) error {
	var v any
	if err := yamltext.Unmarshal([]byte(value), &v); err != nil {
		return fmt.Errorf("%s: %q: want a value such as 5, true or {cost: 5}", path, value)
	}
	action, _ := f["action"].(string)
	words := strings.Split(strings.TrimPrefix(path, "context."), ".")
	root, at := "context", contextShapes()[action]
	if words[0] == "agent" {
		root, at, words = "agent", agentShape(), words[1:]
	}
	if len(words) == 0 {
		return errors.New("agent: name one of its facts, such as agent.scope")
	}
	for _, word := range words {
		if at = at.at(word); at == nil || f[root] == nil {
			return fmt.Errorf("there is no fact %q of %s; see perdure policy schema", path, action)
		}
	}
	plain, err := plainValue(words[len(words)-1], v)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if given, err := valueOf(plain); plain != nil && !at.open {
		if err == nil {
			_, err = at.convert(&given, nil)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	record, _ := f[root].(map[string]any)
	for _, word := range words[:len(words)-1] {
		inner, ok := record[word].(map[string]any)
		if !ok {
			inner = map[string]any{}
			record[word] = inner
		}
		record = inner
	}
	if last := words[len(words)-1]; plain == nil {
		delete(record, last)
	} else {
		record[last] = plain
	}
	return nil
}

// at is the shape of an attribute of a record; nil when it has none of that name. In an open one everything is open.
func (s *shape) at(name string) *shape {
	if s == nil || s.open {
		return s
	}
	for i := range s.fields {
		if string(s.fields[i].name) == name {
			return s.fields[i].shape
		}
	}
	return nil
}

// plainValue is a YAML value as a fact.
func plainValue(key string, v any) (any, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case time.Time:
		return v.UnixMilli(), nil
	case string:
		if key == "now" || key == "deadline" {
			t, err := time.Parse(time.RFC3339, v)
			return t.UnixMilli(), err
		}
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = plainValue("", e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if out[k], err = plainValue("", e); err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
		}
		return out, nil
	case nil, bool, int64, uint64, float64:
		return v, nil
	}
	return nil, fmt.Errorf("%T is no fact", v)
}

// Reports are those of several results, and how many of them are wrong.
func Reports(results []CaseResult) (reports []CaseReport, wrong int) {
	for _, r := range results {
		if reports = append(reports, r.Report()); r.Wrong != "" {
			wrong++
		}
	}
	return reports, wrong
}
