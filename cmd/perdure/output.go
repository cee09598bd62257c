package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// The formats of output.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatLines = "jsonl"
	formatYAML  = "yaml"
)

// output is how a command was asked to print.
type output struct {
	c      *cobra.Command
	format *choice
	jq     *string
	query  *term.Query // what jq says, once it was checked
}

// outputFlags adds -o and --jq to a command, which is refused before it does anything if they contradict each other.
func outputFlags(c *cobra.Command) *output {
	o := &output{c: c, format: &choice{formatTable, []string{formatTable, formatJSON, formatLines, formatYAML}}}
	c.Flags().VarP(o.format, "output", "o", "output format: a table, one JSON value, one JSON value per line, or YAML")
	completes(c, "output", o.format.of...)
	o.jq = c.Flags().String("jq", "", "filter the JSON through this jq expression")
	c.PreRunE = func(*cobra.Command, []string) error {
		_, err := o.check()
		return err
	}
	return o
}

// completes says which words a shell offers for a flag that was added before.
func completes(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words,
		cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}

// check refuses flags that contradict each other, and says which format was asked for.
func (o *output) check() (format string, err error) {
	format = o.format.value
	set := o.c.Flags().Changed("output")
	if jsonFlag(o.c) {
		if set && format != formatJSON {
			return "", perdure.Invalid(fmt.Errorf("--json and -o %s contradict each other; use one of them", format))
		}
		format = formatJSON
	}
	if *o.jq == "" {
		return format, nil
	}
	if set && format == formatTable {
		return "", perdure.Invalid(errors.New("--jq works on JSON; leave -o table out, or use -o json, jsonl or yaml"))
	}
	if format == formatTable {
		format = formatJSON
	}
	if o.query == nil {
		if o.query, err = term.ParseQuery(*o.jq); err != nil {
			return "", perdure.Invalid(err)
		}
	}
	return format, nil
}

// print prints one value: as text for people, or in the format asked for.
func (o *output) print(v any, text func(io.Writer) error) error {
	format, err := o.check()
	if err != nil {
		return err
	}
	w := o.c.OutOrStdout()
	if format == formatTable {
		return text(w)
	}
	return o.value(w, format, view.Readable(v))
}

// line prints one of many values that come one at a time: as a line for people, or as one of JSON.
func (o *output) line(format string, v any, text func(term.Style) string) error {
	w := o.c.OutOrStdout()
	if format == formatTable {
		_, err := fmt.Fprintln(w, text(term.StyleOf(w)))
		return err
	}
	return o.value(w, format, view.Readable(v))
}

// series prints values that come one at a time: each on its line, or all as one value once they have come.
type series struct {
	*output
	as  string // the format
	all []any
}

func (s *series) whole() bool { return s.as == formatJSON || s.as == formatYAML }

func (s *series) add(v any, text func(term.Style) string) error {
	if s.whole() {
		s.all = append(s.all, v)
		return nil
	}
	return s.line(s.as, v, text)
}

func (s *series) end() error {
	if s.whole() {
		return list(s.output, s.all, nil)
	}
	return nil
}

// say is print of a value that is a line for people.
func (o *output) say(v any, format string, args ...any) error {
	return o.print(v, func(w io.Writer) error { return term.Say(w, fmt.Sprintf(format, args...)) })
}

// say prints what a command without formats has found: as a line for people, or as JSON.
func say(c *cobra.Command, v any, format string, args ...any) error {
	if jsonFlag(c) {
		return term.WriteJSON(c.OutOrStdout(), v)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), format, args...)
	return err
}

// answer prints what a command came to, unless that is an error: answer(out, show.X)(h.Do(ctx)).
func answer[T any](o *output, text func(io.Writer, T) error) func(T, error) error {
	return func(v T, err error) error {
		if err != nil {
			return err
		}
		return o.print(v, func(w io.Writer) error { return text(w, v) })
	}
}

// answers is answer for a list.
func answers[T any](o *output, table func(io.Writer, []T) error) func([]T, error) error {
	return func(v []T, err error) error {
		if err != nil {
			return err
		}
		return list(o, v, func(w io.Writer) error { return table(w, v) })
	}
}

// list prints values: as a table, a JSON list, one JSON value a line, or a YAML list.
func list[T any](o *output, v []T, table func(io.Writer) error) error {
	format, err := o.check()
	if err != nil {
		return err
	}
	w := o.c.OutOrStdout()
	if format == formatTable {
		return table(w)
	}
	plain := make([]any, len(v))
	for i := range v {
		plain[i] = view.Readable(v[i])
	}
	if format != formatLines {
		return o.value(w, format, plain)
	}
	for _, each := range plain {
		if err := o.value(w, format, each); err != nil {
			return err
		}
	}
	return nil
}

func writeValue(w io.Writer, format string, v any) error {
	if format == formatYAML {
		return term.WriteYAML(w, v)
	}
	return term.WriteJSON(w, v)
}

// value writes one value, through the jq expression if there is one.
func (o *output) value(w io.Writer, format string, v any) error {
	if o.query == nil {
		return writeValue(w, format, v)
	}
	write := func(v any) error { return writeValue(w, format, v) }
	return o.query.Write(o.c.Context(), w, v, format != formatYAML, write)
}
