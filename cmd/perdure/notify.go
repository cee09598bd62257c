package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
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

// destination is the one of a name.
func destination(n *notify.Notifier, name string) (*notify.Destination, error) {
	for i := range n.Destinations {
		if n.Destinations[i].Name == name {
			return &n.Destinations[i], nil
		}
	}
	return nil, perdure.WithHint(perdure.Missing("no destination "+name), "see perdure notify ls")
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
		return list(out, all, func(w io.Writer) error {
			t := term.Table{Head: []string{"DESTINATION", "TOLD", "LAST", "GIVEN UP", "WHY"}, Fold: true}
			for _, s := range all {
				last, why := "-", ""
				if s.Last != 0 {
					last = view.Moment(s.Last, time.Now())
				}
				if len(s.Dead) > 0 {
					why = s.Dead[len(s.Dead)-1].Why
				}
				t.Add(s.Name, strconv.FormatInt(s.Sent, 10), last, strconv.FormatInt(int64(len(s.Dead))+s.Dropped, 10),
					why)
			}
			return t.Write(w)
		})
	}
	return c
}

// sentLine is what notify test and notify retry print.
type sentLine struct {
	Destination string `json:"destination"`
	Taken       int    `json:"taken"`
}

func notifyTestCommand() *cobra.Command {
	c := command("notify test", cobra.ExactArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		n, err := notifier(h)
		if err != nil {
			return err
		}
		d, err := destination(n, args[0])
		if err != nil {
			return err
		}
		e := notify.NewEvent(notify.Test, fmt.Sprintf("test-%d", time.Now().UnixNano()),
			notify.Data{Name: "test", Scope: "test", Summary: "this is a test of perdure notify"})
		e.Time = time.Now().UTC()
		if err := d.Sender.Send(c.Context(), &e); err != nil {
			return fmt.Errorf("%s did not take it: %w", d.Name, err)
		}
		return out.say(sentLine{d.Name, 1}, "%s took it\n", d.Name)
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
		these := n.Destinations
		if len(args) == 1 {
			d, err := destination(n, args[0])
			if err != nil {
				return err
			}
			these = []notify.Destination{*d}
		}
		all, failed := retryAll(c.Context(), n, these)
		return errors.Join(list(out, all, func(w io.Writer) error {
			for _, s := range all {
				if _, err := fmt.Fprintf(w, "%s took %s\n", s.Destination,
					view.Several(int64(s.Taken), "event")); err != nil {
					return err
				}
			}
			return nil
		}), failed)
	}
	return c
}

// retryAll sends what was given up again to each, whatever the others do.
func retryAll(ctx context.Context, n *notify.Notifier, these []notify.Destination) (all []sentLine, failed error) {
	for i := range these {
		taken, err := n.Retry(ctx, &these[i])
		all = append(all, sentLine{these[i].Name, taken})
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s did not take the rest: %w", these[i].Name, err))
		}
	}
	return all, failed
}
