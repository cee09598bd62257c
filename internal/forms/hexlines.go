package forms

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// predHex is broken by a line that is not hexadecimal. It is a rule of these lines, not of the format.
const predHex = "input.hex"

// HexLines answers each line of hexadecimal with a verdict. Flush is called before it waits for a line that has not
// been sent yet, and at the end.
func HexLines(r io.Reader, form, as string, lim perdure.Limits, each func(Verdict) error, flush func() error) error {
	in := NewLines(r, 2*lim.Bytes)
	for {
		if !in.Ready() {
			if err := flush(); err != nil {
				return err
			}
		}
		line, _, err := in.Next()
		if err == io.EOF {
			return flush()
		}
		v, err := answer(line, err, form, as, lim)
		if err != nil {
			return err
		}
		if err := each(v); err != nil {
			return err
		}
	}
}

// answer is the Verdict on a line, or on why it could not be read whole.
func answer(line []byte, unread error, form, as string, lim perdure.Limits) (Verdict, error) {
	var refused *perdure.Rejection
	switch {
	case errors.As(unread, &refused):
		refused.Offset = lim.Bytes // in the value, not in its hexadecimal
		return Verdict{Rejection: refused}, nil
	case unread != nil:
		return Verdict{}, unread
	}
	return judge(line, form, as, lim)
}

// judge decides on one line. The line is overwritten.
func judge(line []byte, form, as string, lim perdure.Limits) (Verdict, error) {
	n, err := hex.Decode(line, line)
	if err != nil {
		return Verdict{Rejection: notHex(line, n, err)}, nil
	}
	it, err := Read(line[:n], form, as, lim)
	if err == nil && it.Entry != nil {
		err = it.Entry.CheckSignature()
	}
	var text []byte
	if err == nil {
		text, err = it.In(Text)
	}
	var refused *perdure.Rejection
	switch {
	case errors.As(err, &refused):
		return Verdict{Rejection: refused}, nil
	case err != nil:
		return Verdict{}, err
	}
	s := string(text)
	return Verdict{OK: true, Text: &s}, nil
}

// notHex says where a line stops being hexadecimal, n bytes into it.
func notHex(line []byte, n int, err error) *perdure.Rejection {
	r := &perdure.Rejection{Phase: canon.PhaseStructure, Predicate: predHex, Path: "$", Offset: int64(2 * n),
		Got: "an odd number of digits", Want: "two hexadecimal digits for each byte",
		Hint: "write the bytes as hexadecimal digits and nothing else"}
	var bad hex.InvalidByteError
	if errors.As(err, &bad) {
		if line[2*n] != byte(bad) {
			r.Offset++ // the second digit of the pair
		}
		r.Got = fmt.Sprintf("%q", rune(bad))
	}
	return r
}
