package exchange

import "github.com/perdure/perdure"

// Changes are agents that have got entries in a place since a position in what arrived there.
type Changes struct {
	Agents   []perdure.AgentID `json:"agents"`
	Position string            `json:"position"` // to ask from the next time
	// Private are those that keep the private notes of a role, and are not among Agents: whoever asks goes on with
	// those that somebody has passed on to it by name.
	Private []perdure.AgentID `json:"private,omitempty"`
	More    bool              `json:"more,omitempty"`
}
