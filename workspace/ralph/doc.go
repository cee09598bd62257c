// Package ralph works through a list of tasks with fresh runs of any command, such as a coding agent, over memory that
// lasts: the record of each attempt, the errors and the learnings are documents of a role.
//
// An attempt is recorded before its command begins. Whoever finds such a record without an end, because the process
// that wrote it was killed, first finds out what became of it: it waits while the command still runs, reads how it
// ended from what its guard wrote, looks at the box in the list, at what the command said, and asks a command of the
// owner. Only if nothing says that the task was done, it is begun again.
package ralph
