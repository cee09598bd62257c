package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
)

func importCommand() *cobra.Command {
	c := remotely(command("import", cobra.ExactArgs(1)))
	h, out := storeFlag(c).acting().founding(), outputFlags(c)
	var in home.Intake
	f := c.Flags()
	f.BoolVar(&in.Refuse, "trusted", false, "refuse an agent with entries by untrusted keys, instead of holding it")
	f.BoolVar(&in.Ready, "ready", false,
		"admit it now, unless policy denies it; an agent that is here already is admitted with perdure resume")
	shallow := f.Bool("shallow", false, "validate less if a key trusted everywhere signed FILE"+home.AttestExt+
		" for exactly this capsule (perdure verify --attest)")
	policyFlag(c, &in.Policies)
	f.BoolVar(&in.Older, "older", false, "do not fail on a copy older than the one here; add nothing")
	f.BoolVar(&in.Drop, "drop-unknown", false,
		"put an older copy in the place of the one here if only unknown keys have written to it since; theirs is "+
			"dropped")
	f.StringVar(&in.SetAside, "set-aside", "", "if it cannot be merged with the copy here, keep that one as this "+
		"file, and put the arriving one in its place")
	most := f.String("max", "", fmt.Sprintf("refuse a capsule larger than this, packed or unpacked, such as "+
		"64MiB (default: %dGiB, unpacking to %dMiB and %d times its size)",
		int64(capsule.DefaultMaxBytes)>>30, capsule.DefaultUnpacked>>20, capsule.DefaultRatio))
	ids := f.StringArray("identity", nil,
		"decrypt with this file of age identities or SSH private key; may be repeated")
	pass := f.String("passphrase-file", "", "decrypt with the passphrase in this file")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		stream()
		if in.Identities, err = home.Identities(*ids, *pass); err != nil {
			return err
		}
		if *most != "" {
			if in.MaxBytes, err = view.ParseBytes(*most); err != nil || in.MaxBytes == 0 {
				return perdure.Invalid(fmt.Errorf("--max %q: want a number of bytes such as 4096, 64MiB or 1GiB",
					*most))
			}
		}
		name := args[0]
		if name == "-" {
			spooled, remove, err := spool(c, cmp.Or(in.MaxBytes, capsule.DefaultMaxBytes)+(1<<20))
			if err != nil {
				return err
			}
			defer remove()
			name = spooled
		}
		src, done, err := home.OpenImport(name, &in)
		if err != nil {
			return err
		}
		defer done()
		if *shallow {
			if src == nil || args[0] == "-" {
				return perdure.Invalid(errors.New("--shallow is about a capsule and the file beside it; name a FILE"))
			}
			in.Word = name
		}
		if r, err := through(c); err != nil || r != nil {
			if err != nil {
				return err
			}
			if src == nil || *shallow || in.Drop || in.SetAside != "" || in.Ready || in.Refuse || len(in.Policies) > 0 {
				return perdure.Invalid(errors.New("through a server one capsule is taken in, not a folder, as its " +
					"home decides; leave out --shallow, --drop-unknown, --set-aside, --ready, --trusted and --policy"))
			}
			return importAway(out, r, src, in.Older)
		}
		text := func(w io.Writer, all []*home.Arrived) error { return show.Arrived(w, all, here) }
		return h.UseToImport(c.Context(), src, name, &in, func(ctx context.Context, s perdure.Store) error {
			if src == nil {
				found, err := h.ImportSet(ctx, s, name, in)
				if found == nil {
					return err
				}
				return errors.Join(err, answers(out, text)(found, nil))
			}
			one := func(w io.Writer, r *home.Arrived) error { return text(w, []*home.Arrived{r}) }
			return answer(out, one)(h.Import(ctx, s, src, in))
		})
	}
	return c
}
