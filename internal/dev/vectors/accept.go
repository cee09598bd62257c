package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
	"github.com/perdure/perdure/internal/entropy"
)

// accepted makes the vectors that are accepted.
func accepted() ([]*vector, error) {
	out := acceptedValues()
	content := []byte(strings.Repeat("perdure ", 64))
	chunk := binaryVector("chunk", "chunk", chunk.Pack(content), "eight letters, 64 times")
	chunk.Chunk, chunk.Size = hex.EncodeToString(hash(content)), int64(len(content))
	out = append(out, chunk)
	g := first()
	reserved := next(g, 1, "told", fields{64: "kept", 127: fields{}}, g)
	out = append(out,
		binaryVector("entry-smallest", "entry", g.bytes(), "a genesis as small as there is one"),
		binaryVector("entry-reserved-fields", "entry", reserved.bytes(), "unknown fields 64 to 127 are kept"),
		binaryVector("entry-reserved-in-body", "entry", newEntry(genesis,
			record(fields{1: bytes.Repeat([]byte{0x5a}, 16),
				2: fields{1: fields{1: fields{2: "watch"}, 2: fields{1: public(1), 2: "acme"}}}, 64: "kept"}), nil).
			bytes(), "the record around the content of a body keeps reserved fields"),
		binaryVector("memory-smallest", "memory", g.bytes(), "a genesis alone"),
		binaryVector("memory-void", "memory", voidMemory(),
			"an entry of a revoked key, written where the revocation was not known, counts for nothing"))
	out = append(out, acceptedKeys()...)
	sound, _ := amounts()
	out = append(out, sound...)
	known, _ := facts()
	out = append(out, known...)
	described, err := describedValues()
	if err != nil {
		return nil, err
	}
	out = append(out, described...)
	for _, make := range []func() ([]*vector, error){acceptedAgents, acceptedCapsules, acceptedSchemas, parts,
		acceptedFolds, acceptedLodes} {
		more, err := make()
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// describedValues are values of a schema of their own.
func describedValues() ([]*vector, error) {
	text, number := &canon.Type{Kind: canon.Text}, &canon.Type{Kind: canon.Int}
	colour := &canon.Type{Kind: canon.Enum, Names: []canon.Name{{Number: 1, Name: "red"}, {Number: 4, Name: "blue"}}}
	circle := &canon.Type{Kind: canon.Record, Schema: &canon.Schema{Name: "circle",
		Fields: []canon.Field{{ID: 1, Name: "radius", Type: &canon.Type{Kind: canon.Float}}}}}
	shape := &canon.Type{Kind: canon.Union, Schema: &canon.Schema{Name: "shape",
		Fields: []canon.Field{{ID: 3, Name: "circle", Type: circle}}}}
	thing := &canon.Type{Kind: canon.Record, Schema: &canon.Schema{Name: "thing", Fields: []canon.Field{
		{ID: 1, Name: "zulu", Type: text},
		{ID: 2, Name: "alpha", Type: &canon.Type{Kind: canon.List, Elem: number}, Presence: canon.Optional},
		{ID: 3, Name: "colour", Type: colour, Presence: canon.OmitZero},
		{ID: 4, Name: "shape", Type: shape, Presence: canon.Optional},
		{ID: 5, Name: "id", Type: &canon.Type{Kind: canon.Bytes, Len: 2}},
		{ID: 6, Name: "notes", Type: &canon.Type{Kind: canon.Map, Elem: &canon.Type{Kind: canon.Verbatim}},
			Presence: canon.OmitZero},
	}}}
	var out []*vector
	for _, c := range []struct {
		name, why string
		value     fields
	}{
		{"smallest", "required fields only", fields{1: "z", 5: []byte{1, 2}}},
		{"every-kind", "an enum and a union by name, an optional list that is empty, a map",
			fields{1: "z", 2: []raw{}, 3: 4, 4: fields{3: fields{1: raw{0xf9, 0x3e, 0x00}}}, 5: []byte{1, 2},
				6: raw{0xa1, 0x61, 'n', 0x61, 'v'}}},
		{"reserved", "an unknown field is keyed by its id", fields{1: "z", 5: []byte{1, 2}, 64: fields{7: "kept"}}},
	} {
		b, err := canon.ToDescribed(nil, thing, record(c.value))
		if err != nil {
			return nil, err
		}
		out = append(out, &vector{Name: "described-" + c.name, Why: c.why, As: "value", Form: "described",
			Hex: hex.EncodeToString(b)})
	}
	return out, nil
}

func acceptedValues() []*vector {
	var out []*vector
	for _, c := range []struct{ name, hex, why string }{
		{"zero", "00", "an integer"}, {"int-24", "1818", "the first integer of two bytes"},
		{"int-max", "1bffffffffffffffff", "2^64-1"},
		{"int-min", "3b7fffffffffffffff", "-2^63"}, {"minus-one", "20", "-1"}, {"false", "f4", "false"},
		{"true", "f5", "true"}, {"null", "f6", "null, in schema-less values"},
		{"float-one", "f93c00", "1.0 is not the integer 1"}, {"float-minus-zero", "f98000", "-0.0"},
		{"float-inf", "f97c00", "infinity"}, {"float-nan", "f97e00", "the one NaN"},
		{"float-32", "fa47c35000", "100000.0"}, {"float-64", "fb3ff199999999999a", "1.1"},
		{"bytes", "4401020304", "bytes"}, {"bytes-empty", "40", "no bytes"},
		{"text", "62c3bc", "ü in NFC"}, {"text-dollar", "632461" + "62", "a text that begins with a dollar sign"},
		{"list", "83010203", "a list"}, {"map", "a2616101616282f5f6", "a map"},
		{"map-key-order", "a361610062616100" + "6362626200", "shorter keys come first"},
		{"record", "a201020304", "a record without its schema"}, {"nested", "8181818180", "lists in each other"},
	} {
		out = append(out, &vector{Name: "value-" + c.name, Why: c.why, As: "value", Form: "binary", Hex: c.hex})
	}
	for _, c := range []struct{ name, text, why string }{
		{"int", "-12", "an integer"}, {"float", "1.5", "a float"},
		{"float-whole", `"$float:1"`, "a float that looks like an integer"},
		{"big", `"$int:9007199254740993"`, "an integer past 2^53"},
		{"bytes", `"$bytes:AQID"`, "bytes"}, {"dollar", `"$$5"`, "the text $5"},
		{"object", `{"a":[1,null,true],"é":"x"}`, "an object"},
	} {
		out = append(out, &vector{Name: "text-" + c.name, Why: c.why, As: "value", Form: "text", Text: c.text})
	}
	return out
}

// voidMemory is a memory in which key 2 wrote beside its revocation.
func voidMemory() []byte {
	g := first()
	seen := next(g, 1, "seen", fields{7: public(2)}, g)
	seen.by = 2
	revoke := newEntry(event, body(event, fields{1: "keys", 5: fields{3: fields{1: public(2)}}}),
		fields{2: g.name(), 3: []raw{canon.AppendBytes(nil, seen.name())}, 4: 2})
	unseen := next(g, 2, "unseen", fields{7: public(2)}, seen)
	unseen.by = 2
	return memory(g, seen, revoke, unseen)
}

// salts makes the salts of bodies the same each time, until it is undone.
func salts() (restore func()) {
	old := entropy.Reader
	entropy.Reader = &saltStream{}
	return func() { entropy.Reader = old }
}

// saltStream is the SHA-256 of 0, 1, 2, …
type saltStream struct{ n uint64 }

func (s *saltStream) Read(p []byte) (int, error) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, s.n))
	s.n++
	return copy(p, sum[:]), nil
}

func at(seconds int) time.Time {
	return time.UnixMilli(began).Add(time.Duration(seconds) * time.Second)
}

func memoryOf(entries []*perdure.Entry) ([]byte, error) {
	var b bytes.Buffer
	err := perdure.WriteMemory(&b, func(yield func(*perdure.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	return b.Bytes(), err
}
