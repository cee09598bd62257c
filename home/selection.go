package home

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// Selection says which agents are listed, in the words of people. Zero fields select all.
type Selection struct {
	Name, Kind, Scope string
	Since             string // a time, or how long ago
	States            []string
	Labels            map[string]string
	Waiting           bool
	Limit             int
}

// Filter is the same for a store. An error begins with the name of the field.
func (x *Selection) Filter(now time.Time) (perdure.Filter, error) {
	f := perdure.Filter{Name: x.Name, Kind: x.Kind, Scope: x.Scope, Labels: x.Labels, Waiting: x.Waiting,
		Limit: x.Limit}
	if x.Limit < 0 {
		return f, fmt.Errorf("limit %d: want 0 or more", x.Limit)
	}
	for _, word := range x.States {
		var s phase.State
		err := s.UnmarshalText([]byte(word))
		if err == nil && s == 0 {
			err = errors.New("want the name of a state")
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
