package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/forms"
	"github.com/perdure/perdure/internal/term"
)

func canonCommand() *cobra.Command {
	c := command("canon", nil)
	c.AddCommand(canonCheckCommand(), canonConvertCommand())
	return c
}

// choice is a flag that takes one of a few words.
type choice struct {
	value string
	of    []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.of, "|") }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.of, s) {
		return fmt.Errorf("it is one of %s", strings.Join(c.of, ", "))
	}
	c.value = s
	return nil
}

// choiceFlag adds a flag that takes one of a few words and completes them.
func choiceFlag(c *cobra.Command, v *choice, name, usage string) {
	c.Flags().Var(v, name, usage)
	err := c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(v.of, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was added a line above
	}
}

func formFlag(c *cobra.Command, name, initial, usage string) *choice {
	v := &choice{initial, []string{forms.Binary, forms.Described, forms.Text}}
	choiceFlag(c, v, name, usage)
	return v
}

func asFlag(c *cobra.Command) *choice {
	v := &choice{forms.Auto, []string{forms.Auto, forms.Value, forms.AnEntry, forms.Memory}}
	choiceFlag(c, v, "as",
		"what the bytes are; auto distinguishes entries from schema-less values by their first bytes")
	return v
}

// limitFlag adds the flag for the longest value to read.
func limitFlag(c *cobra.Command) *int64 {
	return c.Flags().Int64("limit-bytes", canon.DefaultBytes, "refuse a value longer than this")
}

// limitsOf is what the flag asks for.
func limitsOf(c *cobra.Command, bytes int64) (perdure.Limits, error) {
	if bytes < 1 {
		return perdure.Limits{}, perdure.Invalid(fmt.Errorf("--limit-bytes %d: want at least 1", bytes))
	}
	return perdure.Limits{Bytes: bytes}, nil
}

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

func check(c *cobra.Command, name, form, as string, lim perdure.Limits) error {
	found, err := checked(c, name, form, as, lim)
	var refused *perdure.Rejection
	switch {
	case errors.As(err, &refused) && jsonFlag(c):
		return errors.Join(&answered{err}, term.WriteJSON(c.OutOrStdout(), forms.Verdict{Rejection: refused}))
	case err != nil:
		return err
	}
	return say(c, found, "%s\n", found)
}

func checked(c *cobra.Command, name, form, as string, lim perdure.Limits) (fmt.Stringer, error) {
	if as != forms.Memory {
		b, err := readWhole(c, name, lim)
		if err != nil {
			return nil, err
		}
		return forms.Check(b, form, as, lim)
	}
	pass := 0
	return forms.CheckMemory(func(use func(io.Reader) error) error {
		if pass++; pass > 1 && name == "-" {
			return errors.New(
				"the branches of this memory lie too far apart to verify it from a pipe; put it in a file")
		}
		return withInput(c, name, use)
	}, form, lim)
}

// checkHexLines answers each line of hexadecimal with a verdict. Answers never wait for a line that has not been sent
// yet.
func checkHexLines(c *cobra.Command, name, form, as string, lim perdure.Limits) error {
	if as == forms.Memory {
		return perdure.Invalid(errors.New("--hex-lines judges values and entries; check a memory without it"))
	}
	return withInput(c, name, func(r io.Reader) error {
		out := bufio.NewWriter(c.OutOrStdout())
		err := forms.HexLines(r, form, as, lim, func(v forms.Verdict) error {
			return term.WriteJSON(out, v)
		}, out.Flush)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return nil
	})
}

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
		}
		if err := notBinary(c, to.value != forms.Text && *output == "" && !*force); err != nil {
			return err
		}
		return writeOutput(c, *output, func(w io.Writer) error {
			return convert(c, w, args[0], from.value, to.value, as.value, lim)
		})
	}
	return c
}

func convert(c *cobra.Command, w io.Writer, name, from, to, as string, lim perdure.Limits) error {
	if as == forms.Memory {
		return withInput(c, name, func(r io.Reader) error { return forms.ConvertMemory(w, r, from, to, lim) })
	}
	b, err := readWhole(c, name, lim)
	if err != nil {
		return err
	}
	out, err := forms.Convert(b, from, to, as, lim)
	if err != nil {
		return err
	}
	if to == forms.Text && term.IsTerminal(w) {
		out = append(out, '\n')
	}
	_, err = w.Write(out)
	return err
}
