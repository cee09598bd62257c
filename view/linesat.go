package view

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
)

// LinesAt is the last n lines of a memory, oldest first, and whether there are more before them: all that arrived, or
// if at is an entry, that and what came before it.
func LinesAt(ctx context.Context, s perdure.Store, a *perdure.Agent, at *perdure.Entry, n int) (lines []Line, more bool,
	err error) {
	any := func(Line) bool { return true }
	if at != nil {
		past, err := pastOf(ctx, s, a.ID(), at.Name)
		if err != nil {
			return nil, false, err
		}
		any = func(l Line) bool { return past[l.Entry] }
	}
	_, lines, err = FollowRecent(ctx, s, a.ID(), n+1, Fitting(any))
	if len(lines) > n {
		lines, more = lines[len(lines)-n:], true
	}
	return lines, more, err
}

// pastOf is an entry and all that it was written after.
func pastOf(ctx context.Context, s perdure.Store, id perdure.AgentID, at perdure.Hash) (map[perdure.Hash]bool, error) {
	var all []perdure.Header
	var names []perdure.Hash
	for item, err := range s.Entries(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		all, names = append(all, item.Header), append(names, item.Name)
		if item.Name == at {
			break
		}
	}
	past := map[perdure.Hash]bool{at: true}
	for i := range slices.Backward(all) { // parents arrive before their children
		if past[names[i]] {
			for _, p := range all[i].Parents {
				past[p] = true
			}
		}
	}
	return past, nil
}
