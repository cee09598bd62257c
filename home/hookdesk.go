package home

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/webhook"
)

// hookDesk is the desk as hooks find it: each is a visitor with the rights that node.yaml gives it.
type hookDesk struct {
	*Desk
	notes notes
}

// notes are what is remembered of messages: durably, by all who serve a home that is a folder; else by this process.
type notes interface {
	Claim(ctx context.Context, key, value string) (first string, err error)
	// note remembers a value by a key, instead of the one there is.
	note(ctx context.Context, key, value string) error
	// noted is what is remembered by a key; empty: nothing.
	noted(ctx context.Context, key string) (string, error)
}

var _ webhook.Desk = hookDesk{}

// Hooked is what answers posts that these hooks signed, by the rules of the desk.
func (d *Desk) Hooked(hooks ...webhook.Hook) *webhook.Handler {
	var n notes = new(claims)
	if d.Requests != nil {
		n = d.Requests
	}
	return &webhook.Handler{Desk: hookDesk{d, n}, Node: d.Node, Hooks: hooks, Fail: failHook}
}

// failHook answers a post with an error, as a problem (RFC 9457).
func failHook(w http.ResponseWriter, _ *http.Request, err error) {
	status := KindOf(err).Status()
	p := map[string]any{"title": http.StatusText(status), "status": status, "detail": err.Error()}
	var hint *perdure.Hint
	if errors.As(err, &hint) {
		p["hint"] = hint.Do
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(p) // who has gone needs no answer
}

// program is a hook as one who sends events: what it says is not taken at its word.
func program(h *webhook.Hook) *Visitor {
	return &Visitor{Name: h.Name, hook: h.Name, Scope: cmp.Or(h.Scope, perdure.AnyScope), Verbs: []string{VerbEvent}}
}

// behind is the person behind a hook, who approves and answers; without one it is the hook, which may do neither. Whose
// key was revoked does neither any more, as by a token.
func (d hookDesk) behind(h *webhook.Hook) (*Visitor, error) {
	v := program(h)
	if h.Person == nil {
		return v, nil
	}
	for _, who := range d.Node.Trusted().Trustees() {
		if who.Key == h.Person.Key() && who.Revoked {
			return nil, fmt.Errorf("%w: the key of %s, who is behind the hook %s, was revoked", perdure.ErrDenied,
				h.Person.Name, h.Name)
		}
	}
	v.Name, v.Person, v.Speaks = h.Person.Name, h.Person, true
	v.Verbs = []string{VerbAnswer, VerbApprove}
	return v, nil
}

// Begin implements webhook.Desk.
func (d hookDesk) Begin(ctx context.Context, h *webhook.Hook, name string) (*perdure.Agent, func(), error) {
	v := program(h)
	id, err := d.Find(ctx, v, name)
	if err != nil {
		return nil, nil, err
	}
	done, err := d.Turns.Take(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	a, err := d.Node.Load(ctx, id)
	if err == nil && !v.Sees(a.Fold().Charter.Scope) {
		err = missing(name)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return a, done, nil
}

// Received implements webhook.Desk. Of very many messages the agent's memory knows the ids of the last alone: for
// the others it is noted, before an event is stored, which entry it is to be, and looked whether that is there.
func (d hookDesk) Received(ctx context.Context, _ *webhook.Hook, a *perdure.Agent, ev perdure.Event) (bool, error) {
	if a.Fold().Received(&ev) {
		return true, nil
	}
	value, err := d.notes.noted(ctx, told(a.ID(), &ev))
	if value == "" || err != nil {
		return false, err
	}
	var seq int64
	var name string
	if _, err := fmt.Sscan(value, &seq, &name); err != nil {
		return false, fmt.Errorf("read what was noted of the message: %w", err)
	}
	older := func(snapshot *perdure.Entry) bool { return snapshot.Seq < seq }
	for e, err := range perdure.Backwards(ctx, d.Store, a.ID(), older) {
		if err != nil || e.Name.String() == name {
			return err == nil, err
		}
	}
	return false, nil
}

// told is the key by which it is noted that an agent is told something.
func told(id perdure.AgentID, ev *perdure.Event) string {
	return strings.Join([]string{"told", id.String(), ev.By, ev.ID}, "\n")
}

// Tell implements webhook.Desk.
func (d hookDesk) Tell(ctx context.Context, h *webhook.Hook, a *perdure.Agent, ev perdure.Event) (*perdure.Entry, bool,
	error) {
	v := program(h)
	if verbOf(&ev) == VerbAnswer {
		var err error
		if v, err = d.behind(h); err != nil {
			return nil, false, err
		}
	}
	if err := d.mayTell(v, &ev); err != nil {
		return nil, false, err
	}
	ev.By = v.Name
	if before, err := d.Received(ctx, h, a, ev); before || err != nil {
		return nil, before, err
	}
	note := func(e *perdure.Entry) error {
		return d.notes.note(ctx, told(a.ID(), &ev), fmt.Sprint(e.Seq, " ", e.Name))
	}
	var is perdure.Hash
	e, before, err := d.tell(perdure.WithJournal(ctx, func(_ perdure.AgentID, entries []*perdure.Entry) error {
		at := len(entries) - 1
		for at > 0 && entries[at].Kind != perdure.KindEvent { // a snapshot may follow
			at--
		}
		is = entries[at].Name
		return note(entries[at])
	}), v, a.ID(), ev)
	if err == nil && e.Name != is { // another server was first
		err = note(e)
	}
	return e, before, err
}

// Vote implements webhook.Desk.
func (d hookDesk) Vote(ctx context.Context, h *webhook.Hook, a *perdure.Agent, message string,
	vote perdure.Approval) (*perdure.Entry, error) {
	v, err := d.behind(h)
	if err != nil {
		return nil, err
	}
	if _, err := d.Votable(v, a, vote.Digest, vote.Approve); err != nil {
		return nil, err
	}
	entries, err := d.signed(ctx, v, a, message, vote)
	if err != nil {
		return nil, err
	}
	e, _, err := d.Node.TakeVote(ctx, a.ID(), entries)
	return e, err
}

// Claim implements webhook.Desk.
func (d hookDesk) Claim(ctx context.Context, h *webhook.Hook, message, about, value string) (string, error) {
	key := strings.Join([]string{h.Name, about, message}, "\n")
	return d.notes.Claim(ctx, key, value)
}

// claims are those of a home in memory, which one process serves.
type claims struct {
	mu    sync.Mutex
	first map[string]string
	old   map[string]string // of before, until there are as many again
}

// maxClaims bounds those that are remembered.
const maxClaims = 1 << 16

func (c *claims) Claim(_ context.Context, key, value string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.get(key); first != "" {
		return first, nil
	}
	c.set(key, value)
	return value, nil
}

func (c *claims) noted(_ context.Context, key string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(key), nil
}

func (c *claims) note(_ context.Context, key, value string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, value)
	return nil
}

func (c *claims) get(key string) string { return cmp.Or(c.first[key], c.old[key]) }

func (c *claims) set(key, value string) {
	if c.first == nil || len(c.first) >= maxClaims {
		c.first, c.old = map[string]string{}, c.first
	}
	c.first[key] = value
}
