// Package exchange passes agents between places that have them: a store here, a folder, a server elsewhere.
//
// Both say what they have of an agent by an Offer: its heads, and the snapshots it can be counted from. Whoever has
// more sends what the other lacks, and that one checks it as it checks everything that arrives. What it costs depends
// on what is new since the newest snapshot that both have. Neither keeps anything about the other, so it can be cut off
// anywhere and done again.
package exchange
