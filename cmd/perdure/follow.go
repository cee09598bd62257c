package main

import (
	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// chosen is the flags that choose entries.
type chosen struct {
	view.Choice
	kinds, signals []string
}

// chosenFlags adds the flags that choose entries.
func chosenFlags(c *cobra.Command) *chosen {
	f := new(chosen)
	wordsFlag(c, &f.kinds, "kind", perdure.Kind(0).CanonNames()[1:], "only entries of this kind; may be repeated")
	wordsFlag(c, &f.signals, "signal", perdure.Signal(0).CanonNames()[1:],
		"only entries with this signal; may be repeated")
	c.Flags().StringVar(&f.Tool, "tool", "", "only entries about this tool")
	return f
}

// wordsFlag adds a flag for several of some words, and completes them.
func wordsFlag(c *cobra.Command, to *[]string, name string, words []string, usage string) {
	c.Flags().StringSliceVar(to, name, nil, usage)
	completes(c, name, words...)
}

// parse reads what the flags say.
func (f *chosen) parse() (err error) {
	if f.Kinds, err = parseNames[perdure.Kind]("--kind", f.kinds); err == nil {
		f.Signals, err = parseNames[perdure.Signal]("--signal", f.signals)
	}
	return err
}

// parseNames reads the words of a flag.
func parseNames[T interface {
	~uint8
	CanonNames() []string
}](flag string, words []string) (found []T, err error) {
	for _, word := range words {
		one, err := view.ParseName[T](flag, word)
		if err != nil {
			return nil, perdure.Invalid(err)
		}
		found = append(found, one)
	}
	return found, nil
}
