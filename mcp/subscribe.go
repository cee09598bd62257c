package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// maxSubscriptions is how many resources clients may be told about at once. One guest has a quarter of them.
const maxSubscriptions = 1000

// subscriptions are the resources whose changes clients want to be told.
type subscriptions struct {
	mu  sync.Mutex
	all map[subscription]*followed
}

type subscription struct {
	session *sdk.ServerSession
	uri     string
}

// followed is an agent as it was when a client was last told of it; of which guest, if it is one's.
type followed struct {
	who   string
	agent perdure.AgentID
	heads []perdure.Hash
}

// subscribe implements the handler of the protocol.
func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	arg, _, ok := parseURI(req.Params.URI)
	if !ok {
		return sdk.ResourceNotFoundError(req.Params.URI)
	}
	a, err := s.find(ctx, arg)
	if err != nil {
		return s.refused(err)
	}
	s.subs.mu.Lock()
	defer s.subs.mu.Unlock()
	s.dropDead()
	who, _ := ctx.Value(whoKey{}).(string)
	if err := s.subs.full(who); err != nil {
		return s.refused(err)
	}
	if s.subs.all == nil {
		s.subs.all = map[subscription]*followed{}
	}
	s.subs.all[subscription{req.Session, req.Params.URI}] = &followed{who, a.ID(), a.Heads()}
	return nil
}

// full is why there can be no more of somebody; nil: there can.
func (s *subscriptions) full(who string) error {
	theirs := 0
	for _, f := range s.all {
		if f.who == who {
			theirs++
		}
	}
	switch {
	case len(s.all) >= maxSubscriptions:
		return fmt.Errorf("there are %d subscriptions already; end some first", maxSubscriptions)
	case who != "" && theirs >= maxSubscriptions/4:
		return fmt.Errorf("you have %d subscriptions already; end some first", theirs)
	}
	return nil
}

type whoKey struct{}

// subscribing says which guest a request to subscribe is of. One of protocol 2026-07-28 stands for several, and the
// library makes each without what came with the request.
func (s *Server) subscribing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if s.Guests && (method == "resources/subscribe" || method == "subscriptions/listen") {
			v, err := s.visitor(req.GetExtra())
			if err != nil {
				return nil, s.refused(err)
			}
			ctx = context.WithValue(ctx, whoKey{}, v.ID())
		}
		return next(ctx, method, req)
	}
}

// unsubscribe implements the handler of the protocol.
func (s *Server) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	s.subs.mu.Lock()
	defer s.subs.mu.Unlock()
	delete(s.subs.all, subscription{req.Session, req.Params.URI})
	return nil
}

// dropDead forgets what sessions wanted that have ended.
func (s *Server) dropDead() {
	live := map[*sdk.ServerSession]bool{}
	for one := range s.server.Sessions() {
		live[one] = true
	}
	for sub := range s.subs.all {
		if !live[sub.session] {
			delete(s.subs.all, sub)
		}
	}
}

// notify tells clients what has changed, until ctx ends.
func (s *Server) notify(ctx context.Context) {
	changed := view.Watch(ctx, s.Store)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed.Signal:
		}
		ids, all := changed.Take()
		for _, uri := range s.changed(ctx, ids, all) {
			// a client that is gone misses nothing
			_ = s.mcp().ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri})
		}
	}
}

// changed are the resources of these agents, or of all, whose agents have new entries.
func (s *Server) changed(ctx context.Context, ids map[perdure.AgentID]struct{}, all bool) (uris []string) {
	s.subs.mu.Lock()
	defer s.subs.mu.Unlock()
	for sub, of := range s.subs.all {
		if _, is := ids[of.agent]; !is && !all {
			continue
		}
		heads, err := s.Store.Heads(ctx, of.agent)
		if err != nil || slices.Equal(heads, of.heads) {
			continue
		}
		if of.heads = heads; !slices.Contains(uris, sub.uri) {
			uris = append(uris, sub.uri)
		}
	}
	return uris
}
