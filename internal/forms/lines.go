package forms

import (
	"bufio"
	"bytes"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// Lines reads lines of bounded length. Line ends, LF or CRLF, are not part of a line; a last line may lack one.
type Lines struct {
	r   *bufio.Reader
	max int64
	off int64 // of the line that comes next
	buf []byte

	exact bool // only LF ends a line: CR before it is a byte of the line
}

func NewLines(r io.Reader, max int64) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// Next returns the next line, valid until the next call, and where it starts. A line that is too long is a *Rejection
// and is skipped; the line after it can be read. At the end next returns io.EOF.
func (l *Lines) Next() (line []byte, at int64, err error) {
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
	line = TrimLineEnd(l.buf)
	if l.exact {
		line = bytes.TrimSuffix(l.buf, []byte("\n"))
	}
	if long || int64(len(line)) > l.max {
		return nil, at, &perdure.Rejection{Phase: canon.PhaseStructure, Predicate: canon.PredBytes, Path: "$",
			Offset: l.max,
			Got:    "a longer line", Want: "the byte limit", Hint: "split the value or raise --limit-bytes"}
	}
	return line, at, nil
}

// Ready reports whether the next line has arrived whole, so that reading it will not wait for whoever sends it.
func (l *Lines) Ready() bool {
	b, err := l.r.Peek(l.r.Buffered())
	return err == nil && bytes.IndexByte(b, '\n') >= 0
}
