package home

import (
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// peers looks how it stands with the peers of node.yaml, as the nodes here have noted it.
func (d *Doctor) peers() {
	if _, err := readNodeFile(d.h); err != nil {
		return // powers says what is wrong with it
	}
	peers, err := d.h.Peers()
	if err != nil {
		d.say("peers", Unwell, "correct "+NodeFileName+"; perdure help node.yaml describes peers", "%v", err)
		return
	}
	if _, err := d.h.seated(); err != nil {
		d.say("peers", Unwell, "correct "+NodeFileName+"; perdure help node.yaml describes copies", "%v", err)
	}
	if len(peers) == 0 {
		return
	}
	peers = slices.DeleteFunc(peers, func(p PeerConfig) bool { return !d.reachable(p) })
	book, err := d.h.lookDealings(d.ctx)
	if err != nil {
		d.say("peers", Odd, "remove "+dealingsFile+" from the home: agents are compared anew", "%v", err)
		return
	}
	if book == nil {
		d.say("peers", Odd, "start perdure node or perdure serve", "no node has met any of %s yet",
			view.Several(int64(len(peers)), "peer"))
		return
	}
	defer func() { _ = book.Close() }() // it was only looked at
	for _, p := range peers {
		d.peer(book, p)
	}
}

// reachable looks whether what node.yaml says of a peer can be used, before anybody is asked: its key, and the token
// that it refers to.
func (d *Doctor) reachable(p PeerConfig) bool {
	if p.URL == "" {
		return true
	}
	open, err := d.h.OpenPeer(p, "")
	if err == nil {
		err = open.Close()
	}
	if err != nil {
		fix := "correct it in " + NodeFileName + "; perdure help node.yaml describes peers"
		if hint := new(perdure.Hint); errors.As(err, &hint) {
			fix = hint.Do
		}
		d.say("peer "+p.Name, Unwell, fix, "%v", err)
	}
	return err == nil
}

// peer looks at one.
func (d *Doctor) peer(book *Dealings, p PeerConfig) {
	what := "peer " + p.Name
	s, err := book.standing(d.ctx, p.Name)
	if err != nil {
		d.say(what, Odd, "", "%v", err)
		return
	}
	now := time.Now()
	switch {
	case s.Tried == 0:
		d.say(what, Odd, "start perdure node or perdure serve", "%s: no node has met it yet", p.URL+p.Dir)
	case s.Fault != "":
		d.say(what, Odd, "see that it runs, and that it trusts this home's key or token", "%s, last met %s: %s",
			view.Several(int64(s.Failures), "failure"), metText(s.Met, now), s.Fault)
	default:
		d.say(what, Well, "", "%s, met %s", p.URL+p.Dir, metText(s.Met, now))
	}
	owed, err := book.Owing(d.ctx, p.Name, now.Add(2*maxOwedWait), changesAtOnce)
	for _, o := range owed {
		if err == nil && o.Why != "" {
			d.say(what, Odd, "perdure sync "+o.Agent.Short()+" "+p.Name+" tries it now", "agent %s does not pass: %s",
				o.Agent.Short(), o.Why)
		}
	}
}

// metText is when a peer was met last.
func metText(at perdure.Time, now time.Time) string {
	if at == 0 {
		return "never"
	}
	return view.Moment(at, now)
}
