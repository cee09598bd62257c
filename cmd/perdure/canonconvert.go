package main

import (
	"bufio"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/forms"
	"github.com/perdure/perdure/internal/term"
)

func canonConvertCommand() *cobra.Command {
	c := command("canon convert", cobra.MaximumNArgs(1))
	from := formFlag(c, "from", "", "the form to read")
	to := formFlag(c, "to", "", "the form to write")
	as := asFlag(c)
	limit := limitFlag(c)
	output := c.Flags().StringP("output", "o", "", "write to this file, which appears only when it is complete")
	force := c.Flags().Bool("force", false, "write binary to a terminal")
	c.RunE = func(c *cobra.Command, args []string) error {
		lim, err := limitsOf(c, *limit)
		switch {
		case err != nil:
			return err
		case from.value == "" || to.value == "":
			return perdure.Invalid(errors.New("say both --from and --to: binary, described or text"))
		case len(args) == 0:
			return perdure.Invalid(errors.New("name a FILE, or - for standard input"))
		case to.value != forms.Text && *output == "" && !*force && term.IsTerminal(c.OutOrStdout()):
			return perdure.Invalid(errors.New("this would write binary to a terminal; name a file with -o, or use --force"))
		}
		return writeOutput(c, *output, func(w io.Writer) error {
			return convert(c, w, args[0], from.value, to.value, as.value, lim)
		})
	}
	return c
}

func convert(c *cobra.Command, w io.Writer, name, from, to, as string, lim perdure.Limits) error {
	if as == forms.Memory {
		return convertMemory(c, w, name, from, to, lim)
	}
	b, err := readWhole(c, name, lim)
	if err != nil {
		return err
	}
	it, err := forms.Read(b, from, as, lim)
	if err != nil {
		return err
	}
	out, err := it.In(to)
	if err != nil {
		return err
	}
	if to == forms.Text && term.IsTerminal(w) {
		out = append(out, '\n')
	}
	_, err = w.Write(out)
	return err
}

// convertMemory converts entry by entry, so a memory may be larger than this machine's.
func convertMemory(c *cobra.Command, w io.Writer, name, from, to string, lim perdure.Limits) error {
	return withInput(c, name, func(r io.Reader) error {
		out := bufio.NewWriter(w)
		for e, err := range forms.ReadMemory(r, from, lim) {
			if err != nil {
				return errors.Join(err, out.Flush())
			}
			b, err := forms.WriteEntry(e, to)
			if err != nil {
				return err
			}
			if to == forms.Text {
				b = append(b, '\n')
			}
			if _, err := out.Write(b); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

// writeOutput calls write with where output goes: standard output, or a file that takes its name only when write succeeds, and is on the disk
// then.
func writeOutput(c *cobra.Command, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(term.Raw(c.OutOrStdout()))
	}
	return disk.WriteWhole(name, write)
}

// writeBytes is writeOutput of bytes that are there.
func writeBytes(c *cobra.Command, name string, b []byte) error {
	return writeOutput(c, name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// notBinary refuses to write binary to a terminal.
func notBinary(c *cobra.Command, would bool) error {
	if would && term.IsTerminal(c.OutOrStdout()) {
		return perdure.Invalid(errors.New("this would write binary to a terminal; name a file, or use --force"))
	}
	return nil
}
