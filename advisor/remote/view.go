package remote

import (
	"context"
	"encoding/json"
	"time"

	"github.com/perdure/perdure/advisor/internal/bound"
	"github.com/perdure/perdure/advisor/internal/told"

	"github.com/perdure/perdure"
)

// view is what a remote advisor is shown of an agent. Its JSON Schema is in the package documentation.
type view struct {
	Version  int                     `json:"version"`
	Agent    string                  `json:"agent"`
	Turn     int64                   `json:"turn"`
	Now      time.Time               `json:"now"`
	Intent   intentView              `json:"intent"`
	Scope    string                  `json:"scope"`
	State    map[string]perdure.Data `json:"state"`
	Spent    amounts                 `json:"spent"`
	Left     *amounts                `json:"left,omitempty"`
	Inbox    []messageView           `json:"inbox"`
	Outcomes []outcomeView           `json:"outcomes"`
	Said     []saidView              `json:"said,omitempty"`
	Children []childView             `json:"children"`
	Tainted  bool                    `json:"tainted"`
}

type intentView struct {
	Name     string            `json:"name,omitempty"`
	Goal     string            `json:"goal"`
	Kind     string            `json:"kind,omitempty"`
	Inputs   json.RawMessage   `json:"inputs,omitempty"`
	Deadline string            `json:"deadline,omitempty"`
	Tools    *[]string         `json:"tools,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
}

type amounts struct {
	Cost   *int64 `json:"cost,omitempty"`
	Tokens *int64 `json:"tokens,omitempty"`
	Calls  *int64 `json:"calls,omitempty"`
}

type messageView struct {
	Event string          `json:"event"`
	Name  string          `json:"name"`
	By    string          `json:"by,omitempty"`
	Time  string          `json:"time"`
	Data  json.RawMessage `json:"data,omitempty"`
	Woke  bool            `json:"woke,omitempty"`
}

type saidView struct {
	Event    string `json:"event"`
	What     string `json:"what"`
	By       string `json:"by"`
	Note     string `json:"note"`
	Decision string `json:"decision,omitempty"`
	Time     string `json:"time"`
}

type outcomeView struct {
	Decision  string          `json:"decision"`
	Action    string          `json:"action,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Call      string          `json:"call,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
	Signal    string          `json:"signal"`
	Result    json.RawMessage `json:"result,omitempty"`
	Note      string          `json:"note,omitempty"`
	Latency   int64           `json:"latency_ms,omitempty"`
	Time      string          `json:"time"`
	Untrusted bool            `json:"untrusted,omitempty"`
	Cut       bool            `json:"cut,omitempty"`
}

type childView struct {
	Agent  string          `json:"agent"`
	Ended  bool            `json:"ended"`
	Signal string          `json:"signal,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// view is the request about an agent.
func (h *Advisor) view(ctx context.Context, a *perdure.Agent, now time.Time) ([]byte, error) {
	f := a.Fold()
	spent := f.Spent
	v := view{
		Version: 1, Agent: f.Agent.String(), Turn: f.Turns + 1, Now: now.UTC(), Scope: f.Charter.Scope, State: f.Vars,
		Spent: amounts{Cost: &spent.Cost, Tokens: &spent.Tokens, Calls: &spent.Calls}, Tainted: !f.Taint.IsZero(),
		Intent: intentView{Name: f.Intent.Name, Goal: f.Intent.Goal, Kind: f.Intent.Kind, Labels: f.Intent.Labels},
		Inbox:  []messageView{}, Children: []childView{},
	}
	if v.State == nil {
		v.State = map[string]perdure.Data{}
	}
	if left := f.Left(); left != nil {
		v.Left = &amounts{Cost: left.Cost, Tokens: left.Tokens, Calls: left.Calls}
	}
	if len(f.Intent.Inputs) > 0 {
		v.Intent.Inputs = f.Intent.Inputs.JSON()
	}
	if f.Intent.Deadline != 0 {
		v.Intent.Deadline = rfc3339(f.Intent.Deadline)
	}
	if f.Intent.Tools != nil {
		v.Intent.Tools = &f.Intent.Tools
	}
	for i := range f.Inbox {
		m := &f.Inbox[i]
		data, _ := h.shown(m.Data)
		v.Inbox = append(v.Inbox, messageView{Event: m.Event.String(), Name: m.Name, By: told.From(a, m),
			Time: rfc3339(m.Time), Data: data, Woke: m.Spent})
	}
	for i := range f.Children {
		c := &f.Children[i]
		child := childView{Agent: c.Agent.String(), Ended: c.Ended}
		if c.Ended {
			child.Signal = c.Signal.String()
			child.Result, _ = h.shown(c.Result)
		}
		v.Children = append(v.Children, child)
	}
	past, err := h.past(ctx, a)
	if err != nil {
		return nil, err
	}
	v.Outcomes = h.outcomes(f, past.Entries)
	for _, e := range past.Unheard(a.SaidBy) {
		w, _ := told.WordOf(e, a.SaidBy)
		said := saidView{Event: e.Name.String(), What: w.What, By: w.By,
			Note: bound.Text(w.Note, orDefault(h.Shown, DefaultShown)), Time: rfc3339(e.Time)}
		if !w.Of.IsZero() {
			said.Decision = w.Of.String()
		}
		v.Said = append(v.Said, said)
	}
	return json.Marshal(v)
}

func rfc3339(t perdure.Time) string { return t.Go().UTC().Format(time.RFC3339Nano) }

// past is what is at hand of the memory of an agent.
func (h *Advisor) past(ctx context.Context, a *perdure.Agent) (told.Past, error) {
	if h.Store != nil {
		return told.Memory(ctx, h.Store, a)
	}
	return told.Recent(a), nil
}

// outcomes are the last ones, oldest first: what was done, and refusals, with the action each was of.
func (h *Advisor) outcomes(f *perdure.Fold, entries []*perdure.Entry) []outcomeView {
	var ledger perdure.Ledger
	actions := map[perdure.Hash]perdure.Action{} // by decision
	proposed := map[perdure.Hash][]perdure.Action{}
	happened := map[perdure.Hash]bool{} // decisions whose effect did
	out := []outcomeView{}
	for _, e := range entries {
		if !ledger.Counts(f, e) {
			continue
		}
		switch c := e.Content().(type) {
		case perdure.Advice:
			proposed[e.Name] = c.Actions
		case perdure.Decision:
			act := c.Action
			if p := proposed[c.Advice]; act == nil && c.Index >= 0 && c.Index < int64(len(p)) {
				act = p[c.Index]
			}
			actions[e.Name] = act
			if c.Verdict.Answer == perdure.Deny {
				out = append(out, h.outcome(e, e.Name, act, &perdure.Outcome{Signal: perdure.Denied,
					Note: c.Verdict.Reason}))
			}
		case perdure.Outcome:
			happened[c.Decision] = happened[c.Decision] || c.Signal == perdure.OK
			out = append(out, h.outcome(e, c.Decision, actions[c.Decision], &c))
		case perdure.Event:
			if s, ok := c.Notice.(perdure.Settle); ok && !happened[s.Decision] {
				happened[s.Decision] = s.Signal == perdure.OK
				out = append(out, h.outcome(e, s.Decision, actions[s.Decision],
					&perdure.Outcome{Signal: s.Signal, Result: s.Result, Note: s.Note}))
			}
		case perdure.Genesis, perdure.Snapshot, nil:
		}
	}
	return out[max(0, len(out)-orDefault(h.Recent, DefaultRecent)):]
}

func (h *Advisor) outcome(e *perdure.Entry, decision perdure.Hash, act perdure.Action, o *perdure.Outcome) outcomeView {
	v := outcomeView{Decision: decision.String(), Signal: o.Signal.String(), Note: o.Note,
		Latency: o.Elapsed().Milliseconds(), Time: rfc3339(e.Time), Untrusted: o.Taint}
	var cutArgs, cutResult bool
	v.Result, cutResult = h.shown(o.Result)
	switch a := act.(type) {
	case perdure.Execute:
		v.Action, v.Tool, v.Call = "execute", a.Tool, a.Call
		v.Args, cutArgs = h.shown(a.Args)
	case perdure.Sleep:
		v.Action, v.Call = "sleep", a.Call
	case perdure.Delegate:
		v.Action, v.Call = "delegate", a.Call
	case perdure.Mutate:
		v.Action = "mutate"
	case perdure.End:
		v.Action, v.Call = "end", a.Call
	case perdure.Wake:
		v.Action = "wake"
	case nil: // the decision is further back than the entries at hand
	}
	v.Cut = cutArgs || cutResult
	return v
}
