package capsule

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Salvage reads every entry that is left in the damaged file of a store, in the order they lie there: whatever begins
// like an entry is tried, and counts if it is one. It returns how many could not be read.
func Salvage(path string) (entries []*perdure.Entry, lost int, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	l := &Log{path: path, form: formOf(b)}
	if l.f, err = disk.OpenFile(path, os.O_RDONLY, 0); err != nil {
		return nil, 0, err
	}
	defer func() { _ = l.f.Close() }() // it was only read
	for at, next := 0, 0; at < len(b); at = next {
		n := starts(b[at:], l.form)
		if n < 0 {
			break
		}
		at += n
		next = at + 1
		e, err := l.read(l.decoderAt(int64(at)), row{at: int64(at)})
		if e == nil && err != nil {
			lost++
			continue
		}
		entries = append(entries, e)
	}
	return entries, lost, nil
}

// formOf tells the form of a file from its beginning or, where that is damaged, from what it is full of.
func formOf(b []byte) Form {
	if looksLikeText(b) || bytes.Contains(b, []byte("\n{\"entry\":")) {
		return Text
	}
	return Binary
}

// starts is where the next entry of a file may begin; negative: nowhere.
func starts(b []byte, form Form) int {
	if form == Binary {
		return bytes.Index(b, []byte{0x82, 0x61, frameEntry})
	}
	best := -1
	for _, begin := range []string{"\n{" + entryText, "\n{\"chunks\":"} {
		if i := bytes.Index(b, []byte(begin)); i >= 0 && (best < 0 || i+1 < best) {
			best = i + 1
		}
	}
	return best
}

// Exchange durably puts a file with these entries in the place of a damaged one, which is kept under another name.
func Exchange(path, aside string, entries []*perdure.Entry) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	old, err := disk.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	if err := disk.Lock(old, true); err != nil {
		return err
	}
	if err := disk.Link(path, aside); err != nil {
		if err := disk.Write(aside, b, 0o600); err != nil { // a file system without links
			return err
		}
	}
	if err := disk.Sync(filepath.Dir(path)); err != nil {
		return err
	}
	list, err := (&Log{head: newHead(entries[0].ID(), 0)}).missing(entries)
	if err != nil {
		return err
	}
	form := formOf(b)
	if b, err = logBytes(form, entries[0].ID(), list); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := replaceFile(path, func(f disk.File) error { _, err := f.Write(b); return err })
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}
