package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func canonCheckCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check [flags] FILE|-",
		Short: "Say whether bytes are canonical, and what they are",
		Long: `Check reads one value, one entry or one memory and says whether it is exactly what the format allows.

Of an entry it checks the form, the body against the header's commitment, and the signature if it has one. Of a memory it
also checks that every link leads to an entry and that a signature of its author covers each one.
One line end after the text form belongs to the file and is let pass.

With --hex-lines it reads one value in hexadecimal on each line and answers each with one line of JSON: {"ok":true,"text":…},
whose text is the value's text form as a JSON string, or {"ok":false,"phase":…,"predicate":…,"path":…,"offset":…}. It
answers as lines arrive, reads schema-less values unless --as says otherwise, and exits with 0 when every line was answered.`,
		Example: `  # the integer 1, not in its shortest spelling
  printf '\x18\x01' | perdure canon check -

  # an entry in text form
  perdure canon check --form text agent.jsonl

  # judge many values
  printf '01\n1801\n' | perdure canon check --hex-lines`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitRejected, exitInterrupted),
	}
	form := formFlag(c, "form", formBinary, "the form the bytes are in")
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
				as.value = asValue
			}
			return checkHexLines(c, append(args, "-")[0], form.value, as.value, lim)
		}
		if len(args) == 0 {
			return misuse(c, errors.New("name a FILE, or - for standard input"))
		}
		return check(c, args[0], form.value, as.value, lim)
	}
	return c
}

// finding is what check found, as JSON.
type finding struct {
	OK        bool   `json:"ok"`
	As        string `json:"as"`
	Form      string `json:"form"`
	Bytes     int64  `json:"bytes"`
	Kind      string `json:"kind,omitempty"`
	Name      string `json:"name,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Seq       *int64 `json:"seq,omitempty"`
	Signature string `json:"signature,omitempty"`
	Entries   int64  `json:"entries,omitempty"`
	Heads     int    `json:"heads,omitempty"`
	Fold      string `json:"fold,omitempty"`
}

// verdict is what is said of one value.
type verdict struct {
	OK   bool    `json:"ok"`
	Text *string `json:"text,omitempty"`
	*perdure.Rejection
}

func check(c *cobra.Command, name, form, as string, lim perdure.Limits) error {
	judge := checkItem
	if as == asMemory {
		judge = checkMemory
	}
	found, err := judge(c, name, form, as, lim)
	out := c.OutOrStdout()
	var refused *perdure.Rejection
	switch {
	case errors.As(err, &refused) && jsonFlag(c):
		printJSON(out, verdict{Rejection: refused})
		return &answered{err}
	case err != nil:
		return err
	case jsonFlag(c):
		printJSON(out, found)
		return nil
	}
	_, err = fmt.Fprintln(out, found)
	return err
}

// String is the finding as one line.
func (f finding) String() string {
	switch f.As {
	case asEntry:
		return fmt.Sprintf("ok: entry, %s %.12s, seq %d, signature %s, %d bytes", f.Kind, f.Name, *f.Seq, f.Signature, f.Bytes)
	case asMemory:
		return fmt.Sprintf("ok: memory, agent %.12s, entries %d, heads %d, %d bytes", f.Agent, f.Entries, f.Heads, f.Bytes)
	}
	return fmt.Sprintf("ok: value, %d bytes", f.Bytes)
}

func checkItem(c *cobra.Command, name, form, as string, lim perdure.Limits) (finding, error) {
	b, err := readWhole(c, name, lim)
	if err != nil {
		return finding{}, err
	}
	it, err := readItem(b, form, as, lim)
	if err != nil {
		return finding{}, err
	}
	found := finding{OK: true, As: asValue, Form: form, Bytes: int64(len(b))}
	e := it.entry
	if e == nil {
		return found, nil
	}
	found.As, found.Kind, found.Name, found.Agent, found.Seq = asEntry, e.Kind.String(), e.Name.String(), e.ID().String(), &e.Seq
	found.Signature = "none"
	if e.Signature != nil {
		found.Signature = "valid"
	}
	return found, e.CheckSignature()
}

func checkMemory(c *cobra.Command, name, form, _ string, lim perdure.Limits) (finding, error) {
	r, err := openInput(c, name)
	if err != nil {
		return finding{}, err
	}
	defer r.Close()
	counted := &countingReader{r: r}
	var entries []*perdure.Entry
	for e, err := range readMemory(counted, form, lim) {
		if err != nil {
			return finding{}, err
		}
		entries = append(entries, e)
	}
	a, err := perdure.FoldEntries(func(yield func(*perdure.Entry, error) bool) {
		for e := range slices.Values(entries) {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		return finding{}, err
	}
	fold, err := a.Fold().Hash()
	return finding{OK: true, As: asMemory, Form: form, Bytes: counted.n, Agent: a.ID().String(),
		Entries: a.Fold().Count, Heads: len(a.Heads()), Fold: fold.String()}, err
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
