package mcp

import (
	"container/list"
	"net/http"
	"sync"
)

// maxSessions bounds the sessions over HTTP: clients that are cut off leave theirs behind, each with what it costs,
// until it was idle for long. Of more, the one that was used least lately ends; its client begins another.
const maxSessions = 500

// sessionHeader names a session of a protocol that has them.
const sessionHeader = "Mcp-Session-Id"

// sessions are those over HTTP, by when they were last used. The zero value is ready.
type sessions struct {
	mu    sync.Mutex
	order list.List // of ids, the last used first
	at    map[string]*list.Element
}

// bounded ends sessions that are too many.
func (s *Server) bounded(next http.Handler) http.Handler {
	open := &sessions{at: map[string]*list.Element{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get(sessionHeader)
		open.used(given)
		next.ServeHTTP(w, r)
		if r.Method == http.MethodDelete {
			open.ended(given)
			return
		}
		if id := w.Header().Get(sessionHeader); id != "" && id != given {
			s.endSession(open.begun(id))
		}
	})
}

// endSession ends a session; "" is none.
func (s *Server) endSession(id string) {
	if id == "" {
		return
	}
	for one := range s.mcp().Sessions() {
		if one.ID() == id {
			_ = one.Close() // whoever had it is gone, most likely
		}
	}
}

// begun notes a session, and is the one that has to end for it, if there are too many.
func (o *sessions) begun(id string) (over string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at[id] != nil {
		return ""
	}
	o.at[id] = o.order.PushFront(id)
	if o.order.Len() <= maxSessions {
		return ""
	}
	over, _ = o.order.Remove(o.order.Back()).(string)
	delete(o.at, over)
	return over
}

// used notes that a session is in use.
func (o *sessions) used(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.at[id]; e != nil {
		o.order.MoveToFront(e)
	}
}

func (o *sessions) ended(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.at[id]; e != nil {
		o.order.Remove(e)
		delete(o.at, id)
	}
}
