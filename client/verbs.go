package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Filter selects agents. Zero fields select all.
type Filter struct {
	Name, Kind, Scope, Since string
	States                   []string
	Labels                   map[string]string
	Waiting                  bool
	Limit                    int // of a page
}

func (f *Filter) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"name": f.Name, "kind": f.Kind, "scope": f.Scope, "since": f.Since} {
		if v != "" {
			q.Set(name, v)
		}
	}
	for _, s := range f.States {
		q.Add("state", s)
	}
	for name, v := range f.Labels {
		q.Add("label", name+"="+v)
	}
	if f.Waiting {
		q.Set("waiting", "true")
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

// List yields the agents that a filter selects, by name, then id, page by page.
func (c *Client) List(ctx context.Context, f Filter) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		q, all := f.query(), pages{}
		for {
			page, err := get[List](ctx, c, "/v1/agents?"+q.Encode())
			if most := cmp.Or(f.Limit, maxPage); err == nil && len(page.Agents) > most {
				err = fmt.Errorf("%w: %d agents on a page of %d", ErrExcess, len(page.Agents), most)
			}
			if err != nil {
				yield(Listed{}, err)
				return
			}
			for _, a := range page.Agents {
				if !yield(a, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			if err := all.turn(page.Next, len(page.Agents)); err != nil {
				yield(Listed{}, err)
				return
			}
			q.Set("cursor", page.Next)
		}
	}
}

// at is the query for a point in memory; empty: now.
func at(ref string) string {
	if ref == "" {
		return ""
	}
	return "?at=" + url.QueryEscape(ref)
}

// Show is an agent, now or at a point in its memory, and its ETag.
func (c *Client) Show(ctx context.Context, agent, ref string) (a Agent, etag string, err error) {
	h, err := c.Do(ctx, http.MethodGet, agentPath(agent, at(ref)), nil, &a)
	return a, h.Get("ETag"), err
}

// Page is an agent as rows for people.
func (c *Client) Page(ctx context.Context, agent, ref string) (Page, error) {
	return get[Page](ctx, c, agentPath(agent, "/page"+at(ref)))
}

// State is everything derived from a memory, as JSON.
func (c *Client) State(ctx context.Context, agent, ref string) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, agentPath(agent, "/state"+at(ref)))
}

// Diff is what differs between two points of a memory, or of two agents with another one.
func (c *Client) Diff(ctx context.Context, agent, from, to, with string) (Diff, error) {
	q := url.Values{}
	if from != "" {
		q.Set("from", from)
	}
	if to != "" {
		q.Set("to", to)
	}
	if with != "" {
		q.Set("with", with)
	}
	return get[Diff](ctx, c, agentPath(agent, "/diff?"+q.Encode()))
}

// Entries are those of a memory after a cursor, at most so many; zero: 100.
func (c *Client) Entries(ctx context.Context, agent, after string, limit int) (Lines, error) {
	q := url.Values{}
	if after != "" {
		q.Set("after", after)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return get[Lines](ctx, c, agentPath(agent, "/entries?"+q.Encode()))
}

// Recent are the last entries of a memory.
func (c *Client) Recent(ctx context.Context, agent string, last int) (Lines, error) {
	return get[Lines](ctx, c, agentPath(agent, "/entries?last="+strconv.Itoa(last)))
}

// Transcript is the end of a conversation.
func (c *Client) Transcript(ctx context.Context, agent string, last int) (Transcript, error) {
	return get[Transcript](ctx, c, agentPath(agent, "/transcript?last="+strconv.Itoa(last)))
}

// Waits are what waits for people, of one agent, or of all without one.
func (c *Client) Waits(ctx context.Context, agent string) (all Waits, err error) {
	if agent != "" {
		return get[Waits](ctx, c, agentPath(agent, "/waits"))
	}
	list := pages{}
	for cursor := ""; ; cursor = all.Next {
		page, err := c.WaitsPage(ctx, cursor, 0)
		if err != nil {
			return all, err
		}
		all.Waits = append(all.Waits, page.Waits...)
		if page.Faults != "" && all.Faults != "" {
			all.Faults += "\n"
		}
		all.Faults += page.Faults
		if all.Next = page.Next; all.Next == "" {
			return all, nil
		}
		if err := list.turn(all.Next, len(page.Waits)); err != nil {
			return all, err
		}
	}
}

// WaitsPage are what waits for people of the agents after a cursor, of at most so many; zero: 100. It may be nothing,
// and more follow.
func (c *Client) WaitsPage(ctx context.Context, cursor string, limit int) (Waits, error) {
	q := url.Values{}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return get[Waits](ctx, c, "/v1/waits?"+q.Encode())
}

// Create creates an agent, once however often the connection breaks.
func (c *Client) Create(ctx context.Context, in Intent, options ...Option) (Created, error) {
	return tell[Created](ctx, c, "/v1/agents", in, append([]Option{Once(NewKey())}, options...)...)
}

// Send tells an agent what happened.
func (c *Client) Send(ctx context.Context, agent string, ev Event, options ...Option) (Recorded, error) {
	return tell[Recorded](ctx, c, agentPath(agent, "/events"), ev, options...)
}

// Answer answers what an agent asks people.
func (c *Client) Answer(ctx context.Context, agent, text string, options ...Option) (Told, error) {
	return tell[Told](ctx, c, agentPath(agent, "/answer"), Answer{text}, options...)
}

// Pause keeps an agent from deciding anything until it is resumed.
func (c *Client) Pause(ctx context.Context, agent, note string, options ...Option) (Told, error) {
	return tell[Told](ctx, c, agentPath(agent, "/pause"), Note{note}, options...)
}

// Resume ends the pauses of an agent.
func (c *Client) Resume(ctx context.Context, agent, note string, options ...Option) (Told, error) {
	return tell[Told](ctx, c, agentPath(agent, "/resume"), Note{note}, options...)
}

// End ends an agent for good.
func (c *Client) End(ctx context.Context, agent, note string, options ...Option) (Told, error) {
	return tell[Told](ctx, c, agentPath(agent, "/end"), Note{note}, options...)
}

// Settle records what came of an effect in doubt.
func (c *Client) Settle(ctx context.Context, agent string, s Settle, options ...Option) (Told, error) {
	return tell[Told](ctx, c, agentPath(agent, "/settle"), s, options...)
}

// Grant adds to what an agent may spend.
func (c *Client) Grant(ctx context.Context, agent string, g Grant, options ...Option) (Told, error) {
	return tell[Told](ctx, c, agentPath(agent, "/grant"), g, options...)
}

// Edit changes an agent from outside.
func (c *Client) Edit(ctx context.Context, agent string, e Edit, options ...Option) (Told, error) {
	return tell[Told](ctx, c, agentPath(agent, "/edit"), e, options...)
}

// Fork creates an agent that begins where another was.
func (c *Client) Fork(ctx context.Context, agent string, f Fork, options ...Option) (Forked, error) {
	return tell[Forked](ctx, c, agentPath(agent, "/fork"), f, options...)
}

// Verify has the server verify every link, hash and signature of a memory.
func (c *Client) Verify(ctx context.Context, agent string) (Verified, error) {
	return tell[Verified](ctx, c, agentPath(agent, "/verify"), nil)
}

// Explain says what policy says of an action.
func (c *Client) Explain(ctx context.Context, agent string, why Why) (Explained, error) {
	return tell[Explained](ctx, c, agentPath(agent, "/explain"), why)
}

// Tools are those of the server's node, and whether an agent may call them; without an agent, one such as would be
// created.
func (c *Client) Tools(ctx context.Context, agent string) (Tools, error) {
	return get[Tools](ctx, c, "/v1/tools?agent="+url.QueryEscape(agent))
}

// Nodes are what runs agents there.
func (c *Client) Nodes(ctx context.Context) (Nodes, error) { return get[Nodes](ctx, c, "/v1/nodes") }

// Who is who asks, for the server.
func (c *Client) Who(ctx context.Context) (Who, error) { return get[Who](ctx, c, "/v1/whoami") }

// Health is whether the server answers.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, "/v1/health")
}

// Link makes a link by which the person whose token it is can answer one question once.
func (c *Client) Link(ctx context.Context, agent string, in NewLink) (Link, error) {
	return tell[Link](ctx, c, agentPath(agent, "/links"), in)
}

// Export writes an agent as a capsule: in a form (binary, described or text) and of a depth; empty: binary, all there
// is.
func (c *Client) Export(ctx context.Context, w io.Writer, agent, form, depth string) (int64, error) {
	q := url.Values{}
	if form != "" {
		q.Set("form", form)
	}
	if depth != "" {
		q.Set("depth", depth)
	}
	res, _, err := c.send(ctx, http.MethodGet, agentPath(agent, "/export?"+q.Encode()), "", nil, false)
	if err != nil {
		return 0, err
	}
	if res.StatusCode/100 != 2 {
		return 0, c.read(res, nil)
	}
	n, err := io.Copy(w, res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return n, fmt.Errorf("read the capsule: %w", err)
	}
	return n, nil
}

// Import has the server take an agent in from a capsule.
func (c *Client) Import(ctx context.Context, r io.Reader, older bool) (a Arrived, err error) {
	path := "/v1/import"
	if older {
		path += "?older=true"
	}
	res, _, err := c.send(ctx, http.MethodPost, path, "application/vnd.perdure.agent", r, true)
	if err != nil {
		return a, err
	}
	return a, c.read(res, &a)
}

// Approve permits exactly one effect that policy asks about: with the Client's Signer, if there is one, else with the
// key that its token unlocks. See, if it is not nil, is shown what is about to be signed and may refuse it; what it is
// shown was checked against the digest.
func (c *Client) Approve(
	ctx context.Context,
	agent string,
	b Ballot,
	see func(*Question) error,
	options ...Option,
) (Told, error) {
	return c.vote(ctx, agent, b, true, see, options...)
}

// Deny refuses an effect that policy asks about.
func (c *Client) Deny(
	ctx context.Context,
	agent string,
	b Ballot,
	see func(*Question) error,
	options ...Option,
) (Told, error) {
	return c.vote(ctx, agent, b, false, see, options...)
}

// Question is what an answer is to: what the agent would do, out of the entries that decided it.
type Question struct {
	Agent    perdure.AgentID
	Decision perdure.Hash
	Digest   perdure.Hash
	Action   perdure.Action
	Verdict  perdure.Verdict
	Effect   perdure.Effect // its class
	Reserve  *perdure.Spend // set aside for it
	About    *Wait          // as the server puts it: nothing that is signed vouches for it
}

func (c *Client) vote(
	ctx context.Context,
	agent string,
	b Ballot,
	approve bool,
	see func(*Question) error,
	options ...Option,
) (out Told, err error) {
	word := "/deny"
	if approve {
		word = "/approve"
	}
	if c.Signer == nil && see == nil {
		return tell[Told](ctx, c, agentPath(agent, word), b, options...)
	}
	by, name := perdure.Key{}, ""
	if c.Signer != nil {
		by, name = c.Signer.Key(), c.Signer.Name
	} else {
		me, err := c.Who(ctx)
		if err != nil {
			return out, err
		}
		by, name = me.Key, me.Name
	}
	until, err := b.until(time.Now())
	if err != nil {
		return out, err
	}
	if b.Expires = ""; until != 0 { // what is signed is a time, and it is chosen here
		b.Expires = until.String()
	}
	u, err := tell[Unsigned](ctx, c, agentPath(agent, "/votes/prepare"),
		ToSign{Ballot: b, Approve: approve, Key: by.String(), Name: name})
	if err != nil {
		return out, err
	}
	entries, q, err := u.question(by)
	if err == nil && !strings.HasPrefix(q.Digest.String(), strings.ToLower(b.Digest)) {
		err = fmt.Errorf("the server asks about digest %s, not %s; nothing was signed", q.Digest.Short(), b.Digest)
	}
	var id perdure.AgentID
	if err == nil && id.UnmarshalText([]byte(agent)) == nil && id != q.Agent {
		err = fmt.Errorf("the server asks about agent %s, not %s; nothing was signed", q.Agent.Short(), id.Short())
	}
	if err != nil {
		return out, err
	}
	if see != nil {
		if err := see(q); err != nil {
			return out, err
		}
	}
	b.Digest = q.Digest.String()
	if c.Signer == nil {
		return tell[Told](ctx, c, agentPath(q.Agent.String(), word), b, options...)
	}
	want, err := perdure.VoteOf(entries, q.Agent, by)
	if err == nil &&
		want != (perdure.Approval{Approve: approve, Digest: q.Digest, Decision: q.Decision, Note: b.Note,
			Expires: until}) {
		err = errors.New("the server prepared another answer than was asked for; nothing was signed")
	}
	if err == nil {
		entries, err = c.Signer.SignVote(entries, q.Agent, want)
	}
	if err != nil {
		return out, err
	}
	signed := Signed{}
	for _, e := range entries {
		bytes, err := e.MarshalBinary()
		if err != nil {
			return out, err
		}
		signed.Entries = append(signed.Entries, bytes)
	}
	return tell[Told](ctx, c, agentPath(q.Agent.String(), "/votes"), signed, options...)
}

// until is when an unused approval lapses; zero: never.
func (b *Ballot) until(now time.Time) (perdure.Time, error) {
	if b.Expires == "" {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339, b.Expires)
	if err != nil {
		d, bad := time.ParseDuration(b.Expires)
		if bad != nil {
			return 0, perdure.Invalid(
				fmt.Errorf("expires %q: want a time such as 2030-01-31T12:00:00Z, or a duration such as 1h30m",
					b.Expires),
			)
		}
		at = now.Add(d)
	}
	if !at.After(now) {
		return 0, perdure.Invalid(fmt.Errorf("expires %q has passed; name a later time", b.Expires))
	}
	return perdure.TimeOf(at), nil
}

// question is what is to be signed, and what it is about: the action is that of the entries that decided it, and the
// digest is its digest.
func (u *Unsigned) question(by perdure.Key) ([]*perdure.Entry, *Question, error) {
	var entries []*perdure.Entry
	for _, b := range u.Entries {
		e, err := perdure.DecodeEntry(b, perdure.Limits{Bytes: perdure.MaxBody})
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, e)
	}
	v, err := perdure.VoteOf(entries, u.Agent, by)
	if err != nil {
		return nil, nil, err
	}
	q := &Question{Agent: u.Agent, Decision: v.Decision, Digest: v.Digest, About: u.About}
	advised := map[perdure.Hash][]perdure.Action{}
	for _, b := range u.Evidence {
		e, err := perdure.DecodeEntry(b, perdure.Limits{Bytes: perdure.MaxBody})
		if err != nil {
			return nil, nil, err
		}
		switch x := e.Content().(type) {
		case perdure.Advice:
			advised[e.Name] = x.Actions
		case perdure.Decision:
			if e.Name != v.Decision || e.ID() != u.Agent {
				continue
			}
			q.Verdict, q.Action, q.Effect, q.Reserve = x.Verdict, x.Action, x.Effect, x.Reserve
			if from := advised[x.Advice]; q.Action == nil && x.Index >= 0 && x.Index < int64(len(from)) {
				q.Action = from[x.Index]
			}
		}
	}
	asking := perdure.Asking{Decision: q.Decision, Digest: q.Digest, Action: q.Action}
	if q.Action == nil || !asking.Bound(q.Agent) {
		return nil, nil, errors.New("what the server shows is not what the digest stands for; nothing was answered")
	}
	return entries, q, nil
}
