package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// person is somebody who makes agents and tells them things.
type person struct {
	name string
	key  *perdure.Signer
}

// as is a node of a person, which only tells.
func (r *run) as(p *person, who *life) *perdure.Node {
	return &perdure.Node{Store: &port{r, who, who.store}, Key: p.key, Policy: r.policy, PolicyHash: r.policy.Hash(),
		Trust: r.trust, CacheSize: -1}
}

// does has a person do something at a store, in their own time.
func (r *run) does(p *person, s *stock, inline bool, f func(ctx context.Context, n *perdure.Node) error) {
	r.acts++
	who := &life{name: fmt.Sprintf("%s.%d", p.name, r.acts), store: s, inline: inline}
	n := r.as(p, who)
	if inline {
		if err := f(context.Background(), n); err != nil && !expected(err) {
			r.violate("people are heard", "%s at %s: %v", who.name, s.name, err)
		}
		return
	}
	go func() {
		if err := f(context.Background(), n); err != nil {
			r.sched.note(fmt.Sprintf("%s: %v", who.name, err))
		}
	}()
	r.sched.settle()
}

// expected reports whether an error says that something is not to be done, rather than that it could not be.
func expected(err error) bool {
	for _, e := range []error{perdure.ErrTerminated, perdure.ErrNotFound, perdure.ErrConflict, perdure.ErrRejected,
		perdure.ErrDenied} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// create makes an agent.
func (r *run) create(op Op) {
	p, s := r.people[op.A%2], r.stores[op.B%len(r.stores)]
	d := draw(uint64(op.C))
	prog := program{Seed: op.A, Turns: 2 + int64(d.n(9)), Once: d.n(2), Gen: d.n(3)}
	in := perdure.Intent{Goal: prog.String(), Advisor: []string{"instant", "costly"}[d.n(2)]}
	if d.n(3) == 0 {
		calls := int64(1 + d.n(8))
		in.Budget = &perdure.Budget{Calls: &calls}
	}
	if d.n(6) == 0 {
		in.Deadline = perdure.TimeOf(time.Now().Add(time.Duration(1+d.n(7200)) * time.Second))
	}
	if d.n(3) == 0 {
		in.TTL = int64(1000 * (10 + d.n(600)))
	}
	g := perdure.Genesis{Intent: in, Charter: perdure.Charter{Scope: "acme", Depth: int64(prog.Gen)}}
	r.does(p, s, false, func(ctx context.Context, n *perdure.Node) error {
		_, err := n.Create(ctx, g)
		return err
	})
}

// place is an agent and a store that has it, by numbers.
func (r *run) place(a, b int) (*subject, *stock) {
	if len(r.subjects) == 0 {
		return nil, nil
	}
	sub := r.subjects[a%len(r.subjects)]
	var has []*stock
	for _, s := range r.stores {
		if _, err := s.inner.Heads(context.Background(), sub.id); err == nil {
			has = append(has, s)
		}
	}
	if len(has) == 0 {
		return nil, nil
	}
	return sub, has[b%len(has)]
}

// tells has a person tell an agent something that follows from what it is.
func (r *run) tells(op Op, what func(p *person, sub *subject, f *perdure.Fold) []perdure.Event) {
	sub, s := r.place(op.A, op.B/4)
	if sub == nil {
		return
	}
	sub.facts++
	p := r.people[op.B%len(r.people)]
	r.does(p, s, false, func(ctx context.Context, n *perdure.Node) error {
		a, err := perdure.Load(ctx, n.Store, sub.id)
		if err != nil {
			return err
		}
		for _, ev := range what(p, sub, a.Fold()) {
			ev.By = p.name
			if _, err := n.Tell(ctx, sub.id, ev); err != nil {
				return err
			}
		}
		return nil
	})
}

// says is what a person says by an operation.
func says(op Op, p *person, sub *subject, f *perdure.Fold) []perdure.Event {
	switch op.Kind {
	case Tell:
		ev := perdure.Event{Name: event(op.C), Data: must(perdure.DataOf(map[string]any{"n": int64(op.C)}))}
		if op.C%5 == 0 {
			ev.ID = event(op.C) // said again, it changes nothing
		}
		return []perdure.Event{ev}
	case Pause:
		return []perdure.Event{{Name: "pause", Notice: perdure.Pause{}}}
	case Resume:
		if len(f.Paused) > 0 {
			return []perdure.Event{{Name: "resume", Notice: perdure.Resume{Of: f.Paused}}}
		}
	case Vote:
		return votes(f, op.C%4 != 3)
	case Settle:
		return settles(sub, f)
	case Grant:
		if p.key.Key() == f.Charter.Owner {
			return grants(sub)
		}
	case Edit:
		m := perdure.Mutate{Labels: map[string]string{"edit": fmt.Sprint(op.C)}}
		if calls := int64(op.C % 12); op.C%3 == 0 && f.Intent.Budget != nil {
			m.Budget = &perdure.Budget{Calls: &calls}
		}
		return []perdure.Event{{Name: "edit", Notice: perdure.Edit{Mutate: m}}}
	case End:
		return []perdure.Event{{Name: "cancel", Notice: perdure.Cancel{}}}
	}
	return nil
}

func votes(f *perdure.Fold, yes bool) (evs []perdure.Event) {
	for i := range f.Asks {
		q := &f.Asks[i]
		evs = append(evs, perdure.Event{Name: "answer", Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest,
			Approve: yes}})
	}
	return evs
}

// settles is what a person who looks at the world says of what is in doubt.
func settles(sub *subject, f *perdure.Fold) (evs []perdure.Event) {
	now := perdure.TimeOf(time.Now())
	for i := range f.Open {
		o := &f.Open[i]
		x, ok := o.Action.(perdure.Execute)
		if !ok || o.Effect.Repeatable() || !o.Doubt && now < o.Deadline && o.Since < now.Add(time.Hour) {
			continue
		}
		n := perdure.Settle{Decision: o.Decision, Signal: perdure.Failed}
		if sub.happened(act(perdure.Call{Args: x.Args}, x.Tool)) {
			n.Signal = perdure.OK
		}
		evs = append(evs, perdure.Event{Name: "settled", Notice: n})
	}
	return evs
}

func grants(sub *subject) []perdure.Event {
	sub.granted += 3
	return []perdure.Event{{Name: "grant", Notice: perdure.Grant{Amount: perdure.Spend{Calls: 3}}}}
}

// fork has a person fork an agent.
func (r *run) fork(op Op) {
	sub, s := r.place(op.A, op.B/4)
	if sub == nil || sub.rehearse || len(r.subjects) > 24 {
		return
	}
	p := r.people[op.B%2]
	r.does(p, s, false, func(ctx context.Context, n *perdure.Node) error {
		a, err := perdure.Load(ctx, n.Store, sub.id)
		if err != nil {
			return err
		}
		_, err = n.Fork(ctx, a, a.Fold().ForkGenesis(a.Heads()[0], op.C%2 == 1))
		return err
	})
}

// copies has a person take an agent from a store to another.
func (r *run) copies(op Op) {
	sub, from := r.place(op.A, op.B)
	if sub == nil || len(r.stores) < 2 || !r.mayCopy(sub) {
		return
	}
	others := slices.DeleteFunc(slices.Clone(r.stores), func(s *stock) bool { return s == from })
	to := others[op.C%len(others)]
	r.marked(sub)
	sub.facts++
	p := r.people[0]
	r.acts++
	reader := &life{name: fmt.Sprintf("%s.%d", p.name, r.acts), store: from}
	r.does(p, to, false, func(ctx context.Context, n *perdure.Node) error {
		return r.carry(ctx, &port{r, reader, from}, n, p, sub)
	})
}

// carry exports an agent out of a store and imports it into that of a node.
func (r *run) carry(ctx context.Context, from perdure.Store, n *perdure.Node, p *person, sub *subject) error {
	var file bytes.Buffer
	if _, err := capsule.Export(ctx, &file, from, sub.id, capsule.Options{}); err != nil {
		return err
	}
	o := capsule.ImportOptions{Older: true, Trust: r.trust, Key: p.key, Ready: true}
	if _, err := capsule.Import(ctx, n.Store, bytes.NewReader(file.Bytes()), o); err != nil {
		return err
	}
	return n.Arrived(ctx, sub.id)
}

// mayCopy reports whether an agent may be in several stores. Where an agent pays is one place: its seat.
func (r *run) mayCopy(sub *subject) bool {
	return !sub.rehearse // it needs the record of its parent beside it
}

// marked keeps in mind that an agent is in several stores, and so are its children.
func (r *run) marked(sub *subject) {
	sub.copied = true
	for _, s := range r.subjects {
		if s.parent == sub && !s.copied {
			r.marked(s)
		}
	}
}

// collect has somebody collect an agent beside everything else. A conflict ends it: it would wait for a random time.
func (r *run) collect(op Op) {
	sub, s := r.place(op.A, op.B)
	if sub == nil {
		return
	}
	p := r.people[0]
	r.does(p, s, false, func(ctx context.Context, n *perdure.Node) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		n.Store = &once{n.Store.(*port), cancel}
		_, err := n.Collect(ctx, sub.id)
		return err
	})
}

// once is a port whose first conflict ends what is done with it.
type once struct {
	*port
	cancel context.CancelFunc
}

func (o *once) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) error {
	err := o.port.Append(ctx, id, heads, entries...)
	if errors.Is(err, perdure.ErrConflict) {
		o.cancel()
	}
	return err
}
