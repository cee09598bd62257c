package forms

import (
	"bufio"
	"errors"
	"io"

	"github.com/perdure/perdure"
)

// Convert writes one value or entry in another form.
func Convert(b []byte, from, to, as string, lim perdure.Limits) ([]byte, error) {
	it, err := Read(b, from, as, lim)
	if err != nil {
		return nil, err
	}
	return it.In(to)
}

// ConvertMemory writes a memory in another form, entry by entry, so that it may be larger than this machine's.
func ConvertMemory(w io.Writer, r io.Reader, from, to string, lim perdure.Limits) error {
	out := bufio.NewWriter(w)
	for e, err := range ReadMemory(r, from, lim) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		b, err := WriteEntry(e, to)
		if err != nil {
			return err
		}
		if to == Text {
			b = append(b, '\n')
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}
