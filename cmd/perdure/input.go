package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/disk"
)

// withInput calls use with a file, or with standard input for "-". Reading ends when the command is interrupted.
func withInput(c *cobra.Command, name string, use func(io.Reader) error) error {
	if name != "-" {
		f, err := disk.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(use(f), f.Close())
	}
	r, w := io.Pipe()
	// A read of a terminal or a pipe cannot be called off: this goroutine ends with its input or with the process.
	go func() {
		_, err := io.Copy(w, c.InOrStdin())
		w.CloseWithError(err)
	}()
	stop := context.AfterFunc(c.Context(), func() { w.CloseWithError(c.Context().Err()) })
	defer stop()
	return errors.Join(use(r), r.Close())
}

// readWhole reads an input that holds one value. It stops after the limit: what is longer is refused by whoever reads it.
func readWhole(c *cobra.Command, name string, lim perdure.Limits) ([]byte, error) {
	var b []byte
	err := withInput(c, name, func(r io.Reader) (err error) {
		if b, err = io.ReadAll(io.LimitReader(r, lim.Bytes+int64(len("\r\n"))+1)); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return nil
	})
	return b, err
}

// lines reads lines of bounded length. Line ends, LF or CRLF, are not part of a line; a last line may lack one.
type lines struct {
	r   *bufio.Reader
	max int64
	off int64 // of the line that comes next
	buf []byte

	exact bool // only LF ends a line: CR before it is a byte of the line
}

func newLines(r io.Reader, max int64) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// next returns the next line, valid until the next call, and where it starts. A line that is too long is a *Rejection and is skipped;
// the line after it can be read. At the end next returns io.EOF.
func (l *lines) next() (line []byte, at int64, err error) {
	l.buf, at = l.buf[:0], l.off
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.off += int64(len(part))
		if !long {
			l.buf = append(l.buf, part...)
			long = int64(len(l.buf)) > l.max+int64(len("\r\n"))
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == io.EOF && l.off > at {
			err = nil
		}
		if err != nil {
			return nil, at, err
		}
		break
	}
	line = trimLineEnd(l.buf)
	if l.exact {
		line = bytes.TrimSuffix(l.buf, []byte("\n"))
	}
	if long || int64(len(line)) > l.max {
		return nil, at, &perdure.Rejection{Phase: canon.PhaseStructure, Predicate: canon.PredBytes, Path: "$", Offset: l.max,
			Got: "a longer line", Want: "the byte limit", Hint: "split the value or raise --limit-bytes"}
	}
	return line, at, nil
}

// ready reports whether the next line has arrived whole, so that reading it will not wait for whoever sends it.
func (l *lines) ready() bool {
	b, err := l.r.Peek(l.r.Buffered())
	return err == nil && bytes.IndexByte(b, '\n') >= 0
}
