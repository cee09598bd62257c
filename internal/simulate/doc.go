// Package simulate runs several nodes, stores and people on one clock, from one seed, and looks whether what Perdure
// promises holds.
//
// Nodes, stores, policies and people's tools are the real ones. Only time, chance and the order of things are made
// here: a run lives in a bubble of testing/synctest, and everything that reaches a store, a tool or an advisor stops
// there until the scheduler lets it go on. To let one go on is a step. Which one it is, what goes wrong and when,
// follows from the script, and the script from the seed: the same script gives the same trace, step by step.
//
// A script is a list of operations: agents begin, people say things, agents are copied and merged, nodes die at a call,
// are cut off, stand still, or work with a clock that is wrong. A script that shows a fault is made as short as it goes
// before it is printed: PERDURE_SIMULATE_SCRIPT names a file with one to be run again.
//
// Nothing that ships links this package.
package simulate
