package perdure

import (
	"sync"

	"github.com/perdure/perdure/internal/canon"
)

// An entry has three forms of one value. The binary form is what is stored, hashed and signed: see Entry.AppendBinary
// and DecodeEntry. The other two are read as strictly: exactly what these functions write is accepted.

// AppendText appends the text form of the entry: one line of RFC 8785 JSON, without its line end.
func (e *Entry) AppendText(dst []byte) ([]byte, error) {
	room := binaries.Get().(*[]byte)
	defer binaries.Put(room)
	bin, err := e.AppendBinary((*room)[:0])
	if err != nil {
		return dst, err
	}
	if cap(bin) <= InlineBody {
		*room = bin
	}
	return canon.ToText(dst, e.typeOf(), bin)
}

// binaries are what AppendText spells out: no part of them is kept.
var binaries = sync.Pool{New: func() any { return new([]byte) }}

// EntryFromText reads the text form of one entry and checks what DecodeEntry checks. Offsets in a *Rejection are those
// of the text.
func EntryFromText(text []byte, lim Limits) (*Entry, error) {
	return fromForm(func(t *canon.Type) ([]byte, error) { return canon.FromText(nil, t, text, lim) }, lim)
}

// Described returns the described form of the entry: CBOR with names in place of numbers, and the schema beside it, so
// that any CBOR tool can show it.
func (e *Entry) Described() ([]byte, error) {
	bin, err := e.MarshalBinary()
	if err != nil {
		return nil, err
	}
	b, err := canon.ToDescribed(nil, e.typeOf(), bin)
	if err != nil || e.Version == FormatVersion {
		return b, err
	}
	return describedBy(b, laterCodec.Type(), entryCodec.Type()), nil
}

// EntryFromDescribed reads the described form of one entry, whose embedded schema must be that of entries, and checks
// what DecodeEntry checks. Offsets in a *Rejection are those of the described form.
func EntryFromDescribed(b []byte, lim Limits) (*Entry, error) {
	return fromForm(func(t *canon.Type) ([]byte, error) {
		if t == entryCodec.Type() {
			return canon.FromDescribed(nil, t, b, lim)
		}
		return canon.FromDescribed(nil, t, describedBy(b, entryCodec.Type(), t), lim)
	}, lim)
}

// CheckSignature refuses a signature that is not by the entry's origin over its name. An entry without one, inside a
// commit, passes: only the rest of its commit can tell who wrote it.
func (e *Entry) CheckSignature() error { return e.verifySignature() }
