package home

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/roster"
	"github.com/perdure/perdure/view"
)

const (
	// enrollEvery is how often a node says that it is there; lostAfter is how long it is taken to be there since.
	enrollEvery = 15 * time.Second
	lostAfter   = 4 * enrollEvery
	// leaveFor is how long a node that stops tries to say so.
	leaveFor = 2 * time.Second
)

// Rules are what decides in a home, each by its hash: what all nodes of a store should have the same of.
type Rules struct {
	Policy  perdure.Hash `json:"policy,omitzero"`
	Trust   perdure.Hash `json:"trust,omitzero"`   // of the trust file, without names and comments
	Schemas perdure.Hash `json:"schemas,omitzero"` // zero: there are none
}

// Differ names what is not the same.
func (r *Rules) Differ(o *Rules) (names []string) {
	for _, x := range []struct {
		name string
		a, b perdure.Hash
	}{{"policy", r.Policy, o.Policy}, {"trust", r.Trust, o.Trust}, {"schemas", r.Schemas, o.Schemas}} {
		if x.a != x.b {
			names = append(names, x.name)
		}
	}
	return names
}

// Member is a node of a store that many nodes share, as it says of itself.
type Member struct {
	Node perdure.Key `json:"node"` // of the process
	Host string      `json:"host"`
	PID  int         `json:"pid"`
	About
	Rules
	Started perdure.Time `json:"started"`
	Seen    perdure.Time `json:"seen"`
	Lost    bool         `json:"lost,omitempty"`    // nothing was heard of it for a minute
	Differs []string     `json:"differs,omitempty"` // what it has another one of than this home: policy, trust, schemas
}

// rulesOf are what decides in this home, with a policy.
func (h *Home) rulesOf(policy perdure.Hash) (r Rules, err error) {
	r.Policy = policy
	trust, err := h.ReadTrust()
	if err != nil {
		return r, err
	}
	var lines []string
	for _, t := range trust.Trustees() {
		lines = append(lines, fmt.Sprintf("%s %v %q %v", t.Key, t.Revoked, t.Scope, t.Rights))
	}
	slices.Sort(lines)
	r.Trust = perdure.HashOf([]byte(strings.Join(slices.Compact(lines), "\n")))
	if h.Dir == "" {
		return r, nil
	}
	files, err := disk.Files(filepath.Join(h.Dir, schemaDir), ".lode")
	if err != nil || len(files) == 0 {
		return r, err
	}
	var hashes [][]byte
	for _, name := range files {
		text, err := disk.ReadFile(name, maxConfig)
		if err != nil {
			return r, err
		}
		hash := perdure.HashOf(text)
		hashes = append(hashes, hash[:])
	}
	slices.SortFunc(hashes, bytes.Compare)
	r.Schemas = perdure.HashOf(bytes.Join(hashes, nil))
	return r, nil
}

// Members are the nodes of the store, by name, and in what they differ from these rules; none where a store is not
// shared.
func Members(ctx context.Context, s perdure.Store, rules *Rules, now time.Time) (all []Member, err error) {
	r, ok := s.(roster.Roster)
	if !ok {
		return nil, nil
	}
	for p, err := range r.Present(ctx) {
		if err != nil {
			return nil, err
		}
		m := Member{}
		if json.Unmarshal(p.About, &m) != nil {
			continue // of a version that says it in another way
		}
		m.Node, m.Seen = p.Node, perdure.TimeOf(now.Add(-p.Silent))
		m.Lost, m.Differs = p.Silent > lostAfter, m.Rules.Differ(rules)
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), bytes.Compare(a.Node[:], b.Node[:]))
	})
	return all, nil
}

// Called is what people call the node.
func (m *Member) Called() string {
	return fmt.Sprintf("%s on %s (%d)", view.InLine(m.Name), view.InLine(m.Host), m.PID)
}

// enrollment is a node that says to the others of its store that it is there.
type enrollment struct {
	h    *Home
	n    *perdure.Node
	to   roster.Roster
	log  *slog.Logger
	self Member
	told string // what was logged last
}

// Enroll says to the other nodes of the store what this one is and by which rules it goes, until what it returns is
// called. Where others go by other rules, it says so in its log.
func (h *Home) Enroll(ctx context.Context, n *perdure.Node, log *slog.Logger) (leave func()) {
	to, ok := n.Store.(roster.Roster)
	if !ok {
		return func() {}
	}
	e := &enrollment{h: h, n: n, to: to, log: log}
	if err := e.introduce(ctx); err != nil {
		log.Warn("the other nodes of the store cannot be told of this one", "err", err)
		return func() {}
	}
	e.say(ctx)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for every := time.NewTicker(enrollEvery); ; {
			select {
			case <-ctx.Done():
				every.Stop()
				return
			case <-every.C:
				e.say(ctx)
			}
		}
	}()
	return func() {
		cancel()
		<-done
		last, cancel := context.WithTimeout(context.Background(), leaveFor)
		defer cancel()
		if err := to.Leave(last, e.self.Node); err != nil {
			log.Warn("say that this node leaves", "err", err)
		}
	}
}

// introduce puts together what the node says of itself.
func (e *enrollment) introduce(ctx context.Context) error {
	c := Capable(e.n, true)
	m := Member{PID: os.Getpid(), Started: perdure.TimeOf(time.Now()), About: About{Name: e.n.Key.Name,
		Key: e.n.Key.Key(), Runs: true, Advisors: c.Advisors, Tools: c.Tools, Scopes: c.Scopes}}
	m.Host, _ = os.Hostname() // for people
	_, err := rand.Read(m.Node[:])
	if err == nil {
		at, bad := e.h.PlaceOf(ctx, e.n.Store)
		m.Place, err = at.ID, bad
	}
	e.self = m
	return err
}

// say says that the node is there, and looks who else is. Whom it trusts may have changed since.
func (e *enrollment) say(ctx context.Context) {
	rules, err := e.h.rulesOf(e.n.PolicyHash)
	if err == nil {
		e.self.Rules = rules
		var about []byte
		if about, err = json.Marshal(&e.self); err == nil {
			err = e.to.Enroll(ctx, e.self.Node, about)
		}
	}
	var all []Member
	if err == nil {
		all, err = Members(ctx, e.n.Store, &rules, time.Now())
	}
	if ctx.Err() != nil {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	text += differing(all)
	switch {
	case text == e.told:
	case err != nil:
		e.log.Warn("the other nodes of the store cannot be told of this one", "err", err)
	case text != "":
		e.log.Warn("nodes of this store do not go by the same rules", "policy", rules.Policy.Short(), "others", text)
	default:
		e.log.Info("all nodes of this store go by the same rules", "policy", rules.Policy.Short())
	}
	e.told = text
}

// differing says which nodes that are there go by other rules.
func differing(all []Member) string {
	var text []string
	for i := range all {
		if m := &all[i]; !m.Lost && len(m.Differs) > 0 {
			what := make([]string, len(m.Differs))
			for i, name := range m.Differs {
				what[i] = map[string]string{"policy": "a different policy", "trust": "a different trust file",
					"schemas": "different schemas"}[name]
			}
			text = append(text, m.Called()+" has "+strings.Join(what, ", "))
		}
	}
	return strings.Join(text, "; ")
}

// fleet looks whether the nodes of a shared store go by the rules of this home.
func (d *Doctor) fleet() {
	if d.h.remote == "" {
		return // nobody shares it
	}
	set, err := d.p.Policy(d.h)
	if err != nil {
		return // that was said
	}
	rules, err := d.h.rulesOf(set.Hash())
	var all []Member
	if err == nil {
		err = d.h.Use(d.ctx, false, func(ctx context.Context, s perdure.Store) (err error) {
			all, err = Members(ctx, s, &rules, time.Now())
			return err
		})
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			d.say("nodes", Odd, "", "%v", err)
		}
		return
	}
	live := slices.DeleteFunc(all, func(m Member) bool { return m.Lost })
	if text := differing(live); text != "" {
		d.say("nodes", Odd, "give all nodes of a store the same policies, trust file and schemas, and start those "+
			"again that have others", "this home goes by policy %s; %s", rules.Policy.Short(), text)
	} else if len(live) > 0 {
		d.say("nodes", Well, "", "%s at this store, by the rules of this home",
			view.Several(int64(len(live)), "node"))
	}
}
