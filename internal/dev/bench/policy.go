package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// PolicyResult is what decisions cost.
type PolicyResult struct {
	Machine
	Figures []Figure `json:"figures"`
}

// Tables is the result for people.
func (r *PolicyResult) Tables() []Table {
	t := figureTable(r.Figures)
	t.Title, t.Notes = "one core, "+r.Machine.String(), nil
	return []Table{t}
}

// Policy measures, on one core, what one decision costs, each figure for so long.
func Policy(ctx context.Context, each time.Duration) (*PolicyResult, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	figures, err := policyFigures(ctx, each)
	if err != nil {
		return nil, err
	}
	return &PolicyResult{thisMachine(), figures}, nil
}

// benchRules is twenty rules of the usual sort, three of them about arguments.
func benchRules() string {
	var b strings.Builder
	b.WriteString(`@id("all") permit (principal, action, resource);
@id("path") forbid (principal, action == Action::"execute", resource == Tool::"fs.write") when { context.args has path && context.args.path like "/etc/*" };
@id("size") forbid (principal, action == Action::"execute", resource == Tool::"fs.write") when { context.args has size && context.args.size > 1000000 };
@id("url") forbid (principal, action == Action::"execute", resource == Tool::"http.post") when { context.args has url && context.args.url like "*internal*" };
`)
	for i := range 16 {
		fmt.Fprintf(&b, `@id("r%02d") forbid (principal, action == Action::"execute", resource) when { context.spent.cost + context.reserved.cost > %d || (context.tainted && context.toolCalls.hour > %d) };`+"\n", i, 1_000_000+i, 100+i)
	}
	return b.String()
}

// policyFigures measures decisions.
func policyFigures(ctx context.Context, each time.Duration) ([]Figure, error) {
	now := time.Now()
	_, _, a, err := begin(now)
	if err != nil {
		return nil, err
	}
	args := map[string]any{"path": "/srv/a.txt", "size": 5, "text": strings.Repeat("x", 200)}
	data, err := perdure.DataOf(args)
	if err != nil {
		return nil, err
	}
	twenty, err := policy.Parse(policy.File{Name: "bench.cedar", Text: []byte(benchRules())})
	if err != nil {
		return nil, err
	}
	raw, err := cedar.NewPolicySetFromBytes("bench.cedar", []byte(benchRules()))
	if err != nil {
		return nil, err
	}
	r := perdure.Request{Action: perdure.Execute{Tool: "fs.write", Args: data}, Effect: perdure.Once}
	builtIn, ready := policy.Default(), cedarRequest(args)
	var wrong error
	expect := func(ok bool) {
		if !ok {
			wrong = errors.New("measure policy: an answer was not the one expected")
		}
	}
	samples, err := measure(ctx, each,
		func() { expect(builtIn.Decide(a, r, now).Answer == perdure.Ask) },
		func() { expect(twenty.Decide(a, r, now).Answer == perdure.Allow) },
		func() { d, _ := cedar.Authorize(raw, nil, cedarRequest(args)); expect(d == cedar.Allow) },
		func() { d, _ := cedar.Authorize(raw, nil, ready); expect(d == cedar.Allow) },
	)
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	return []Figure{
		timing("decide, built-in policy", "facts, their hash, their types, every rule; a call that asks a person",
			"26 µs", samples[:1]),
		timing("decide, 20 rules", "the same; a call that is allowed", "26 µs", samples[1:], "cedar-go and its request",
			"cedar-go alone"),
	}, nil
}

// cedarRequest is the same question as cedar-go is asked it.
func cedarRequest(args map[string]any) cedar.Request {
	amounts := func(names ...cedar.String) cedar.Record {
		m := cedar.RecordMap{}
		for _, name := range names {
			m[name] = cedar.Long(0)
		}
		return cedar.NewRecord(m)
	}
	path, _ := args["path"].(string)
	text, _ := args["text"].(string)
	return cedar.Request{
		Principal: cedar.NewEntityUID("Agent", "a"), Action: cedar.NewEntityUID("Action", "execute"),
		Resource: cedar.NewEntityUID("Tool", "fs.write"),
		Context: cedar.NewRecord(cedar.RecordMap{
			"now": cedar.NewDatetimeFromMillis(0), "weekday": cedar.Long(1), "age": cedar.Long(1),
			"node": cedar.NewEntityUID("Key", "k"), "approvals": cedar.Long(0),
			"depth": cedar.Long(0), "tainted": cedar.False, "turns": cedar.Long(0), "denials": cedar.Long(0),
			"open": cedar.Long(0), "children": cedar.Long(0),
			"spent": amounts("cost", "tokens", "calls"), "reserved": amounts("cost", "tokens", "calls"),
			"left":  cedar.NewRecord(nil),
			"calls": amounts("minute", "hour", "total"), "toolCalls": amounts("minute", "hour", "total"),
			"tool":   cedar.String("fs.write"),
			"effect": cedar.NewEntityUID("Effect", "once"), "failures": cedar.Long(0),
			"args": cedar.NewRecord(cedar.RecordMap{"path": cedar.String(path), "size": cedar.Long(5),
				"text": cedar.String(text)}),
		}),
	}
}
