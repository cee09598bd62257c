package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// EntriesType is the media type of entries one after the other, as perdure.WriteMemory writes them.
const EntriesType = "application/vnd.perdure.entries"

var _ exchange.Peer = (*Client)(nil)

func passedPath(id perdure.AgentID, more string) string { return "/v1/exchange/" + id.String() + more }

// Offer says what the server has of an agent.
func (c *Client) Offer(ctx context.Context, id perdure.AgentID) (exchange.Offer, error) {
	return get[exchange.Offer](ctx, c, passedPath(id, ""))
}

// Find is the agent that a name, or the beginning of an id, means on the server.
func (c *Client) Find(ctx context.Context, agent string) (perdure.AgentID, error) {
	o, err := get[exchange.Offer](ctx, c, "/v1/exchange/"+url.PathEscape(agent))
	var asked perdure.AgentID
	if err == nil && asked.UnmarshalText([]byte(agent)) == nil && o.Agent != asked {
		err = fmt.Errorf("agent %s was asked for, and the server answers about %s", asked.Short(), o.Agent.Short())
	}
	return o.Agent, err
}

// Changes are the agents in a scope that have changed on the server since a position, at most so many; none: all of
// them, as many at a time.
func (c *Client) Changes(ctx context.Context, after, scope string, limit int) (exchange.Changes, error) {
	q := url.Values{"after": {after}, "scope": {scope}, "limit": {strconv.Itoa(limit)}}
	got, err := get[exchange.Changes](ctx, c, "/v1/exchange?"+q.Encode())
	switch n := len(got.Agents) + len(got.Private); {
	case err != nil:
	case n > limit:
		err = fmt.Errorf("%w: %d agents that have changed, and %d were asked for", ErrExcess, n, limit)
	case got.More && got.Position == after:
		err = fmt.Errorf("%w: it says that more have changed, and gives the same position again", ErrExcess)
	case len(got.Position) > maxPosition:
		err = fmt.Errorf("%w: a position of %d bytes", ErrExcess, len(got.Position))
	}
	return got, err
}

// Missing yields what the server has of an agent and a place with this offer lacks. It can be ranged over once.
func (c *Client) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		if o.Heads == nil {
			o.Heads = []perdure.Hash{}
		}
		res, err := c.post(ctx, passedPath(o.Agent, "/missing"), o)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = res.Body.Close() }() // all that was wanted was read
		from := res.Body.(*answer)              // as send makes them
		for e, err := range perdure.ReadMemory(from, perdure.Limits{}) {
			switch { // what is wrong with its last entry is why no more came
			case err == nil || from.broken == nil:
			case errors.Is(from.broken, ErrSlow):
				err = from.broken
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			default:
				err = fmt.Errorf("%w: %w", ErrBroken, from.broken)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Take sends entries of an agent to the server, and returns its receipt, whose signature is checked: it must be by the
// key that is pinned, if one is.
func (c *Client) Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	*exchange.Receipt, error) {
	return c.take(ctx, id, entries, perdure.Hash{})
}

// Vouch has the server sign what it has of an agent, and with it a challenge that nobody has used before: that shows
// which key it has now, and that it is the server at this address, not another that the challenge was passed on to: it
// signs the address by which it came, or its key is pinned, and shown in the handshake. The agent must be there.
func (c *Client) Vouch(ctx context.Context, id perdure.AgentID, challenge perdure.Hash) (*exchange.Receipt, error) {
	r, err := c.take(ctx, id, func(func(*perdure.Entry, error) bool) {}, challenge)
	if err != nil {
		return nil, err
	}
	if r.Challenge != challenge {
		return nil, fmt.Errorf("%w: receipt: it does not answer the challenge, so it may be an old one; an older "+
			"version of perdure answers none", perdure.ErrDenied)
	}
	u, err := url.Parse(c.base)
	if err != nil {
		return nil, err
	}
	if pinned := u.Scheme == "https" && !c.Pin.IsZero(); !pinned && !strings.EqualFold(r.At, u.Host) {
		return nil, perdure.WithHint(fmt.Errorf("%w: receipt: it is not signed for the address %s, so another server "+
			"may have been asked for it", perdure.ErrDenied, u.Host), "name that address there (perdure serve "+
			"--allow-host), and have a proxy pass the Host header on; or use https with the key of the server")
	}
	return r, nil
}

// take is Take, with a challenge for the receipt unless it is zero.
func (c *Client) take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error],
	challenge perdure.Hash) (*exchange.Receipt, error) {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := perdure.WriteMemory(w, entries)
		_ = w.CloseWithError(err) // it never fails
		done <- err
	}()
	path := passedPath(id, "/entries")
	if !challenge.IsZero() {
		path += "?challenge=" + challenge.String()
	}
	res, _, err := c.send(ctx, http.MethodPost, path, EntriesType, r, true)
	_ = r.CloseWithError(io.ErrClosedPipe) // nobody reads any more
	if own := <-done; own != nil && !errors.Is(own, io.ErrClosedPipe) {
		if err == nil {
			_ = res.Body.Close() // what was sent had no end
		}
		return nil, own
	}
	if err != nil {
		return nil, err
	}
	receipt := new(exchange.Receipt)
	if err := c.read(res, receipt); err != nil {
		return nil, err
	}
	if err := receipt.Check(id); err != nil {
		return nil, err
	}
	if !c.Pin.IsZero() && receipt.Key != c.Pin {
		return nil, fmt.Errorf("receipt: key %s signed it, and %s was expected", receipt.Key.Short(), c.Pin.Short())
	}
	return receipt, nil
}
