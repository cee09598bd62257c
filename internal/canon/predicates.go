package canon

// Predicate is one rule a value is held to.
type Predicate struct {
	Name    string // stable
	Phase   string
	Meaning string
	Hint    string // what to do when it is broken
}

// The names of the predicates of this package. They are stable: programs may compare with them.
const (
	PredTruncated    = "canon.truncated"
	PredTrailing     = "canon.trailing"
	PredShortestInt  = "canon.shortest-int"
	PredShortestFlt  = "canon.shortest-float"
	PredNaN          = "canon.nan"
	PredIndefinite   = "canon.indefinite"
	PredReserved     = "canon.reserved"
	PredSimple       = "canon.simple"
	PredTag          = "canon.tag"
	PredIntRange     = "canon.int-range"
	PredUTF8         = "canon.utf8"
	PredNFC          = "canon.nfc"
	PredUnassigned   = "canon.unassigned"
	PredKeyType      = "canon.key-type"
	PredKeyOrder     = "canon.key-order"
	PredKeyDuplicate = "canon.key-duplicate"
	PredNull         = "canon.null"
	PredDepth        = "canon.depth"
	PredBytes        = "canon.bytes"
	PredItems        = "canon.items"

	PredMissing        = "field.missing"
	PredCritical       = "field.critical"
	PredIDRange        = "field.id-range"
	PredType           = "field.type"
	PredLength         = "field.length"
	PredEnum           = "field.enum"
	PredUnion          = "field.union"
	PredEmpty          = "field.empty"
	PredIntSafe        = "field.int-safe"
	PredReservedUnkept = "field.reserved-unkept"

	PredTextJSON      = "text.json"
	PredTextCanonical = "text.canonical"
	PredTextEscape    = "text.escape"
	PredTextNumber    = "text.number"
	PredTextDuplicate = "text.duplicate"
	PredTextSurrogate = "text.surrogate"

	PredDescribedSchema = "described.schema"
)

const reencode = "write the value with a canonical encoder and send it again"

// Predicates lists every predicate of this package with its meaning.
var Predicates = []Predicate{
	{PredTruncated, PhaseStructure, "the input holds all the bytes it announces", "send the whole value"},
	{PredTrailing, PhaseStructure, "nothing follows the value", "send one value, or read a sequence"},
	{PredShortestInt, PhaseStructure, "integers and lengths take the fewest bytes", reencode},
	{PredShortestFlt, PhaseStructure, "floats take the fewest of 16, 32 and 64 bits that keep the value", reencode},
	{PredNaN, PhaseStructure, "there is one NaN, f97e00", reencode},
	{PredIndefinite, PhaseStructure, "lengths are definite", reencode},
	{PredReserved, PhaseStructure, "initial bytes are ones CBOR defines", "send CBOR"},
	{PredSimple, PhaseStructure, "simple values are false, true and null", "use one of the three"},
	{PredTag, PhaseStructure, "there are no tags", "send the value without its tag"},
	{PredIntRange, PhaseStructure, "integers lie between -2^63 and 2^64-1", "send larger numbers as text"},
	{PredUTF8, PhaseStructure, "text is valid UTF-8", "send other data as bytes"},
	{PredNFC, PhaseStructure, "text is in normalization form C, with at most 30 non-starters in a row",
		"normalize the text to NFC, or use a verbatim field"},
	{PredUnassigned, PhaseStructure, "text is made of code points assigned in Unicode 15.0.0",
		"remove the code point, or use a verbatim field"},
	{PredKeyType, PhaseStructure, "map keys are all text, or all integers from 0 to 65535", "use text keys"},
	{PredKeyOrder, PhaseStructure, "map keys ascend by their encoded bytes", reencode},
	{PredKeyDuplicate, PhaseStructure, "map keys differ", "keep one of the two"},
	{PredNull, PhaseStructure, "null appears only in schema-less values", "leave the field out"},
	{PredDepth, PhaseStructure, "values nest no deeper than the limit", "flatten the value or raise the limit"},
	{PredBytes, PhaseStructure, "a value is no longer than the limit", "split the value or raise the limit"},
	{PredItems, PhaseStructure, "a value has no more elements than the limit", "split the value or raise the limit"},

	{PredMissing, PhaseField, "required fields are present", "add the field"},
	{PredCritical, PhaseField, "fields with ids 0 to 63 are known to the reader",
		"use a reader that knows the newer schema"},
	{PredIDRange, PhaseField, "field ids are at most 127", "use an id from 0 to 127"},
	{PredType, PhaseField, "a field holds a value of its type", "send the type the schema asks for"},
	{PredLength, PhaseField, "bytes of a fixed length have that length", "send exactly that many bytes"},
	{PredEnum, PhaseField, "an enum holds one of its values", "use one of the listed values"},
	{PredUnion, PhaseField, "a union holds exactly one of its cases", "send one known case"},
	{PredEmpty, PhaseField, "a field whose absence means zero is not present with zero", "leave the field out"},
	{PredIntSafe, PhaseField, "an int lies between -(2^53-1) and 2^53-1", "use a smaller number or a text field"},
	{PredReservedUnkept, PhaseField, "unknown reserved fields have a place to be kept",
		"read the value with a type that keeps reserved fields"},

	{PredTextJSON, PhaseStructure, "the text form is valid JSON", "send JSON"},
	{PredTextCanonical, PhaseStructure, "the text form is spelled as RFC 8785 spells it",
		"write the value with a canonical encoder and send it again"},
	{PredTextEscape, PhaseStructure, "a schema-less string that starts with $ is a known escape",
		"write $$ for a literal dollar sign"},
	{PredTextNumber, PhaseStructure, "numbers are spelled as RFC 8785 spells them and fit their type",
		"spell the number as ECMAScript does"},
	{PredTextDuplicate, PhaseStructure, "object keys differ", "keep one of the two"},
	{PredTextSurrogate, PhaseStructure, "surrogates come in pairs", "send the code point as UTF-8"},

	{PredDescribedSchema, PhaseStructure, "the embedded schema is well-formed and agrees with the one expected",
		"read the value with the schema it was written with"},
}
