package perdure

import (
	"fmt"
	"sync"

	"github.com/perdure/perdure/internal/canon"
)

var laterFormats sync.Map // int64 to func([]byte) ([]byte, error)

// RegisterFormat makes entries of a later format version readable here. Their header is that of this version; its hash, links and signatures are
// checked as they are, and so are the hash and size of the body. What the body says is what transform makes of its canonical bytes: those of a body
// of this version, which are then checked as any. Transform must depend on nothing but the bytes, or nodes come to different folds. An entry is
// stored and handed on as it was written. It panics for a version that is not later, or is registered already: both are mistakes of the program.
func RegisterFormat(version int64, transform func(body []byte) ([]byte, error)) {
	if version <= FormatVersion || transform == nil {
		panic(fmt.Sprintf("perdure: register format %d: want a version after %d and its transform", version, FormatVersion))
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

// decodeLater reads an entry of a later format version that is registered; false: it is none.
func decodeLater(b []byte, lim Limits) (*Entry, bool, error) {
	none := true
	laterFormats.Range(func(any, any) bool { none = false; return false })
	// The keys of a map are all numbers or all text: a record's are numbers, and nothing else may be taken apart as one.
	if none || len(b) < 2 || b[0]>>5 != 5 || b[1]>>5 != 0 || canon.Check(canon.DataType, b, lim) != nil {
		return nil, false, nil
	}
	header, body, signature := canon.Span(b, 1), canon.Span(b, 2), canon.Span(b, 3)
	var h Header
	if header == nil || headerCodec.Decode(header, &h, lim) != nil || h.Version == FormatVersion || !reads(h.Version) {
		return nil, false, nil
	}
	if signature != nil {
		if len(signature) != signatureSize+2 || signature[0] != 0x58 {
			return nil, false, nil
		}
		signature = signature[2:]
	}
	e, err := NewEntry(header, body, signature, lim)
	if err != nil {
		return nil, true, err
	}
	again, err := e.MarshalBinary()
	if err == nil && string(again) != string(b) { // nothing may stand beside the three
		return nil, false, nil
	}
	return e, true, err
}
