package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func benchTalkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "talk [flags]",
		Short: "Measure a long conversation with a language model",
		Long: `Talk has an agent converse: in each turn somebody says something, the model calls a tool, and answers with what it learned. The model is
a server in this process that speaks the protocol of a provider, so what is measured is everything but the thinking. When the transcript
no longer fits into --context, the model is asked for a summary of it, as always.

It compares what is stored with what was said (messages, answers, arguments, results and summaries, each counted once), and what a turn
costs around turn 10 with what it costs at the end: another agent begins to talk when this one is about to end, and the two take turns.
What is spent while the model is asked, which grows with the prompt until that is full, is told apart from the rest, which must not grow
with the past.`,
		Example: `  perdure bench talk
  perdure bench talk --turns 200 --provider openai --json`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
	p := benchFlags(c)
	var t talk
	c.Flags().IntVar(&t.Turns, "turns", 1000, "turns of the conversation")
	c.Flags().IntVar(&t.Message, "message", 500, "bytes of what is said to the model in a turn")
	c.Flags().IntVar(&t.Answer, "answer", 2000, "bytes of what it answers")
	c.Flags().IntVar(&t.Result, "result", 16_000, "bytes of what its tool returns")
	c.Flags().IntVar(&t.Context, "context", 64_000, "tokens of a prompt, beyond which the transcript is summarised")
	provider := &choice{"anthropic", []string{"anthropic", "openai", "gemini"}}
	choiceFlag(c, provider, "provider", "whose protocol is spoken")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := atLeastOne(c, "turns", t.Turns, "message", t.Message, "answer", t.Answer, "result", t.Result, "context", t.Context); err != nil {
			return err
		}
		if err := payloadFits(c, max(t.Message, t.Answer, t.Result)); err != nil {
			return err
		}
		if t.Turns < 2*talkWindow {
			return perdure.Invalid(fmt.Errorf("--turns %d: want at least %d, to compare the beginning with the end", t.Turns, 2*talkWindow))
		}
		if p.inMemory() {
			return perdure.Invalid(errors.New("what a store in memory takes says nothing; name a folder with --store"))
		}
		t.Provider = provider.value
		return p.with(func() error {
			bar := newProgress(c, "turns", int64(t.Turns))
			r, err := t.run(c.Context(), p, func(n int) { bar.to(int64(n)) })
			bar.end()
			if err != nil {
				return err
			}
			if jsonFlag(c) {
				return printJSON(c.OutOrStdout(), r)
			}
			return r.write(c.OutOrStdout())
		})
	}
	return c
}

// talkWindow is how many turns are compared: the first ones, of which turn 10 is the middle, with the last ones.
const talkWindow = 20

// talked is what a conversation came to.
type talked struct {
	talk
	Entries   int        `json:"entries"`
	Summaries int        `json:"summaries"`
	Content   int64      `json:"content_bytes"` // said, called, returned and summarised
	Memory    int64      `json:"entry_bytes"`   // of all entries, with headers and signatures
	File      int64      `json:"file_bytes"`    // what the store's files grew by
	MemoryPer float64    `json:"entry_ratio"`
	FilePer   float64    `json:"file_ratio"`
	Costs     []talkCost `json:"costs"`
	Seconds   float64    `json:"seconds"`
}

// talkCost is what something costs in the middle of the first turns and of the last: medians.
type talkCost struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit"`
	Early float64 `json:"early"`
	Late  float64 `json:"late"`
	Ratio float64 `json:"ratio"`
}

// lap is what one turn cost, in all and while the model was asked.
type lap struct{ all, asking expense }

// costsOf compares the first turns with the last.
func costsOf(early, late []lap) []talkCost {
	parts := []struct {
		name string
		of   func(l *lap) expense
	}{
		{"turn, without asking", func(l *lap) expense { return l.all.minus(l.asking) }},
		{"asking the model", func(l *lap) expense { return l.asking }},
	}
	kinds := []struct {
		unit string
		of   func(e expense) float64
	}{
		{"ms", func(e expense) float64 { return millis(e.wall) }},
		{"CPU ms", func(e expense) float64 { return millis(e.cpu) }},
		{"KiB allocated", func(e expense) float64 { return float64(e.bytes) / 1024 }},
		{"allocations", func(e expense) float64 { return float64(e.objects) }},
	}
	var out []talkCost
	for _, part := range parts {
		for _, kind := range kinds {
			middle := func(laps []lap) float64 {
				var v []float64
				for i := range laps {
					v = append(v, kind.of(part.of(&laps[i])))
				}
				slices.Sort(v)
				return v[len(v)/2]
			}
			c := talkCost{What: part.name, Unit: kind.unit, Early: middle(early), Late: middle(late)}
			if c.Early > 0 {
				c.Ratio = c.Late / c.Early
			}
			out = append(out, c)
		}
	}
	return out
}

func (r *talked) write(w io.Writer) error {
	t := table{head: []string{"PER TURN", "", "TURN 10", fmt.Sprintf("TURN %d", r.Turns), "RATIO"}}
	for _, c := range r.Costs {
		t.rows = append(t.rows, []string{c.What, c.Unit, number(c.Early, 2), number(c.Late, 2), number(c.Ratio, 2)})
	}
	if err := t.write(w); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nmedians over %d turns of each; %d turns in %.1f s; %d summaries\n", talkWindow, r.Turns-talkWindow, r.Seconds, r.Summaries)
	fmt.Fprintf(&b, "content  %d bytes: what was said, called, returned and summarised, each once\n", r.Content)
	fmt.Fprintf(&b, "entries  %d bytes in %d entries, %.3f times the content\n", r.Memory, r.Entries, r.MemoryPer)
	fmt.Fprintf(&b, "file     %d bytes, %.3f times the content\n", r.File, r.FilePer)
	_, err := io.WriteString(w, b.String())
	return err
}
