package home

import (
	"context"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// maxCompletions is how many agents a shell is offered.
const maxCompletions = 256

// Completion is a word that somebody may be typing, and what it stands for.
type Completion struct{ Word, About string }

// about is a completion whose meaning is cut to fit beside others.
func about(word, text string) Completion {
	return Completion{word, view.OneLine(text, view.LineWidth/2)}
}

// CompleteAgent are the agents that a word can become, but for those named before.
func CompleteAgent(ctx context.Context, h *Home, s perdure.Store, named []string, typed string) ([]Completion, error) {
	l, err := view.Lister(s)
	if err != nil {
		return nil, err
	}
	var words []string
	var found []perdure.Listing
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return nil, err
		}
		word := one.Name
		if !view.PlainWord(word) || view.CommandName(word, one.Agent) != word || !strings.HasPrefix(word, typed) {
			word = one.Agent.Short() // a shell would take such a name apart, or people for something else
		}
		if strings.HasPrefix(word, typed) && !slices.Contains(named, word) {
			words, found = append(words, word), append(found, one)
		}
		if len(words) == maxCompletions {
			break
		}
	}
	listed, err := h.Check(ctx, s, found, false) // so that a shell says what ls says
	if err != nil {
		return nil, err
	}
	all := make([]Completion, len(words))
	for i, word := range words {
		all[i] = about(word, strings.TrimSpace(string(listed[i].Standing)+" "+listed[i].Kind))
	}
	return all, nil
}

// CompleteAsked are the digests of what an agent asks permission for.
func CompleteAsked(a *perdure.Agent) (words []Completion) {
	for _, q := range a.Fold().Asks {
		words = append(words, about(q.Digest.String(), view.ActionText(q.Action)))
	}
	return words
}

// CompleteOpen are the decisions of an agent without an outcome.
func CompleteOpen(a *perdure.Agent) (words []Completion) {
	for _, o := range slices.Concat(a.Fold().Open, a.Fold().Hearsay()) {
		words = append(words, about(o.Decision.String(), view.ActionText(o.Action)))
	}
	return words
}

// CompleteAwaited are the events an agent sleeps for.
func CompleteAwaited(a *perdure.Agent) (words []Completion) {
	if s := a.Fold().Sleep; s != nil {
		for _, name := range view.EventsOf(s.Sleep.Trigger) {
			if view.PlainWord(name) {
				words = append(words, about(name, "what it waits for"))
			}
		}
	}
	return words
}
