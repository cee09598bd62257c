package perdure

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/perdure/perdure/internal/canon"
)

// ReadMemory yields the entries of a memory written by WriteMemory: a CBOR sequence of entry records, parents before children. It refuses
// bytes that are not one within a read buffer of the first bad one, with the offset in the stream, and ends there; it holds one entry at a
// time, and no more than the limits allow. It can be ranged over again if r can seek.
func ReadMemory(r io.Reader, lim Limits) iter.Seq2[*Entry, error] {
	var start int64
	seeker, seekable := r.(io.Seeker)
	if seekable {
		var err error
		start, err = seeker.Seek(0, io.SeekCurrent)
		seekable = err == nil
	}
	used := false
	return func(yield func(*Entry, error) bool) {
		if used {
			if !seekable {
				yield(nil, errors.New("read memory again: its input cannot seek; put it in a file"))
				return
			}
			if _, err := seeker.Seek(start, io.SeekStart); err != nil {
				yield(nil, fmt.Errorf("read memory again: %w", err))
				return
			}
		}
		used = true
		in := canon.NewReader(r, lim)
		for {
			at := in.Offset()
			b, err := in.Next(entryCodec.Type())
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			e, err := DecodeEntry(append(make([]byte, 0, len(b)), b...), lim)
			if rej, ok := err.(*Rejection); ok {
				rej.Offset += at
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// WriteMemory writes entries as ReadMemory reads them. Yield parents before children.
func WriteMemory(w io.Writer, entries iter.Seq2[*Entry, error]) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var b []byte
	for e, err := range entries {
		if err != nil {
			return err
		}
		if b, err = e.AppendBinary(b[:0]); err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return fmt.Errorf("write memory: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write memory: %w", err)
	}
	return nil
}
