package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // a device or a pipe cannot be replaced
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := openPart(name + partExt)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err == nil { // under its lock: nobody else takes it for what a killed process left
		err = os.Rename(f.Name(), name)
	} else {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return disk.Sync(filepath.Dir(name))
}

// partExt is how the file ends in which a file is written before it has its name.
const partExt = ".perdure-part"

// openPart opens an empty file for this process alone. What a process left that was killed is used again.
func openPart(name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if err := disk.Lock(f, false); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: another run is writing it; wait for it, or name another file", name), f.Close())
		}
		mine, err := f.Stat()
		if err == nil {
			if there, gone := os.Stat(name); gone == nil && os.SameFile(mine, there) {
				return f, f.Truncate(0)
			}
		}
		if err = errors.Join(err, f.Close()); err != nil { // it has its name by now: begin another
			return nil, err
		}
	}
}
