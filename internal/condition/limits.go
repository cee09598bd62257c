package condition

// A condition comes from whoever wrote the agent and runs on every node that looks at it, so all of its sizes are
// bounded. The bounds decide which conditions hold and must be the same on every node.
const (
	// maxSource bounds the source text, in bytes. People write conditions of one line; a page is generous, and
	// compiling a full one takes under ten milliseconds.
	maxSource = 4 << 10

	// maxDepth bounds how deep brackets, operators and calls nest. The parser and the evaluator recurse once per
	// level; nobody can read a condition half this deep.
	maxDepth = 50

	// maxLoops bounds how many of exists, all, map and filter stand inside or behind each other. Each may multiply the
	// cost by the length of a list; four let a condition filter two lists and join them.
	maxLoops = 4

	// MaxCost bounds one evaluation, and all those of one look at an agent together, in CEL's cost units, about one per
	// operation or per ten bytes of text touched. It lets a condition look at every one of some 50,000 list elements. A
	// runaway loop is stopped within tens of milliseconds, one that spends it all on the slowest regular expression
	// within a third of a second.
	MaxCost = 500_000

	// costModel pins the price list behind MaxCost: a newer library that prices an operation differently must not
	// change which conditions hold.
	costModel = 1

	// maxRegexp bounds the compiled size of a regular expression, in instructions, and maxMatched the text it is
	// matched against, in bytes. Matching takes time in proportion to their product, and the cost of a call is only
	// known after it. A date, a UUID or an address takes under a hundred instructions.
	maxRegexp  = 250
	maxMatched = 64 << 10

	// matchCost is the price of matching one byte of text. CEL's own price looks at the length of the pattern, and
	// (a?){99} is short but slow.
	matchCost = 4

	// maxCached bounds how many compiled conditions an Env keeps. One takes ten to twenty kilobytes; a node serves few
	// distinct conditions, and compiling a short one again costs a fraction of a millisecond.
	maxCached = 512
)
