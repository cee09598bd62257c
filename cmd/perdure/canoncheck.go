package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/forms"
)

func canonCheckCommand() *cobra.Command {
	c := command("canon check", cobra.MaximumNArgs(1))
	form := formFlag(c, "form", forms.Binary, "the form the bytes are in")
	as := asFlag(c)
	limit := limitFlag(c)
	hexLines := c.Flags().Bool("hex-lines", false, "answer one value in hexadecimal on each line")
	c.RunE = func(c *cobra.Command, args []string) error {
		lim, err := limitsOf(c, *limit)
		if err != nil {
			return err
		}
		if *hexLines {
			if !c.Flags().Changed("as") {
				as.value = forms.Value
			}
			return checkHexLines(c, append(args, "-")[0], form.value, as.value, lim)
		}
		if len(args) == 0 {
			return perdure.Invalid(errors.New("name a FILE, or - for standard input"))
		}
		return check(c, args[0], form.value, as.value, lim)
	}
	return c
}

// finding is what check found.
type finding struct {
	OK    bool   `json:"ok"`
	As    string `json:"as"`
	Form  string `json:"form"`
	Bytes int64  `json:"bytes"`
}

type foundEntry struct {
	finding
	Kind      string       `json:"kind"`
	Name      perdure.Hash `json:"name"`
	Agent     string       `json:"agent"`
	Seq       int64        `json:"seq"`
	Signature string       `json:"signature"` // valid, or none inside a commit
}

type foundMemory struct {
	finding
	*perdure.Verified
}

func (f finding) String() string { return fmt.Sprintf("ok: value, %d bytes", f.Bytes) }

func (f foundEntry) String() string {
	return fmt.Sprintf("ok: entry, %s %s, seq %d, signature %s, %d bytes", f.Kind, f.Name.Short(), f.Seq, f.Signature, f.Bytes)
}

func (f foundMemory) String() string {
	return fmt.Sprintf("ok: memory, agent %s, entries %d, signatures %d, heads %d, %d bytes",
		f.Agent.Short(), f.Entries, f.Signatures, len(f.Heads), f.Bytes)
}

// verdict is what is said of one value.
type verdict struct {
	OK   bool    `json:"ok"`
	Text *string `json:"text,omitempty"`
	*perdure.Rejection
}

func check(c *cobra.Command, name, form, as string, lim perdure.Limits) error {
	judge := checkItem
	if as == forms.Memory {
		judge = checkMemory
	}
	found, err := judge(c, name, form, as, lim)
	out := c.OutOrStdout()
	var refused *perdure.Rejection
	switch {
	case errors.As(err, &refused) && jsonFlag(c):
		return errors.Join(&answered{err}, printJSON(out, verdict{Rejection: refused}))
	case err != nil:
		return err
	case jsonFlag(c):
		return printJSON(out, found)
	}
	_, err = fmt.Fprintln(out, found)
	return err
}

func checkItem(c *cobra.Command, name, form, as string, lim perdure.Limits) (fmt.Stringer, error) {
	b, err := readWhole(c, name, lim)
	if err != nil {
		return nil, err
	}
	it, err := forms.Read(b, form, as, lim)
	if err != nil {
		return nil, err
	}
	found := finding{OK: true, As: forms.Value, Form: form, Bytes: int64(len(b))}
	e := it.Entry
	if e == nil {
		return found, nil
	}
	found.As = forms.AnEntry
	signature := "none"
	if e.Signature != nil {
		signature = "valid"
	}
	return foundEntry{found, e.Kind.String(), e.Name, e.ID().String(), e.Seq, signature}, e.CheckSignature()
}

func checkMemory(c *cobra.Command, name, form, _ string, lim perdure.Limits) (fmt.Stringer, error) {
	var bytes int64
	pass := 0
	// Verify goes over a memory a second time when its branches lie far apart.
	v, err := perdure.Verify(func(yield func(*perdure.Entry, error) bool) {
		if pass++; pass > 1 && name == "-" {
			yield(nil, errors.New("the branches of this memory lie too far apart to verify it from a pipe; put it in a file"))
			return
		}
		err := withInput(c, name, func(r io.Reader) error {
			counted := &countingReader{r: r}
			defer func() { bytes = counted.n }()
			for e, err := range forms.ReadMemory(counted, form, lim) {
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
	return foundMemory{finding{OK: true, As: forms.Memory, Form: form, Bytes: bytes}, v}, nil
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
