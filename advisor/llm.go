package advisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/advisor/internal/action"
	"github.com/perdure/perdure/advisor/internal/bound"

	"github.com/perdure/perdure"
)

// LLM is an advisor that asks a language model. Its exported fields are set before use and not changed afterwards.
//
// What the model is shown is assembled from the agent's memory each time and never stored again: an advice holds what
// is new, and in Shown a commitment to the entries shown. When the transcript no longer fits, it is summarised, and the
// summary recorded with the advice.
//
// Calls become actions: those of tools Execute, the built-in wait and ask Sleep, delegate Delegate, finish End. A call
// of a tool that is not there, or with arguments that are none, is reported back to the model as failed. An answer
// without a call ends the agent with that answer as its result; if the agent is a chat (perdure.ChatKind), or has
// children at work, it waits for the next event instead. A chat is not thought about before somebody has said
// something. An answer that comes to nothing (refused, cut by the limit of its length, only bad calls) is asked for
// again; after three in a row the agent waits for an event.
//
// What keeps the provider from answering becomes the signal of an advice, and the runtime asks again when it is time.
type LLM struct {
	Model   Model
	Store   perdure.Store  // where to read what an agent does not hold any more; nil: it is shown what it holds
	Tools   []perdure.Spec // what the model is offered, as far as an intent names them; see Specs
	System  string         // instructions for every agent
	Context int            // tokens of a prompt; zero: what the model's window allows, within reason
	Output  int            // tokens of an answer; zero: as the provider likes, or DefaultOutput
	Timeout time.Duration  // of one answer; zero: DefaultAnswer
	// come before DefaultPrices; a model in neither does not think for agents with a budget in money
	Prices Prices
	Log    *slog.Logger // nil: nothing is logged

	// Live is told text as it comes, if not nil, and an empty text when the answer has ended. What it was told may come
	// to nothing: the advice is what counts.
	Live func(id perdure.AgentID, text string)

	// Current is the current state that an agent keeps across sessions, up to 16 KiB, if not nil; it is shown to the
	// model in a slot of its own.
	Current func(ctx context.Context, a *perdure.Agent) string

	unpriced sync.Once // it was noted that the model has no price

	mu     sync.Mutex
	kept   map[perdure.AgentID]*recollection
	tokens int // of those kept
}

var (
	_ perdure.Advisor  = (*LLM)(nil)
	_ perdure.Releaser = (*LLM)(nil)
)

// Specs are the descriptions of tools, as LLM wants them.
func Specs(tools ...perdure.Tool) []perdure.Spec {
	out := make([]perdure.Spec, len(tools))
	for i, t := range tools {
		out[i] = t.Spec()
	}
	return out
}

// Advise implements perdure.Advisor.
func (l *LLM) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	if l.Model == nil {
		return perdure.Advice{}, errors.New("advise: the LLM has no Model; set one")
	}
	f := a.Fold()
	if action.Unspoken(f) {
		return perdure.Advice{Actions: []perdure.Action{action.Heeding(action.Say(""))}}, nil
	}
	if err := l.priced(f); err != nil {
		return perdure.Advice{}, err
	}
	tools := offered(l.Tools, f)
	names := newWireNames(tools)
	r, err := l.take(ctx, a, names)
	if err != nil {
		return perdure.Advice{}, err
	}
	c := &consultation{LLM: l, agent: a, fold: f, tools: tools, names: names, recollection: r}
	if l.Current != nil {
		c.current = l.Current(ctx, a)
	}
	advice, err := c.run(ctx)
	if err == nil && ctx.Err() != nil && advice.Signal != 0 {
		err = ctx.Err() // this node is stopping: the provider is not to blame
	}
	if err != nil {
		return perdure.Advice{}, err
	}
	if c.recollection == r { // after a summary the next turn begins anew
		l.put(a.ID(), r)
	}
	advice.Model, advice.Usage = l.Model.Name(), l.usage(c.spent)
	return advice, nil
}

// consultation is one turn of one agent.
type consultation struct {
	*LLM
	agent *perdure.Agent
	fold  *perdure.Fold
	tools []perdure.Spec
	names *wireNames
	*recollection
	spent   []Tokens
	remark  remark // what the advice has to remember
	sum     string // the summary made on the way
	current string // the state it keeps across sessions
	basis   *perdure.Basis
}

// run asks, with a summary first if the transcript does not fit.
func (c *consultation) run(ctx context.Context) (perdure.Advice, error) {
	p, tokens := c.prompt()
	hard := false
	if tokens > c.budget() && c.transcript.count > 0 {
		if fail, err := c.summarise(ctx, p, false); fail != nil || err != nil {
			return c.failed(fail), err
		}
		if p, tokens = c.prompt(); tokens > c.budget() {
			hard = true
			c.shrink(true)
			p, _ = c.prompt()
		}
	}
	reply, fail, err := c.ask(ctx, p)
	if err == nil && fail != nil && fail.Overflow && !hard && c.transcript.count > 0 {
		if fail, err = c.summarise(ctx, p, true); fail != nil || err != nil {
			return c.failed(fail), err
		}
		p, _ = c.prompt()
		reply, fail, err = c.ask(ctx, p)
	}
	if err != nil || fail != nil {
		return c.failed(fail), err
	}
	return c.advice(&reply), nil
}

func (c *consultation) prompt() (*Prompt, int) {
	p, tokens := assemble(c.fold, c.transcript, c.tools, c.System, time.Now())
	if c.current != "" {
		last := &p.Messages[len(p.Messages)-1]
		slot := Text("[current state, which you keep across sessions]\n" + bound.Text(c.current, shownCurrent))
		last.Parts = append([]Part{slot}, last.Parts...)
		tokens += tokensOf(string(slot))
	}
	p.Output = c.output(tokens)
	return p, tokens
}

// output is the tokens to answer with: as set, but no more than the agent can still pay for after a prompt of so many.
// What it has not enough for at all is a short answer, the last before somebody grants more.
func (c *consultation) output(prompt int) int {
	left := c.fold.Left()
	if left == nil {
		return c.Output
	}
	most := int64(c.Output)
	if most == 0 {
		most = DefaultOutput
	}
	within := most
	if left.Tokens != nil {
		within = min(within, *left.Tokens-int64(prompt))
	}
	if price, _ := c.price(); left.Cost != nil && price.Out > 0 {
		within = min(within, int64((float64(*left.Cost)-float64(prompt)*price.In)/price.Out))
	}
	if within >= most {
		return c.Output
	}
	return int(max(within, shortAnswer))
}

// budget is the tokens a prompt may take.
func (l *LLM) budget() int {
	if l.Context > 0 {
		return l.Context
	}
	price, _ := l.price()
	if price.Context == 0 {
		return DefaultContext
	}
	return min(price.Context*3/4, largestContext)
}

// ask asks the model once.
func (c *consultation) ask(ctx context.Context, p *Prompt) (Reply, *Failure, error) {
	ctx, cancel := context.WithTimeout(ctx, orDuration(c.Timeout, DefaultAnswer))
	defer cancel()
	var live func(string)
	if c.Live != nil && !p.Talk {
		live = func(text string) { c.Live(c.agent.ID(), text) }
	}
	reply, err := c.Model.Ask(ctx, p, live)
	if live != nil {
		live("")
	}
	if reply.Tokens != (Tokens{}) {
		c.spent = append(c.spent, reply.Tokens)
	}
	var fail *Failure
	if errors.As(err, &fail) {
		return reply, fail, nil
	}
	return reply, nil, err
}

func orDuration(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// failed is the advice that no answer came.
func (c *consultation) failed(fail *Failure) perdure.Advice {
	if fail == nil {
		return perdure.Advice{}
	}
	if fail.Overflow {
		return c.fruitless(perdure.Advice{}, fail.Note, perdure.Failed)
	}
	return perdure.Advice{Signal: fail.Signal, RetryAfter: fail.RetryAfter.Milliseconds(), Text: fail.Note}
}

// fruitless is the advice for a reply that came to nothing by the model's own doing. The third in a row makes the agent
// wait: asking the same again and again costs money and leads nowhere.
func (c *consultation) fruitless(a perdure.Advice, why string, s perdure.Signal) perdure.Advice {
	c.remark.nothing = why
	a.Signal = s
	if s == perdure.Failed {
		c.remark.raw, c.remark.opaque = nil, nil // nothing of it is shown again
	}
	if s == perdure.Failed {
		a.Text = why
	}
	if c.transcript.fruitless+1 >= maxFruitless {
		a.Signal = 0
	}
	if a.Signal != 0 { // only advice that counts can stand for the transcript
		a.Summary, c.remark.keep, c.remark.clip = "", 0, 0
	}
	a.Actions = nil
	a.Raw = c.remark.data()
	return a
}

// advice is a reply as advice.
func (c *consultation) advice(r *Reply) perdure.Advice {
	a := perdure.Advice{Text: strings.ToValidUTF8(r.Text, "\uFFFD"), Summary: c.sum, Shown: c.transcript.shown()}
	c.remark.family, c.remark.raw = c.Model.Family(), r.Raw
	if r.Stop == StopRefused {
		return c.fruitless(a, "the model refused: "+cmp.Or(bound.Text(strings.TrimSpace(r.Refusal), maxNote),
			"it did not say why"), perdure.Failed)
	}
	a.Actions = c.actions(r)
	if a.Basis = c.basis; a.Basis != nil && len(a.Actions) == 0 {
		a.Basis = nil
		call, _ := recheckCall(c.basis)
		c.remark.bad = append(c.remark.bad, badCall{id: call.ID, name: call.Name,
			args: bound.Text(call.Args, shownHard), why: "not noted: call it together with what rests on it"})
	}
	switch {
	case len(a.Actions) > 0:
	case len(c.remark.bad) > 0:
		return c.fruitless(a, "none of its calls could be made", perdure.Partial)
	case r.Stop == StopLength:
		return c.fruitless(a, "your answer was cut at the limit of its length: go on in smaller steps", perdure.Partial)
	case strings.TrimSpace(a.Text) == "":
		return c.fruitless(a, "your answer was empty: call a tool, or finish", perdure.Partial)
	case c.fold.Intent.Kind == perdure.ChatKind:
		action.EndTurn(c.fold, &a)
	case !c.waitsForChildren():
		if result, err := perdure.DataOf(a.Text); err == nil {
			a.Actions, a.Text = []perdure.Action{perdure.End{Signal: perdure.OK, Result: result}}, ""
		}
	}
	a.Raw = c.remark.data()
	return a
}

func (c *consultation) waitsForChildren() bool {
	for i := range c.fold.Children {
		if !c.fold.Children[i].Ended {
			return true
		}
	}
	return false
}

// actions are the calls of a reply as actions, the end last. What cannot become one is kept to be reported back.
func (c *consultation) actions(r *Reply) []perdure.Action {
	var acts, end []perdure.Action
	var ids []string
	used := map[string]bool{}
	for i := range r.Calls {
		call := &r.Calls[i]
		id := c.callID(call.ID, i, used)
		ids = append(ids, id)
		act, err := c.action(call, id, i)
		if err == nil && act == nil {
			continue // it named what the others rest on
		}
		if err != nil {
			bad := badCall{id: id, name: bound.Text(call.Name, longestName), args: bound.Text(call.Args, shownHard),
				why: "not called: " + err.Error()}
			c.remark.bad = append(c.remark.bad, bad)
			continue
		}
		if len(call.Opaque) > 0 {
			if c.remark.opaque == nil {
				c.remark.opaque = map[string]perdure.Data{}
			}
			c.remark.opaque[id] = call.Opaque
		}
		if _, ok := act.(perdure.End); ok {
			end = append(end, act)
			continue
		}
		acts = append(acts, act)
	}
	c.since(acts)
	if len(c.remark.bad) > 0 || len(end) > 0 && len(acts) > 0 {
		c.remark.calls = ids
	}
	return append(acts, end...)
}

// since counts the children that ended before out of what is waited for, and remembers calls that no longer read as
// they were made.
func (c *consultation) since(acts []perdure.Action) {
	called := slices.Clone(acts)
	action.Since(c.fold, acts)
	for i := range acts {
		if _, ok := acts[i].(perdure.Sleep); !ok {
			continue
		}
		_, was := builtinCall(called[i])
		if _, is := builtinCall(acts[i]); was != is {
			if c.remark.args == nil {
				c.remark.args = map[string]string{}
			}
			c.remark.args[perdure.CallOf(acts[i])] = was
		}
	}
}

// action is one call as an action. Its error is for the model.
func (c *consultation) action(call *ToolCall, id string, n int) (perdure.Action, error) {
	name, known := c.names.tool[call.Name]
	switch {
	case n >= maxCalls:
		return nil, fmt.Errorf("more than %d calls at once", maxCalls)
	case !known:
		list := make([]string, len(c.tools))
		for i := range c.tools {
			list[i] = c.names.toWire(c.tools[i].Name)
		}
		return nil, fmt.Errorf("there is no tool %q; there are %s", bound.Text(call.Name, longestName),
			strings.Join(list, ", "))
	case isBuiltin(c.Tools, name):
		return c.builtin(name, id, call.Args)
	}
	text := strings.TrimSpace(call.Args)
	if text == "" {
		text = "{}"
	}
	args, err := perdure.DataFromJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if _, ok := args.Value().(map[string]any); !ok {
		return nil, errors.New("the arguments are not a JSON object")
	}
	return perdure.Execute{Tool: name, Args: args, Call: id}, nil
}

// builtin is a call of a built-in as an action; of recheck there is none.
func (c *consultation) builtin(name, id, args string) (perdure.Action, error) {
	if name == "recheck" {
		var r recheckArgs
		err := strictArgs(args, &r)
		if err == nil {
			c.basis, err = r.basis(id)
		}
		for i := 0; err == nil && i < len(c.basis.Reads); i++ {
			err = c.ownName(&c.basis.Reads[i].Read)
		}
		if err != nil {
			c.basis = nil
		}
		return nil, err
	}
	act, err := builtinAction(name, id, args)
	sleep, ok := act.(perdure.Sleep)
	if ok && err == nil && c.fold.Intent.Kind == perdure.ChatKind {
		sleep = action.Heeding(sleep) // whoever talks to it need not wait until it wakes
		act = sleep
	}
	for i := 0; ok && err == nil && i < len(sleep.Recheck); i++ {
		err = c.ownName(&sleep.Recheck[i])
	}
	return act, err
}

// ownName gives a read the name its tool has here, in the place of the one the model knows it by.
func (c *consultation) ownName(x *perdure.Execute) error {
	if own, ok := c.names.tool[x.Tool]; ok {
		x.Tool = own
	}
	if !slices.ContainsFunc(c.tools, func(t perdure.Spec) bool {
		return t.Name == x.Tool
	}) || isBuiltin(c.Tools, x.Tool) {
		return fmt.Errorf("there is no tool %q to look again with", bound.Text(x.Tool, longestName))
	}
	return nil
}

// callID is the model's own id of a call if it will do for every provider and is new in this transcript, else another.
func (c *consultation) callID(id string, n int, used map[string]bool) string {
	_, before := c.transcript.calls[id]
	if id == "" || len(id) > maxCallID || plainName(id) != id || before || used[id] {
		for k := n; ; k++ {
			id = fmt.Sprintf("call_%d_%d", c.fold.Turns, k)
			if _, before := c.transcript.calls[id]; !before && !used[id] {
				break
			}
		}
	}
	used[id] = true
	return id
}
