package exchange

import "github.com/perdure/perdure"

// Changes are agents that have got entries in a place since a position in what arrived there.
type Changes struct {
	Agents   []perdure.AgentID `json:"agents"`
	Position string            `json:"position"` // to ask from the next time
	More     bool              `json:"more,omitempty"`
}
