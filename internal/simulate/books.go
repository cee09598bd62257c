package simulate

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
)

// stock is a store and what is known about it from outside.
type stock struct {
	name  string
	kind  string
	path  string
	inner perdure.Store
	books map[perdure.AgentID]*book
}

// book is what a store owes us of one agent.
type book struct {
	acked   map[perdure.Hash]bool
	pauses  map[perdure.Hash]time.Time // acknowledged, and not resumed
	resumed map[perdure.Hash]bool
	claim   perdure.Claim // the last one
	claimed time.Time     // until when it holds
	stale   map[*life][]perdure.Hash
}

// open opens the store itself.
func (s *stock) open(trust *perdure.Trust) (err error) {
	switch s.kind {
	case "sqlite":
		s.inner, err = sqlite.Open(context.Background(), filepath.Join(s.path, s.name+".db"), sqlite.Options{})
	case "dir":
		s.inner, err = dir.Open(filepath.Join(s.path, s.name), dir.Options{Binary: true, Trust: trust})
	default:
		s.inner = new(perdure.MemStore)
	}
	return err
}

// subject is an agent, as the simulation knows it.
type subject struct {
	n        int
	id       perdure.AgentID
	program  program
	parent   *subject
	rehearse bool
	skewed   time.Time // until when a clock that was ahead may have put it off
	copied   bool      // it is, or was, in more than one store
	// how often it was taken from a node that stood still or was cut off past its lease, and may have been at work
	overdue int64
	budget  *perdure.Budget
	owner   perdure.Key
	granted int64
	facts   int // that it was told, or that went wrong around it
	entries map[perdure.Hash]bool
	asked   map[int64]int // how often its advisor was asked, by turn
	done    map[string]int
	off     map[string]bool
	keys    map[string]string
	tries   map[string]int
}

// book is the book of an agent in a store.
func (r *run) book(s *stock, id perdure.AgentID) *book {
	b := s.books[id]
	if b == nil {
		b = &book{acked: map[perdure.Hash]bool{}, pauses: map[perdure.Hash]time.Time{},
			resumed: map[perdure.Hash]bool{}, stale: map[*life][]perdure.Hash{}}
		s.books[id] = b
	}
	return b
}

// subject is what is known of an agent; nil: nothing.
func (r *run) subject(id perdure.AgentID) *subject {
	for _, s := range r.subjects {
		if s.id == id {
			return s
		}
	}
	return nil
}

// number is the number of an agent, or -1.
func (r *run) number(id perdure.AgentID) int {
	if s := r.subject(id); s != nil {
		return s.n
	}
	return -1
}

// short is an agent in a trace.
func (r *run) short(id perdure.AgentID) string {
	if id.IsZero() {
		return "-"
	}
	return fmt.Sprintf("a%d", r.number(id))
}

// born gets to know an agent by its first entry.
func (r *run) born(e *perdure.Entry) {
	g, ok := e.Content().(perdure.Genesis)
	if !ok || r.subject(e.ID()) != nil {
		return
	}
	s := &subject{
		n: len(r.subjects), id: e.ID(), program: parseProgram(g.Intent.Goal), budget: g.Intent.Budget,
		owner:   g.Charter.Owner,
		entries: map[perdure.Hash]bool{}, asked: map[int64]int{}, done: map[string]int{}, off: map[string]bool{},
		keys:  map[string]string{},
		tries: map[string]int{}, skewed: r.ahead,
	}
	if l := g.Lineage; l != nil {
		s.rehearse = l.Rehearse
		if s.parent = r.subject(l.Parent); s.parent != nil && l.Relation == perdure.Child {
			s.copied = s.parent.copied
		}
	}
	r.subjects = append(r.subjects, s)
	r.tally["agents"]++
}

// wrote keeps the books of entries that a store has now. Cas says that they came on exactly the heads there were.
func (r *run) wrote(s *stock, id perdure.AgentID, entries []*perdure.Entry, cas bool) {
	for _, e := range entries {
		r.born(e)
		if sub := r.subject(id); sub != nil && !sub.entries[e.Name] {
			sub.entries[e.Name] = true
			r.tally["entries"]++
			r.sched.note(fmt.Sprintf("%s %s %s %.6s by %.4s %s", s.name, r.short(id), e.Kind, e.Name, e.Origin,
				gist(e)))
		}
		r.checkPaused(s, id, e, cas)
		if ev, ok := e.Content().(perdure.Event); ok {
			if n, ok := ev.Notice.(perdure.Resume); ok {
				for _, h := range n.Of {
					delete(r.book(s, id).pauses, h)
					r.book(s, id).resumed[h] = true
				}
			}
		}
	}
	r.touched = append(r.touched, touch{s, id})
}

// ack keeps the books of entries that somebody was told a store has.
func (r *run) ack(s *stock, id perdure.AgentID, entries []*perdure.Entry) {
	b := r.book(s, id)
	for _, e := range entries {
		if b.acked[e.Name] {
			continue // it came again, with a copy
		}
		b.acked[e.Name] = true
		ev, _ := e.Content().(perdure.Event)
		switch n := ev.Notice.(type) {
		case perdure.Pause:
			if !b.resumed[e.Name] {
				b.pauses[e.Name] = time.Now()
			}
		case perdure.Resume:
			for _, h := range n.Of {
				delete(b.pauses, h)
				b.resumed[h] = true
			}
		}
	}
}

// checkPaused looks at what is decided in a store after it had acknowledged a pause.
func (r *run) checkPaused(s *stock, id perdure.AgentID, e *perdure.Entry, cas bool) {
	d, ok := e.Content().(perdure.Decision)
	if !ok || !cas || len(r.book(s, id).pauses) == 0 {
		return
	}
	r.checks["paused agents decide nothing"]++
	if len(d.Verdict.Rules) > 0 && strings.HasPrefix(d.Verdict.Rules[0], "runtime.deadline") {
		return
	}
	r.violate("paused agents decide nothing", "%s decided %T at %s after its pause was acknowledged", r.short(id),
		d.Action, s.name)
}

// touch is an agent in a store that got entries.
type touch struct {
	s  *stock
	id perdure.AgentID
}

// spread tells those who watch stores of what they got.
func (r *run) spread() {
	if len(r.touched) == 0 {
		return
	}
	for _, t := range r.touched {
		for _, n := range r.nodes {
			l := n.life
			if l == nil || l.gone() || l.store != t.s || slices.Contains(l.told, t.id) {
				continue
			}
			l.told = append(l.told, t.id)
			select {
			case l.tells <- struct{}{}:
			default:
			}
		}
	}
	r.touched = r.touched[:0]
	r.sched.settle()
}

// gist is what an entry says, for a trace.
func gist(e *perdure.Entry) string {
	switch b := e.Content().(type) {
	case perdure.Decision:
		return fmt.Sprintf("%s %T %v %s", b.Verdict.Answer, b.Action, b.Verdict.Rules, b.Verdict.Reason)
	case perdure.Outcome:
		return fmt.Sprintf("%s of %.6s %s", b.Signal, b.Decision, b.Note)
	case perdure.Event:
		return b.Name
	case perdure.Advice:
		return fmt.Sprintf("%d actions %s", len(b.Actions), b.Signal)
	}
	return ""
}
