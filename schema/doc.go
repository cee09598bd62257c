// Package schema gives values a type that can be written down, checked, named by its hash and changed over time.
//
// A schema is a .lode file, which is JSON:
//
//	{
//	  "schema": "lode", "name": "Ticket", "version": 2,
//	  "fields": [
//	    {"id": 1, "name": "title", "type": "text", "required": true, "predicate": "size(this) > 0"},
//	    {"id": 2, "name": "state", "type": "State", "required": true},
//	    {"id": 3, "name": "tags",  "type": "list<text>"},
//	    {"id": 4, "name": "due",   "type": "int", "since": 2}
//	  ],
//	  "types": {"State": {"enum": ["open", "closed"]}},
//	  "invariants": ["self.state != 'closed' || !has(self.due)"],
//	  "changes": [{"to": 2, "upgrade": [], "downgrade": []}]
//	}
//
// # Types
//
// bool, int, u64, float, bytes, bytes<N>, text, verbatim, list<T>, map<text,T>, and the names of the records and enums
// under "types". Other spellings mean one of these: string (text), boolean, int64, integer, long and timestamp (int; a
// timestamp counts milliseconds since 1970), uint64, number and double (float), T[] (list<T>), map<string,T>.
//
// # Predicates
//
// A predicate is CEL: in that of a field, this is the field's value and self the record it is in; an invariant has only
// self. An absent optional field is absent from self: test for it with has(self.due). "@net.hostname" is a predicate
// registered in Go, see Library.
//
// # Versions
//
// One file holds all versions of a schema: a field is there from the version in "since" to the one before "until".
// Field ids are never used for something else. At returns an earlier version, which has the same id as it had before
// the later ones were written. "changes" says how values move: rename (with a conversion where the types differ),
// default and drop, in records of the type named by "in", and only "when" a condition over the old record holds. Rules
// are tried in order and the first that gives a field a value wins. A downgrade keeps what it drops in the reserved
// field Complement, so that the upgrade after it gives back the same bytes.
//
// # Files
//
// A .vein file is one value with the id of its schema. See Compile, Open, VerifyChain and Restore.
package schema
