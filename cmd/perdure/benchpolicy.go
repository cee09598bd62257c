package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

func benchPolicyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy [flags]",
		Short: "Measure what a decision of policy costs",
		Long: `Policy measures, on one core, what one decision costs: facts from the fold of an agent, their hash, their types, and every rule; with the
built-in policy and with one of 20 rules.

Beside it, in turns, cedar-go evaluates the same 20 rules without what makes them safe (no types, no hash, errors passed over), with its
request made anew for each decision, and with one made before.`,
		Example:     `  perdure bench policy --time 2s`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitInterrupted),
	}
	each := c.Flags().Duration("time", time.Second, "how long to measure each figure")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *each <= 0 {
			return perdure.Invalid(errors.New("--time: want more than zero"))
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		figures, err := policyFigures(c.Context(), *each)
		if err != nil {
			return err
		}
		if jsonFlag(c) {
			return printJSON(c.OutOrStdout(), struct {
				Go      string   `json:"go"`
				OS      string   `json:"os"`
				Arch    string   `json:"arch"`
				Figures []figure `json:"figures"`
			}{runtime.Version(), runtime.GOOS, runtime.GOARCH, figures})
		}
		return writePolicyFigures(c.OutOrStdout(), figures)
	}
	return c
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
func policyFigures(ctx context.Context, each time.Duration) ([]figure, error) {
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
	return []figure{
		timing("decide, built-in policy", "facts, their hash, their types, every rule; a call that asks a person", "26 µs", samples[:1]),
		timing("decide, 20 rules", "the same; a call that is allowed", "26 µs", samples[1:], "cedar-go and its request", "cedar-go alone"),
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
		Principal: cedar.NewEntityUID("Agent", "a"), Action: cedar.NewEntityUID("Action", "execute"), Resource: cedar.NewEntityUID("Tool", "fs.write"),
		Context: cedar.NewRecord(cedar.RecordMap{
			"now": cedar.NewDatetimeFromMillis(0), "weekday": cedar.Long(1), "age": cedar.Long(1), "node": cedar.NewEntityUID("Key", "k"), "approvals": cedar.Long(0),
			"depth": cedar.Long(0), "tainted": cedar.False, "turns": cedar.Long(0), "denials": cedar.Long(0), "open": cedar.Long(0), "children": cedar.Long(0),
			"spent": amounts("cost", "tokens", "calls"), "reserved": amounts("cost", "tokens", "calls"), "left": cedar.NewRecord(nil),
			"calls": amounts("minute", "hour", "total"), "toolCalls": amounts("minute", "hour", "total"), "tool": cedar.String("fs.write"),
			"effect": cedar.NewEntityUID("Effect", "once"), "failures": cedar.Long(0),
			"args": cedar.NewRecord(cedar.RecordMap{"path": cedar.String(path), "size": cedar.Long(5), "text": cedar.String(text)}),
		}),
	}
}

func writePolicyFigures(w io.Writer, figures []figure) error {
	if _, err := fmt.Fprintf(w, "one core, %s %s/%s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH); err != nil {
		return err
	}
	t := table{head: []string{"operation", "measured", "allocs", "ratio", "target"}}
	for _, f := range figures {
		t.add(f.Operation, amount(f.Value, f.Unit), count(f.Allocs), "", f.Target)
		for _, l := range f.Floors {
			t.add("  "+l.Name, amount(l.Value, f.Unit), count(l.Allocs), fmt.Sprintf("%.2f", l.Ratio), "")
		}
	}
	return t.write(w)
}
