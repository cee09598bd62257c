// Package script is an advisor that proposes what is written down.
//
// # Scripts
//
// A script is YAML: a list of turns, taken in order, one each time the agent asks. Package advisor describes actions.
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
//	    stale: 10m                                     # later than this, at least 5s; absent: 1h. Not as it was: nothing done
//	  - text: "which page next?"                       # without an action: said to people, and their answer waited for
//	    as: heard                                      # results.heard.result.say
//	  - sleep: {on: check}
//	    repeat: 3                                      # this many rounds; with when, each round only if it holds
//	  - end: {result: "${results.page.result.status}"}
//
// A condition (when) and a template (${…}) know: turn (the place of the turn in the list, from 1), round, turns (how
// often the advisor was asked before), inputs, vars (the agent's state), inbox (the names of events nobody has waited
// for), results (by name) and last (of the action that came to something last), said (what people said since the last
// turn, oldest first, when they approved, denied, paused, resumed, granted, settled or edited: what, by, note and of,
// the name of the action it is about); templates also agent and goal. A result has signal, result and note, that of a
// call also latency in milliseconds; that of a sleep also event and by, the name of what ended it and who sent it, with
// its data as result; that of a delegation also child, and ended once the child has. A condition is CEL and does not
// hold if it reads what is not there. A template is a path of names and numbers; as a whole text it keeps the type of
// the value, inside of one it becomes text; $${ stands for itself. Templates stand in args, inputs, results, goals,
// notes and text.
//
// A fork goes on at the turn of the agent it was forked from, with the results so far, if that agent is in the store.
// What of that turn was not decided there, waited for a person's answer or had no outcome yet is proposed again.
//
// When its turns are used up, a script ends the agent with ok; when a template reads what is not there, with failed.
package script
