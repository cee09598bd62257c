package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// homeFlag is the home that --store names.
type homeFlag struct {
	*home.Home
	c     *cobra.Command
	shown *term.Progress
}

// lookFlag is storeFlag for a command that only looks: whatever it is pointed at stays as it is, to the last byte.
func lookFlag(c *cobra.Command) *homeFlag {
	h := storeFlag(c)
	h.Looks = true
	return h
}

// storeFlag adds --store to a command.
func storeFlag(c *cobra.Command) *homeFlag {
	h := newHome(c)
	c.Flags().Var(storeValue{h.Home}, "store",
		"the store: a folder, a file, sqlite:PATH[?sync=normal], dir:PATH, "+
			"postgres://USER@HOST/DB, nats://HOST/NAME or mem: (default: $"+home.StoreEnv+
			", else "+home.HomeName+" here or above, else the user's data folder)")
	if strings.Contains(c.Use, "AGENT") {
		c.ValidArgsFunction = agentArg(h)
	}
	return h
}

// newHome is a home that a command uses.
func newHome(c *cobra.Command) *homeFlag {
	h := &homeFlag{Home: &home.Home{Note: func(text string) { note(c, "%s", text) }}, c: c}
	h.Ask, h.Progress = h.ask, h.bar
	return h
}

// storeValue is --store, a text, and the home that it names.
type storeValue struct{ home *home.Home }

func (v storeValue) String() string {
	if v.home == nil {
		return ""
	}
	return v.home.URL
}

func (v storeValue) Set(text string) error {
	v.home.URL = text
	return nil
}

func (v storeValue) Type() string { return "string" }

// acting is h for a command that signs or runs something.
func (h *homeFlag) acting() *homeFlag {
	h.Acts = true
	return h
}

// founding is h for a command that makes agents, and with the first of them the store, also on a server.
func (h *homeFlag) founding() *homeFlag {
	h.Founds = true
	return h
}

// use opens the store, calls f and closes it.
func (h *homeFlag) use(create bool, f func(ctx context.Context, s perdure.Store) error) error {
	return h.Home.Use(h.c.Context(), create, f)
}

// desk is use for a command that speaks to agents with the home's key.
func (h *homeFlag) desk(create bool, f func(ctx context.Context, d *home.Desk) error) error {
	return h.use(create, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		return f(ctx, &home.Desk{Home: h.Home, Store: s, Node: n})
	})
}

// useFor is use for a command about one agent, which may be a file.
func (h *homeFlag) useFor(arg string, f func(ctx context.Context, s perdure.Store, arg string) error) error {
	return h.Home.UseFor(h.c.Context(), arg, f)
}

// agent calls f with the agent that an argument names, in the store or in a file.
func (h *homeFlag) agent(arg string, f func(context.Context, perdure.Store, *perdure.Agent) error) error {
	return h.useFor(arg, func(ctx context.Context, s perdure.Store, arg string) error {
		a, err := h.Agent(ctx, s, arg)
		if err != nil {
			return err
		}
		return f(ctx, s, a)
	})
}

// alone is agent for a command that runs it: nobody else runs it here meanwhile.
func (h *homeFlag) alone(arg string, f func(context.Context, perdure.Store, perdure.AgentID) error) error {
	return h.useFor(arg, func(ctx context.Context, s perdure.Store, arg string) error {
		id, err := h.FindAgent(ctx, s, arg)
		if err != nil {
			return err
		}
		ctx, done, err := h.Alone(ctx, id)
		if err != nil {
			return err
		}
		err = f(ctx, s, id)
		h.CloseWitness()
		return errors.Join(err, done())
	})
}

// point is agent for a point in the agent's memory.
func (h *homeFlag) point(arg string, f func(context.Context, perdure.Store, *home.Point) error) error {
	return h.useFor(arg, func(ctx context.Context, s perdure.Store, arg string) error {
		p, err := home.FindPoint(ctx, h.Home, s, arg)
		if err != nil {
			return err
		}
		return f(ctx, s, p)
	})
}

// bar shows how far long work has come.
func (h *homeFlag) bar(what string, done, total int64) {
	if h.shown == nil || !h.shown.Is(what) {
		if h.shown != nil {
			h.shown.End()
		}
		h.shown = term.NewProgress(h.c.ErrOrStderr(), what, total)
	}
	if h.shown.Of(done, total); done == total {
		h.shown.End()
	}
}

// ask shows a person what a home says, whole, and asks whether it counts.
func (h *homeFlag) ask(parts []home.Saying) (asked, yes bool, err error) {
	if !term.IsTerminal(h.c.InOrStdin()) || !term.IsTerminal(h.c.ErrOrStderr()) {
		return false, false, nil
	}
	note(h.c, "%s was found here, and there is no record that you made it on this machine. It says:", h.Dir)
	if err := show.Sayings(h.c.ErrOrStderr(), parts); err != nil {
		return true, false, err
	}
	note(h.c, "agents of those it trusts run by its policies, programs and servers in it are started, "+
		"files and secrets in it are read, as you. To accept it, type yes")
	line, err := lineOf(h.c, "> ")
	return true, line == "yes", err
}

// note tells people something beside the result.
func note(c *cobra.Command, format string, args ...any) {
	text := "perdure: " + view.OneLine(here(fmt.Sprintf(format, args...)), 0)
	// the result does not depend on it
	_, _ = fmt.Fprintln(c.ErrOrStderr(), term.Hang(text, 4, term.WidthOf(c.ErrOrStderr())))
}

// accept records that what a home says is accepted, and shows it.
func (h *homeFlag) accept(w io.Writer) error {
	parts, err := h.Home.Accept()
	if err != nil {
		return err
	}
	if parts == nil {
		_, err := fmt.Fprintf(w, "%s needs no acceptance: it was named, is new, or is your own data folder\n", h.Dir)
		return err
	}
	if err := show.Sayings(w, parts); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "accepted: %s, until what is shown above changes\n", h.Dir)
	return err
}
