// Package advisor holds advisors: Script, which proposes what is written down, HTTP, which asks a program in any language, and LLM, which asks a
// language model: Anthropic, OpenAI or an endpoint compatible with it, Gemini.
//
// # Actions
//
// Script and HTTP write actions alike. An action is an object with one of these fields:
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
//
// # Scripts
//
// A script is YAML: a list of turns, taken in order, one each time the agent asks.
//
//	turns:
//	  - execute: {tool: http.get, args: {url: "https://example.com/${inputs.page}"}}
//	    as: page                                       # a name for what comes of it
//	  - when: results.page.signal != "ok"              # passed over unless this holds
//	    end: {signal: failed, note: "${results.page.note}"}
//	  - do:                                            # several actions at once
//	      - execute: {tool: files.write, args: {path: page.html, text: "${results.page.result.text}"}}
//	      - execute: {tool: files.stat, args: {path: old.html}}
//	    text: keeping what was found                   # the reasoning, for people
//	    recheck: [{tool: files.read, args: {path: a}}] # what it rests on, read again if it is decided late;
//	    stale: 10m                                     # later than this; absent: 1h. Not as it was: nothing is done
//	  - sleep: {on: check}
//	    repeat: 3                                      # this many rounds; with when, each round only if it holds
//	  - end: {result: "${results.page.result.status}"}
//
// A condition (when) and a template (${…}) know: turn (the place of the turn in the list, from 1), round, turns (how often the advisor was
// asked before), inputs, vars (the agent's state), inbox (the names of events nobody has waited for), results (by name) and last (of the
// action that came to something last), said (what people said since the last turn, oldest first, when they approved, denied, paused, resumed,
// granted, settled or edited: what, by, note and of, the name of the action it is about); templates also agent and goal. A result has signal, result and note, that of a call also latency in milliseconds; that of a sleep also event and
// by, the name of what ended it and who sent it, with its data as result; that of a delegation also child, and ended once the child has. A condition is CEL
// and does not hold if it reads what is not there. A template is a path of names and numbers; as a whole text it keeps the type of
// the value, inside of one it becomes text; $${ stands for itself. Templates stand in args, inputs, results, goals, notes and text.
//
// A fork goes on at the turn of the agent it was forked from, with the results so far, if that agent is in the store.
//
// When its turns are used up, a script ends the agent with ok; when a template reads what is not there, with failed.
//
// # The exchange with a remote advisor
//
// HTTP posts one object and gets one back, both application/json. The first is described by this JSON Schema:
//
//	{
//	  "$schema": "https://json-schema.org/draft/2020-12/schema",
//	  "title": "request",
//	  "type": "object",
//	  "required": ["version", "agent", "turn", "now", "intent", "scope", "state", "spent", "inbox", "outcomes", "children", "tainted"],
//	  "additionalProperties": false,
//	  "properties": {
//	    "version":  {"const": 1},
//	    "agent":    {"type": "string", "pattern": "^[0-9a-f]{64}$"},
//	    "turn":     {"type": "integer", "minimum": 1, "description": "which asking this is"},
//	    "now":      {"type": "string", "format": "date-time"},
//	    "intent":   {
//	      "type": "object",
//	      "required": ["goal"],
//	      "additionalProperties": false,
//	      "properties": {
//	        "name": {"type": "string"}, "goal": {"type": "string"}, "kind": {"type": "string"}, "inputs": {},
//	        "deadline": {"type": "string", "format": "date-time"},
//	        "tools": {"type": "array", "items": {"type": "string"}, "description": "absent: whatever policy permits"},
//	        "labels": {"type": "object", "additionalProperties": {"type": "string"}}
//	      }
//	    },
//	    "scope":    {"type": "string"},
//	    "state":    {"type": "object", "description": "what outcomes and events have set"},
//	    "spent":    {"$ref": "#/$defs/amounts"},
//	    "left":     {"$ref": "#/$defs/amounts", "description": "only what is limited"},
//	    "inbox":    {"type": "array", "description": "events the advisor has not seen, oldest first", "items": {
//	      "type": "object",
//	      "required": ["event", "name", "time"],
//	      "additionalProperties": false,
//	      "properties": {"event": {"type": "string"}, "name": {"type": "string"}, "by": {"type": "string"}, "time": {"type": "string"}, "data": {}, "woke": {"type": "boolean"}}
//	    }},
//	    "outcomes": {"type": "array", "description": "recent ones, oldest first", "items": {
//	      "type": "object",
//	      "required": ["decision", "signal", "time"],
//	      "additionalProperties": false,
//	      "properties": {
//	        "decision": {"type": "string"}, "action": {"enum": ["execute", "sleep", "mutate", "delegate", "wake", "end"]}, "tool": {"type": "string"}, "call": {"type": "string"}, "args": {},
//	        "signal": {"$ref": "#/$defs/signal"}, "result": {}, "note": {"type": "string"}, "time": {"type": "string"},
//	        "latency_ms": {"type": "integer", "minimum": 1, "description": "how long it took"},
//	        "untrusted": {"type": "boolean", "description": "the result is text from somebody not trusted"},
//	        "cut": {"type": "boolean", "description": "the result was too long to show"}
//	      }
//	    }},
//	    "said":     {"type": "array", "description": "what people said since the last advice, oldest first; absent: nothing", "items": {
//	      "type": "object",
//	      "required": ["event", "what", "by", "note", "time"],
//	      "additionalProperties": false,
//	      "properties": {
//	        "event": {"type": "string"}, "what": {"enum": ["approve", "deny", "pause", "resume", "grant", "settle", "edit"]}, "by": {"type": "string"},
//	        "note": {"type": "string"}, "decision": {"type": "string", "description": "what it is about"}, "time": {"type": "string"}
//	      }
//	    }},
//	    "children": {"type": "array", "items": {
//	      "type": "object",
//	      "required": ["agent", "ended"],
//	      "additionalProperties": false,
//	      "properties": {"agent": {"type": "string"}, "ended": {"type": "boolean"}, "signal": {"$ref": "#/$defs/signal"}, "result": {}}
//	    }},
//	    "tainted":  {"type": "boolean", "description": "text from somebody not trusted is in memory"}
//	  },
//	  "$defs": {
//	    "amounts": {"type": "object", "additionalProperties": false, "properties": {"cost": {"type": "integer"}, "tokens": {"type": "integer"}, "calls": {"type": "integer"}}},
//	    "signal":  {"enum": ["ok", "partial", "failed", "timed-out", "silent", "incapable", "throttled", "denied"]}
//	  }
//	}
//
// The second by this one, in which an action is as above and may carry call, the advisor's own id of it:
//
//	{
//	  "$schema": "https://json-schema.org/draft/2020-12/schema",
//	  "title": "response",
//	  "type": "object",
//	  "additionalProperties": false,
//	  "properties": {
//	    "actions": {"type": "array", "maxItems": 256, "items": {
//	      "type": "object",
//	      "minProperties": 1,
//	      "maxProperties": 1,
//	      "additionalProperties": false,
//	      "properties": {"execute": {"type": "object"}, "sleep": {"type": "object"}, "mutate": {"type": "object"}, "delegate": {"type": "object"}, "end": {"type": "object"}}
//	    }, "description": "in order; none: nothing to do until an event"},
//	    "text":    {"type": "string", "description": "the reasoning, for people"},
//	    "model":   {"type": "string"},
//	    "recheck": {"type": "array", "maxItems": 64, "items": {"type": "object"}, "description": "reads (tool, args) the actions rest on, made again before a late decision; if one comes to something else, nothing is done and the advisor is asked again"},
//	    "stale":   {"type": "string", "description": "how long they hold, such as 10m; absent: 1h"},
//	    "summary": {"type": "string", "description": "stands for everything up to now"},
//	    "usage":   {"type": "object", "additionalProperties": false, "properties": {
//	      "in": {"type": "integer", "minimum": 0}, "out": {"type": "integer", "minimum": 0}, "cached": {"type": "integer", "minimum": 0}, "cost": {"type": "integer", "minimum": 0, "description": "millionths of a US dollar"}
//	    }}
//	  }
//	}
//
// A status of 429, or 503, is a throttled advice, with the time of Retry-After to come back; another status than 200, a body that is not
// such an object, and no answer in time are failed or timed-out advice; where nobody answers at all it is silent. In each case the agent backs off and asks again.
package advisor
