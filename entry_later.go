package perdure

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/perdure/perdure/internal/canon"
)

var laterFormats sync.Map // int64 to func([]byte) ([]byte, error)

// RegisterFormat makes entries of a later format version readable here, in all three forms. Their header is that of
// this version; its hash, links and signatures are checked as they are, and so are the hash and size of the body. What
// the body says is what transform makes of its canonical bytes: those of a body of this version, which are then checked
// as any. Transform must depend on nothing but the bytes, or nodes come to different folds. An entry is stored and
// handed on as it was written: in text and described, its body is a value without a schema. It panics for a version
// that is not later, or is registered already: both are mistakes of the program. One of more than 128 KiB travels in
// capsules, not in a bare stream of entries.
func RegisterFormat(version int64, transform func(body []byte) ([]byte, error)) {
	if version <= FormatVersion || transform == nil {
		panic(fmt.Sprintf("perdure: register format %d: want a version after %d and its transform", version,
			FormatVersion))
	}
	if _, there := laterFormats.LoadOrStore(version, transform); there {
		panic(fmt.Sprintf("perdure: format %d is registered twice", version))
	}
}

// reads reports whether entries of a format version can be read here.
func reads(version int64) bool {
	_, later := laterFormats.Load(version)
	return version == FormatVersion || later
}

// decodeBody reads a body of a format version.
func decodeBody(version int64, body []byte, lim Limits) (*saltedBody, error) {
	if f, later := laterFormats.Load(version); later {
		var err error
		if body, err = f.(func([]byte) ([]byte, error))(body); err != nil {
			return nil, fmt.Errorf("body of format version %d: %w", version, err)
		}
	}
	rec := new(saltedBody)
	if err := bodyCodec.Decode(body, rec, lim); err != nil {
		return nil, under(err, "$.body")
	}
	return rec, nil
}

// laterRecord is an entry of a later format version on the wire: its body is anything canonical.
type laterRecord struct {
	Header    Header              `canon:"1,header"`
	Body      Data                `canon:"2,body,omitzero"`
	Signature [signatureSize]byte `canon:"3,signature,omitzero"`
}

// decodeLater reads an entry of a later format version; false: it is none. One of a version that is not registered is
// refused as that, whatever its body is: what else this reader would say of it helps nobody.
func decodeLater(b []byte, lim Limits) (*Entry, bool, error) {
	var rec laterRecord
	if laterCodec.Decode(b, &rec, lim) != nil || rec.Header.Version <= FormatVersion {
		return nil, false, nil
	}
	var signature []byte
	if rec.Signature != [signatureSize]byte{} {
		signature = b[len(b)-signatureSize:]
	}
	e, err := NewEntry(canon.Span(b, 1), canon.Span(b, 2), signature, lim)
	return e, true, err
}

// typeOf is the type by which the forms of an entry are written.
func (e *Entry) typeOf() *canon.Type {
	if e.Version > FormatVersion {
		return laterCodec.Type()
	}
	return entryCodec.Type()
}

// fromForm reads an entry out of a form that binary turns into canonical bytes of a type. One of a later version is
// read by the type it is written by, so that it has one spelling.
func fromForm(binary func(*canon.Type) ([]byte, error), lim Limits) (*Entry, error) {
	b, err := binary(entryCodec.Type())
	var e *Entry
	if err == nil {
		if e, err = DecodeEntry(b, lim); err != nil || e.Version == FormatVersion {
			return e, err
		}
	}
	b, wrong := binary(laterCodec.Type())
	if wrong == nil {
		if e, ok, wrong := decodeLater(b, lim); ok {
			return e, wrong
		}
	}
	if err == nil { // it is later, and not spelled as that
		err = wrong
	}
	return nil, err
}

// describedBy is the described form of an entry with the schema of one type in the place of another's. There is one
// schema of entries, that of this version, so that a capsule has it once; of a later version it describes all but the
// body.
func describedBy(b []byte, from, to *canon.Type) []byte {
	value, ok := bytes.CutSuffix(b, canon.AppendSchema(nil, from))
	if !ok {
		return b
	}
	return canon.AppendSchema(bytes.Clone(value), to)
}
