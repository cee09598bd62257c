// Package torture is the harness that tries to make Perdure lose, double or garble something.
//
// A Disk records every write, sync, rename and removal that a store makes, through SQLite or by itself, and can make the n-th of them
// fail. Trace.Crashes turns such a record into every state the disk could be in had the power gone after any operation: what was synced
// is there, what was not is dropped, kept or torn. The tests reopen the real store on each state and hold it against the ledger of what
// was acknowledged. Other tests kill real processes at random instants, let two of them fight over one store, and turn the clock.
//
// The harness is held to its own claim: with a sync left out, or a node that is careless, its tests must find something.
//
// The tests take a minute or two; PERDURE_TORTURE=long, as `make torture` sets it, makes them exhaustive and kill ten thousand processes, or
// as many as PERDURE_TORTURE_KILLS says. Everything random comes from a seed that a failing test prints and PERDURE_TORTURE_SEED sets.
package torture
