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
	"github.com/perdure/perdure/view"
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

// pairs is a flag that may be repeated, name=value each. Whatever follows the first equals sign is the value, commas
// included.
type pairs map[string]string

func (p *pairs) String() string { return "" }
func (p *pairs) Type() string   { return "name=value" }

func (p *pairs) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("write name=value")
	}
	if *p == nil {
		*p = pairs{}
	}
	if _, twice := (*p)[name]; twice {
		return fmt.Errorf("%s is given twice", view.InLine(name))
	}
	(*p)[name] = value
	return nil
}

func formFlag(c *cobra.Command, name, initial, usage string) *choice {
	v := &choice{initial, []string{forms.Binary, forms.Described, forms.Text}}
	choiceFlag(c, v, name, usage)
	return v
}

// source is bytes that a command reads, as its flags describe them.
type source struct {
	forms.Source
	form, as *choice
}

// sourceFlags adds the flags that say what the bytes are; form is the one for their form.
func sourceFlags(c *cobra.Command, form *choice) *source {
	s := &source{form: form,
		as: &choice{forms.Auto, []string{forms.Auto, forms.Value, forms.AnEntry, forms.Memory}}}
	choiceFlag(c, s.as, "as",
		"what the bytes are; auto distinguishes entries from schema-less values by their first bytes")
	c.Flags().Int64Var(&s.Limits.Bytes, "limit-bytes", canon.DefaultBytes, "refuse a value longer than this")
	return s
}

// read says where the bytes are.
func (s *source) read(c *cobra.Command, args []string) error {
	if s.Limits.Bytes < 1 {
		return perdure.Invalid(fmt.Errorf("--limit-bytes %d: want at least 1", s.Limits.Bytes))
	}
	if len(args) == 0 {
		return perdure.Invalid(errors.New("name a FILE, or - for standard input"))
	}
	s.Name, s.Piped, s.Form, s.As = args[0], args[0] == "-", s.form.value, s.as.value
	s.Open = func(use func(io.Reader) error) error { return withInput(c, s.Name, use) }
	return nil
}

func canonCheckCommand() *cobra.Command {
	c := command("canon check", cobra.MaximumNArgs(1))
	s := sourceFlags(c, formFlag(c, "form", forms.Binary, "the form the bytes are in"))
	hexLines := c.Flags().Bool("hex-lines", false, "answer one value in hexadecimal on each line")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *hexLines {
			if !c.Flags().Changed("as") {
				s.as.value = forms.Value
			}
			if err := s.read(c, append(args, "-")); err != nil {
				return err
			}
			out := bufio.NewWriter(c.OutOrStdout())
			return s.HexLines(func(v forms.Verdict) error { return term.WriteJSON(out, v) }, out.Flush)
		}
		if err := s.read(c, args); err != nil {
			return err
		}
		found, err := s.Check()
		var refused *perdure.Rejection
		switch {
		case errors.As(err, &refused) && jsonFlag(c):
			return errors.Join(&answered{err}, term.WriteJSON(c.OutOrStdout(), forms.Verdict{Rejection: refused}))
		case err != nil:
			return err
		}
		return say(c, found, "%s\n", found)
	}
	return c
}

func canonConvertCommand() *cobra.Command {
	c := command("canon convert", cobra.MaximumNArgs(1))
	s := sourceFlags(c, formFlag(c, "from", "", "the form to read"))
	to := formFlag(c, "to", "", "the form to write")
	output, force := outputFlag(c), c.Flags().Bool("force", false, "write binary to a terminal")
	c.RunE = func(c *cobra.Command, args []string) error {
		if s.form.value == "" || to.value == "" {
			return perdure.Invalid(errors.New("say both --from and --to: binary, described or text"))
		}
		if err := s.read(c, args); err != nil {
			return err
		}
		if err := notBinary(c, to.value != forms.Text && *output == "" && !*force); err != nil {
			return err
		}
		return writeOutput(c, *output, func(w io.Writer) error { return s.Convert(w, to.value, term.IsTerminal(w)) })
	}
	return c
}
