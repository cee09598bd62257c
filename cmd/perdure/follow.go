package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// chosen is which entries of a memory are shown.
type chosen struct {
	kindWords, signalWords []string

	kinds   []perdure.Kind
	signals []perdure.Signal
	tool    string
}

// chosenFlags adds the flags that choose entries.
func chosenFlags(c *cobra.Command) *chosen {
	f := new(chosen)
	c.Flags().StringSliceVar(&f.kindWords, "kind", nil, "only entries of this kind; may be repeated")
	c.Flags().StringSliceVar(&f.signalWords, "signal", nil, "only entries with this signal; may be repeated")
	c.Flags().StringVar(&f.tool, "tool", "", "only entries about this tool")
	for name, words := range map[string][]string{"kind": perdure.Kind(0).CanonNames()[1:], "signal": perdure.Signal(0).CanonNames()[1:]} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
	return f
}

// parse reads what the flags say.
func (f *chosen) parse(c *cobra.Command) error {
	for _, word := range f.kindWords {
		k, err := view.ParseName[perdure.Kind]("--kind", word)
		if err != nil {
			return perdure.Invalid(err)
		}
		f.kinds = append(f.kinds, k)
	}
	for _, word := range f.signalWords {
		s, err := view.ParseName[perdure.Signal]("--signal", word)
		if err != nil {
			return perdure.Invalid(err)
		}
		f.signals = append(f.signals, s)
	}
	return nil
}

func (f *chosen) fits(one view.Line) bool {
	return (len(f.kinds) == 0 || slices.Contains(f.kinds, one.Kind)) &&
		(len(f.signals) == 0 || slices.Contains(f.signals, one.Signal)) &&
		(f.tool == "" || one.Tool == f.tool)
}
