package mcp

import (
	"container/list"
	"net/http"
	"sync"

	"github.com/perdure/perdure/home"
)

// maxSessions bounds the sessions over HTTP: clients that are cut off leave theirs behind, each with what it costs,
// until it was idle for long. Of more, the one that was used least lately ends; its client begins another. One visitor
// has a quarter of them: who begins many ends their own.
const maxSessions = 500

// sessionHeader names a session of a protocol that has them.
const sessionHeader = "Mcp-Session-Id"

// sessions are those over HTTP, by when they were last used. The zero value is ready.
type sessions struct {
	mu    sync.Mutex
	order list.List // the last used first
	at    map[string]*list.Element
	of    map[string]int // how many each visitor has
}

// session is one of a visitor; who is empty where nobody says who asks.
type session struct{ id, who string }

// bounded ends sessions that are too many.
func (s *Server) bounded(next http.Handler) http.Handler {
	open := &sessions{at: map[string]*list.Element{}, of: map[string]int{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get(sessionHeader)
		open.used(given)
		next.ServeHTTP(w, r)
		if r.Method == http.MethodDelete {
			open.ended(given)
			return
		}
		if id := w.Header().Get(sessionHeader); id != "" && id != given {
			who := ""
			if v := home.VisitorIn(r.Context()); v != nil {
				who = v.ID()
			}
			s.endSession(open.begun(session{id, who}))
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
func (o *sessions) begun(s session) (over string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at[s.id] != nil {
		return ""
	}
	o.at[s.id] = o.order.PushFront(s)
	o.of[s.who]++
	switch {
	case s.who != "" && o.of[s.who] > maxSessions/4:
		return o.dropOldest(func(x session) bool { return x.who == s.who })
	case o.order.Len() > maxSessions:
		return o.dropOldest(func(session) bool { return true })
	}
	return ""
}

// dropOldest forgets the one that was used least lately of those that are meant.
func (o *sessions) dropOldest(meant func(session) bool) string {
	for e := o.order.Back(); e != nil; e = e.Prev() {
		if s, _ := e.Value.(session); meant(s) {
			o.drop(s.id)
			return s.id
		}
	}
	return ""
}

// drop forgets a session.
func (o *sessions) drop(id string) {
	e := o.at[id]
	if e == nil {
		return
	}
	s, _ := o.order.Remove(e).(session)
	delete(o.at, id)
	if o.of[s.who]--; o.of[s.who] == 0 {
		delete(o.of, s.who)
	}
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
	o.drop(id)
}
