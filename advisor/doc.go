// Package advisor asks language models what an agent should do next. LLM is the advisor; the models of each provider
// are in a package of their own, so that a program links only the SDKs it uses:
//
//	llm := &advisor.LLM{Model: anthropic.New("claude-opus-5-5", advisor.Endpoint{}), Store: store}
//
// Advisors that are no language model are beside it: script proposes what is written down, remote asks a program in any
// language.
//
// # Actions
//
// Scripts and remote advisors write actions alike. An action is an object with one of these fields:
//
//	execute:  {tool: files.read, args: {path: a.txt}, deadline: 30s}
//	sleep:    {after: 1h30m, note: why, stale: 24h, recheck: [{tool: …, args: …}]}   or, in place of after:
//	          at: 2027-01-31T09:00:00Z
//	          on: paid                        or {event: paid, filter: event.data.amount > 100}
//	          when: vars.ready == true
//	          every: {interval: 10s, poll: {tool: …, args: …}, until: result.state == "done"}
//	          child: the id of a child
//	          children: all                   or any, quorum:2, first-failure, of those that live or are delegated now
//	          children: {enough: any, of: [the ids of children]}
//	          any: [{after: 1h}, {on: paid}]  and all: […]
//	mutate:   {goal, kind, inputs, labels, scope, budget: {cost, tokens, calls}, deadline, tools, depth, note}
//	delegate: {goal: …, name, kind, inputs, budget, deadline, advisor, tools, labels, scope, depth}
//	end:      {signal: ok, result: …, note: …}
//
// Fields nobody knows are refused.
package advisor
