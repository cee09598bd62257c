package main

// topics are the texts of perdure help that belong to no one command.
var topics = map[string]string{"conditions": `Conditions are expressions in CEL over an agent's own memory, with the same answer on every node. A trigger uses them: to sleep until
one holds (when), to pick events (filter of on), to poll until one holds (until of every). A condition that reads something missing does not hold.

Every condition of a trigger can use

  now       the current time
  asleep    the duration since the sleep began
  vars      the agent's state, by name: vars.ready == true
  spent     cost (millionths of a US dollar), tokens and calls so far
  left      what is left of each limit: has(left.calls) && left.calls < 3
  children  how many are open, ended, ok and failed: children.open == 0
  inbox     the names of events the advisor has not seen: "paid" in inbox
  turns     how often the advisor has been asked
  signals   how recent calls ended, by tool, and by advisor under advisor:NAME: recent (signals, oldest first, at most 16), last,
            at (the time of the last), took (how long it took, a duration, where that is known), calls (how many in all):
            signals["http.get"].last == "timed-out", signals["advisor:"].took > duration("30s")

A filter can also use

  event     name, by and data of the event: event.data.amount > 100

The condition that ends a poll can also use

  result    what the tool returned: result.state == "done"
  signal    how the call ended: signal == "ok"

Signals are ok, partial, failed, timed-out, silent, throttled and denied.

Conditions in scripts (when of a turn) can use

  turn      the place of the turn in the list, from 1
  round     which of its repetitions it is, from 1
  turns     how often the advisor was asked before
  inputs    those of the intent
  vars      the agent's state, by name
  inbox     the names of events that nothing has waited for
  results   how actions ended, by name: signal, result, note, and of calls latency, in milliseconds
  last      the same for the most recent outcome
  said      what people said since the last turn, oldest first: what, by, note, of
`}
