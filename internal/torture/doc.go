// Package torture is the harness that tries to make Perdure lose, double or garble something.
//
// It has parts, each a way of hurting the product: cutting the power under a store or a set of capsules, failing the
// disk, killing and stopping processes, filling disks, turning clocks, letting copies go different ways, flipping bits.
// A round of a part does it once, from a seed, and holds what is left against a ledger of what was acknowledged and of
// what happened in the world.
//
// The harness is held to its own claim: every part has a sabotage, something the harness then does as a broken product
// would, such as leaving out a sync or an entry, and a part that does not notice it fails.
//
// A Disk records every write, sync, rename and removal that is made on it, through SQLite or package disk, and can make
// the n-th of them fail. Trace.Crashes turns such a record into the states the disk could be in had the power gone
// after any operation: what was synced is there, what was not is dropped, kept or torn.
//
// The tests do one round of each part. `make torture FOR=10m` goes on for that long and prints one table. Everything
// random comes from a seed, which a failure names and PERDURE_TORTURE_SEED sets; instants at which processes are killed
// do not repeat exactly.
package torture
