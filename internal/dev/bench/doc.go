// Package bench measures what a store and a node cost, on the machine of whoever asks: durable steps, resuming after a
// kill, agents that sleep, and appends beside raw SQLite. It is the engine of `perdure bench`; every figure comes from
// work that was really done and made durable.
package bench
