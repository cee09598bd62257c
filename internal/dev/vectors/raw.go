package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// raw is bytes that are written as they are.
type raw []byte

// fields is a record, by id. It is written as it stands, right or wrong.
type fields map[int]any

// record writes a record.
func record(f fields) raw {
	out := canon.AppendMap(nil, len(f))
	for _, id := range slices.Sorted(maps.Keys(f)) {
		out = appendValue(canon.AppendUint(out, uint64(id)), f[id])
	}
	return out
}

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case raw:
		return append(dst, v...)
	case fields:
		return append(dst, record(v)...)
	case []byte:
		return canon.AppendBytes(dst, v)
	case string:
		return canon.AppendText(dst, v)
	case int:
		return canon.AppendInt(dst, int64(v))
	case nil:
		return canon.AppendNull(dst)
	case []raw:
		dst = canon.AppendArray(dst, len(v))
		for _, e := range v {
			dst = append(dst, e...)
		}
		return dst
	}
	panic(fmt.Sprintf("vectors: no way to write %T", v))
}

// key is the n-th of the keys of the vectors.
func key(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func public(n byte) []byte { return key(n).Public().(ed25519.PublicKey) }

func signer(n byte) *perdure.Signer {
	s, err := perdure.NewSigner(fmt.Sprintf("key%d", n), key(n))
	if err != nil {
		panic(err) // an Ed25519 key
	}
	return s
}

func hash(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:]
}

// The kinds of entries.
const (
	genesis  = 1
	advice   = 2
	decision = 3
	event    = 5
	snapshot = 6
)

const began = 1_772_366_400_000 // 2026-03-01T12:00:00Z

// body is a body of a kind.
func body(kind int, content fields) raw {
	return record(fields{1: bytes.Repeat([]byte{0x5a}, 16), 2: fields{kind: content}})
}

// entry is an entry by key 1 with a body and a header; change replaces fields of the header, and takes away those it
// sets to absent.
type entry struct {
	header, body raw
	by           byte
	unsigned     bool
}

type absent struct{}

func newEntry(kind int, b raw, change fields) entry {
	e := entry{body: b, by: 1}
	h := fields{1: 1, 4: 0, 5: began, 7: public(1), 10: kind, 11: hash(b), 12: len(b)}
	maps.Copy(h, change)
	maps.DeleteFunc(h, func(_ int, v any) bool { _, gone := v.(absent); return gone })
	e.header = record(h)
	return e
}

func (e entry) name() []byte { return hash(e.header) }

// fields is the entry as a record.
func (e entry) fields() fields {
	f := fields{1: e.header, 2: e.body}
	if !e.unsigned {
		f[3] = ed25519.Sign(key(e.by), e.name())
	}
	return f
}

func (e entry) bytes() raw { return record(e.fields()) }

// first is a genesis as small as there is one.
func first() entry {
	return newEntry(genesis, body(genesis, fields{1: fields{2: "watch"}, 2: fields{1: public(1), 2: "acme"}}), nil)
}

// next is an event on top of others.
func next(g entry, seq int, name string, change fields, parents ...entry) entry {
	names := make([]raw, 0, len(parents))
	for _, p := range parents {
		names = append(names, canon.AppendBytes(nil, p.name()))
	}
	slices.SortFunc(names, func(a, b raw) int { return bytes.Compare(a, b) })
	h := fields{2: g.name(), 3: names, 4: seq}
	maps.Copy(h, change)
	return newEntry(event, body(event, fields{1: name}), h)
}

// on is an entry of any kind on top of a genesis.
func on(g entry, kind int, content fields) entry {
	return newEntry(kind, body(kind, content), fields{2: g.name(), 3: []raw{canon.AppendBytes(nil, g.name())}, 4: 1})
}

func memory(entries ...entry) []byte {
	var out []byte
	for _, e := range entries {
		out = append(out, e.bytes()...)
	}
	return out
}

func binaryVector(name, as string, b []byte, why string) *vector {
	return &vector{Name: name, Why: why, As: as, Form: "binary", Hex: hex.EncodeToString(b)}
}
