// Package condition compiles and evaluates small yes-or-no expressions, written in CEL, over values the caller
// supplies: the condition of a trigger over an agent's own fold, or a predicate over a value of a schema.
//
// Every node that evaluates the same condition over the same values gets the same answer, or the same error. Nothing
// else goes in: there is no clock (a condition that needs the time is given it as a variable), no randomness, no time
// zone database, no network and no file. Maps are walked in the order of their keys. A condition that would cost too
// much ends with an error after a fixed number of steps, not after a time, so slow and fast nodes agree on that too.
package condition
