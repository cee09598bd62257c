package perdure

import (
	"encoding/binary"
	"testing"
)

// TestACacheKeepsWhatIsUsed: however many agents come once, the one that is used again and again stays, and there are
// never more than fit.
func TestACacheKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	agent := func(n int) *Agent {
		var id AgentID
		binary.BigEndian.PutUint64(id[:], uint64(n))
		return &Agent{fold: &Fold{Agent: id}}
	}
	const size = 16
	var c cache
	used := agent(0)
	c.put(used, size)
	for n := range 1000 {
		c.put(agent(n+1), size)
		if c.get(used.ID()) != used {
			t.Fatalf("the agent that is used all the time is gone after %d others", n+1)
		}
		if len(c.all) > size {
			t.Fatalf("%d agents are kept, want %d at most", len(c.all), size)
		}
	}
	if len(c.all) != size {
		t.Errorf("%d agents are kept, want %d", len(c.all), size)
	}
	next := &Agent{fold: &Fold{Agent: used.ID(), Count: 1}}
	if c.put(next, size); c.get(used.ID()) != next {
		t.Error("the agent is not as it was put there last")
	}
	if c.drop(used.ID()); c.get(used.ID()) != nil {
		t.Error("an agent that was dropped is there")
	}
}
