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
	claims *claims
}

var _ webhook.Desk = hookDesk{}

// Hooked is what answers posts that these hooks signed, by the rules of the desk.
func (d *Desk) Hooked(hooks ...webhook.Hook) *webhook.Handler {
	return &webhook.Handler{Desk: hookDesk{d, new(claims)}, Node: d.Node, Hooks: hooks, Fail: failHook}
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
	return d.tell(ctx, v, a.ID(), ev)
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

// Claim implements webhook.Desk. Where the home is a folder it is durable, and all who serve the home share it.
func (d hookDesk) Claim(ctx context.Context, h *webhook.Hook, message, about, value string) (string, error) {
	key := strings.Join([]string{h.Name, about, message}, "\n")
	if d.Requests != nil {
		return d.Requests.Claim(ctx, key, value)
	}
	return d.claims.claim(key, value), nil
}

// claims are those of a home in memory, which one process serves.
type claims struct {
	mu    sync.Mutex
	first map[string]string
	old   map[string]string // of before, until there are as many again
}

// maxClaims bounds those that are remembered.
const maxClaims = 1 << 16

func (c *claims) claim(key, value string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, ok := c.first[key]; ok {
		return first
	}
	if first, ok := c.old[key]; ok {
		return first
	}
	if c.first == nil || len(c.first) >= maxClaims {
		c.first, c.old = map[string]string{}, c.first
	}
	c.first[key] = value
	return value
}
