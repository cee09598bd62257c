package forms

import (
	"fmt"
	"io"

	"github.com/perdure/perdure"
)

// Finding is what a check found.
type Finding struct {
	OK    bool   `json:"ok"`
	As    string `json:"as"`
	Form  string `json:"form"`
	Bytes int64  `json:"bytes"`
}

// FoundEntry is what a check found of an entry.
type FoundEntry struct {
	Finding
	Kind      string       `json:"kind"`
	Name      perdure.Hash `json:"name"`
	Agent     string       `json:"agent"`
	Seq       int64        `json:"seq"`
	Signature string       `json:"signature"` // valid, or none inside a commit
}

// FoundMemory is what a check found of a memory.
type FoundMemory struct {
	Finding
	*perdure.Verified
}

// String is the finding in a line.
func (f Finding) String() string { return fmt.Sprintf("ok: value, %d bytes", f.Bytes) }

// String is the finding in a line.
func (f FoundEntry) String() string {
	return fmt.Sprintf("ok: entry, %s %s, seq %d, signature %s, %d bytes", f.Kind, f.Name.Short(), f.Seq, f.Signature,
		f.Bytes)
}

// String is the finding in a line.
func (f FoundMemory) String() string {
	return fmt.Sprintf("ok: memory, agent %s, entries %d, signatures %d, heads %d, %d bytes",
		f.Agent.Short(), f.Entries, f.Signatures, len(f.Heads), f.Bytes)
}

// Verdict is what is said of one value.
type Verdict struct {
	OK   bool    `json:"ok"`
	Text *string `json:"text,omitempty"`
	*perdure.Rejection
}

// Check reads exactly one value or entry, an entry with its signature, and says what it is.
func Check(b []byte, form, as string, lim perdure.Limits) (fmt.Stringer, error) {
	it, err := Read(b, form, as, lim)
	if err != nil {
		return nil, err
	}
	found := Finding{OK: true, As: Value, Form: form, Bytes: int64(len(b))}
	e := it.Entry
	if e == nil {
		return found, nil
	}
	found.As = AnEntry
	signature := "none"
	if e.Signature != nil {
		signature = "valid"
	}
	return FoundEntry{found, e.Kind.String(), e.Name, e.ID().String(), e.Seq, signature}, e.CheckSignature()
}

// CheckMemory verifies a whole memory, which open opens: again, where its branches lie far apart.
func CheckMemory(open func(use func(io.Reader) error) error, form string, lim perdure.Limits) (fmt.Stringer, error) {
	var bytes int64
	v, err := perdure.Verify(func(yield func(*perdure.Entry, error) bool) {
		err := open(func(r io.Reader) error {
			counted := &countingReader{r: r}
			defer func() { bytes = counted.n }()
			for e, err := range ReadMemory(counted, form, lim) {
				if err != nil || !yield(e, nil) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
		}
	}, perdure.VerifyOptions{})
	if err != nil {
		return nil, err
	}
	return FoundMemory{Finding{OK: true, As: Memory, Form: form, Bytes: bytes}, v}, nil
}

// countingReader counts what was read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}
