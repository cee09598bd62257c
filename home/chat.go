package home

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// chatGoal is what the home's own chat agent is for.
const chatGoal = "talk with the people here, and do what they ask with the tools there are"

// Chat is the home's own chat agent: of those that its key made, or that moved here and are talked to here, the one
// that was last at work. If there is none, or another is wanted, it is made, unless mute says why nobody will say
// anything to it. Several processes at once make one, unless each wants another; then each gets one with a name of its
// own.
func (h *Home) Chat(ctx context.Context, s perdure.Store, another bool, mute error) (id perdure.AgentID, made bool,
	err error) {
	n, err := h.Node(ctx, s)
	if err != nil {
		return id, false, err
	}
	if !another {
		if id, err = h.lastChat(ctx, s, n.Key.Key()); err != nil || !id.IsZero() {
			return id, false, err
		}
	}
	if mute != nil {
		return id, false, mute
	}
	unlock, err := h.lockChats()
	if err != nil {
		return id, false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if !another {
		if id, err = h.lastChat(ctx, s, n.Key.Key()); err != nil || !id.IsZero() {
			return id, false, err // another process was first
		}
	}
	f := IntentFile{Goal: chatGoal, Kind: perdure.ChatKind}
	if f.Name, err = freeName(ctx, s, perdure.ChatKind); err != nil {
		return id, false, err
	}
	g, err := f.Genesis(time.Now())
	if err != nil {
		return id, false, err
	}
	a, err := n.Create(ctx, g)
	if err != nil {
		return id, false, err
	}
	return a.ID(), true, Index(ctx, s, a)
}

// lockChats keeps other processes that use this home from making a chat meanwhile.
func (h *Home) lockChats() (unlock func() error, err error) {
	if h.Dir == "" {
		return func() error { return nil }, nil // nobody else has this store
	}
	file, err := os.OpenFile(h.beside("-chat"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(file, true); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file.Close, nil // the file stays: whoever removes it could remove that of another
}

// lastChat is the chat of this home that was last at work and has not ended; zero: there is none. What the index says
// is held against the agent's own memory.
func (h *Home) lastChat(ctx context.Context, s perdure.Store, owner perdure.Key) (last perdure.AgentID, err error) {
	l, err := view.Lister(s)
	if err != nil {
		return last, err
	}
	trust, err := h.Trust()
	if err != nil {
		return last, err
	}
	place, err := h.PlaceOf(ctx, s)
	if err != nil {
		return last, err
	}
	var when perdure.Time
	for one, err := range l.List(ctx, perdure.Filter{Kind: perdure.ChatKind}) {
		if err != nil {
			return last, err
		}
		if one.Updated < when || one.State == phase.Terminated || !ownChat(one.Name) {
			continue
		}
		a, err := h.Load(ctx, s, one.Agent)
		if err != nil {
			continue // whoever names it is told what is wrong with it
		}
		f := a.Fold()
		is := f.Intent.Kind == perdure.ChatKind && f.Intent.Name == one.Name && trust.Ended(a) == nil
		mine := f.Charter.Owner == owner && f.Begun.IsZero() // else that is what whoever began it says
		if is && (mine || trust.Counts(a) == nil && (f.Charter.Owner == owner || lives(a, owner, place))) {
			last, when = one.Agent, one.Updated
		}
	}
	return last, nil
}

// lives reports whether somebody else's agent lives here: its seat is here, or whoever has this key talks to it.
func lives(a *perdure.Agent, me perdure.Key, place perdure.Place) bool {
	if f := a.Fold(); len(f.Seats) > 0 && view.SeatOf(f, place) == view.SeatHere {
		return true
	}
	for e := range a.Recent() {
		ev, _ := e.Content().(perdure.Event)
		if _, said := ev.Said(); said && e.Origin == me {
			return true
		}
	}
	return false
}

// ownChat reports whether a name is one that Chat gives.
func ownChat(name string) bool {
	return name == perdure.ChatKind || strings.HasPrefix(name, perdure.ChatKind+"-")
}
