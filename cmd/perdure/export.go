package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func exportCommand() *cobra.Command {
	c := command("export", cobra.MinimumNArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	form := &choice{capsule.Binary.String(), []string{capsule.Binary.String(), capsule.Described.String(), capsule.Text.String()}}
	choiceFlag(c, form, "form", "the form of the capsule")
	depth := c.Flags().String("depth", "full", "how much of the past: full, headers, or a number of entries")
	detached := c.Flags().Bool("detached", false, "put the signatures into FILE"+capsule.SigExt)
	embed := c.Flags().Bool("schema", false, "embed the schema of entries")
	to := c.Flags().StringArray("to", nil, "encrypt to this age recipient or SSH public key; may be repeated")
	pass := c.Flags().String("passphrase-file", "", "encrypt with the passphrase in this file")
	set := c.Flags().String("set", "", "write into this folder, where capsules share the parts of large bodies")
	manifest := c.Flags().Bool("manifest", false, "with --set: also sign all of them together with this home's key")
	move := c.Flags().Bool("move", false, "hand over the agent's seat: from now on it acts where this file is imported, not here")
	taker := c.Flags().String("for", "", "with --move: only a node with this key, or of this name in the trust file, may take the seat")
	force := c.Flags().Bool("force", false, "replace FILE if it exists; write binary to a terminal")
	c.RunE = func(c *cobra.Command, args []string) error {
		stream()
		e := &exporting{c: c, h: h, out: out, force: *force, detached: *detached, move: *move, taker: *taker}
		switch {
		case *taker != "" && !*move:
			return perdure.Invalid(errors.New("--for names who may take the seat; add --move to hand it over"))
		case *move && c.Flags().Changed("set"):
			return perdure.Invalid(errors.New("--move hands over one agent at a time; leave --set out"))
		}
		var err error
		if e.o.Form, err = capsule.ParseForm(form.value); err != nil {
			return perdure.Invalid(err)
		}
		if e.o.Depth, err = perdure.ParseDepth(*depth); err != nil {
			return perdure.Invalid(fmt.Errorf("--depth: %w", err))
		}
		if e.o.Recipients, err = home.Recipients(*to, *pass); err != nil {
			return perdure.Invalid(err)
		}
		e.o.Schema = *embed
		if *move && e.o.Depth != perdure.Full {
			return perdure.Invalid(errors.New("an agent that moves takes its whole memory along: without it, it may do nothing that must happen once; leave --depth out"))
		}
		h.Looks = e.o.Depth == perdure.Full && !*manifest && !*move // else it may have to write a snapshot, or sign
		if c.Flags().Changed("set") {
			switch {
			case *set == "":
				return perdure.Invalid(errors.New("--set is empty; name a folder"))
			case len(e.o.Recipients) > 0:
				return perdure.Invalid(errors.New("what a set shares cannot be encrypted to the readers of one capsule; leave --set out, or --to"))
			case *manifest && *detached:
				return perdure.Invalid(errors.New("signatures are detached or in a manifest; leave one of them out"))
			}
			return e.exportSet(*set, args, *manifest)
		}
		switch {
		case *manifest:
			return perdure.Invalid(errors.New("a manifest signs several capsules at once; name a folder for them with --set"))
		case len(args) > 2:
			return perdure.Invalid(errors.New("one AGENT goes into one FILE; to write several name a folder with --set"))
		case len(args) == 2:
			e.file = args[1]
		}
		if e.file == "-" && *detached {
			return perdure.Invalid(errors.New("detached signatures go into a file beside FILE; name a FILE"))
		}
		if e.file == "-" && !*force && e.o.Form != capsule.Text && term.IsTerminal(c.OutOrStdout()) {
			return perdure.Invalid(errors.New("this would write binary to a terminal; name a FILE, or use --force"))
		}
		if format, _ := out.check(); e.file == "-" && format != formatTable {
			return perdure.Invalid(fmt.Errorf("the capsule itself goes to standard output; leave -o %s out, or name a FILE", format))
		}
		return h.useFor(args[0], e.run)
	}
	return c
}

// exporting is one export.
type exporting struct {
	c        *cobra.Command
	h        *homeFlag
	out      *output
	o        capsule.Options
	file     string
	force    bool
	detached bool
	move     bool   // hand the seat over
	taker    string // to whom; empty: anybody
	begun    bool   // a snapshot was written to begin with
}

// exported is what export prints.
type exported struct {
	Agent   perdure.AgentID `json:"agent"`
	Name    string          `json:"name,omitempty"`
	File    string          `json:"file"`
	Form    string          `json:"form"`
	Depth   string          `json:"depth"`
	Entries int64           `json:"entries"`
	Bodies  int64           `json:"bodies"`
	Bytes   int64           `json:"bytes"`
	Heads   []perdure.Hash  `json:"heads"`
	Moved   bool            `json:"moved,omitempty"` // its seat was handed over
}

func (e *exporting) run(ctx context.Context, s perdure.Store, agent string) error {
	id, err := home.Find(ctx, s, agent)
	if err != nil {
		return err
	}
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return err
	}
	if e.file == "" {
		e.file = capsule.FileName(a.Fold().Intent.Name, id)
	}
	if d := a.Depth(); d != perdure.Full && !e.c.Flags().Changed("depth") {
		e.o.Depth = d
		note(e.c, "this store has %s: the capsule has depth %s", d.Words(), d)
	}
	for _, name := range append([]string{e.file}, sigName(e.file, e.detached)...) {
		if info, err := os.Stat(name); err == nil && e.file != "-" && !info.Mode().IsRegular() {
			return perdure.WithHint(fmt.Errorf("%s is not a regular file", name), "name a FILE, or - for standard output")
		} else if err == nil && !e.force && e.file != "-" {
			return perdure.WithHint(fmt.Errorf("%s is there already", name), "name another FILE, or use --force to replace it")
		}
	}
	bar := term.NewProgress(e.c.ErrOrStderr(), "export", a.Fold().Count)
	e.o.Progress = func(done, _ int64) { bar.To(done) }
	var end *capsule.Index
	var size int64
	handed := false
	write := func(w io.Writer) error {
		if e.move && !e.begun { // the file can be written
			if err := e.handOver(ctx, s, id); err != nil {
				return err
			}
			handed = true
		}
		n := &countingWriter{w: w}
		end, err = capsule.Export(ctx, n, s, id, e.o)
		size = n.n
		return err
	}
	switch {
	case e.file == "-":
		err = errors.Join(write(term.Raw(e.c.OutOrStdout())), e.c.Context().Err())
	case e.detached:
		e.o.Binding = capsule.Detached
		err = writeOutput(e.c, e.file+capsule.SigExt, func(sig io.Writer) error {
			e.o.Signatures = sig
			return writeOutput(e.c, e.file, write)
		})
	default:
		err = writeOutput(e.c, e.file, write)
	}
	bar.End()
	if errors.Is(err, capsule.ErrNoSnapshot) && !e.begun {
		e.begun = true
		if err := e.snapshot(ctx, s, id); err != nil {
			return perdure.WithHint(err, "use --depth full")
		}
		return e.run(ctx, s, id.String())
	}
	if err != nil && handed {
		err = perdure.WithHint(err, "its seat was handed over before that: export it again with --move, or take the seat back with perdure seat take "+view.Callable(a)+" --why TEXT")
	}
	if err != nil {
		return err
	}
	if d := e.o.Depth; d.Kind == perdure.DepthLast && d.N > 0 && end.Entries == a.Fold().Count && a.Depth() == perdure.Full {
		note(e.c, "no snapshot has %d or more entries after it: the capsule has all %d", d.N, end.Entries)
	}
	if e.file == "-" {
		return nil
	}
	r := exported{id, a.Fold().Intent.Name, e.file, e.o.Form.String(), e.o.Depth.String(), end.Entries, end.Bodies, size, end.Heads, e.move}
	return e.out.print(r, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %d entries, %d bytes, depth %s, head %s\n", r.File, r.Entries, r.Bytes, r.Depth, r.Heads[0])
		if r.Moved && err == nil {
			_, err = fmt.Fprintf(w, "%s goes on where this file is imported, and no longer here; import one copy only\n", view.Called(a))
		}
		return err
	})
}

// handOver gives the seat away. The file is written after it, so that it says so; to do both again does no harm.
func (e *exporting) handOver(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	n, err := e.h.Node(ctx, s)
	if err != nil {
		return err
	}
	var to perdure.Key
	if e.taker != "" {
		trust, err := e.h.Trust()
		if err != nil {
			return err
		}
		if to, err = takerKey(trust, e.taker); err != nil {
			return perdure.Invalid(fmt.Errorf("--for: %w", err))
		}
	}
	err = n.GiveSeat(ctx, id, to, "")
	switch {
	case errors.Is(err, perdure.ErrConflict):
		return perdure.WithHint(err, "a node is at work on it: pause it with perdure pause, or wait, and try again")
	case errors.Is(err, perdure.ErrDenied):
		return perdure.WithHint(err, "only the store that has the seat can hand it over; perdure seat show says where it is")
	}
	return err
}

// takerKey is the key of this name in the trust file, or as written.
func takerKey(trust *perdure.Trust, name string) (perdure.Key, error) {
	for _, t := range trust.Trustees() {
		if t.Name == name && !t.Revoked {
			return t.Key, nil
		}
	}
	k, _, err := perdure.ParseKey(name)
	return k, err
}

// begin writes a snapshot of an agent that has none, if its capsule is to begin with one.
func (e *exporting) begin(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	if e.o.Depth == perdure.Full {
		return nil
	}
	next, stop := iter.Pull2(s.Snapshots(ctx, id))
	defer stop()
	if _, err, ok := next(); ok {
		return err
	}
	return e.snapshot(ctx, s, id)
}

// snapshot writes the snapshot that a capsule without the whole memory begins with.
func (e *exporting) snapshot(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	n, err := e.h.Node(ctx, s)
	if err != nil {
		return err
	}
	if _, err := n.Snapshot(ctx, id); err != nil {
		return err
	}
	note(e.c, "wrote a snapshot of %s: the capsule begins there", id.Short())
	return nil
}

// sigName is the file of detached signatures, if there is to be one.
func sigName(file string, detached bool) []string {
	if !detached {
		return nil
	}
	return []string{file + capsule.SigExt}
}

// countingWriter counts what was written.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
