// Package forms reads and writes entries, memories and schema-less values in the three forms: binary, described and
// text.
package forms

import (
	"bytes"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// The forms of a value.
const (
	Binary    = "binary"
	Described = "described"
	Text      = "text"
)

// What bytes are read as.
const (
	Auto    = "auto"
	Value   = "value"
	AnEntry = "entry"
	Memory  = "memory"
)

// Item is one schema-less value or one entry, whatever form it came in.
type Item struct {
	bin   []byte         // the binary form of a value
	Entry *perdure.Entry // nil for a value
}

// Read reads exactly one value or entry in a form.
func Read(b []byte, form, as string, lim perdure.Limits) (Item, error) {
	if form == Text {
		b = TrimLineEnd(b)
	}
	if as == AnEntry || as == Auto && looksLikeEntry(b, form) {
		e, err := ReadEntry(b, form, lim)
		return Item{Entry: e}, err
	}
	bin, err := b, error(nil)
	if form == Text {
		bin, err = canon.FromText(nil, canon.AnyType, b, lim)
	} else { // a schema-less value describes itself
		err = canon.Check(canon.AnyType, b, lim)
	}
	return Item{bin: bin}, err
}

func ReadEntry(b []byte, form string, lim perdure.Limits) (*perdure.Entry, error) {
	switch form {
	case Text:
		return perdure.EntryFromText(b, lim)
	case Described:
		return perdure.EntryFromDescribed(b, lim)
	}
	return perdure.DecodeEntry(b, lim)
}

func WriteEntry(e *perdure.Entry, form string) ([]byte, error) {
	switch form {
	case Text:
		return e.AppendText(nil)
	case Described:
		return e.Described()
	}
	return e.MarshalBinary()
}

// In returns the item in a form.
func (i Item) In(form string) ([]byte, error) {
	switch {
	case i.Entry != nil:
		return WriteEntry(i.Entry, form)
	case form == Text:
		return canon.ToText(nil, canon.AnyType, i.bin)
	}
	return i.bin, nil
}

// TrimLineEnd drops one line end: it belongs to the file, not to the value.
func TrimLineEnd(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}

// looksLikeEntry guesses from how bytes begin whether they are meant to be an entry. It says nothing about whether they
// are one.
func looksLikeEntry(b []byte, form string) bool {
	switch form {
	case Text:
		var fields map[string]json.RawMessage
		if json.Unmarshal(b, &fields) != nil {
			return false
		}
		_, has := fields["header"]
		return has
	case Described:
		// A map of two, "value": a map of one to three whose first key is body or header.
		rest, ok := bytes.CutPrefix(b, []byte("\xa2\x65value"))
		if !ok || len(rest) == 0 || rest[0] < 0xa1 || rest[0] > 0xa3 {
			return false
		}
		return bytes.HasPrefix(rest[1:], []byte("\x64body")) || bytes.HasPrefix(rest[1:], []byte("\x66header"))
	}
	// A map whose first key 1, the header, holds a map whose first key 1, the version, is a number.
	entry, ok := cutMapHead(b)
	if !ok {
		return false
	}
	entry, ok = bytes.CutPrefix(entry, []byte{1})
	if !ok {
		return false
	}
	header, ok := cutMapHead(entry)
	return ok && len(header) > 1 && header[0] == 1 && header[1] < 0x20
}

// cutMapHead cuts the head of a map of less than 256 pairs.
func cutMapHead(b []byte) ([]byte, bool) {
	switch {
	case len(b) > 0 && b[0] >= 0xa0 && b[0] <= 0xb7:
		return b[1:], true
	case len(b) > 1 && b[0] == 0xb8:
		return b[2:], true
	}
	return nil, false
}
