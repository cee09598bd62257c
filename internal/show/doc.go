// Package show writes what a home, a view, a workspace and policy say as text for people at a terminal, and asks them
// what only they can answer. It decides nothing: whoever wants the same for a program prints the value.
package show
