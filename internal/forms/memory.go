package forms

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// ReadMemory yields the entries of a memory: a CBOR sequence of them, or one a line in text form. Offsets of rejections
// are those in r.
func ReadMemory(r io.Reader, form string, lim perdure.Limits) iter.Seq2[*perdure.Entry, error] {
	var next func() ([]byte, int64, error)
	switch form {
	case Text:
		next = nextLine(r, lim)
	case Described:
		next = nextInSequence(r, lim)
	default:
		return perdure.ReadMemory(r, lim)
	}
	return func(yield func(*perdure.Entry, error) bool) {
		for {
			b, at, err := next()
			if err == io.EOF {
				return
			}
			var e *perdure.Entry
			if err == nil {
				e, err = ReadEntry(b, form, lim)
			}
			var refused *perdure.Rejection
			if errors.As(err, &refused) {
				refused.Offset += at
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// nextInSequence reads the parts of a CBOR sequence and where they start. Its rejections have their offset in the part.
func nextInSequence(r io.Reader, lim perdure.Limits) func() ([]byte, int64, error) {
	values := canon.NewReader(r, lim)
	return func() ([]byte, int64, error) {
		at := values.Offset()
		b, err := values.Next(canon.DataType)
		var refused *perdure.Rejection
		if errors.As(err, &refused) {
			refused.Offset -= at
		}
		return bytes.Clone(b), at, err
	}
}

// nextLine reads the lines of a text memory and where they start. A memory has one spelling: CR is refused as part of
// its line.
func nextLine(r io.Reader, lim perdure.Limits) func() ([]byte, int64, error) {
	text := NewLines(r, lim.Bytes)
	text.exact = true
	return func() ([]byte, int64, error) {
		line, at, err := text.Next()
		return bytes.Clone(line), at, err
	}
}
