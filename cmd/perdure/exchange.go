package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
)

// exchangeCommand passes agents to or from another place.
func exchangeCommand(word string, way exchange.Way) *cobra.Command {
	c := command(word, cobra.MinimumNArgs(1))
	h := storeFlag(c).acting()
	h.Founds = way == exchange.Pull
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
		if err := chosenOnce(c, names, place, *all); err != nil {
			return err
		}
		return h.desk(way != exchange.Push, func(ctx context.Context, d *home.Desk) error {
			p, err := h.peer(place, way)
			if err != nil {
				return err
			}
			got, err := h.Transfer(ctx, d, p, home.Chosen{Names: names, Filter: f, Move: *move}, way)
			if err := answer(out, show.Transfer)(got, errors.Join(err, p.Close())); err != nil {
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
func chosenOnce(c *cobra.Command, names []string, place string, all bool) error {
	filtered := all
	for _, name := range filterNames {
		filtered = filtered || c.Flags().Changed(name)
	}
	switch {
	case len(names) == 0 && !filtered:
		return perdure.WithHint(perdure.Invalid(fmt.Errorf("say which agents: by name, by a filter, or --all; %s is "+
			"taken for the place", view.InLine(place))),
			"perdure "+c.Name()+" AGENT PEER, or perdure "+c.Name()+" --scope acme PEER")
	case len(names) > 0 && filtered:
		return perdure.Invalid(errors.New("name agents or select them by flags, not both"))
	}
	return nil
}

// peer opens the place that a word means, with the token and the key of the server that flags and environment give.
func (h *homeFlag) peer(word string, way exchange.Way) (*home.Peer, error) {
	token, err := home.ReadToken(flagOr(h.c, "token-file", ""), os.Getenv(home.TokenEnv))
	if err != nil {
		return nil, err
	}
	conf, err := h.PeerNamed(word, flagOr(h.c, "server-key", serverKeyEnv), token)
	if err != nil {
		return nil, err
	}
	if way == exchange.Pull {
		return h.LookPeer(conf, token)
	}
	return h.OpenPeer(conf, token)
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
