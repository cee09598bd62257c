package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/bench"
	"github.com/perdure/perdure/internal/term"
)

func benchCodecCommand() *cobra.Command {
	c := command("bench codec", cobra.NoArgs)
	entries := c.Flags().Int("entries", 100_000, "entries in the memories that are verified and folded")
	each := c.Flags().Duration("time", time.Second/2, "how long to measure each figure of a single entry")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *entries < bench.MinEntries {
			return perdure.Invalid(fmt.Errorf("--entries %d: want at least %d", *entries, bench.MinEntries))
		}
		if *each <= 0 {
			return perdure.Invalid(errors.New("--time: want more than zero"))
		}
		r, err := bench.Codec{Entries: *entries, Each: *each}.Run(c.Context())
		if err != nil {
			return err
		}
		return benchReport(c, r)
	}
	return c
}

func benchPolicyCommand() *cobra.Command {
	c := command("bench policy", cobra.NoArgs)
	each := c.Flags().Duration("time", time.Second, "how long to measure each figure")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *each <= 0 {
			return perdure.Invalid(errors.New("--time: want more than zero"))
		}
		r, err := bench.Policy(c.Context(), *each)
		if err != nil {
			return err
		}
		return benchReport(c, r)
	}
	return c
}

func benchTalkCommand() *cobra.Command {
	c := command("bench talk", cobra.NoArgs)
	p := benchFlags(c)
	var t bench.Talk
	c.Flags().IntVar(&t.Turns, "turns", 1000, "turns of the conversation")
	c.Flags().IntVar(&t.Message, "message", 500, "bytes of each message to the model")
	c.Flags().IntVar(&t.Answer, "answer", 2000, "bytes of each answer")
	c.Flags().IntVar(&t.Result, "result", 16_000, "bytes each tool call returns")
	c.Flags().IntVar(&t.Context, "context", 64_000, "prompt tokens beyond which the transcript is summarised")
	provider := &choice{"anthropic", []string{"anthropic", "openai", "gemini"}}
	choiceFlag(c, provider, "provider", "whose protocol is spoken")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := atLeastOne(c, "turns", t.Turns, "message", t.Message, "answer", t.Answer, "result", t.Result, "context", t.Context); err != nil {
			return err
		}
		if err := payloadFits(c, max(t.Message, t.Answer, t.Result)); err != nil {
			return err
		}
		if t.Turns < 2*bench.TalkWindow {
			return perdure.Invalid(fmt.Errorf("--turns %d: want at least %d, to compare the beginning with the end", t.Turns, 2*bench.TalkWindow))
		}
		if err := p.check(c, "what a store in memory takes says nothing"); err != nil {
			return err
		}
		t.Provider = provider.value
		return p.With(func() error {
			bar := term.NewProgress(c.ErrOrStderr(), "turns", int64(t.Turns))
			r, err := t.Run(c.Context(), &p.Place, func(n int) { bar.To(int64(n)) })
			bar.End()
			if err != nil {
				return err
			}
			return benchReport(c, r)
		})
	}
	return c
}

func benchCapsuleCommand() *cobra.Command {
	c := command("bench capsule", cobra.NoArgs)
	p := benchFlags(c)
	entries := c.Flags().Int("entries", 100_000, "entries of 1 KiB of the first agent; 0 leaves it out")
	blobs := c.Flags().String("blobs", "1GiB", "bytes in bodies of 1 MiB of the second agent; 0 leaves it out")
	times := c.Flags().Int("rounds", 2, "how often each figure is measured; the fastest time and the highest memory count")
	child := c.Flags().StringArray("measure", nil, "measure this command, a word each")
	if err := c.Flags().MarkHidden("measure"); err != nil {
		panic(err) // the flag was added above
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*child) > 0 {
			return bench.Measure(c.OutOrStdout(), func() error {
				root := newRoot()
				root.SetArgs(*child)
				root.SetOut(io.Discard)
				root.SetErr(c.ErrOrStderr())
				return root.ExecuteContext(c.Context())
			})
		}
		size, err := parseBytes(*blobs)
		switch {
		case err != nil:
			return perdure.Invalid(fmt.Errorf("--blobs: %w", err))
		case *entries < 0:
			return perdure.Invalid(fmt.Errorf("--entries %d: want at least 0", *entries))
		case *entries == 0 && size == 0:
			return perdure.Invalid(errors.New("nothing is left to measure; name --entries or --blobs"))
		}
		if err := p.check(c, "commands are measured in processes of their own"); err != nil {
			return err
		}
		if err := atLeastOne(c, "rounds", *times); err != nil {
			return err
		}
		var bar *term.Progress
		set := bench.Capsules{Entries: *entries, Blobs: size, Rounds: *times, Done: func(what string, n, of int) {
			if bar == nil {
				bar = term.NewProgress(c.ErrOrStderr(), what, int64(of))
			}
			if bar.To(int64(n)); n >= of {
				bar.End()
				bar = nil
			}
		}}
		r, err := set.Run(c.Context(), &p.Place)
		if err != nil {
			return err
		}
		return benchReport(c, r)
	}
	return c
}
