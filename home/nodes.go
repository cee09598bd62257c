package home

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/roster"
	"github.com/perdure/perdure/view"
)

// KnownNode is a node that a home knows of: its own, one that shares its store, or a peer, as it was met last.
type KnownNode struct {
	view.Sent
	Name  string `json:"name"`
	Where string `json:"where"` // the store, or how the peer is reached
	Self  bool   `json:"self,omitempty"`
	Rules *Rules `json:"rules,omitempty"` // of this home, and of nodes that share its store
	// of a node that shares the store of this home; nil: it does not, or is none
	Member *Member `json:"member,omitempty"`
	About  *About  `json:"about,omitempty"` // what it says of itself; nil: nobody has asked it yet, or it is a folder
	Scope  string  `json:"scope,omitempty"` // of the agents that are passed
	*Standing
	Agent *AgentThere `json:"agent,omitempty"` // the agent that was asked about
}

// AgentThere is what a place has of an agent.
type AgentThere struct {
	Has   bool           `json:"has"`
	Heads []perdure.Hash `json:"heads,omitempty"`
	Same  bool           `json:"same"` // as here
	Seat  bool           `json:"seat"` // as far as is known here
	Fault string         `json:"fault,omitempty"`
	// Receipt is what it acknowledged last, signed; nil: nothing was sent to it from here.
	Receipt *exchange.Receipt `json:"receipt,omitempty"`
}

// Nodes are the nodes that this home knows of, itself first. Of an agent, if one is named, each is asked what it has.
func (h *Home) Nodes(ctx context.Context, d *Desk, arg string) (*Nodes, error) {
	var id perdure.AgentID
	if arg != "" {
		var err error
		if id, err = h.FindAgent(ctx, d.Store, arg); err != nil {
			return nil, err
		}
	}
	return h.nodes(ctx, d, id, true)
}

// Nodes are the nodes that the home knows of, for a visitor. Whoever may not read all agents is told of the home's own
// node alone: with whom it deals, and where it keeps its store, is not theirs to know.
func (d *Desk) Nodes(ctx context.Context, v *Visitor, arg string) (*Nodes, error) {
	var id perdure.AgentID
	if arg != "" {
		var err error
		if id, err = d.Find(ctx, v, arg); err != nil {
			return nil, err
		}
	}
	return d.Home.nodes(ctx, d, id, v.MayEverywhere(VerbRead))
}

// nodes are Nodes of an agent, if it is not zero; without others, this home alone, and not where it is.
func (h *Home) nodes(ctx context.Context, d *Desk, id perdure.AgentID, others bool) (*Nodes, error) {
	at, err := h.PlaceOf(ctx, d.Store)
	if err != nil {
		return nil, err
	}
	self := KnownNode{Name: d.Node.Key.Name, Where: h.Where(), Self: true,
		About: &About{Name: d.Node.Key.Name, Key: d.Node.Key.Key(), Place: at.ID}}
	if key, err := h.Key(); key == nil && err == nil && h.Looks {
		self.About.Key = perdure.Key{} // it has none yet
	}
	if !others {
		self.Where = ""
	}
	var a *perdure.Agent
	if !id.IsZero() {
		if a, err = h.Load(ctx, d.Store, id); err != nil {
			return nil, err
		}
		self.Agent = &AgentThere{Has: true, Heads: a.Heads(), Same: true, Seat: seatAt(a, at.ID)}
	}
	all := []KnownNode{self}
	if others {
		all, err = h.dealings(ctx, d, self, a)
	}
	if err == nil && all[0].Rules == nil { // else each node says it itself
		all[0].About.Advisors, all[0].About.Tools = h.equipped(ctx, d)
	}
	return &Nodes{all, nodeTable(all, a != nil, time.Now())}, err
}

// dealings are this home, the nodes that share its store, and its peers.
func (h *Home) dealings(ctx context.Context, d *Desk, self KnownNode, a *perdure.Agent) ([]KnownNode, error) {
	members, err := h.members(ctx, d, &self)
	if err != nil {
		return []KnownNode{self}, err
	}
	for i := range members {
		members[i].Agent = self.Agent
	}
	all := append([]KnownNode{self}, members...)
	peers, err := h.Peers()
	if err != nil || len(peers) == 0 && a == nil {
		return all, err
	}
	book, err := h.lookDealings(ctx)
	if err == nil && book == nil && len(peers) > 0 {
		book, err = h.OpenDealings(ctx)
	}
	if err != nil || book == nil {
		return all, err
	}
	var receipts map[string]*exchange.Receipt
	if a != nil {
		receipts, err = book.Receipts(ctx, a.ID())
	}
	for _, c := range peers {
		if err != nil {
			break
		}
		n := KnownNode{Name: c.Name, Where: c.URL + c.Dir, Scope: c.Scope}
		if n.Standing, err = book.standing(ctx, c.Name); err != nil {
			break
		}
		n.About = n.Standing.About
		if a != nil {
			n.Agent = h.askPeer(ctx, c, a, n.About)
			n.Agent.Receipt = receipts[c.Name]
			delete(receipts, c.Name)
		}
		all = append(all, n)
	}
	for _, name := range slices.Sorted(maps.Keys(receipts)) { // places it was passed to by hand
		all = append(all, KnownNode{Name: name, Where: name, Agent: &AgentThere{Receipt: receipts[name],
			Fault: "it was not asked: " + NodeFileName + " does not name it"}})
	}
	return all, errors.Join(err, book.Close())
}

// members are the nodes that share the store of this home, if it is shared; with the rules of this home.
func (h *Home) members(ctx context.Context, d *Desk, self *KnownNode) (all []KnownNode, err error) {
	if _, shared := d.Store.(roster.Roster); !shared {
		return nil, nil
	}
	set, err := new(Powers).Policy(h)
	if err != nil {
		return nil, err
	}
	rules, err := h.rulesOf(set.Hash())
	if err != nil {
		return nil, err
	}
	self.Rules = &rules
	found, err := Members(ctx, d.Store, &rules, time.Now())
	for i := range found {
		m := &found[i]
		all = append(all, KnownNode{Name: m.Name, Where: fmt.Sprintf("%s (%d)", m.Host, m.PID), About: &m.About,
			Rules: &m.Rules, Member: m})
	}
	return all, err
}

// askPeer asks a peer what it has of an agent.
func (h *Home) askPeer(ctx context.Context, c PeerConfig, a *perdure.Agent, about *About) *AgentThere {
	out := new(AgentThere)
	p, err := h.OpenPeer(c, "")
	if err == nil {
		o, bad := p.Offer(ctx, a.ID())
		out.Has, out.Heads, out.Same = o.Has(), o.Heads, slices.Equal(o.Heads, a.Heads())
		err = errors.Join(bad, p.Close())
	}
	if err != nil {
		out.Fault = withDo(err)
	}
	out.Seat = about != nil && seatAt(a, about.Place)
	return out
}

// seatAt reports whether a place has the seat of an agent.
func seatAt(a *perdure.Agent, at perdure.Hash) bool {
	return !at.IsZero() && len(a.Fold().Seats) > 0 && view.SeatOf(a.Fold(), perdure.Place{ID: at}) == view.SeatHere
}
