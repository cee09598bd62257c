package server

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/webhook"
)

// nobody may do nothing.
var nobody = &home.Visitor{Name: "nobody", Scope: "nowhere", Verbs: []string{}}

// visitorOf is who asks.
func visitorOf(ctx context.Context) *home.Visitor {
	if v := home.VisitorIn(ctx); v != nil {
		return v
	}
	return nobody
}

// public are paths for whoever asks: nothing of any agent is there.
var public = []string{
	"/", // which leads to /docs
	"/v1/health",
	"/v1/ready",
	"/openapi.json",
	"/openapi.yaml",
	"/docs",
	"/approve",
	"/.well-known/agent-card.json",
}

func isPublic(r *http.Request) bool {
	return slices.Contains(public, r.URL.Path) && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// crossing answers what browsers ask for pages of origins that are allowed; true: that was all.
func (s *Server) crossing(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if !slices.Contains(s.Origins, origin) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "ETag, Idempotency-Replayed")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Traceparent")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// guarded lets a request on that comes from where it may, by somebody who is known.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set(client.APIHeader, "v1")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if err := s.whence(r); err != nil {
			s.refuse(w, r, err)
			return
		}
		if s.crossing(w, r) {
			return
		}
		if strings.Contains(r.URL.Path, "//") { // else it would be led elsewhere
			what := "the path has an empty part"
			if strings.HasPrefix(r.URL.Path, "/v1/agents/") {
				what = "name an agent; see perdure ls"
			}
			s.refuse(w, r, perdure.Invalid(errors.New(what)))
			return
		}
		if isPublic(r) {
			if !s.Open && !localTo(r.Context()) {
				brief(w, r)
			}
			next.ServeHTTP(w, r)
			return
		}
		if s.hooked(r) {
			if !s.strangers.let("hook "+peerOf(r), s.Limits, time.Now()) {
				s.refuse(w, r, errTooMany)
				return
			}
			h := s.strange.begin(peerOf(r))
			defer h.free()
			ctx, cancel := context.WithTimeout(r.Context(), hookTimeout)
			defer cancel()
			r.Body = metered{r.Body, ctx, h}
			hasten(w, r)
			r.SetPathValue("agent", agentIn(r.URL.Path))
			s.Webhooks.ServeHTTP(w, r)
			return
		}
		v, err := s.who(r)
		if err != nil {
			if !s.strangers.let("unknown "+peerOf(r), guesses, time.Now()) {
				err = errTooMany
			}
			s.refuse(w, r, err)
			return
		}
		if !s.visitors.let(v.ID(), s.Limits, time.Now()) {
			s.refuse(w, r, errTooMany)
			return
		}
		ctx := home.WithVisitor(r.Context(), v, func() (*home.Visitor, error) { return s.who(r) })
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, baseKey{}, baseOf(r))))
	})
}

var errTooMany = &home.Error{Kind: home.KindTooMany, Err: errors.New("too many requests at once; wait a second")}

// hooked reports whether a request is one that a hook signed, which says who sends it.
func (s *Server) hooked(r *http.Request) bool {
	if s.Webhooks == nil || r.Method != http.MethodPost || !webhook.Signed(r) {
		return false
	}
	return agentIn(r.URL.Path) != ""
}

// agentIn is the agent in a path that hooks post to; empty: it is none of those.
func agentIn(path string) string {
	if name, ok := strings.CutPrefix(path, "/webhook/resume/"); ok && !strings.Contains(name, "/") {
		return name
	}
	name, ok := strings.CutPrefix(path, "/v1/agents/")
	name, events := strings.CutSuffix(name, "/events")
	if !ok || !events || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// who is whose request it is: of a token, of a key shown in the handshake, or of whoever can reach a socket that only
// the owner can.
func (s *Server) who(r *http.Request) (*home.Visitor, error) {
	if text := r.Header.Get("Authorization"); text != "" {
		scheme, token, _ := strings.Cut(text, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, fmt.Errorf("%w: want Authorization: Bearer TOKEN", home.ErrUnknown)
		}
		return s.Desk.Home.Visit(strings.TrimSpace(token), time.Now())
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		k, ok := r.TLS.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
		if !ok {
			return nil, fmt.Errorf("%w: the certificate is not that of a Perdure key", home.ErrUnknown)
		}
		return s.Desk.Home.Peer(perdure.Key(k))
	}
	if s.Open || localTo(r.Context()) {
		return s.Desk.Home.Owner()
	}
	return nil, perdure.WithHint(fmt.Errorf("%w: the request has no token", home.ErrUnknown), home.ShowToken)
}

type localKey struct{}

// LocalConn marks connections by which only the owner of the home can come, for http.Server.ConnContext.
func LocalConn(ctx context.Context, c net.Conn) context.Context {
	if c.LocalAddr().Network() == "unix" {
		return context.WithValue(ctx, localKey{}, true)
	}
	return ctx
}

func localTo(ctx context.Context) bool { return ctx.Value(localKey{}) != nil }

// whence refuses requests that a page of somebody else sends through a browser of somebody here: those for a host that
// is not this one (DNS rebinding), and those from another origin.
func (s *Server) whence(r *http.Request) error {
	if !localTo(r.Context()) && !s.isHost(r.Host) {
		return &home.Error{
			Kind: home.KindDenied,
			Err:  fmt.Errorf("this server is not reached by the name %q; name it with --allow-host", cut(r.Host)),
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		if r.Header.Get("Sec-Fetch-Mode") == "navigate" && isPublic(r) { // a link that somebody clicked
			return nil
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			return &home.Error{
				Kind: home.KindDenied,
				Err:  errors.New("pages of other sites may not talk to this server"),
			}
		}
		return nil
	}
	if slices.Contains(s.Origins, origin) {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host != r.Host || u.Scheme != "http" && u.Scheme != "https" {
		return &home.Error{
			Kind: home.KindDenied,
			Err:  fmt.Errorf("pages of %q may not talk to this server; name them with --allow-origin", cut(origin)),
		}
	}
	return nil
}

// isHost reports whether a name in a request is one of this server. An address is: no name leads there.
func (s *Server) isHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || slices.Contains(s.Hosts, name) || slices.Contains(s.Hosts, strings.ToLower(host))
}

// reached is the address that a request names, if this server is known to be there: by a name that it was told it has,
// or since the connection came to that address. An address that is merely named could be of anybody who passes on what
// they were asked. Empty: it is not known.
func (s *Server) reached(r *http.Request) string {
	host := strings.ToLower(r.Host)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = host, "80"
		if r.TLS != nil {
			port = "443"
		}
	}
	name = strings.Trim(name, "[]")
	if localTo(r.Context()) || slices.Contains(s.Hosts, name) || slices.Contains(s.Hosts, host) {
		return r.Host
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || port != strconv.Itoa(local.Port) {
		return ""
	}
	ip, err := netip.ParseAddr(name)
	at := local.AddrPort().Addr().Unmap()
	if err == nil && ip.Unmap() == at || name == "localhost" && at.IsLoopback() {
		return r.Host
	}
	return ""
}

func cut(text string) string { return text[:min(len(text), 80)] }

// requiring lets on who has a verb, for all agents: what is behind it knows no scopes. What is there may take its time.
func (s *Server) requiring(verb string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitorOf(r.Context())
		err := v.May(verb)
		if err == nil && !v.MayEverywhere(verb) {
			err = perdure.WithHint(
				fmt.Errorf("%w: %s may see agents of scope %s only, and %s shows all", perdure.ErrDenied,
					v.Name, v.Scope, r.URL.Path),
				"use a token for every scope, or the API",
			)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		free, err := s.room(w, r, v)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		if free != nil {
			defer free()
			// Once there is an answer, which may go on for long, the request has been acted on: a person who is
			// asked in it answers by another one.
			w = &placed{ResponseWriter: w, free: free}
		}
		p := newPatient(w, s.Limits.WriteStall)
		defer p.hasten() // what is left of the answer is written when this returns
		ctx, stop := s.whileGood(r, verb)
		defer stop()
		next.ServeHTTP(p, r.WithContext(ctx))
	})
}

// whileGood is the context of a request that may go on for long, such as a stream: it ends when whoever asks may not
// any more, and when the server stops, as tails do. What may be no stream has a moment then to be answered. Stop must
// be called in the end.
func (s *Server) whileGood(r *http.Request, verb string) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(r.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		beat := time.NewTicker(min(recheckAfter, s.Limits.Heartbeat))
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			case <-s.live.ctx.Done():
				s.cease(ctx, r.Method)
				cancel()
				return
			}
			v, err := s.who(r)
			if err != nil || !v.MayEverywhere(verb) {
				cancel()
				return
			}
		}
	}()
	return ctx, func() {
		cancel()
		<-gone
	}
}

// cease waits until a request is to end because the server stops: what only follows at once, anything else in a moment.
func (s *Server) cease(ctx context.Context, method string) {
	if method == http.MethodGet {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(recheckAfter):
	}
}

// peerOf is where a request comes from.
func peerOf(r *http.Request) string { return addressOf(r.RemoteAddr) }

// addressOf is an address without its port. Of an IPv6 address it is the network: whoever has one has all addresses in
// it.
func addressOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := at.Addr().Unmap()
	if net, err := ip.Prefix(64); err == nil && ip.Is6() {
		return net.String()
	}
	return ip.String()
}

type baseKey struct{}

// baseOf is the address by which a request came.
func baseOf(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// url is where the server is reached.
func (s *Server) url(ctx context.Context) string {
	if s.URL != "" {
		return strings.TrimSuffix(s.URL, "/")
	}
	base, _ := ctx.Value(baseKey{}).(string)
	return base
}
