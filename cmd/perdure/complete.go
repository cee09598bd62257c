package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// everyArgKey is the annotation of commands all of whose arguments are agents.
const everyArgKey = "agents"

// completer completes the arguments of a command for a shell.
type completer = func(c *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective)

// agentArg completes the names and ids of agents.
func agentArg(h *homeFlag) completer { return agentThen(h, nil) }

// agentThen completes an agent, and after it what of that agent comes second.
func agentThen(h *homeFlag, second func(a *perdure.Agent) []home.Completion) completer {
	return func(c *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var found []home.Completion
		complete := func(ctx context.Context, s perdure.Store) (err error) {
			found, err = home.CompleteAgent(ctx, h.Home, s, args, toComplete)
			return err
		}
		switch {
		case len(args) == 0 || c.Annotations[everyArgKey] != "":
		case len(args) == 1 && second != nil:
			complete = func(ctx context.Context, s perdure.Store) error {
				a, err := h.Agent(ctx, s, args[0])
				if err == nil {
					found = second(a)
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
		var words []cobra.Completion
		for _, one := range found {
			words = append(words, cobra.CompletionWithDesc(one.Word, one.About))
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
