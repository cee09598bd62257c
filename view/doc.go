// Package view is what people and programs see of agents: how they stand, what waits for a person, their entries as
// lines, what they did and how they differ. It reads stores and gives plain values; how they are printed is for whoever
// shows them.
package view
