package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func importCommand() *cobra.Command {
	c := remotely(command("import", cobra.ExactArgs(1)))
	h, out := storeFlag(c).acting(), outputFlags(c)
	trusted := c.Flags().Bool("trusted", false, "refuse an agent with entries by untrusted keys, instead of holding it")
	ready := c.Flags().Bool("ready", false,
		"admit it now, unless policy denies it; an agent that is here already is admitted with perdure resume")
	shallow := c.Flags().Bool("shallow", false, "validate less if a key trusted everywhere signed FILE"+home.AttestExt+
		" for exactly this capsule (perdure verify --attest)")
	var policies []string
	policyFlag(c, &policies)
	older := c.Flags().Bool("older", false, "accept a copy older than the one here as no error, and add nothing")
	drop := c.Flags().Bool("drop-unknown", false,
		"put an older copy in the place of the one here if only unknown keys have written to it since; theirs is "+
			"dropped")
	most := c.Flags().String("max", "", fmt.Sprintf("refuse a capsule larger than this, packed or unpacked, such as "+
		"64MiB (default: %dGiB, unpacking to %dMiB and %d times its size)",
		int64(capsule.DefaultMaxBytes)>>30, capsule.DefaultUnpacked>>20, capsule.DefaultRatio))
	ids := c.Flags().StringArray("identity", nil,
		"decrypt with this file of age identities or SSH private key; may be repeated")
	pass := c.Flags().String("passphrase-file", "", "decrypt with the passphrase in this file")
	c.RunE = func(c *cobra.Command, args []string) error {
		stream()
		var o home.Intake
		var err error
		if o.Identities, err = home.Identities(*ids, *pass); err != nil {
			return err
		}
		if *most != "" {
			if o.MaxBytes, err = view.ParseBytes(*most); err != nil || o.MaxBytes == 0 {
				return perdure.Invalid(fmt.Errorf("--max %q: want a number of bytes such as 4096, 64MiB or 1GiB",
					*most))
			}
		}
		o.Read = new(home.Meter)
		src, done, err := importable(c, args[0], o.Read, &o.ImportOptions)
		if err != nil {
			return err
		}
		defer done()
		if *shallow && (src == nil || args[0] == "-") {
			return perdure.Invalid(errors.New("--shallow is about a capsule and the file beside it; name a FILE"))
		}
		if r, on, err := through(c, out); on {
			if err != nil {
				return err
			}
			if src == nil || *shallow || *drop || *ready || *trusted || len(policies) > 0 {
				return perdure.Invalid(
					errors.New("through a server one capsule is taken in, as its home decides; leave out " +
						"--shallow, --drop-unknown, --ready, --trusted and --policy"),
				)
			}
			return r.take(src, *older)
		}
		o.Older, o.Drop, o.Ready, o.Refuse, o.Policies = *older, *drop, *ready, *trusted, policies
		if *shallow {
			o.Word = args[0]
		}
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			if src == nil {
				found, err := h.ImportSet(ctx, s, args[0], o)
				if found == nil {
					return err
				}
				return errors.Join(err, list(out, found, func(w io.Writer) error { return writeArrived(w, found...) }))
			}
			r, err := h.Import(ctx, s, src, o)
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
		head, more := r.Text()
		text.WriteString(head + "\n")
		for _, line := range more {
			text.WriteString(here(line) + "\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// importable opens what is to be imported, and what is beside it; nil for a set, which is opened as one.
func importable(c *cobra.Command, name string, m *home.Meter, o *capsule.ImportOptions) (io.ReadSeeker, func(), error) {
	remove, beside := func() {}, func() error { return nil }
	if name == "-" {
		spooled, gone, err := spool(c, cmp.Or(o.MaxBytes, capsule.DefaultMaxBytes)+(1<<20))
		if err != nil {
			return nil, nil, err
		}
		name, remove = spooled, gone
	} else if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, remove, nil
	} else if beside, err = home.Companions(name, &o.ReadOptions); err != nil {
		return nil, nil, err
	}
	f, err := disk.Open(name)
	if err != nil {
		_ = beside() // it was only read
		remove()
		return nil, nil, err
	}
	return m.Of(f), func() { _ = errors.Join(f.Close(), beside()); remove() }, nil // as above
}
