package main

import (
	"bytes"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// rejected makes the vectors that are refused.
func rejected() ([]*vector, error) {
	out := rejectedValues()
	out = append(out, rejectedTexts()...)
	out = append(out, rejectedEntries()...)
	out = append(out, rejectedBodies()...)
	out = append(out, rejectedMemories()...)
	_, negative := amounts()
	_, wide := facts()
	out = slices.Concat(out, negative, rejectedLodes(), wide)
	more, err := rejectedFolds()
	if err != nil {
		return nil, err
	}
	out = slices.Concat(out, more, rejectedChunks(), rejectedCapsules(), rejectedKeys(), rejectedTwice())
	if more, err = rejectedUnpacked(); err != nil {
		return nil, err
	}
	out = append(out, more...)
	more, err = rejectedSchemas()
	return append(out, more...), err
}

// by says which predicate refuses a vector.
func (v *vector) refused(predicate string) *vector {
	v.Predicate = predicate
	return v
}

func rejectedValues() []*vector {
	var out []*vector
	for _, c := range []struct{ predicate, hex, name, why string }{
		{"canon.truncated", "", "empty", "there is no value in no bytes"},
		{"canon.truncated", "1903", "cut-int", "an integer of two bytes has one"},
		{"canon.truncated", "63616", "cut-text", "a text of three bytes has two"},
		{"canon.truncated", "8200", "cut-list", "a list of two has one element"},
		{"canon.trailing", "0000", "two-values", "a second value follows"},
		{"canon.shortest-int", "1800", "long-zero", "0 fits into the initial byte"},
		{"canon.shortest-int", "1b00000000ffffffff", "long-int", "2^32-1 fits into four bytes"},
		{"canon.shortest-int", "7801" + "61", "long-length", "a length of 1 fits into the initial byte"},
		{"canon.shortest-float", "fa3f800000", "long-float", "1.0 fits into 16 bits"},
		{"canon.shortest-float", "fb3ff0000000000000", "longer-float", "1.0 fits into 16 bits"},
		{"canon.nan", "f97e01", "nan-payload", "there is one NaN, f97e00"},
		{"canon.nan", "fb7ff8000000000000", "nan-64", "there is one NaN, f97e00"},
		{"canon.indefinite", "9fff", "indefinite-list", "a list of unknown length"},
		{"canon.indefinite", "5f4100ff", "indefinite-bytes", "bytes in pieces"},
		{"canon.reserved", "1c", "reserved", "additional information 28 means nothing"},
		{"canon.simple", "f7", "undefined", "undefined is not a value here"},
		{"canon.simple", "f820", "simple-32", "simple value 32 is not a value here"},
		{"canon.tag", "c074323031332d30332d32315432303a30343a30305a", "tagged-date", "there are no tags"},
		{"canon.int-range", "3bffffffffffffffff", "int-below", "-2^64 is below -2^63"},
		{"canon.utf8", "61ff", "not-utf8", "ff is not UTF-8"},
		{"canon.utf8", "63eda080", "surrogate-bytes", "a surrogate is not a character"},
		{"canon.nfc", "6365cc81", "decomposed", "é is one code point in NFC"},
		{"canon.unassigned", "62cdb8", "unassigned", "U+0378 is not assigned in Unicode 15.0"},
		{"canon.key-type", "a14000", "bytes-key", "keys are text"},
		{"canon.key-type", "a20000616100", "mixed-keys", "keys are of one kind"},
		{"canon.key-order", "a2616200616100", "key-order", "b comes before a"},
		{"canon.key-order", "a262616100616200", "key-length-order", "shorter keys come first"},
		{"canon.key-duplicate", "a2616100616101", "key-twice", "a comes twice"},
	} {
		b := strings.TrimSpace(c.hex)
		if len(b)%2 == 1 {
			b += "1"
		}
		v := &vector{Name: "value-" + c.name, Why: c.why, As: "value", Form: "binary", Hex: b}
		out = append(out, v.refused(c.predicate))
	}
	limited := func(name, h, why string, l limits, predicate string) {
		out = append(out, (&vector{Name: "value-" + name, Why: why, As: "value", Form: "binary", Hex: h, Limit: &l}).
			refused(predicate))
	}
	limited("too-deep", strings.Repeat("81", 5)+"00", "five lists in each other under a limit of four",
		limits{Depth: 4}, "canon.depth")
	out = append(out, (&vector{Name: "value-deep", Why: "ten thousand lists in each other", As: "value", Form: "binary",
		Hex: strings.Repeat("81", 10_000) + "00"}).refused("canon.depth"))
	limited("too-long", "6568656c6c6f", "six bytes under a limit of four", limits{Bytes: 4}, "canon.bytes")
	limited("too-many", "83000000", "three elements under a limit of two", limits{Items: 2}, "canon.items")
	limited("announced", "9b0000010000000000", "a list that says it has 2^40 elements", limits{}, "canon.items")
	return out
}

func rejectedTexts() []*vector {
	var out []*vector
	for _, c := range []struct{ predicate, text, name, why string }{
		{"text.json", `{`, "open-object", "the object does not end"},
		{"text.json", `'a'`, "single-quotes", "JSON has double quotes"},
		{"text.canonical", `{"a": 1}`, "space", "there is no white space"},
		{"text.canonical", `{"b":1,"a":2}`, "key-order", "keys ascend"},
		{"text.canonical", `"\u0061"`, "needless-escape", "a is written as itself"},
		{"text.escape", `"$x"`, "unknown-escape", "a text that begins with a dollar sign doubles it"},
		{"text.number", `1.0`, "one-point-zero", "an integer has no fraction, and the float 1 is $float:1"},
		{"text.json", `01`, "leading-zero", "numbers have no leading zero"},
		{"text.duplicate", `{"a":1,"a":2}`, "key-twice", "a comes twice"},
		{"text.surrogate", `"\ud800"`, "lone-surrogate", "half of a pair is no character"},
		{"canon.nfc", "\"e\u0301\"", "decomposed", "é is one code point in NFC"},
	} {
		v := &vector{Name: "text-" + c.name, Why: c.why, As: "value", Form: "text", Text: c.text}
		out = append(out, v.refused(c.predicate))
	}
	described := canon.AppendText(canon.AppendMap(nil, 2), "value")
	described = canon.AppendText(append(described, 0), "schema")
	described = append(described, 0)
	out = append(out,
		(&vector{Name: "described-no-schema", Why: "the schema is not a description of a type", As: "value",
			Form: "described", Hex: hex.EncodeToString(described)}).refused("described.schema"),
		(&vector{Name: "described-other", Why: "an entry carries the schema of entries", As: "entry", Form: "described",
			Hex: "a0"}).refused("described.schema"))
	return out
}

// rejectedEntries are entries whose header is wrong.
func rejectedEntries() []*vector {
	g := first()
	var out []*vector
	add := func(predicate, name, why string, b []byte) {
		out = append(out, binaryVector("entry-"+name, "entry", b, why).refused(predicate))
	}
	header := func(change fields) []byte { return newEntry(genesis, g.body, change).bytes() }
	child := func(change fields) []byte { return next(g, 1, "told", change, g).bytes() }
	add("field.missing", "no-origin", "nobody wrote it", header(fields{7: absent{}}))
	add("field.critical", "unknown-field", "field 20 may change what the entry means", header(fields{20: 1}))
	add("field.id-range", "field-200", "there are no fields above 127", header(fields{200: 1}))
	add("field.type", "text-seq", "seq is an integer", header(fields{4: "0"}))
	add("field.length", "short-key", "a key has 32 bytes", header(fields{7: public(1)[:31]}))
	add("field.enum", "kind-9", "there is no kind 9", header(fields{10: 9}))
	add("field.empty", "zero-due", "no due time is no field", header(fields{6: 0}))
	add("field.int-safe", "time-2-53", "2^53 is not exact in every language", header(fields{5: 1 << 53}))
	add("canon.null", "null-trace", "what is absent is left out", header(fields{8: nil}))
	kept := g.fields()
	kept[64] = 1
	add("field.reserved-unkept", "field-beside-header", "nothing signs what stands beside the header", record(kept))
	add("entry.version", "version-2", "this reader knows version 1", header(fields{1: 2}))
	add("entry.version", "version-2-body",
		"a later version may have other bodies: what is said of it is that it is later",
		newEntry(genesis, canon.AppendUint(canon.AppendArray(nil, 1), 7), fields{1: 2}).bytes())
	add("entry.genesis", "genesis-seq-1", "a genesis is the first entry", header(fields{4: 1}))
	add("entry.genesis", "genesis-with-parent", "a genesis is the first entry",
		header(fields{3: []raw{canon.AppendBytes(nil, g.name())}}))
	add("entry.agent", "no-agent", "only a genesis has no agent", child(fields{2: absent{}}))
	add("entry.linked", "no-parents", "only a genesis has no parents", child(fields{3: absent{}}))
	add("entry.seq", "seq-0", "seq 0 is that of genesis", child(fields{4: 0}))
	two := []raw{canon.AppendBytes(nil, bytes.Repeat([]byte{2}, 32)),
		canon.AppendBytes(nil, bytes.Repeat([]byte{1}, 32))}
	add("entry.parents", "parents-descend", "parents ascend", child(fields{3: two}))
	add("entry.parents", "parent-twice", "parents are distinct", child(fields{3: []raw{two[0], two[0]}}))
	var many []raw
	for i := range 65 {
		many = append(many, canon.AppendBytes(nil, bytes.Repeat([]byte{byte(i)}, 32)))
	}
	add("entry.parents", "parents-65", "an entry joins at most 64 heads", child(fields{3: many}))
	add("entry.time", "time-before-1970", "times are not before 1970", header(fields{5: -1}))
	add("entry.header-size", "header-large", "a header has at most 4096 bytes", header(fields{64: make([]byte, 4096)}))
	forged := g
	forged.by = 2
	add("entry.signed", "forged", "another key signed it", forged.bytes())
	flipped := bytes.Clone(g.bytes())
	flipped[len(flipped)-1] ^= 1
	add("entry.signed", "flipped-signature", "a bit of the signature is flipped", flipped)
	cut := g.bytes()
	add("canon.truncated", "cut", "the last byte is missing", cut[:len(cut)-1])
	return out
}

// rejectedBodies are entries whose body is wrong.
func rejectedBodies() []*vector {
	g := first()
	var out []*vector
	add := func(predicate, name, why string, b []byte) {
		out = append(out, binaryVector("body-"+name, "entry", b, why).refused(predicate))
	}
	begin := func(intent, charter fields) []byte {
		i, c := fields{2: "watch"}, fields{1: public(1), 2: "acme"}
		maps.Copy(i, intent)
		maps.Copy(c, charter)
		return newEntry(genesis, body(genesis, fields{1: i, 2: c}), nil).bytes()
	}
	add("body.hash", "changed", "a letter of the goal was changed after it was signed",
		bytes.Replace(g.bytes(), []byte("watch"), []byte("match"), 1))
	add("body.size", "size", "the header says another size",
		newEntry(genesis, g.body, fields{12: len(g.body) + 1}).bytes())
	add("body.size", "size-0", "a body has a size", newEntry(genesis, g.body, fields{12: 0}).bytes())
	add("body.kind", "kind", "the header says event, the body is a genesis",
		newEntry(event, g.body, fields{2: g.name(), 3: []raw{canon.AppendBytes(nil, g.name())}, 4: 1}).bytes())
	add("charter.scope", "scope", "a scope is words joined by slashes", begin(nil, fields{2: "acme//ops"}))
	add("charter.owner", "owner", "whoever creates an agent owns it", begin(nil, fields{1: public(2)}))
	add("spend.amount", "budget", "a budget is not negative", begin(fields{5: fields{1: -1}}, nil))
	add("field.union", "content-9", "there is no content of kind 9", newEntry(genesis, body(9, fields{}), nil).bytes())
	both := record(fields{1: make([]byte, 16), 2: fields{1: fields{}, 5: fields{}}})
	add("field.union", "two-contents", "a body has one content", newEntry(genesis, both, nil).bytes())
	add("field.reserved-unkept", "reserved-in-charter", "a charter keeps no reserved fields", begin(nil, fields{64: 1}))
	act := func(a fields) []byte { return on(g, decision, fields{3: a, 4: fields{1: 2}}).bytes() }
	add("trigger.sound", "trigger-empty", "any of no triggers never wakes",
		act(fields{4: fields{1: fields{7: fields{1: []raw{}}}}}))
	add("trigger.sound", "trigger-interval", "a poll is not asked every 0 ms",
		act(fields{4: fields{1: fields{6: fields{1: 0, 2: fields{1: "poll"}, 3: "true"}}}}))
	many := func(n int, v any) []raw { return slices.Repeat([]raw{appendValue(nil, v)}, n) }
	after := fields{2: fields{1: 1}}
	nested := after
	for range 8 {
		nested = fields{7: fields{1: []raw{record(nested)}}}
	}
	sleep := func(trigger fields) []byte { return act(fields{4: fields{1: trigger}}) }
	add("trigger.bounded", "trigger-parts", "any of 64 triggers has 65 parts",
		sleep(fields{7: fields{1: slices.Repeat([]raw{record(after)}, 64)}}))
	add("trigger.bounded", "trigger-depth", "eight triggers around one are nine deep", sleep(nested))
	add("trigger.bounded", "trigger-conditions", "conditions of more than 16384 bytes",
		sleep(fields{5: fields{1: strings.Repeat("x", 16385)}}))
	add("body.lists", "actions", "an advice has at most 1024 actions",
		on(g, advice, fields{3: slices.Repeat([]raw{record(fields{6: fields{1: 1}})}, 1025)}).bytes())
	add("body.lists", "approvals", "a decision uses at most 64 approvals",
		on(g, decision, fields{3: fields{6: fields{1: 1}}, 4: fields{1: 2}, 8: many(65, g.name())}).bytes())
	add("body.lists", "rules", "at most 64 rules decide", on(g, decision,
		fields{3: fields{6: fields{1: 1}}, 4: fields{1: 2, 2: many(65, "r")}}).bytes())
	add("body.lists", "resumes", "a resume names at most 64 pauses",
		on(g, event, fields{1: "resume", 5: fields{5: fields{1: many(65, g.name())}}}).bytes())
	document := func(d fields) []byte { return on(g, event, fields{1: "document", 5: fields{21: d}}).bytes() }
	add("document.path", "document-outside", "a document does not stand above its folder",
		document(fields{1: "../key"}))
	add("document.path", "document-nowhere", "a document stands somewhere", document(fields{1: ""}))
	add("document.path", "document-backslash", "a path has no backslash", document(fields{1: "a\\b"}))
	add("document.path", "document-long", "a path has at most 512 bytes", document(fields{1: strings.Repeat("x", 513)}))
	add("body.lists", "document-links", "a document has at most 256 links", document(fields{1: "a", 5: many(257, "b")}))
	add("body.lists", "document-tags", "a document has at most 64 tags", document(fields{1: "a", 6: many(65, "b")}))
	add("body.lists", "document-base", "a document replaces at most 64 versions",
		document(fields{1: "a", 7: many(65, g.name())}))
	add("body.lists", "tools", "an intent names at most 512 tools", begin(fields{8: many(513, "t")}, nil))
	add("body.lists", "approvers", "a charter names at most 64 approvers", begin(nil, fields{5: many(65, public(2))}))
	add("decision.child", "delegation-without-child", "an allowed delegation carries its child",
		act(fields{3: fields{1: fields{2: "help"}}}))
	add("decision.child", "child-of-a-call", "a call has no child",
		on(g, decision, fields{3: fields{1: fields{1: "tool"}}, 4: fields{1: 2}, 10: []byte{1}}).bytes())
	add("decision.proposal", "decision-of-nothing", "a decision is about something",
		on(g, decision, fields{4: fields{1: 2}}).bytes())
	return out
}

// rejectedMemories are memories whose entries do not go together.
func rejectedMemories() []*vector {
	g := first()
	a := next(g, 1, "a", nil, g)
	b := next(g, 2, "b", nil, a)
	var out []*vector
	add := func(predicate, name, why string, m []byte) *vector {
		v := binaryVector("memory-"+name, "memory", m, why).refused(predicate)
		out = append(out, v)
		return v
	}
	add("entry.genesis", "empty", "a memory begins with a genesis", nil)
	other := newEntry(genesis, g.body, fields{5: began + 1})
	add("entry.genesis", "two-geneses", "two memories are mixed", memory(g, other))
	add("entry.agent", "other-agent", "the entry names another agent",
		memory(g, next(g, 1, "a", fields{2: other.name()}, g)))
	add("entry.linked", "missing-parent", "the entry between is missing", memory(g, b))
	add("entry.linked", "cycle", "an entry cannot name one that names it: whatever it names instead is not there",
		memory(g, next(g, 2, "a", nil, next(g, 1, "b", nil, a))))
	add("entry.linked", "child-first", "parents come before children", memory(g, b, a))
	add("entry.seq", "seq", "seq is one more than the highest of the parents", memory(g, next(g, 2, "a", nil, g)))
	tail := b
	tail.unsigned = true
	add("entry.sealed", "cut-commit", "the signature that covers the last entry is missing", memory(g, a, tail))
	stranger := next(g, 2, "b", fields{7: public(2)}, a)
	stranger.by = 2
	open := a
	open.unsigned = true
	add("entry.sealed", "covered-by-another", "a signature covers entries of its own author only",
		memory(g, open, stranger))
	add("memory.heads", "cut-at-commit", "the memory ends before the head it is said to have", memory(g, a)).
		Heads = hex.EncodeToString(b.name())
	add("key.trusted", "untrusted", "key 2 may not write here", memory(g, a, stranger)).
		Trust = hex.EncodeToString(public(1)) + " own acme\n"
	add("key.trusted", "scope", "key 1 is trusted in another scope", memory(g, a)).
		Trust = hex.EncodeToString(public(1)) + " own acme/ops\n"
	cut := memory(g, a, b)
	add("canon.truncated", "cut", "the last byte is missing", cut[:len(cut)-1])
	add("canon.bytes", "too-large", "an entry larger than the limit", memory(g, a)).Limit = &limits{Bytes: 64}
	gone := fields{1: a.header, 3: a.fields()[3]}
	add("body.present", "no-body", "what the entry says is not known, and no snapshot stands for it",
		append(memory(g), record(gone)...))
	revoke := on(g, event, fields{1: "keys", 5: fields{3: fields{1: public(2)}}})
	late := next(g, 2, "late", fields{7: public(2)}, revoke)
	late.by = 2
	add("key.revoked", "revoked", "key 2 was revoked in the entry's own past", memory(g, revoke, late))
	return out
}

// rejectedTwice are inputs that break two rules at once: the one that is checked first is named, whatever order the
// entries come in.
func rejectedTwice() []*vector {
	g := first()
	a := next(g, 1, "a", nil, g)
	other := newEntry(genesis, g.body, fields{5: began + 1})
	var out []*vector
	add := func(predicate, as, name, why string, b []byte) *vector {
		v := binaryVector("two-faults-"+name, as, b, why).refused(predicate)
		out = append(out, v)
		return v
	}
	forged := func(e entry) entry { e.by = 2; return e }
	add("field.critical", "entry", "field-version", "fields come before invariants: an unknown field, and version 2",
		newEntry(genesis, g.body, fields{1: 2, 20: 1}).bytes())
	add("entry.version", "entry", "version-time",
		"the header in the order of its rules: version 2, and a time before 1970",
		newEntry(genesis, g.body, fields{1: 2, 5: -1}).bytes())
	add("entry.time", "entry", "time-key", "a time before 1970, and a key that is none",
		next(g, 1, "a", fields{5: -1, 7: torsion().Bytes()}, g).bytes())
	add("entry.time", "entry", "header-body", "the header comes before the body: a time before 1970, and another body",
		newEntry(genesis, g.body, fields{5: -1, 11: hash(nil)}).bytes())
	add("body.size", "entry", "size-hash", "the size of a body comes before its hash",
		newEntry(genesis, g.body, fields{11: hash(nil), 12: 1}).bytes())
	add("body.hash", "entry", "hash-signed", "the body comes before the signature",
		forged(newEntry(genesis, g.body, fields{11: hash(nil)})).bytes())
	add("entry.agent", "memory", "agent-linked", "the agent comes before the links",
		memory(g, next(g, 2, "b", fields{2: other.name()}, other)))
	add("entry.linked", "memory", "linked-signed", "links come before the signature",
		memory(g, forged(next(g, 2, "b", nil, a))))
	add("entry.seq", "memory", "seq-signed", "seq comes before the signature",
		memory(g, forged(next(g, 7, "b", nil, g))))
	gone := func(e entry) raw { f := e.fields(); delete(f, 2); return record(f) }
	add("entry.signed", "memory", "signed-body", "the signature comes before the missing body",
		append(memory(g), gone(forged(a))...))
	open := next(g, 1, "open", nil, g)
	open.unsigned = true
	add("entry.sealed", "memory", "sealed-body", "what signatures cover comes before the missing body",
		append(memory(g), gone(open)...))
	revoke := on(g, event, fields{1: "keys", 5: fields{3: fields{1: public(2)}}})
	late := next(g, 2, "late", fields{7: public(2)}, revoke)
	late.by = 2
	tail := next(g, 3, "tail", nil, late)
	tail.unsigned = true
	add("entry.sealed", "memory", "sealed-revoked", "what signatures cover comes before revoked keys",
		memory(g, revoke, late, tail))
	add("key.revoked", "memory", "revoked-heads", "revoked keys come before the heads", memory(g, revoke, late)).
		Heads = hex.EncodeToString(g.name())
	add("memory.heads", "memory", "heads-trust", "the heads come before trust", memory(g, a)).set(func(v *vector) {
		v.Heads, v.Trust = hex.EncodeToString(g.name()), hex.EncodeToString(public(2))+" own acme\n"
	})
	// Two branches, each with a fault: the one that is first in fold order is named, in both orders of arrival.
	one, two := forged(next(g, 1, "one", nil, g)), next(g, 7, "two", nil, g)
	add("entry.signed", "memory", "branches-1", "a forged entry of seq 1, and one of seq 7 that should have 1",
		memory(g, one, two))
	add("entry.signed", "memory", "branches-2", "the same entries, the other one first", memory(g, two, one))
	add("memory.once", "memory", "twice", "an entry comes twice", memory(g, a, a))
	return out
}

func (v *vector) set(f func(*vector)) { f(v) }

// rejectedFolds are memories with a snapshot that is not the fold of its past.
func rejectedFolds() ([]*vector, error) {
	restore := salts()
	defer restore()
	s := signer(1)
	g, err := s.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "watch"}, Charter: perdure.Charter{Scope: "acme"}},
		at(0))
	if err != nil {
		return nil, err
	}
	a, err := perdure.Begin(g)
	if err != nil {
		return nil, err
	}
	fold := *a.Fold()
	fold.Granted.Cost = 1_000_000
	more, _, err := s.Commit(a, at(1), perdure.Draft{Body: perdure.Snapshot{Fold: fold}})
	if err != nil {
		return nil, err
	}
	m, err := memoryOf(append([]*perdure.Entry{g}, more...))
	if err != nil {
		return nil, err
	}
	out := []*vector{binaryVector("memory-forged-snapshot", "memory", m, "the snapshot grants what nobody granted").
		refused("snapshot.fold")}
	paused := *a.Fold()
	paused.Paused = slices.Repeat([]perdure.Hash{a.Heads()[0]}, 65)
	l := begin(bare())
	l.write(1, perdure.Event{Name: "secret", Data: text("sesame")})
	longer := l.fork()
	if l.err == nil {
		longer.write(1, perdure.Snapshot{Fold: leftOut(l.a, 8)})
	}
	if m, err = memoryOf(longer.entries); err != nil || longer.err != nil {
		return nil, firstError(longer.err, err)
	}
	out = append(out, binaryVector("memory-forged-gone", "memory", m,
		"the snapshot says of what it leaves out that it was longer").refused("snapshot.fold"))
	contrary, err := contrarySnapshots()
	if err != nil {
		return nil, err
	}
	out = append(out, binaryVector("memory-forged-beside", "memory", contrary,
		"two snapshots of different branches stand for a body that is gone, and contradict each other").
		refused("snapshot.fold"))
	for _, v := range []struct {
		name, why, predicate string
		of                   *perdure.Agent
		fold                 perdure.Fold
	}{
		{"pauses", "no fold names more than 64 pauses", "snapshot.bounded", a, paused},
		{"gone-less", "what is left out had less than no bytes", "spend.amount", l.a, leftOut(l.a, -1)},
		{"gone-more", "what is left out was longer than a body can be", "snapshot.bounded", l.a, leftOut(l.a, 1<<26+1)},
	} {
		e, err := snapshotOf(v.of, &v.fold)
		if err != nil {
			return nil, err
		}
		out = append(out, binaryVector("body-snapshot-"+v.name, "entry", e, v.why).refused(v.predicate))
	}
	return out, nil
}

// contrarySnapshots is a memory in which a body is gone: a snapshot beside the line grants what the one on it does not.
func contrarySnapshots() ([]byte, error) {
	l := begin(bare())
	l.write(1, perdure.Event{Name: "one"})
	beside := l.fork()
	if l.err == nil {
		forged := *l.a.Fold()
		forged.Granted.Calls = 7_777_777
		beside.write(1, perdure.Snapshot{Fold: forged})
	}
	l.write(1, perdure.Event{Name: "two"})
	if l.err == nil {
		l.write(1, perdure.Snapshot{Fold: *l.a.Fold()})
	}
	if err := firstError(l.err, beside.err); err != nil {
		return nil, err
	}
	all := append(slices.Clone(l.entries), beside.entries[len(beside.entries)-1])
	slices.SortFunc(all, func(a, b *perdure.Entry) int { return a.Position().Compare(b.Position()) })
	all[1] = all[1].Drop()
	return memoryOf(all)
}

// snapshotOf is a snapshot entry of a fold that no agent has.
func snapshotOf(a *perdure.Agent, fold *perdure.Fold) ([]byte, error) {
	content, err := fold.MarshalBinary()
	if err != nil {
		return nil, err
	}
	first := a.Heads()[0]
	e := newEntry(snapshot, body(snapshot, fields{1: raw(content)}),
		fields{2: first[:], 3: []raw{canon.AppendBytes(nil, first[:])}, 4: 1})
	return e.bytes(), nil
}

func rejectedChunks() []*vector {
	content := []byte(strings.Repeat("perdure ", 64))
	packed := chunk.Pack(content)
	name := hex.EncodeToString(hash(content))
	chunk := func(n, why string, b []byte, size int64, predicate string) *vector {
		v := binaryVector("chunk-"+n, "chunk", b, why).refused(predicate)
		v.Chunk, v.Size = name, size
		return v
	}
	other := chunk("name", "the content is not the one the name is of", packed, int64(len(content)), "chunk.name")
	other.Chunk = hex.EncodeToString(hash(nil))
	return []*vector{
		other,
		chunk("size", "it unpacks to another size than announced", packed, int64(len(content))-1, "chunk.size"),
		chunk("bomb", "a few bytes that announce 16 MiB", packed, 16<<20, "chunk.ratio"),
		chunk("too-large", "more than the limit is announced", packed, 1<<40, "chunk.size"),
		chunk("not-zstd", "no zstd frame", bytes.Repeat([]byte{1}, 64), 64, "chunk.zstd"),
		chunk("trailing", "something follows the frame", append(bytes.Clone(packed), 0), int64(len(content)),
			"chunk.zstd"),
	}
}
