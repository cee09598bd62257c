package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
)

func importCommand() *cobra.Command {
	c := command("import", cobra.ExactArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	trusted := c.Flags().Bool("trusted", false, "refuse an agent with entries by untrusted keys, instead of holding it")
	ready := c.Flags().Bool("ready", false, "admit it now, unless policy denies it; an agent that is here already is admitted with perdure resume")
	shallow := c.Flags().Bool("shallow", false, "validate less if a key trusted everywhere signed FILE"+home.AttestExt+" for exactly this capsule (perdure verify --attest)")
	var policies []string
	policyFlag(c, &policies)
	older := c.Flags().Bool("older", false, "accept a copy older than the one here as no error, and add nothing")
	most := c.Flags().String("max", "", fmt.Sprintf("refuse a capsule larger than this, packed or unpacked, such as 64MiB (default: %dGiB, unpacking to %dMiB and %d times its size)",
		int64(capsule.DefaultMaxBytes)>>30, capsule.DefaultUnpacked>>20, capsule.DefaultRatio))
	ids := c.Flags().StringArray("identity", nil, "decrypt with this file of age identities or SSH private key; may be repeated")
	pass := c.Flags().String("passphrase-file", "", "decrypt with the passphrase in this file")
	c.RunE = func(c *cobra.Command, args []string) error {
		stream()
		var o capsule.ImportOptions
		var err error
		if o.Identities, err = home.Identities(*ids, *pass); err != nil {
			return err
		}
		if *most != "" {
			if o.MaxBytes, err = parseBytes(*most); err != nil || o.MaxBytes == 0 {
				return perdure.Invalid(fmt.Errorf("--max %q: want a number of bytes such as 4096, 64MiB or 1GiB", *most))
			}
		}
		read := new(home.Meter)
		src, done, err := importable(c, args[0], read, &o)
		if err != nil {
			return err
		}
		defer done()
		if *shallow && (src == nil || args[0] == "-") {
			return perdure.Invalid(errors.New("--shallow is about a capsule and the file beside it; name a FILE"))
		}
		o.Older, o.Ready, o.Refuse = *older, *ready, *trusted
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			if err := h.Admitting(ctx, policies, &o); err != nil {
				return err
			}
			if *shallow {
				if err := home.OnWord(h.Home, args[0], &o.ReadOptions); err != nil {
					return err
				}
			}
			if src == nil {
				found, err := h.ImportSet(ctx, s, args[0], o)
				if found == nil {
					return err
				}
				return errors.Join(err, list(out, found, func(w io.Writer) error { return writeArrived(w, found...) }))
			}
			from := func(o capsule.ImportOptions) (*capsule.Arrival, error) { return capsule.Import(ctx, s, src, o) }
			r, err := h.TakeIn(ctx, s, read, o, from)
			if err != nil {
				return err
			}
			return out.print(r, func(w io.Writer) error { return writeArrived(w, r) })
		})
	}
	return c
}

// writeArrived says what came of imports.
func writeArrived(w io.Writer, all ...*home.Arrived) error {
	var text strings.Builder
	for _, r := range all {
		text.WriteString(arrivedText(r))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// arrivedText says what came of an import.
func arrivedText(r *home.Arrived) string {
	got, a := r.From, r.Now
	what := r.Relation
	if got.Relation == capsule.Same || got.Relation == capsule.Older {
		what += ", nothing new"
	}
	if got.Relation == capsule.Mended {
		what = fmt.Sprintf("it was damaged here, and now has what is good of both, %s it could not read before", view.Several(got.Healed.Gained, "entry"))
	}
	if got.Relation == capsule.Restored {
		what = "the copy here had more, all of it by strangers; this one took its place"
	}
	text := fmt.Sprintf("%s %s: %s, %s, now %s\n", view.Called(a), a.ID(), what, view.Several(r.Entries, "entry"), r.Standing)
	if d := a.Depth(); d != perdure.Full {
		text += "depth " + d.String() + ": here is " + d.Words() + "; import the whole memory to give it all its rights\n"
	}
	if got.Relation == capsule.Deeper && a.Depth() == perdure.Full {
		text += "the whole memory is here now: it has all its rights\n"
	}
	if r.Held {
		text += here("it is held: "+view.HeldText(got.Stranger)) + "\n"
	}
	if !got.Hold.IsZero() && a.Fold().Ended == nil {
		text += here("it arrived paused, with no local budget until admitted; look at it with perdure show "+view.Callable(a)+
			", then perdure resume "+view.Callable(a)) + "\n"
	}
	return text
}

// importable opens what is to be imported, and what is beside it; nil for a set, which is opened as one.
func importable(c *cobra.Command, name string, m *home.Meter, o *capsule.ImportOptions) (io.ReadSeeker, func(), error) {
	if name == "-" {
		return seekable(c, name, m, o.MaxBytes)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, func() {}, nil
	}
	src, done, err := seekable(c, name, m, o.MaxBytes)
	if err != nil {
		return nil, nil, err
	}
	besides, err := home.Companions(name, &o.ReadOptions)
	if err != nil {
		done()
		return nil, nil, err
	}
	return src, func() { done(); _ = besides() }, nil // they were only read
}

// seekable opens a file, or copies standard input to one that is gone afterwards: a capsule is read twice.
func seekable(c *cobra.Command, name string, m *home.Meter, most int64) (io.ReadSeeker, func(), error) {
	if name != "-" {
		f, err := disk.Open(name)
		if err != nil {
			return nil, nil, err
		}
		return m.Of(f), func() { _ = f.Close() }, nil // it was only read
	}
	f, err := os.CreateTemp("", "perdure-import-*")
	if err != nil {
		return nil, nil, err
	}
	done := func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) } // a temporary file that stays does no harm
	err = withInput(c, "-", func(r io.Reader) error {
		_, err := io.Copy(f, io.LimitReader(r, cmp.Or(most, capsule.DefaultMaxBytes)+(1<<20)))
		return err
	})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return m.Of(f), done, nil
}
