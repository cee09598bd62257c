package perdure

import "sync"

// known is what a node has found out about agents, of so many at most: with one more it forgets all, and finds it out
// again. The zero value knows nothing. It is safe for concurrent use.
type known[V any] struct {
	mu sync.Mutex
	of map[AgentID]V
}

func (k *known[V]) get(id AgentID) (v V, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok = k.of[id]
	return v, ok
}

func (k *known[V]) set(id AgentID, v V, most int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) >= most {
		k.of = map[AgentID]V{}
	}
	k.of[id] = v
}

// forget drops what is known of an agent; zero: of all.
func (k *known[V]) forget(id AgentID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.of, id); id.IsZero() {
		clear(k.of)
	}
}
