package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

func copyCommand() *cobra.Command {
	c := command("copy", cobra.NoArgs)
	note := func(text string) { note(c, "%s", text) }
	to := &homeFlag{Home: &home.Home{Note: note}, c: c}
	to.Ask, to.Progress = to.ask, to.bar
	from := &home.Home{Note: note, Looks: true}
	c.Flags().StringVar(&from.URL, "from", "", "the store to copy agents from, named as --store names one")
	c.Flags().StringVar(&to.URL, "to", "", "the store to copy them to, which is made where there is none")
	out, filter := outputFlags(c), filterFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if from.URL == "" || to.URL == "" {
			return perdure.Invalid(errors.New("name both stores: --from URL --to URL"))
		}
		f, err := filter(time.Now())
		if err != nil {
			return perdure.Invalid(err)
		}
		return to.use(true, func(ctx context.Context, s perdure.Store) error {
			got, err := to.Copy(ctx, s, from, f)
			if err != nil {
				return perdure.WithHint(err, "run the same command again: it goes on where it was")
			}
			if err := out.print(got, func(w io.Writer) error { return copyText(w, got) }); err != nil {
				return err
			}
			if len(got.Failed) > 0 {
				return fmt.Errorf("%s could not be copied", view.Several(int64(len(got.Failed)), "agent"))
			}
			return nil
		})
	}
	return c
}

// copyText says what came of a copy.
func copyText(w io.Writer, got *home.Copied) error {
	for _, x := range got.Failed {
		if _, err := fmt.Fprintf(
			w,
			"%s %s: %s\n",
			x.Agent.Short(),
			view.InLine(x.Name),
			view.InLine(x.Error),
		); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s of %s copied to %s, %s verified; %d were there already\n",
		view.Several(got.Copied, "agent"), view.InLine(got.From), view.InLine(got.To),
		view.Several(got.Entries, "entry"), got.Same)
	return err
}
