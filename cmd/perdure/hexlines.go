package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/forms"
)

// predHex is broken by a line that is not hexadecimal. It is a rule of this command, not of the format.
const predHex = "input.hex"

// checkHexLines answers each line of hexadecimal with a verdict. Answers never wait for a line that has not been sent yet.
func checkHexLines(c *cobra.Command, name, form, as string, lim perdure.Limits) error {
	if as == forms.Memory {
		return perdure.Invalid(errors.New("--hex-lines judges values and entries; check a memory without it"))
	}
	return withInput(c, name, func(r io.Reader) error {
		in, out := forms.NewLines(r, 2*lim.Bytes), bufio.NewWriter(c.OutOrStdout())
		for {
			if !in.Ready() {
				if err := out.Flush(); err != nil {
					return err
				}
			}
			line, _, err := in.Next()
			if err == io.EOF {
				return out.Flush()
			}
			v, err := answer(line, err, form, as, lim)
			if err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			if err := printJSON(out, v); err != nil {
				return err
			}
		}
	})
}

// answer is the verdict on a line, or on why it could not be read whole.
func answer(line []byte, unread error, form, as string, lim perdure.Limits) (verdict, error) {
	var refused *perdure.Rejection
	switch {
	case errors.As(unread, &refused):
		refused.Offset = lim.Bytes // in the value, not in its hexadecimal
		return verdict{Rejection: refused}, nil
	case unread != nil:
		return verdict{}, unread
	}
	return judge(line, form, as, lim)
}

// judge decides on one line. The line is overwritten.
func judge(line []byte, form, as string, lim perdure.Limits) (verdict, error) {
	n, err := hex.Decode(line, line)
	if err != nil {
		return verdict{Rejection: notHex(line, n, err)}, nil
	}
	it, err := forms.Read(line[:n], form, as, lim)
	if err == nil && it.Entry != nil {
		err = it.Entry.CheckSignature()
	}
	var text []byte
	if err == nil {
		text, err = it.In(forms.Text)
	}
	var refused *perdure.Rejection
	switch {
	case errors.As(err, &refused):
		return verdict{Rejection: refused}, nil
	case err != nil:
		return verdict{}, err
	}
	s := string(text)
	return verdict{OK: true, Text: &s}, nil
}

// notHex says where a line stops being hexadecimal, n bytes into it.
func notHex(line []byte, n int, err error) *perdure.Rejection {
	r := &perdure.Rejection{Phase: canon.PhaseStructure, Predicate: predHex, Path: "$", Offset: int64(2 * n),
		Got: "an odd number of digits", Want: "two hexadecimal digits for each byte", Hint: "write the bytes as hexadecimal digits and nothing else"}
	var bad hex.InvalidByteError
	if errors.As(err, &bad) {
		if line[2*n] != byte(bad) {
			r.Offset++ // the second digit of the pair
		}
		r.Got = fmt.Sprintf("%q", rune(bad))
	}
	return r
}
