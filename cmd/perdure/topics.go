package main

// topics are the texts of perdure help that belong to no one command.
var topics = map[string]string{"conditions": `Conditions are expressions in CEL over an agent's own memory, with the same answer on every node. A trigger uses them: to sleep until
one holds (when), to pick events (filter of on), to poll until one holds (until of every). One that reads what is not there does not hold.

Every condition of a trigger knows

  now       the time of the look
  asleep    the duration since the sleep began
  vars      the agent's state, by name: vars.ready == true
  spent     cost (millionths of a US dollar), tokens and calls so far
  left      the same that are left, where there is a limit: has(left.calls) && left.calls < 3
  children  how many are open, ended, ok and failed: children.open == 0
  inbox     the names of the events the advisor has not seen: "paid" in inbox
  turns     how often the advisor was asked
  signals   how calls ended of late, by tool, and of advisors under advisor:NAME: recent (signals, oldest first, at most 16), last,
            at (the time of the last), took (how long it took, a duration, where that is known), calls (how many in all):
            signals["http.get"].last == "timed-out", signals["advisor:"].took > duration("30s")

a filter also

  event     name, by and data of the event: event.data.amount > 100

and what ends a poll also

  result    what the tool answered: result.state == "done"
  signal    how the call ended: signal == "ok"

Signals are ok, partial, failed, timed-out, silent, throttled and denied.

Conditions in scripts (when of a turn) know

  turn      the place of the turn in the list, from 1
  round     which of its repetitions it is, from 1
  turns     how often the advisor was asked before
  inputs    those of the intent
  vars      the agent's state, by name
  inbox     the names of the events nobody has waited for
  results   what came of actions, by name: signal, result, note, and of calls latency, in milliseconds
  last      the same of the action that came to something last
  said      what people said since the last turn, oldest first: what, by, note, of
`}
