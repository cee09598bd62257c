package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/trace"
)

// mcpTool is one tool of an MCP server.
type mcpTool struct {
	server *MCP
	name   string // as the server calls it
	spec   perdure.Spec
}

// Spec implements perdure.Tool.
func (t *mcpTool) Spec() perdure.Spec { return t.spec }

// Call implements perdure.Tool.
func (t *mcpTool) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	args := json.RawMessage("{}")
	if len(c.Args) > 0 {
		if err := c.Args.Valid(); err != nil {
			return refused("arguments of %s: %v", t.spec.Name, err), nil
		}
		if text := c.Args.JSON(); text[0] == '{' {
			args = text
		} else if string(text) != "null" {
			return refused("arguments of %s: they are to be an object", t.spec.Name), nil
		}
	}
	meta := mcp.Meta{KeyMeta: c.Key}
	if trace := trace.Parent(ctx); trace != "" {
		meta["traceparent"] = trace // as the protocol names it
	}
	for again := false; ; again = true {
		s, err := t.server.session(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return perdure.Result{}, ctx.Err()
			}
			if errors.Is(err, perdure.ErrIncapable) {
				return perdure.Result{}, err
			}
			return t.unreached(err), nil
		}
		call := new(sending)
		if !t.spec.Effect.Repeatable() {
			call.key = c.Key
		}
		res, err := s.CallTool(context.WithValue(ctx, sendingKey{}, call),
			&mcp.CallToolParams{Meta: meta, Name: t.name, Arguments: args})
		if err == nil {
			return t.server.result(redactorOf(ctx), res)
		}
		if ctx.Err() != nil {
			s.suspect.Store(true)
			return perdure.Result{}, ctx.Err()
		}
		if t.unsure(err) {
			s.lost.Store(t.server.URL != "") // its session may be what is gone
			return perdure.Result{}, inDoubt("the server does not say whether it did it: %v", err)
		}
		if out, known := t.answered(err); known {
			return out, nil
		}
		s.lost.Store(true) // the next call makes a new connection
		gone := errors.Is(err, mcp.ErrSessionMissing) || errors.Is(err, mcp.ErrConnectionClosed)
		untaken := gone && !call.sent.Load() // gone before it got the call
		if !again && (untaken || t.spec.Effect.Repeatable()) {
			continue
		}
		if untaken {
			return t.unreached(err), nil
		}
		return perdure.Result{}, inDoubt("the server was lost during the call: %v%s", err,
			s.process.said(redactorOf(ctx)))
	}
}

// sending is a call on its way to a server, which the connection finds in its context under sendingKey.
type sending struct {
	key  string      // of an effect that must not happen twice; else empty
	sent atomic.Bool // the server may have got it
}

type sendingKey struct{}

// rejectedByTransport is the code of the errors that the SDK makes up itself when a message was not delivered, or may
// not have been.
const rejectedByTransport = -32005

// requestTimedOut is the code by which servers, and gateways before them, say that they gave up waiting; some say so of
// a lost session.
const requestTimedOut = -32001

// unsure reports whether an answer leaves open if an effect that must happen once did: whoever stands before the server
// may have given it, after the server had acted.
func (t *mcpTool) unsure(err error) bool {
	var no *refusal
	var answer *jsonrpc.Error
	switch {
	case t.spec.Effect.Repeatable():
		return false
	case errors.As(err, &no):
		return no.busy
	case errors.As(err, &answer):
		return answer.Code == requestTimedOut || answer.Code == jsonrpc.CodeInternalError
	}
	return false
}

// answered is the outcome of a call that the server, or the way to it, said no to: it did not happen, or failed.
func (t *mcpTool) answered(err error) (perdure.Result, bool) {
	var no *refusal
	var answer *jsonrpc.Error
	var dial *net.OpError
	switch {
	case errors.As(err, &no) && no.busy:
		return perdure.Result{Signal: perdure.Throttled, RetryAfter: no.after, Note: no.Error()}, true
	case errors.As(err, &no):
		return refused("%s: %v", t.spec.Name, no), true
	case errors.As(err, &dial) && dial.Op == "dial":
		return t.unreached(err), true
	case errors.As(err, &answer) && answer.Code != rejectedByTransport:
		why := answer.Message
		if strings.TrimSpace(why) == "" {
			why = "the server refused the call, and does not say why"
			if answer.Code != 0 {
				why += fmt.Sprintf(" (error %d)", answer.Code)
			}
		}
		out := refused("%s: %s", t.spec.Name, why)
		out.Taint = true
		return out, true
	}
	return perdure.Result{}, false
}

// unreached is the outcome of a call that never got to the server.
func (t *mcpTool) unreached(err error) perdure.Result {
	var no *refusal
	if errors.As(err, &no) && no.busy {
		return perdure.Result{Signal: perdure.Throttled, RetryAfter: no.after, Note: no.Error()}
	}
	out := refused("%s: the server cannot be reached, and nothing happened: %v", t.spec.Name, err)
	out.Taint = true // the error may repeat what the server wrote
	var dial *net.OpError
	// nobody is there; to ask again changes nothing
	if t.spec.Effect.Repeatable() && errors.As(err, &dial) && dial.Op == "dial" {
		out.Signal = perdure.Silent
	}
	return out
}
