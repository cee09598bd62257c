package capsule

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Salvage reads every entry that is left in the damaged file of a store, in the order they lie there: whatever begins
// like an entry is tried, and counts if it is one. It returns how many could not be read.
func Salvage(path string) (entries []*perdure.Entry, lost int, err error) {
	err = salvage(path, math.MaxInt64, func(e *perdure.Entry) bool {
		if e == nil {
			lost++
		} else {
			entries = append(entries, e)
		}
		return true
	})
	return entries, lost, err
}

// maxOwner is how much of a damaged file is looked at to find out whose it is.
const maxOwner = 16 << 20

// Owner finds out whose a damaged file is, by the first entry that is left near its beginning; zero: nobody can tell.
func Owner(path string) (id perdure.AgentID) {
	_ = salvage(path, maxOwner, func(e *perdure.Entry) bool { // what cannot be read has no owner
		if e != nil {
			id = e.ID()
		}
		return e == nil
	})
	return id
}

// salvage yields each entry that begins before a place in a damaged file, nil for one that cannot be read.
func salvage(path string, before int64, yield func(*perdure.Entry) bool) error {
	f, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	form, at, err := formIn(f, before)
	l := &Log{path: path, form: form, f: f}
	for at >= 0 && err == nil {
		e, _ := l.read(l.decoderAt(at), row{at: at}) // an entry, or none
		if !yield(e) {
			break
		}
		_, at, err = nextStart(f, at+1, before, starts[form])
	}
	return err
}

// starts is what comes where an entry begins, by the form of the file.
var starts = map[Form][]string{
	Binary: {string([]byte{0x82, 0x61, frameEntry})},
	Text:   {"\n{" + entryText, "\n{\"chunks\":"},
}

// formIn tells the form of a file from its beginning or, where that is damaged, from the first entry in it, and finds
// where that may begin; negative: nowhere.
func formIn(f io.ReaderAt, before int64) (Form, int64, error) {
	b := make([]byte, 16)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return Binary, -1, err
	}
	if looksLikeText(b[:n]) {
		_, at, err := nextStart(f, 0, before, starts[Text])
		return Text, at, err
	}
	which, at, err := nextStart(f, 0, before, slices.Concat(starts[Binary], starts[Text]))
	if which > 0 {
		return Text, at, err
	}
	return Binary, at, err
}

// nextStart finds where the next entry may begin, and by which pattern; negative: nowhere. It holds a piece of the file
// at a time: a damaged file may be of any size.
func nextStart(f io.ReaderAt, from, before int64, patterns []string) (which int, at int64, err error) {
	const overlap = 16 // longer than every pattern
	b := make([]byte, 256<<10)
	for ; from < before; from += int64(len(b) - overlap) {
		n, err := f.ReadAt(b, from)
		if err != nil && err != io.EOF {
			return 0, -1, err
		}
		best := n
		for i, p := range patterns {
			if k := bytes.Index(b[:n], []byte(p)); k >= 0 && k < best {
				which, best = i, k
			}
		}
		if best < n {
			return which, from + int64(best+len(patterns[which])-len(strings.TrimLeft(patterns[which], "\n"))), nil
		}
		if err == io.EOF {
			break
		}
	}
	return 0, -1, nil
}

// Exchange durably puts a file with these entries in the place of a damaged one, which is kept under another name.
func Exchange(path, aside string, entries []*perdure.Entry) error {
	old, err := disk.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	if err := disk.Lock(old, true); err != nil {
		return err
	}
	if err := keepAside(path, aside); err != nil {
		return err
	}
	list, err := (&Log{head: newHead(entries[0].ID(), 0)}).missing(entries)
	if err != nil {
		return err
	}
	form, _, err := formIn(old, math.MaxInt64)
	if err != nil {
		return err
	}
	b, err := logBytes(form, entries[0].ID(), list)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := replaceFile(path, func(f disk.File) error { _, err := f.Write(b); return err })
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}

// DamagedMark is in the names of damaged files that another has taken the place of, before the time of that.
const DamagedMark = ".damaged-"

const damagedTime = "20060102-150405.000"

// keepAside durably gives a file, which is about to be replaced, another name.
func keepAside(path, aside string) error {
	if err := disk.Link(path, aside); err != nil { // a file system without links
		b, err := os.ReadFile(path)
		if err == nil {
			err = disk.Write(aside, b, 0o600)
		}
		if err == nil {
			err = disk.Sync(aside)
		}
		if err != nil {
			return err
		}
	}
	return disk.Sync(filepath.Dir(path))
}
