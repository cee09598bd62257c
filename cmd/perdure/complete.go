package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

const (
	// maxCompletions is how many agents a shell is offered.
	maxCompletions = 256
	// everyArgKey is the annotation of commands all of whose arguments are agents.
	everyArgKey = "agents"
)

// completer completes the arguments of a command for a shell.
type completer = func(c *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective)

// agentArg completes the names and ids of agents.
func agentArg(h *homeFlag) completer { return agentThen(h, nil) }

// agentThen completes an agent, and after it what of that agent comes second.
func agentThen(h *homeFlag, second func(a *perdure.Agent) []cobra.Completion) completer {
	return func(c *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var words []cobra.Completion
		complete := func(ctx context.Context, s perdure.Store) (err error) {
			words, err = agentWords(ctx, s, args, toComplete)
			return err
		}
		switch {
		case len(args) == 0 || c.Annotations[everyArgKey] != "":
		case len(args) == 1 && second != nil:
			complete = func(ctx context.Context, s perdure.Store) error {
				id, err := home.Find(ctx, s, args[0])
				if err != nil {
					return err
				}
				a, err := perdure.Load(ctx, s, id)
				if err == nil {
					words = second(a)
				}
				return err
			}
		default:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		h.c.SetContext(context.Background())
		h.Acts, h.Looks, h.Completes = false, true, true // whoever presses a key for names is not asked anything
		if err := h.use(false, complete); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// agentWords are the agents that a word can become, but for those named before.
func agentWords(ctx context.Context, s perdure.Store, named []string, toComplete string) ([]cobra.Completion, error) {
	l, err := view.Lister(s)
	if err != nil {
		return nil, err
	}
	var words []cobra.Completion
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return nil, err
		}
		word := one.Name
		if !view.PlainWord(word) || view.CommandName(word, one.Agent) != word || !strings.HasPrefix(word, toComplete) {
			word = one.Agent.Short() // a shell would take such a name apart, or people for something else
		}
		if strings.HasPrefix(word, toComplete) && !slices.Contains(named, word) {
			words = append(words, cobra.CompletionWithDesc(word,
				view.OneLine(one.State.String()+" "+one.Kind, view.LineWidth/2)))
		}
		if len(words) == maxCompletions {
			break
		}
	}
	return words, nil
}

// askedDigests are the digests of what an agent asks permission for.
func askedDigests(a *perdure.Agent) (words []cobra.Completion) {
	for _, q := range a.Fold().Asks {
		words = append(words, cobra.CompletionWithDesc(q.Digest.String(),
			view.OneLine(view.ActionText(q.Action), view.LineWidth/2)))
	}
	return words
}

// openDecisions are the decisions of an agent without an outcome.
func openDecisions(a *perdure.Agent) (words []cobra.Completion) {
	for _, o := range slices.Concat(a.Fold().Open, a.Fold().Hearsay()) {
		words = append(words, cobra.CompletionWithDesc(o.Decision.String(),
			view.OneLine(view.ActionText(o.Action), view.LineWidth/2)))
	}
	return words
}

// awaitedEvents are the events an agent sleeps for.
func awaitedEvents(a *perdure.Agent) (words []cobra.Completion) {
	if s := a.Fold().Sleep; s != nil {
		for _, name := range view.EventsOf(s.Sleep.Trigger) {
			if !view.PlainWord(name) {
				continue
			}
			words = append(words, cobra.CompletionWithDesc(name, "what it waits for"))
		}
	}
	return words
}
