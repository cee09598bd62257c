package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// capsule reads a capsule, or takes it into a store that has another copy. What is accepted must be exported as the
// same bytes again.
func (v *vector) capsule(in []byte) error {
	o := capsule.ReadOptions{MaxBytes: v.limits().Bytes, Shallow: v.Shallow}
	if v.Signatures != "" {
		b, err := hex.DecodeString(v.Signatures)
		if err != nil {
			return err
		}
		o.Signatures = bytes.NewReader(b)
	}
	s := new(perdure.MemStore)
	if v.Here != "" {
		here, err := hex.DecodeString(v.Here)
		if err != nil {
			return err
		}
		if _, err := capsule.Import(context.Background(), s, bytes.NewReader(here),
			capsule.ImportOptions{Anyone: true}); err != nil {
			return fmt.Errorf("the copy that is here: %w", err)
		}
		_, err = capsule.Import(context.Background(), s, bytes.NewReader(in),
			capsule.ImportOptions{Anyone: true, ReadOptions: o})
		return err
	}
	r, err := capsule.NewReader(bytes.NewReader(in), o)
	if err != nil {
		return err
	}
	var all []*perdure.Entry
	for e, err := range r.Entries() {
		if err != nil {
			return err
		}
		all = append(all, e)
	}
	a, err := capsule.Fold(r.Head(), func(yield func(*perdure.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	fold, err := a.Fold().Hash()
	if err != nil {
		return err
	}
	v.Entries, v.Fold = r.Index().Entries, fold.String()
	if r.Head().Depth != perdure.Full || !r.Head().Schema.IsZero() { // a schema of another version is not written again
		return nil
	}
	var again bytes.Buffer
	if err = s.Put(context.Background(), a.ID(), all...); err == nil {
		_, err = capsule.Export(context.Background(), &again, s, a.ID(), capsule.Options{Form: r.Form()})
	}
	if err == nil && !bytes.Equal(again.Bytes(), in) {
		err = fmt.Errorf("exported again it has other bytes: %x", again.Bytes())
	}
	return err
}

// parts are capsules of a part of a memory that do not hold what their depth says, and bodies in chunks.
func parts() ([]*vector, error) {
	restore := salts()
	defer restore()
	l := begin(perdure.Genesis{Intent: perdure.Intent{Name: "door", Goal: "watch the door"},
		Charter: perdure.Charter{Scope: "acme"}})
	l.write(1, perdure.Event{Name: "opened"})
	beside := l.fork()
	l.write(1, perdure.Snapshot{Fold: *l.a.Fold()})
	l.write(1, perdure.Event{Name: "closed"})
	beside.write(2, perdure.Event{Name: "beside"})
	l.join(beside)
	l.write(1, perdure.Event{Name: "joined"})
	sparse, err := sparseEvent(100 << 10)
	if err != nil {
		return nil, err
	}
	big := begin(perdure.Genesis{Intent: perdure.Intent{Goal: "watch"}, Charter: perdure.Charter{Scope: "acme"}})
	big.write(1, sparse)
	if err := firstError(l.err, big.err); err != nil {
		return nil, err
	}
	g, opened, snap, closed, joined := parsed(l.entries[0]), parsed(l.entries[1]), parsed(l.entries[2]),
		parsed(l.entries[3]), parsed(l.entries[5])
	told := l.entries[2].Content().(perdure.Snapshot)
	state, err := told.Fold.Hash()
	if err != nil {
		return nil, err
	}
	anchor := fields{1: 1, 2: []raw{canon.AppendBytes(nil, opened.name())}, 3: state[:]}
	end := func(n int) fields { return whole(g, fields{4: fields{1: 2, 2: n}, 10: anchor}) }
	light := whole(g, fields{4: fields{1: 1}})
	refuse := func(predicate, name, why string, b raw) *vector {
		return binaryVector("capsule-"+name, "capsule", b, why).refused(predicate)
	}
	body := big.entries[1].BodyBytes()
	half := len(body) / 2
	chunks, packed := []raw{}, raw{}
	for _, b := range [][]byte{body[:half], body[half:]} {
		chunks = append(chunks, record(fields{1: hash(b), 2: len(b)}))
		packed = append(packed, frame('K', record(fields{1: hash(b), 2: len(b), 3: chunk.Pack(b)}))...)
	}
	first, second := parsed(big.entries[0]), parsed(big.entries[1])
	bare := second.fields()
	delete(bare, 2)
	elsewhere := slices.Concat(framed(first), frame('E', record(bare)), frame('P', record(fields{2: chunks})), packed)
	s := new(perdure.MemStore)
	if err := s.Put(context.Background(), big.a.ID(), big.entries...); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := capsule.Export(context.Background(), &b, s, big.a.ID(), capsule.Options{}); err != nil {
		return nil, err
	}
	return []*vector{
		binaryVector("capsule-chunks", "capsule", b.Bytes(), "a body that FastCDC cuts into chunks"),
		refuse(capsule.PredChunk, "cut-elsewhere", "a body cut in the middle, and not where FastCDC cuts it",
			capsuleOf(whole(first, nil), elsewhere, nil, fields{3: 2}, first, second)),
		refuse(capsule.PredDepth, "last-9", "nine entries are said to follow the snapshot, and one does",
			capsuleOf(end(9), framed(snap, closed), nil, nil, snap, closed)),
		refuse(capsule.PredDepth, "last-behind", "an entry links to what the snapshot follows",
			capsuleOf(end(1), framed(snap, next(g, 3, "behind", nil, opened, snap)), nil, nil, snap, snap)),
		refuse("entry.linked", "last-missing", "an entry links to one that is not there",
			capsuleOf(end(1), framed(snap, closed, joined), nil, nil, snap, closed, joined)),
		refuse(capsule.PredDepth, "headers-no-snapshot", "no snapshot stands for the bodies that are gone",
			capsuleOf(light, slices.Concat(framed(g), bodiless(opened)), nil, fields{2: 1}, g, opened)),
		refuse(capsule.PredDepth, "headers-early-body", "a body stands before the snapshot",
			capsuleOf(light, framed(g, opened, snap), nil, nil, g, opened, snap)),
		refuse(capsule.PredDepth, "headers-behind", "an entry after the snapshot reaches behind it",
			capsuleOf(light, slices.Concat(framed(g), bodiless(opened),
				framed(snap, next(g, 3, "behind", nil, opened, snap))), nil, fields{2: 3}, g, opened, snap, snap)),
	}, nil
}

// parsed is a real entry as the parts it is made of.
func parsed(e *perdure.Entry) entry {
	return entry{header: e.HeaderBytes(), body: e.BodyBytes(), by: 1}
}

// bodiless is entries as frames, their bodies dropped.
func bodiless(entries ...entry) (out raw) {
	for _, e := range entries {
		f := e.fields()
		delete(f, 2)
		out = append(append(out, frame('E', record(f))...), frame('P', record(fields{}))...)
	}
	return out
}

// sparseEvent is an event with so many bytes that pack well, but not so well that they are stored unpacked.
func sparseEvent(size int) (perdure.Event, error) {
	sparse := make([]byte, size)
	for i := 0; i < len(sparse); i += 256 {
		copy(sparse[i:], hash([]byte(fmt.Sprint(i)))[:4])
	}
	data, err := perdure.DataOf(sparse)
	return perdure.Event{Name: "told", Data: data}, err
}

// setName asks a set for a file.
func (v *vector) setName() error {
	dir, err := os.MkdirTemp("", "vectors-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := capsule.OpenSet(dir)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	f, err := s.File(v.Text)
	if err == nil {
		err = f.Close()
	}
	return err
}

// frame is a frame of the binary form.
func frame(letter byte, rec raw) raw {
	return canon.AppendBytes([]byte{0x82, 0x61, letter}, rec)
}

// whole is the head of a capsule of the whole memory of g, with some fields changed.
func whole(g entry, change fields) fields {
	h := fields{1: capsule.Magic, 2: 1, 3: g.name(), 4: fields{1: 0}, 5: 0, 6: canon.UnicodeVersion,
		8: fields{1: 64 << 10, 2: 64 << 10, 3: 8 << 20}}
	maps.Copy(h, change)
	return h
}

// framed is entries as frames.
func framed(entries ...entry) (out raw) {
	for _, e := range entries {
		f := e.fields()
		delete(f, 2)
		out = append(append(out, frame('E', record(f))...), frame('P', record(fields{1: []byte(e.body)}))...)
	}
	return out
}

// capsuleOf is a capsule: a head, frames, and an index that names the last entry as the head; change replaces fields of
// the index.
func capsuleOf(head fields, frames, more raw, change fields, entries ...entry) raw {
	out := slices.Concat(frame('H', record(head)), frames, more)
	last := entries[len(entries)-1]
	z := fields{1: len(entries), 2: len(entries), 3: 0, 4: []raw{canon.AppendBytes(nil, last.name())}, 5: len(out),
		6: hash(out),
		7: []raw{canon.AppendInt(nil, int64(len(frame('H', record(head)))))}}
	maps.Copy(z, change)
	return append(out, frame('Z', record(z))...)
}

// acceptedCapsules are one agent in binary and text form, and parts of it. The described form embeds the schema of
// entries, which grows.
func acceptedCapsules() ([]*vector, error) {
	restore := salts()
	defer restore()
	l := begin(perdure.Genesis{Intent: perdure.Intent{Name: "door", Goal: "watch the door"},
		Charter: perdure.Charter{Scope: "acme"}})
	l.write(1, perdure.Event{Name: "opened"}, perdure.Event{Name: "closed"})
	l.write(1, perdure.Snapshot{Fold: *l.a.Fold()})
	l.write(2, perdure.Event{Name: "opened"})
	s := new(perdure.MemStore)
	if l.err != nil {
		return nil, l.err
	}
	if err := s.Put(context.Background(), l.a.ID(), l.entries...); err != nil {
		return nil, err
	}
	var out []*vector
	for _, c := range []struct {
		name, why string
		o         capsule.Options
	}{
		{"binary", "a whole memory", capsule.Options{}},
		{"text", "the same, for people", capsule.Options{Form: capsule.Text}},
		{"last", "the newest snapshot and what came after it", capsule.Options{Depth: perdure.Last(0)}},
		{"headers", "every header, and the bodies since the newest snapshot", capsule.Options{Depth: perdure.Headers}},
	} {
		var b bytes.Buffer
		if _, err := capsule.Export(context.Background(), &b, s, l.a.ID(), c.o); err != nil {
			return nil, err
		}
		v := &vector{Name: "capsule-" + c.name, Why: c.why, As: "capsule", Form: c.o.Form.String()}
		if v.Hex = hex.EncodeToString(b.Bytes()); c.o.Form == capsule.Text {
			v.Hex, v.Text = "", b.String()
		}
		out = append(out, v)
	}
	g := first()
	return append(out, binaryVector("capsule-schema-earlier", "capsule",
		described(g, entriesDescribed([]any{3, "signature", map[string]any{"bytes": 64}, "omitzero"}), nil),
		"the schema is of a version that knew fewer fields; the head names it by the SHA-256 of the description")), nil
}

// entriesDescribed is a description of entries with these fields.
func entriesDescribed(of ...any) raw {
	b, err := perdure.DataOf(map[string]any{"defs": []any{map[string]any{"fields": of, "record": "entry"}}, "type": 0})
	if err != nil {
		panic(err) // its shape is written above
	}
	return raw(b)
}

// described is a capsule of a genesis with a schema in it. The head names the schema, or what is given.
func described(g entry, schema raw, named []byte) raw {
	if named == nil {
		named = hash(schema)
	}
	head, s := whole(g, fields{7: named}), frame('S', record(fields{1: schema}))
	at := len(frame('H', record(head))) + len(s)
	return capsuleOf(head, append(s, framed(g)...), nil, fields{7: []raw{canon.AppendInt(nil, int64(at))}}, g)
}

// rejectedCapsules are files that are no good capsules, by every predicate of package capsule.
func rejectedCapsules() []*vector {
	g := first()
	a := next(g, 1, "a", nil, g)
	head, memory := whole(g, nil), framed(g, a)
	good := capsuleOf(head, memory, nil, nil, g, a)
	var out []*vector
	add := func(predicate, name, why string, b []byte) *vector {
		v := binaryVector("capsule-"+name, "capsule", b, why).refused(predicate)
		out = append(out, v)
		return v
	}
	headed := func(change fields) raw { return capsuleOf(whole(g, change), memory, nil, nil, g, a) }
	add(capsule.PredMagic, "empty", "no capsule has no bytes", nil)
	add(capsule.PredMagic, "memory", "a memory without a capsule around it", g.bytes())
	add(capsule.PredMagic, "magic", "the head says that it is something else", headed(fields{1: "perdure capsulf"}))
	add(capsule.PredVersion, "version", "a version of the future", headed(fields{2: 2}))
	add(capsule.PredUnicode, "unicode", "text was judged by other tables", headed(fields{6: "14.0.0"}))
	add(capsule.PredFrame, "frame", "a letter that no frame has", capsuleOf(head, memory, frame('X', nil), nil, g, a))
	add(capsule.PredFrame, "frame-size", "a frame of 4 GiB is announced",
		append(frame('H', record(head)), 0x82, 0x61, 'E', 0x5a, 0xff, 0xff, 0xff, 0xff))
	add(capsule.PredOrder, "twice", "an entry is there twice", capsuleOf(head, framed(g, a, a), nil, nil, g, a, a))
	b := next(g, 1, "b", nil, g)
	lower, higher := a, b
	if bytes.Compare(a.name(), b.name()) > 0 {
		lower, higher = b, a
	}
	heads := fields{4: []raw{canon.AppendBytes(nil, lower.name()), canon.AppendBytes(nil, higher.name())}}
	add(capsule.PredOrder, "order", "of two entries of one seq the one with the higher name stands first",
		capsuleOf(head, framed(g, higher, lower), nil, heads, g, higher, lower))
	forged := lower
	forged.by = 2
	add("entry.signed", "two-faults-signed-order", "the signature of an entry comes before its place",
		capsuleOf(head, framed(g, higher, forged), nil, heads, g, higher, lower))
	add(capsule.PredIndex, "two-faults-digest-heads", "the digest comes before the heads",
		capsuleOf(head, memory, nil, fields{4: []raw{canon.AppendBytes(nil, g.name())}, 6: hash(nil)}, g, a))
	cut := a
	cut.unsigned = true
	add(capsule.PredIndex, "two-faults-digest-sealed", "the digest comes before what signatures cover",
		capsuleOf(head, framed(g, cut), nil, fields{6: hash(nil)}, g, a))
	add("entry.sealed", "two-faults-sealed-heads", "what signatures cover comes before the heads",
		capsuleOf(head, framed(g, cut), nil, fields{4: []raw{canon.AppendBytes(nil, g.name())}}, g, a))
	add(capsule.PredUnicode, "two-faults-unicode-limits", "the head in the order of its rules: tables, then limits",
		headed(fields{6: "14.0.0", 8: fields{1: 1, 2: 2, 3: 3}}))
	add(capsule.PredOrder, "two-heads", "a head follows the head", append(frame('H', record(head)), good...))
	add(capsule.PredComplete, "cut", "the last byte is missing", good[:len(good)-1])
	add(capsule.PredComplete, "no-index", "the end is missing", slices.Concat(frame('H', record(head)), memory))
	add(capsule.PredIndex, "digest", "the index is of other bytes",
		capsuleOf(head, memory, nil, fields{6: hash(nil)}, g, a))
	add(capsule.PredIndex, "heads", "the index names another head",
		capsuleOf(head, memory, nil, fields{4: []raw{canon.AppendBytes(nil, g.name())}}, g, a))
	add(capsule.PredIndex, "trailing", "a byte follows the index", append(slices.Clone(good), 0))
	add(capsule.PredSize, "limits", "other limits than those of the version",
		headed(fields{8: fields{1: 1, 2: 2, 3: 3}}))
	add(capsule.PredSize, "size", "more bytes than the limit", good).Limit = &limits{Bytes: 100}
	add(capsule.PredDepth, "no-anchor", "the end of a memory without the place where it begins",
		headed(fields{4: fields{1: 2}}))
	add(capsule.PredAnchor, "no-genesis", "neither genesis nor an anchor stands first",
		capsuleOf(head, framed(a), nil, nil, a))
	anchor := fields{1: 1, 2: []raw{canon.AppendBytes(nil, a.name())}, 3: hash(nil)}
	add(capsule.PredAnchor, "no-snapshot", "what stands first is not the snapshot the anchor commits to",
		headed(fields{4: fields{1: 2}, 10: anchor}))
	add(capsule.PredBinding, "binding", "the signatures are said to be in a file beside it, and there is none",
		headed(fields{5: 1}))
	bare := g
	bare.unsigned = true
	add(capsule.PredBinding, "no-manifest", "a manifest is announced, and there is none", headed(fields{5: 2}))
	alone := capsuleOf(whole(g, fields{5: 1}), framed(bare), nil, nil, bare)
	add(capsule.PredDetached, "detached", "a signature of an entry that is not there follows the others", alone).
		beside(g.name(), g, a)
	add(capsule.PredDetached, "detached-agent", "the signatures beside it are another agent's", alone).beside(a.name())
	manifest := record(fields{1: public(1), 2: began, 3: 1, 4: 0, 6: bytes.Repeat([]byte{7}, 64)})
	add(capsule.PredManifest, "manifest", "the signature of the manifest is nobody's",
		capsuleOf(whole(g, fields{5: 2}), memory, frame('M', manifest), nil, g, a))
	add(capsule.PredAttested, "attested", "shallow validation, and nobody attests to the capsule", good).Shallow = true
	add(capsule.PredRecipient, "recipient", "an age file, and nobody to decrypt it as",
		[]byte("age-encryption.org/v1\n-> X25519 "))
	add(capsule.PredChunk, "shared", "its chunks are in a set that is not there", headed(fields{9: raw{0xf5}}))
	add(capsule.PredSchema, "schema", "a schema is named and not there", headed(fields{7: hash(nil)}))
	few := entriesDescribed()
	add(capsule.PredSchema, "schema-other", "the schema calls field 3 of an entry by another name",
		described(g, entriesDescribed([]any{3, "signed", map[string]any{"bytes": 64}, "omitzero"}), nil))
	add(capsule.PredSchema, "schema-presence", "the schema says that an entry has its signature always",
		described(g, entriesDescribed([]any{3, "signature", map[string]any{"bytes": 64}}), nil))
	add(capsule.PredSchema, "schema-hash", "the head names the record S and not the description in it",
		described(g, few, hash(record(fields{1: few}))))
	add(capsule.PredRollback, "rollback", "the copy here has all of it and more",
		capsuleOf(head, framed(g), nil, nil, g)).Here = hex.EncodeToString(good)
	return append(out, rejectedSetNames()...)
}

// beside puts the signatures of entries into a file beside a capsule.
func (v *vector) beside(agent []byte, signed ...entry) {
	b := record(fields{1: "perdure signatures", 2: 1, 3: agent})
	for _, e := range signed {
		b = append(b, record(fields{1: e.name(), 2: e.fields()[3]})...)
	}
	v.Signatures = hex.EncodeToString(b)
}

// rejectedSetNames are names that no file of a set has.
func rejectedSetNames() (out []*vector) {
	for name, text := range map[string]string{"parent": "../door.agent", "folder": "chunks/door.agent",
		"hidden": ".door.agent", "none": ""} {
		out = append(out, (&vector{Name: "capsule-name-" + name, Why: "a file of a set has a plain name",
			As: "set-name", Form: "text", Text: text}).refused(capsule.PredName))
	}
	return out
}

// rejectedUnpacked is a capsule that is small and unpacks to more than the limit.
func rejectedUnpacked() ([]*vector, error) {
	restore := salts()
	defer restore()
	sparse, err := sparseEvent(100 << 10)
	if err != nil {
		return nil, err
	}
	l := begin(perdure.Genesis{Intent: perdure.Intent{Goal: "watch"}, Charter: perdure.Charter{Scope: "acme"}})
	l.write(1, sparse)
	if l.err != nil {
		return nil, l.err
	}
	s := new(perdure.MemStore)
	if err := s.Put(context.Background(), l.a.ID(), l.entries...); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := capsule.Export(context.Background(), &b, s, l.a.ID(), capsule.Options{}); err != nil {
		return nil, err
	}
	v := binaryVector("capsule-unpacked", "capsule", b.Bytes(), "fewer bytes than the limit, which unpack to more")
	v.Limit = &limits{Bytes: 64 << 10}
	return []*vector{v.refused(capsule.PredUnpacked)}, nil
}
