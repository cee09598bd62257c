// Package remote is an advisor elsewhere, in any language, that is asked over HTTP.
//
// # The exchange with a remote advisor
//
// Advisor posts one object and gets one back, both application/json. The first is described by this JSON Schema:
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
// The second by this one, in which an action is as package advisor describes it and may carry call, the advisor's own
// id of it:
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
//	    "stale":   {"type": "string", "description": "how long they hold, such as 10m, at least 5s; absent: 1h"},
//	    "summary": {"type": "string", "description": "stands for everything up to now"},
//	    "usage":   {"type": "object", "additionalProperties": false, "properties": {
//	      "in": {"type": "integer", "minimum": 0}, "out": {"type": "integer", "minimum": 0}, "cached": {"type": "integer", "minimum": 0}, "cost": {"type": "integer", "minimum": 0, "description": "millionths of a US dollar"}
//	    }}
//	  }
//	}
//
// A status of 429, or 503, is a throttled advice, with the time of Retry-After to come back; another status than 200, a
// body that is not such an object, and no answer in time are failed or timed-out advice; where nobody answers at all it
// is silent. In each case the agent backs off and asks again.
package remote
