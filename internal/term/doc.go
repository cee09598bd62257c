// Package term is how the program reads from people and writes to them: nothing that is written can rule a terminal,
// and lines fit its width. It knows no flags, and of agents only how a view has them.
package term
