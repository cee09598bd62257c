package forms

import (
	"errors"
	"fmt"
	"io"

	"github.com/perdure/perdure"
)

// Source is bytes in one of the forms: a value, an entry or a memory.
type Source struct {
	Name   string                                // for people
	Open   func(use func(io.Reader) error) error // opens the bytes, again if need be
	Piped  bool                                  // they can be opened only once
	Form   string                                // they are in
	As     string                                // what they are
	Limits perdure.Limits
}

// whole reads one value. It stops after the limit: what is longer is refused by whoever reads it.
func (s *Source) whole() (b []byte, err error) {
	err = s.Open(func(r io.Reader) (err error) {
		if b, err = io.ReadAll(io.LimitReader(r, s.Limits.Bytes+int64(len("\r\n"))+1)); err != nil {
			return fmt.Errorf("read %s: %w", s.Name, err)
		}
		return nil
	})
	return b, err
}

// Check reads all of it, and says what it is.
func (s *Source) Check() (fmt.Stringer, error) {
	if s.As != Memory {
		b, err := s.whole()
		if err != nil {
			return nil, err
		}
		return Check(b, s.Form, s.As, s.Limits)
	}
	pass := 0
	return CheckMemory(func(use func(io.Reader) error) error {
		if pass++; pass > 1 && s.Piped {
			return errors.New(
				"the branches of this memory lie too far apart to verify it from a pipe; put it in a file")
		}
		return s.Open(use)
	}, s.Form, s.Limits)
}

// Convert writes it in another form. With end, text ends its line.
func (s *Source) Convert(w io.Writer, to string, end bool) error {
	if s.As == Memory {
		return s.Open(func(r io.Reader) error { return ConvertMemory(w, r, s.Form, to, s.Limits) })
	}
	b, err := s.whole()
	if err != nil {
		return err
	}
	out, err := Convert(b, s.Form, to, s.As, s.Limits)
	if err != nil {
		return err
	}
	if to == Text && end {
		out = append(out, '\n')
	}
	_, err = w.Write(out)
	return err
}

// HexLines answers each line of hexadecimal with a verdict; see HexLines.
func (s *Source) HexLines(each func(Verdict) error, flush func() error) error {
	if s.As == Memory {
		return perdure.Invalid(errors.New("--hex-lines judges values and entries; check a memory without it"))
	}
	return s.Open(func(r io.Reader) error {
		if err := HexLines(r, s.Form, s.As, s.Limits, each, flush); err != nil {
			return fmt.Errorf("read %s: %w", s.Name, err)
		}
		return nil
	})
}
