package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/notify"
	"github.com/perdure/perdure/view"
)

func notifyCommand() *cobra.Command {
	c := command("notify", nil)
	c.AddCommand(notifyLsCommand(), notifyTestCommand(), notifyRetryCommand())
	return c
}

// notifier is that of the home a command is about; nothing is run by it.
func notifier(h *homeFlag) (*notify.Notifier, error) {
	if err := h.Locate(); err != nil {
		return nil, err
	}
	n, err := h.Notifier(&perdure.Node{}, nil)
	if err != nil {
		return nil, err
	}
	if len(n.Destinations) == 0 {
		return nil, perdure.WithHint(perdure.Missing("no destination is named here"),
			"add one under notify in node.yaml; see docs/webhooks.md")
	}
	return n, nil
}

func notifyLsCommand() *cobra.Command {
	c := command("notify ls", cobra.NoArgs)
	h, out := storeFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		n, err := notifier(h)
		if err != nil {
			return err
		}
		all, err := n.Statuses(c.Context())
		if err != nil {
			return err
		}
		return list(out, all, func(w io.Writer) error { return show.Destinations(w, all) })
	}
	return c
}

func notifyTestCommand() *cobra.Command {
	c := command("notify test", cobra.ExactArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		n, err := notifier(h)
		if err != nil {
			return err
		}
		took, err := n.Test(c.Context(), args[0])
		if err != nil {
			return err
		}
		return out.say(took, "%s took it\n", took.Destination)
	}
	return c
}

func notifyRetryCommand() *cobra.Command {
	c := command("notify retry", cobra.MaximumNArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		n, err := notifier(h)
		if err != nil {
			return err
		}
		all, failed := n.RetryAll(c.Context(), args...)
		if all == nil {
			return failed
		}
		return errors.Join(list(out, all, func(w io.Writer) (err error) {
			for _, s := range all {
				if err == nil {
					_, err = fmt.Fprintf(w, "%s took %s\n", s.Destination, view.Several(int64(s.Taken), "event"))
				}
			}
			return err
		}), failed)
	}
	return c
}
