package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/canon"
)

// magic begins every .vein file, after two bytes of CBOR.
const magic = "vein/1"

// parentField is the field in which a schema may keep the fingerprint of the value before.
const parentField = "parentHash"

// container is a .vein file. Do NOT renumber.
type container struct {
	Magic    string     `canon:"0,format"`
	Schema   Hash       `canon:"1,schema"`
	Value    canon.Data `canon:"2,value"`
	Parent   Hash       `canon:"3,parent,omitzero"`
	Embedded canon.Data `canon:"4,embedded,omitzero"`
}

var containers = canon.For[container]("vein")

// Vein is a value read from a file.
type Vein struct {
	Schema      *Schema
	Value       []byte // canonical, checked under Schema
	Fingerprint Hash
	Embedded    bool // the file holds its schema

	parent Hash
}

// Options are what Compile may be told. The zero Options are the usual ones.
type Options struct {
	Embed  bool // put the schema into the file, so that it can be read without the .lode
	Parent Hash // fingerprint of the value before; only for schemas without a field parentHash
}

// Compile returns a .vein file that holds the value written as JSON in src.
func Compile(s *Schema, src []byte, o Options) ([]byte, error) {
	value, err := s.FromJSON(src)
	if err != nil {
		return nil, err
	}
	return Pack(s, value, o)
}

// Pack returns a .vein file that holds a value in binary form.
func Pack(s *Schema, value []byte, o Options) ([]byte, error) {
	if err := s.Check(value); err != nil {
		return nil, err
	}
	if o.Parent != (Hash{}) && s.views[""].byName[parentField] != nil {
		return nil, refuse(predParent, "$.parent", "a parent beside the value", "none",
			"put the parent hash into the field parentHash of the value")
	}
	c := container{Magic: magic, Schema: s.id, Value: value, Parent: o.Parent}
	if _, err := (&Vein{Schema: s, Value: value, parent: o.Parent}).Parent(); err != nil {
		return nil, err // no chain would ever take it
	}
	if _, _, err := (&Vein{Schema: s, Value: value}).Expires(); err != nil {
		return nil, err // nothing that looks when its time is over would read it
	}
	if o.Embed {
		c.Embedded = s.canonical
	}
	return containers.Append(nil, &c)
}

// Open reads a .vein file and checks the value under its schema, which is embedded or in reg. reg may be nil.
func Open(file []byte, reg *Registry) (*Vein, error) {
	c, err := unpack(file)
	if err != nil {
		return nil, err
	}
	if reg == nil {
		reg = new(Registry)
	}
	v := &Vein{Value: c.Value, Fingerprint: c.fingerprint(), Embedded: c.Embedded != nil, parent: c.Parent}
	if c.Embedded == nil {
		v.Schema, err = reg.Lookup(c.Schema)
	} else if v.Schema, err = reg.Lookup(c.Schema); err != nil {
		v.Schema, err = FromCanonical(c.Embedded, reg.Library)
	}
	if err != nil {
		return nil, err
	}
	if err := v.Schema.Check(v.Value); err != nil {
		return nil, err
	}
	if v.parent != (Hash{}) && v.Schema.views[""].byName[parentField] != nil {
		return nil, refuse(predParent, "$.parent", "a parent beside the value", "none")
	}
	return v, nil
}

// unpack reads the container and checks all that can be checked without the schema.
func unpack(file []byte) (*container, error) {
	if len(file) < 9 || file[0]>>5 != 5 || string(file[1:9]) != "\x00\x66"+magic {
		got := "another file"
		if g, is, err := readGone(file); err != nil {
			return nil, err
		} else if is {
			return nil, refuse(predVein, "$.format", "a value whose time was over: only its place in the chain, "+
				g.Fingerprint.String()+", is left", "a .vein file of format 1", "get the file from a backup")
		}
		if len(file) >= 7 && bytes.HasPrefix(file[1:], []byte("\x00\x66vein/")) {
			got = "a file of another format version"
		}
		return nil, refuse(predVein, "$.format", got, "a .vein file of format 1",
			"give a file that lode compile wrote, or use a newer program")
	}
	c := new(container)
	if err := containers.Decode(bytes.Clone(file), c, canon.Limits{}); err != nil {
		return nil, err
	}
	if c.Embedded != nil && sha256.Sum256(c.Embedded) != c.Schema {
		return nil, refuse(predEmbedded, "$.embedded", fmt.Sprintf("a schema with id %x", sha256.Sum256(c.Embedded)),
			"id "+c.Schema.String())
	}
	return c, nil
}

// fingerprint is the SHA-256 of the file as it is without the embedded schema: of the schema's id, the value and the
// parent.
func (c *container) fingerprint() Hash {
	bare := *c
	bare.Embedded = nil
	b, err := containers.Append(nil, &bare)
	if err != nil {
		panic(err) // it was read from canonical bytes
	}
	return sha256.Sum256(b)
}

// Fingerprint returns the name of the value in a .vein file: the SHA-256 of the canonical bytes of its schema id, value
// and parent, whether or not the schema is embedded. It needs no schema and does not check the value. The order of
// lists matters to it; the order in which JSON was written does not.
//
// What Retire left of a file has the fingerprint the file had.
func Fingerprint(file []byte) (Hash, error) {
	if g, is, err := readGone(file); is {
		if err != nil {
			return Hash{}, err
		}
		return g.Fingerprint, nil
	}
	c, err := unpack(file)
	if err != nil {
		return Hash{}, err
	}
	return c.fingerprint(), nil
}

// ParseHash reads 64 hex digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if b, err := hex.DecodeString(s); err != nil || len(b) != len(h) || strings.ToLower(s) != s {
		return h, refuse(predParent, "$", clip(s), "64 hex digits in lower case")
	}
	_, err := hex.Decode(h[:], []byte(s))
	return h, err
}

// Parent returns the fingerprint of the value before this one, from the field parentHash of the value (64 hex digits,
// or 32 bytes) or from beside it. It is zero if there is none.
func (v *Vein) Parent() (Hash, error) {
	f := v.Schema.views[""].byName[parentField]
	if f == nil {
		return v.parent, nil
	}
	switch p := decode(v.Schema.typ, v.Value).(record)[uint16(f.ID)].(type) {
	case nil:
		return Hash{}, nil
	case string:
		h, err := ParseHash(p)
		if err != nil || h == (Hash{}) { // zero stands for none, and a value without a parent leaves the field out
			err = refuse(predParent, "$."+parentField, clip(p), "64 hex digits in lower case: a fingerprint")
		}
		return h, err
	case []byte:
		if len(p) == len(Hash{}) && Hash(p) != (Hash{}) {
			return Hash(p), nil
		}
	}
	return Hash{}, refuse(predParent, "$."+parentField, "a "+f.Type, "text of 64 hex digits, or 32 bytes")
}

// JSON returns the value as JSON in the order of RFC 8785.
func (v *Vein) JSON() ([]byte, error) { return v.Schema.ToJSON(v.Value) }

// As returns the value as one of s, another version of its schema. The file keeps its fingerprint: it is not rewritten.
func (v *Vein) As(s *Schema) ([]byte, error) { return upcast(v.Schema, v.Value, s) }

// Decode returns the value of a .vein file as JSON.
func Decode(file []byte, reg *Registry) ([]byte, error) {
	v, err := Open(file, reg)
	if err != nil {
		return nil, err
	}
	return v.JSON()
}

// Restore returns the value of a .vein file as JSON if its fingerprint is want, and nothing of it otherwise.
func Restore(file []byte, want Hash, reg *Registry) ([]byte, error) {
	got, err := Fingerprint(file)
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, refuse(predFingerprint, "$", got.String(), want.String())
	}
	return Decode(file, reg)
}
