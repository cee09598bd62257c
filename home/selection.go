package home

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// Selection says which agents are listed, in the words of people. Zero fields select all.
type Selection struct {
	Name, Kind, Scope string
	Since             string // a time, or how long ago
	States            []string
	Labels            map[string]string
	Waiting           bool
	Limit             int // zero: any number
}

// Filter is the same for a store. An error begins with the name of the field.
func (x *Selection) Filter(now time.Time) (perdure.Filter, error) {
	f := perdure.Filter{Name: x.Name, Kind: x.Kind, Scope: x.Scope, Labels: x.Labels, Waiting: x.Waiting,
		Limit: x.Limit}
	for _, word := range x.States {
		var s phase.State
		err := s.UnmarshalText([]byte(word))
		if err == nil && s == 0 {
			err = errors.New("want the name of a state")
		}
		if err != nil && slices.Contains(Standings, word) {
			err = perdure.WithHint(err, "how agents stand, as lists say it, is a standing: perdure ls --standing "+word)
		}
		if err != nil {
			return f, fmt.Errorf("state: %w", err)
		}
		f.States = append(f.States, s)
	}
	if x.Scope != "" {
		if err := perdure.CheckScope(x.Scope); err != nil {
			return f, fmt.Errorf("scope: %w", err)
		}
	}
	if x.Since != "" {
		at, err := ParseMoment(x.Since, now)
		if err != nil {
			return f, fmt.Errorf("since: %w", err)
		}
		f.Since = perdure.TimeOf(at)
	}
	return f, nil
}

// Standings are the words for how agents stand in a list.
var Standings = func() (words []string) {
	for _, is := range phase.Standings() {
		words = append(words, string(is))
	}
	return words
}()

// ListStanding lists the agents that a filter selects and that stand in one of some ways; none: in any.
func ListStanding(ctx context.Context, from Agents, f perdure.Filter, ways []string) ([]Listed, error) {
	if len(ways) == 0 {
		return from.List(ctx, f)
	}
	for _, way := range ways {
		if !slices.Contains(Standings, way) {
			return nil, perdure.Invalid(fmt.Errorf("--standing %s: want one of %s", view.Quoted(way),
				strings.Join(Standings, ", ")))
		}
	}
	limit := f.Limit
	f.Limit = 0 // how one stands is known once it is listed
	found, err := from.List(ctx, f)
	found = slices.DeleteFunc(found, func(l Listed) bool { return !slices.Contains(ways, string(l.Standing)) })
	if limit > 0 {
		found = found[:min(limit, len(found))]
	}
	return found, err
}

// NoAgents says that a list is empty: of one that was to have all agents, how to begin.
func NoAgents(f perdure.Filter, ways []string) string {
	if f.Limit = 0; everything(&f) && len(ways) == 0 {
		return `there are no agents yet; perdure new "GOAL" makes one`
	}
	return "no agent is like that"
}

// everything reports whether a filter selects all agents.
func everything(f *perdure.Filter) bool {
	return f.Prefix == "" && f.Name == "" && f.Kind == "" && f.Scope == "" && f.States == nil && f.Labels == nil &&
		f.Since == 0 && f.Before == 0 && !f.Waiting && f.Limit == 0
}
