package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"

	"github.com/perdure/perdure"
)

func doctorCommand() *cobra.Command {
	c := command("doctor", cobra.NoArgs)
	h, out := storeFlag(c), outputFlags(c)
	p := powerFlags(c)
	reindex := c.Flags().Bool("reindex", false, "rebuild every index of the store from its entries")
	repair := c.Flags().Bool("repair", false,
		"salvage what can be read of damaged agents, and mend those broken by late entries")
	forget := c.Flags().Bool("forget", false, "stop reporting agents that were seen here and are gone")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := h.Find(); err != nil {
			return err
		}
		h.Looks, h.Mends = true, *reindex || *repair
		if h.Mends && h.Scheme == "mem" {
			return perdure.Invalid(errors.New("a store in memory is gone when the command ends; name another with " +
				"--store"))
		}
		d := &home.Doctor{Version: version, Reindex: *reindex, Repair: *repair, Forget: *forget}
		found, err := d.Examine(c.Context(), h.Home, p)
		if err != nil {
			return err
		}
		values := make([]any, len(found))
		bad := 0
		for i := range found {
			f := &found[i]
			f.Found, f.Fix = here(f.Found), here(f.Fix)
			values[i] = *f
			if f.Health == home.Unwell {
				bad++
			}
		}
		if err := list(out, values, func(w io.Writer) error { return writeExamined(w, found) }); err != nil {
			return err
		}
		if bad > 0 {
			return &answered{fmt.Errorf("%d problems found", bad)}
		}
		return nil
	}
	return c
}

// writeExamined prints what a doctor found.
func writeExamined(w io.Writer, found []home.Examined) error {
	s := term.StyleOf(w)
	for _, f := range found {
		plain := fmt.Sprintf("%-5s", f.Health)
		line := term.Hang(fmt.Sprintf("%s  %-8s  %s", plain, f.What, view.OneLine(f.Found, 0)),
			len("unwell           "), s.Width)
		health := plain
		switch f.Health {
		case home.Well:
			health = s.Good(health)
		case home.Odd:
			health = s.Warn(health)
		default:
			health = s.Bad(health)
		}
		text := health + strings.TrimPrefix(line, plain) + "\n"
		if f.Fix != "" {
			text += "                 " + s.Dim("fix: "+view.InLine(f.Fix)) + "\n"
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}
