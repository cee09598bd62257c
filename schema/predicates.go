package schema

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/near"
)

// The predicates of this package. Their names are stable: programs may compare with them.
var (
	predJSON = canon.Predicate{Name: "schema.json", Phase: canon.PhaseStructure,
		Meaning: "a schema file is JSON in UTF-8, each key once", Hint: "mend the JSON at that place"}
	predShape = canon.Predicate{Name: "schema.shape", Phase: canon.PhaseStructure,
		Meaning: "a schema file has the parts of a schema and no others",
		Hint:    "write the part as the package documentation shows it"}
	predLimit = canon.Predicate{Name: "schema.limit", Phase: canon.PhaseStructure,
		Meaning: "schemas and the work to check a value stay within the limits",
		Hint:    "split it into several schemas or values"}
	predCanonical = canon.Predicate{Name: "schema.canonical", Phase: canon.PhaseStructure,
		Meaning: "the binary form of a schema is the one its content has", Hint: "embed the bytes Canonical returns"}

	predName = canon.Predicate{Name: "schema.name", Phase: canon.PhaseInvariant,
		Meaning: "names are identifiers, and differ among fields that exist at the same time",
		Hint:    "use letters, digits and underscores, and each name once"}
	predID = canon.Predicate{Name: "schema.field-id", Phase: canon.PhaseInvariant,
		Meaning: "field ids lie between 1 and 126 and are never used twice, not even after a field ended",
		Hint:    "give the field an id no field ever had"}
	predType = canon.Predicate{Name: "schema.type", Phase: canon.PhaseInvariant,
		Meaning: "a type is built in or declared under types",
		Hint:    "use bool, int, u64, float, bytes, text, verbatim, list<T>, map<text,T> or a name under types"}
	predCycle = canon.Predicate{Name: "schema.cycle", Phase: canon.PhaseInvariant,
		Meaning: "no record holds itself in fields that are required",
		Hint:    "make one field of the cycle optional, or a list"}
	predVersion = canon.Predicate{Name: "schema.version", Phase: canon.PhaseInvariant,
		Meaning: "1 <= since < until <= version", Hint: "raise version, or correct since and until"}
	predExpression = canon.Predicate{Name: "schema.expression", Phase: canon.PhaseInvariant,
		Meaning: "predicates and conditions are CEL over this and self that yields a bool",
		Hint:    "correct the expression"}
	predLibrary = canon.Predicate{Name: "schema.library", Phase: canon.PhaseInvariant,
		Meaning: "predicates named with @ are registered",
		Hint:    "register the predicate in the Library given to Parse or Registry"}
	predChange = canon.Predicate{Name: "schema.change", Phase: canon.PhaseInvariant,
		Meaning: "an upgrade says what becomes of every field that ends, and both ways supply every required field",
		Hint:    "add a rule"}
	predHistory = canon.Predicate{Name: "schema.history", Phase: canon.PhaseLineage,
		Meaning: "a later version of a schema leaves the earlier ones as they were",
		Hint:    "keep the fields, types, predicates and changes of earlier versions, and end them with until"}
	predKnown = canon.Predicate{Name: "schema.known", Phase: canon.PhaseLineage,
		Meaning: "the schema of a value is embedded or registered",
		Hint:    "give the schema file, or embed it when compiling"}
	predEmbedded = canon.Predicate{Name: "schema.embedded", Phase: canon.PhaseStructure,
		Meaning: "an embedded schema has the id the value names", Hint: "compile the file again"}

	predHolds = canon.Predicate{Name: "schema.predicate", Phase: canon.PhaseField,
		Meaning: "a field's predicates hold for its value", Hint: "change the value so that the predicate holds"}
	predInvariant = canon.Predicate{Name: "schema.invariant", Phase: canon.PhaseInvariant,
		Meaning: "the invariants of a record hold", Hint: "change the fields it names so that it holds"}
	predUpgrade = canon.Predicate{Name: "schema.upgrade", Phase: canon.PhaseInvariant,
		Meaning: "a value can be moved to the later version", Hint: "add a default for this case to the upgrade"}
	predDowngrade = canon.Predicate{Name: "schema.downgrade", Phase: canon.PhaseInvariant,
		Meaning: "a value can be moved to the earlier version", Hint: "add a default for this case to the downgrade"}
	predComplement = canon.Predicate{Name: "schema.complement", Phase: canon.PhaseStructure,
		Meaning: "field 127 holds what a downgrade put there",
		Hint:    "remove field 127: what the newer version had is then lost"}

	predVein = canon.Predicate{Name: "schema.vein", Phase: canon.PhaseStructure,
		Meaning: "a .vein file is a value in its container, of a format version this reader knows",
		Hint:    "compile the value again"}
	predParent = canon.Predicate{Name: "schema.parent", Phase: canon.PhaseLineage,
		Meaning: "a parent hash is 64 hex digits, and is given once: in the value if its schema has a field " +
			"parentHash, else beside it", Hint: "use the fingerprint of the file before it"}
	predFingerprint = canon.Predicate{Name: "schema.fingerprint", Phase: canon.PhaseLineage,
		Meaning: "a file has the fingerprint expected of it", Hint: "fetch the file again, or look for who changed it"}
	predBreak = canon.Predicate{Name: "schema.chain-break", Phase: canon.PhaseLineage,
		Meaning: "every file of a chain can be read, and all but one name a parent",
		Hint:    "restore the file from a copy"}
	predFork = canon.Predicate{Name: "schema.chain-fork", Phase: canon.PhaseLineage,
		Meaning: "no two files of a chain name the same parent", Hint: "keep one branch, or verify each by itself"}
	predMissing = canon.Predicate{Name: "schema.chain-missing", Phase: canon.PhaseLineage,
		Meaning: "the parent of every file is in the chain", Hint: "add the file with that fingerprint"}
	predLoop = canon.Predicate{Name: "schema.chain-cycle", Phase: canon.PhaseLineage,
		Meaning: "no file descends from itself",
		Hint:    "the hash function was broken or the links were not computed from the files"}
)

// Predicates lists every predicate of this package with its meaning.
var Predicates = []canon.Predicate{
	predJSON, predShape, predLimit, predCanonical,
	predName, predID, predType, predCycle, predVersion, predExpression, predLibrary, predChange, predHistory, predKnown,
	predEmbedded,
	predHolds, predInvariant, predUpgrade, predDowngrade, predComplement,
	predVein, predParent, predFingerprint, predBreak, predFork, predMissing, predLoop,
}

// refuse makes a rejection at a path. A hint, if given, replaces that of the predicate.
func refuse(p canon.Predicate, path, got, want string, hint ...string) *canon.Rejection {
	r := &canon.Rejection{Phase: p.Phase, Predicate: p.Name, Path: path, Got: got, Want: want, Hint: p.Hint}
	if len(hint) > 0 {
		r.Hint = hint[0]
	}
	return r
}

// clip quotes s for a message, shortened.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%q…", string(r[:most]))
	}
	return fmt.Sprintf("%q", s)
}

// didYouMean names the one of names that s is most likely meant to be, else all of them.
func didYouMean(s string, names []string) string {
	if meant := near.Words(s, names); len(meant) > 0 {
		return fmt.Sprintf("did you mean %q?", meant[0])
	}
	if len(names) > 20 {
		names = append(append([]string(nil), names[:20]...), "…")
	}
	return "there are " + strings.Join(names, ", ")
}
