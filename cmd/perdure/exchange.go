package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
)

// exchangeCommand passes agents to or from another place.
func exchangeCommand(word string, way exchange.Way) *cobra.Command {
	c := command(word, cobra.MinimumNArgs(1))
	h := storeFlag(c).acting()
	out, filter := outputFlags(c), filterFlags(c)
	all := c.Flags().Bool("all", false, "every agent that matches the filters, or all there are")
	move := new(bool)
	if way == exchange.Push {
		move = c.Flags().Bool("move", false, "their seats go along: nothing more is done for them here")
	}
	c.ValidArgsFunction = peerArg(h)
	c.RunE = func(c *cobra.Command, args []string) error {
		names, place := args[:len(args)-1], args[len(args)-1]
		f, err := filter(time.Now())
		if err != nil {
			return perdure.Invalid(err)
		}
		if err := chosenOnce(c, names, *all); err != nil {
			return err
		}
		return h.use(way != exchange.Push, func(ctx context.Context, s perdure.Store) error {
			p, err := h.peer(place)
			if err != nil {
				return err
			}
			node, err := h.Node(ctx, s)
			if err != nil {
				return errors.Join(err, p.Close())
			}
			desk := &home.Desk{Home: h.Home, Store: s, Node: node}
			got, err := h.Transfer(ctx, desk, p, home.Chosen{Names: names, Filter: f, Move: *move}, way)
			if err = errors.Join(err, p.Close()); err != nil {
				return err
			}
			if err := out.print(got, func(w io.Writer) error { return transferText(w, got) }); err != nil {
				return err
			}
			return got.Err()
		})
	}
	return c
}

// filterNames are the flags that select agents.
var filterNames = []string{"state", "kind", "scope", "label", "name", "since", "limit"}

// chosenOnce refuses a command that names no agents, or names them twice over.
func chosenOnce(c *cobra.Command, names []string, all bool) error {
	filtered := all
	for _, name := range filterNames {
		filtered = filtered || c.Flags().Changed(name)
	}
	switch {
	case len(names) == 0 && !filtered:
		return perdure.WithHint(perdure.Invalid(errors.New("say which agents: by name, by a filter, or --all")),
			"perdure "+c.Name()+" AGENT PEER, or perdure "+c.Name()+" --scope acme PEER")
	case len(names) > 0 && filtered:
		return perdure.Invalid(errors.New("name agents or select them by flags, not both"))
	}
	return nil
}

// peer opens the place that a word means, with the token and the key of the server that flags and environment give.
func (h *homeFlag) peer(word string) (*home.Peer, error) {
	flag := func(name, env string) string {
		if v, err := h.c.Flags().GetString(name); err == nil && v != "" {
			return v
		}
		return os.Getenv(env)
	}
	key, token := flag("server-key", serverKeyEnv), os.Getenv(tokenEnv)
	if file := flag("token-file", ""); file != "" {
		b, err := disk.ReadFile(file, 4<<10)
		if err != nil {
			return nil, err
		}
		token = strings.TrimSpace(string(b))
	}
	conf, err := h.PeerNamed(word, key, token)
	if err != nil {
		return nil, err
	}
	return h.OpenPeer(conf, token)
}

// transferText says what passed.
func transferText(w io.Writer, t *home.Transfer) error {
	var b strings.Builder
	for i := range t.Passed {
		one := &t.Passed[i]
		name := view.CommandName(one.Name, one.Agent)
		for _, x := range []struct {
			word string
			r    *exchange.Receipt
		}{{"came from", one.Pulled}, {"went to", one.Pushed}} {
			if x.r == nil {
				continue
			}
			fmt.Fprintf(&b, "%s: %s %s %s", name, view.Several(x.r.Entries, "entry"), x.word, view.InLine(t.Peer))
			if x.r.Created {
				b.WriteString(", where it was new")
				if x.word == "came from" {
					b.WriteString(" here")
				}
			}
			if x.r.Held != "" {
				b.WriteString("; held: " + view.InLine(x.r.Held))
			}
			b.WriteString("\n")
		}
		if one.Kept != "" {
			fmt.Fprintf(&b, "%s: not passed on: %s\n", name, view.InLine(one.Kept))
		}
	}
	for _, x := range t.Failed {
		if t.Agents == 1 { // that is what the command ends with
			break
		}
		fmt.Fprintf(&b, "%s: %s\n", view.CommandName(x.Name, x.Agent), view.InLine(x.Error))
		if x.Do != "" {
			fmt.Fprintf(&b, "  %s\n", view.InLine(x.Do))
		}
	}
	fmt.Fprintf(&b, "%s, %s passed; %d the same already\n", view.Several(t.Agents, "agent"),
		view.Several(t.Entries, "entry"), t.Same)
	_, err := io.WriteString(w, b.String())
	return err
}

// peerArg completes agents, and then the places they go to.
func peerArg(h *homeFlag) completer {
	agents := agentArg(h)
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		found, how := agents(c, nil, typed)
		if peers, err := h.Peers(); err == nil {
			for _, p := range peers {
				if strings.HasPrefix(p.Name, typed) {
					found = append(found, cobra.CompletionWithDesc(p.Name, "peer "+p.URL+p.Dir))
				}
			}
		}
		if len(args) > 0 {
			how &^= cobra.ShellCompDirectiveNoFileComp // a folder
		}
		return found, how
	}
}
