package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
)

func doctorCommand() *cobra.Command {
	c := command("doctor", cobra.NoArgs)
	h, out := storeFlag(c), outputFlags(c)
	p := powerFlags(c)
	d := &home.Doctor{Version: version}
	c.Flags().BoolVar(&d.Reindex, "reindex", false, "rebuild every index of the store from its entries")
	c.Flags().BoolVar(&d.Repair, "repair", false,
		"salvage what can be read of damaged agents, and mend those broken by late entries")
	c.Flags().BoolVar(&d.Forget, "forget", false, "stop reporting agents that were seen here and are gone")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := h.Find(); err != nil {
			return err
		}
		h.Looks, h.Mends = true, d.Reindex || d.Repair || d.Forget
		if h.Mends && h.Scheme == "mem" {
			return perdure.Invalid(errors.New("a store in memory is gone when the command ends; name another with " +
				"--store"))
		}
		found, err := d.Examine(c.Context(), h.Home, p)
		for i := range found {
			found[i].Found, found[i].Fix = here(found[i].Found), here(found[i].Fix)
		}
		if err := answers(out, show.Examined)(found, err); err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(f home.Examined) bool { return f.Health != home.Unwell })
		if len(found) > 0 {
			return &answered{fmt.Errorf("%s found", view.Several(int64(len(found)), "problem"))}
		}
		return nil
	}
	return c
}
