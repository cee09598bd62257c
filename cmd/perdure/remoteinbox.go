package main

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/perdure/perdure/view"
)

// waits is what waits for people, of all agents that the server shows: it answers by pages, chats last on each.
func (r *remote) waits() (json.RawMessage, error) {
	all := struct {
		Waits  []json.RawMessage `json:"waits"`
		Faults string            `json:"faults,omitempty"`
		Next   string            `json:"next,omitempty"`
	}{Waits: []json.RawMessage{}}
	for {
		raw, err := r.get("/v1/waits?limit=1000&cursor=" + url.QueryEscape(all.Next))
		if err != nil {
			return nil, err
		}
		page := all
		page.Waits, page.Faults, page.Next = nil, "", ""
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, err
		}
		if all.Waits = append(all.Waits, page.Waits...); page.Faults != "" && all.Faults != "" {
			all.Faults += "\n"
		}
		all.Faults += page.Faults
		if all.Next = page.Next; all.Next == "" {
			break
		}
	}
	talks := func(raw json.RawMessage) int {
		var one struct {
			Kind string `json:"kind"`
		}
		if json.Unmarshal(raw, &one) == nil && one.Kind == view.WaitTalk {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all.Waits, func(a, b json.RawMessage) int { return talks(a) - talks(b) })
	return json.Marshal(all)
}
