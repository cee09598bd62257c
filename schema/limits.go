package schema

// A schema may come with the value it describes, from whoever sent that, so its sizes are bounded before it is
// believed.
const (
	maxSource     = 1 << 20 // bytes of a .lode file; the longest written by a person is a hundredth of it
	maxVersions   = 64      // each version is compiled by itself
	maxTypes      = 256     // named types
	maxInvariants = 256     // each is evaluated for every record it is about
	maxPredicates = 16      // of one field
	maxRules      = 256     // of one direction of one change
	maxNames      = 1024    // values of one enum
	maxNesting    = 16      // list<list<…>> in one type; the value limit of 64 levels comes first for anything useful
	maxName       = 128     // bytes of a name
	maxParts      = 1 << 16 // fields and values of enums, times versions: each takes some hundred bytes compiled
	// predicates, invariants and conditions of rules; compiling one takes up to ten milliseconds
	maxConditions  = 512
	maxExpressions = 64 << 10 // bytes of them in all
	maxFiles       = 1 << 20  // files of one chain
)

const (
	// maxPrice is the steps after which one evaluation is ended anyway: tens of milliseconds, a third of a second if
	// spent on regular expressions.
	maxPrice = 500_000

	// maxWork bounds the evaluations for one value: forty of the dearest kind, four if they are regular expressions, or
	// half a million short ones.
	maxWork = 40 * maxPrice
)

// Complement is the id of the reserved field in which a downgraded value keeps what its version has no field for.
// Fields of a schema have ids from 1 to Complement-1; readers of other schemas pass those above 63 on unread.
const Complement = 127
