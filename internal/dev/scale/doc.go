// Command scale says what a fleet of nodes would do that nobody can start on one machine: ten thousand nodes, a hundred
// million agents. It is a discrete simulation of engines, nodes and agents whose costs are measured on one machine, by
// perdure bench, and given as flags.
//
//	go run ./internal/dev/scale
//	go run ./internal/dev/scale --nodes 1000 --agents 10000000 --json
//
// What is assumed, and simulated no closer than that:
//
//   - An engine is a database server with its standby. It performs so many requests at once, each of which takes its
//     service time; others wait in line. Engines share nothing: an agent lives on one of them, and a node works for
//     one.
//   - A sleeping agent costs disk, and nothing else. It wakes at a random time within its period (steady), or all of a
//     share of them wake at once (storm).
//   - A waking agent takes one claim, then steps: each is one commit, some CPU of its node, and the time its tool or
//     model takes, which is exponentially distributed. Then it is released.
//   - All nodes of an engine look when something is due: each has slept until that moment, or was told.
//   - A node looks for due agents earliest first, a page at a time, and has so many agents under way at once. Two nodes
//     that want the same agent cost a claim that is refused: the node leaves that agent alone for a second, and skips
//     some of those that follow, at random, more of them each time it is refused again.
//   - When a region is lost, so are its nodes and whatever they had under way; the engines of that region fail over to
//     their standbys in another region and answer nothing meanwhile. Agents that were under way are due again when
//     their
//     leases end.
//
// Not simulated: networks that lose some packets, engines that become slower as they grow, and nodes that can do less
// than others.
package main
