package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// Away is agents behind a server, as Near is those here.
type Away struct {
	*client.Client
	// OwnKey is the key of a home here, which signs answers where the token unlocks none; nil: there is none.
	OwnKey func() (*perdure.Signer, error)
	// Note is told what a person who waits should know; nil: nobody is told.
	Note func(text string)
}

// lost says that a server that was followed is gone.
func (w *Away) lost(err error) {
	if w.Note != nil {
		w.Note(err.Error() + "; trying again until it is back")
	}
}

var _ Agents = (*Away)(nil)

// ReadToken is the token in a file; if none is named, the one the environment holds, which may be none. White space
// around it, such as the line end of another system, is no part of it.
func ReadToken(file, env string) (string, error) {
	from, token := "$"+TokenEnv, strings.TrimSpace(env)
	if file != "" {
		b, err := disk.ReadFile(file, 4<<10)
		if err != nil {
			return "", err
		}
		from, token = view.InLine(file), strings.TrimSpace(string(b))
	}
	if file != "" && token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", perdure.Invalid(fmt.Errorf("%s: want one token and nothing else", from)) // never the token itself
	}
	return token, nil
}

// Identify says who asks: by a token in a file, if one is named, else by the key of a home here, where the server can
// be shown one. Pin is the key of the server, if it is known.
func (w *Away) Identify(tokenFile, pin string) (err error) {
	if err := openURL(w.URL); err != nil {
		return err
	}
	if w.Token, err = ReadToken(tokenFile, w.Token); err != nil {
		return err
	}
	if pin != "" {
		if w.Pin, _, err = perdure.ParseKey(pin); err != nil {
			return perdure.Invalid(fmt.Errorf("--server-key: %w", err))
		}
	}
	if w.Token != "" || !strings.HasPrefix(w.URL, "https:") {
		return nil
	}
	s, err := w.OwnKey()
	if s == nil || err != nil {
		return err
	}
	cert, err := Certificate(s)
	w.Certificate = &cert
	return err
}

// agentURL is the path of an agent at a server; AGENT@REF asks for a point in its memory.
func agentURL(arg, more string, q url.Values) string {
	name, ref := SplitRef(arg)
	if q == nil {
		q = url.Values{}
	}
	if ref != "" {
		q.Set("at", ref)
	}
	path := "/v1/agents/" + url.PathEscape(name) + more
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// get reads a value, and what it was sent as.
func get[T any](ctx context.Context, w *Away, path string) (v T, sent view.Sent, err error) {
	var raw json.RawMessage
	if _, err = w.Do(ctx, "GET", path, nil, &raw); err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, view.Sent{JSON: view.SentJSON(raw)}, err
}

// post sends a value, once however often the connection breaks, and reads another.
func post[T any](ctx context.Context, w *Away, path string, in any, options ...client.Option) (v T, sent view.Sent,
	err error) {
	var raw json.RawMessage
	options = append([]client.Option{client.Once(client.NewKey())}, options...)
	if _, err = w.Do(ctx, "POST", path, in, &raw, options...); err == nil {
		err = json.Unmarshal(raw, &v)
	}
	var with struct{ Notes []string }
	if err == nil && json.Unmarshal(raw, &with) == nil {
		w.notes(with.Notes)
	}
	return v, view.Sent{JSON: view.SentJSON(raw)}, err
}

// notes passes on what a server says beside an answer, as a home here would say it.
func (w *Away) notes(texts []string) {
	for _, text := range texts {
		if w.Note != nil {
			w.Note(text)
		}
	}
}

// sentAs is a value of a list, and what it was sent as.
type sentAs[T any] struct {
	value T
	sent  view.Sent
}

func (o *sentAs[T]) UnmarshalJSON(b []byte) error {
	o.sent.JSON = append(view.SentJSON{}, b...)
	return json.Unmarshal(b, &o.value)
}

// List lists agents.
func (w *Away) List(ctx context.Context, f perdure.Filter) ([]Listed, error) {
	q := url.Values{}
	for name, v := range map[string]string{"name": f.Name, "kind": f.Kind, "scope": f.Scope} {
		if v != "" {
			q.Set(name, v)
		}
	}
	for _, s := range f.States {
		q.Add("state", s.String())
	}
	for name, v := range f.Labels {
		q.Add("label", name+"="+v)
	}
	if f.Since != 0 {
		q.Set("since", f.Since.String())
	}
	var all []Listed
	for {
		page, _, err := get[struct {
			Agents []sentAs[client.Listed] `json:"agents"`
			Next   string                  `json:"next"`
		}](ctx, w, "/v1/agents?"+q.Encode())
		if err != nil {
			return nil, err
		}
		for _, x := range page.Agents {
			all = append(all, listedFrom(&x.value, x.sent))
		}
		switch {
		case f.Limit > 0 && len(all) >= f.Limit:
			return all[:f.Limit], nil
		case page.Next == "":
			return all, nil
		}
		q.Set("cursor", page.Next)
	}
}

func listedFrom(x *client.Listed, sent view.Sent) Listed {
	l := Listed{Standing: phase.Standing(x.Standing), Depth: x.Depth, Damaged: x.Damaged, Sent: sent,
		says: x.Wrong, Apart: x.Apart,
		Listing: perdure.Listing{Agent: x.Agent, Name: x.Name, Kind: x.Kind, Scope: x.Scope, Labels: x.Labels,
			Created: timeOf(x.Created), Updated: timeOf(x.Updated), Due: timeOf(x.Due), Entries: x.Entries,
			Waiting: x.Waiting}}
	_ = l.State.UnmarshalText([]byte(x.State)) // one of a newer server is none here
	return l
}

// timeOf reads a time of a server; "never" and nothing are none.
func timeOf(text string) perdure.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return perdure.TimeOf(t)
}

// Show is an agent on one screen.
func (w *Away) Show(ctx context.Context, arg string, how Screen) (*Glance, error) {
	if !how.Rows {
		_, sent, err := get[client.Agent](ctx, w, agentURL(arg, "", nil))
		return &Glance{Sent: sent}, err
	}
	q := url.Values{}
	if how.Brief {
		q.Set("brief", "true")
	}
	page, _, err := get[client.Page](ctx, w, agentURL(arg, "/page", q))
	return &Glance{rows: rowsFrom(page.Rows)}, err
}

func rowsFrom(rows []client.PageRow) []view.PageRow {
	out := make([]view.PageRow, 0, len(rows))
	for _, row := range rows {
		out = append(out, view.PageRow{Label: row.Label, Text: row.Text, Do: row.Do})
	}
	return out
}

// State is the fold of a memory, as the server sends it.
func (w *Away) State(ctx context.Context, arg string) (any, error) {
	_, sent, err := get[json.RawMessage](ctx, w, agentURL(arg, "/state", nil))
	return sent.JSON, err
}

// Diff compares two points.
func (w *Away) Diff(ctx context.Context, from, to string) (*Diff, error) {
	a, aRef := SplitRef(from)
	b, bRef := SplitRef(to)
	d, err := w.Client.Diff(ctx, a, aRef, bRef, b)
	if err != nil {
		return nil, err
	}
	out := &Diff{From: d.From, To: d.To, Changes: []view.Change{}}
	for _, c := range d.Changes {
		change := view.Change{Path: c.Path}
		if c.From != nil {
			change.From = view.SentJSON(c.From)
		}
		if c.To != nil {
			change.To = view.SentJSON(c.To)
		}
		out.Changes = append(out.Changes, change)
	}
	return out, nil
}

// Inbox is what waits for people. The server answers by pages, chats last on each.
func (w *Away) Inbox(ctx context.Context) (found []view.Wait, faults error, err error) {
	for cursor := ""; ; {
		page, _, err := get[struct {
			Waits  []sentAs[client.Wait] `json:"waits"`
			Faults string                `json:"faults"`
			Next   string                `json:"next"`
		}](ctx, w, "/v1/waits?limit=1000&cursor="+url.QueryEscape(cursor))
		if err != nil {
			return nil, nil, err
		}
		if page.Faults != "" {
			faults = errors.Join(faults, errors.New(page.Faults))
		}
		for i := range page.Waits {
			wait := sheetOf(&page.Waits[i].value)
			wait.Sent = page.Waits[i].sent
			found = append(found, *wait)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	slices.SortStableFunc(found, view.ChatsLast)
	return found, faults, nil
}

// sheetOf is what a person answers for, as the server puts it.
func sheetOf(w *client.Wait) *view.Wait {
	if w == nil {
		return nil
	}
	rows := make([]view.Row, 0, len(w.Sheet))
	for _, r := range w.Sheet {
		rows = append(rows, view.Row{Label: r.Label, Text: r.Text})
	}
	return &view.Wait{Agent: w.Agent, Name: w.Name, Kind: w.Kind, Decision: w.Decision, Digest: w.Digest, Tool: w.Tool,
		What: w.What, Why: w.Why, Asked: w.Asked, Whom: w.Whom, Quorum: w.Quorum, Approved: w.Approved,
		Since: timeOf(w.Since), Expires: timeOf(w.Expires), Answer: w.Answer, Others: w.Others, Given: rows,
		GivenHead: w.Head}
}

// Tell tells an agent something, once however often the connection breaks, and says how it stands then.
func (w *Away) Tell(ctx context.Context, arg string, what Message) (*Told, error) {
	return what.post(ctx, w, arg)
}

// tell posts what an agent is told.
func (w *Away) tell(ctx context.Context, agent, verb string, in any, options ...client.Option) (*Told, error) {
	t, sent, err := post[client.Told](ctx, w, agentURL(agent, "/"+verb, nil), in, options...)
	if err != nil {
		return nil, err
	}
	return toldFrom(&t, sent), nil
}

// newest is how many entries are looked at for one that was just written.
const newest = "100"

// complete adds what a server leaves out of its answer to an event, of which programs send many: how the agent stands,
// and what its memory says. Whoever may not read it is told that it was told.
func (w *Away) complete(ctx context.Context, t *Told) {
	id := t.Agent.String()
	a, _, err := get[client.Agent](ctx, w, agentURL(id, "", nil))
	if err != nil {
		return
	}
	t.Name, t.Standing, t.Sent = a.Name, phase.Standing(a.Standing), view.Sent{}
	page, _, err := get[client.Lines](ctx, w, agentURL(id, "/entries", url.Values{"last": {newest}}))
	for i := range page.Entries {
		if l := &page.Entries[i]; err == nil && l.Entry == t.Entry {
			t.What = l.What
		}
	}
}

func toldFrom(t *client.Told, sent view.Sent) *Told {
	return &Told{Agent: t.Agent, Name: t.Name, Entry: t.Entry, Seq: t.Seq, What: t.What,
		Standing: phase.Standing(t.Standing), Lacks: t.Lacks, Before: t.Before, About: sheetOf(t.About), Sent: sent}
}

// vote answers what policy asks about: with the key that the token unlocks, if it is a person's, else with the key of
// a home here. What is shown was checked against the digest that is signed.
func (w *Away) vote(ctx context.Context, agent string, x Voting) (*Told, error) {
	me, err := w.Who(ctx)
	if err != nil {
		return nil, err
	}
	v := &Visitor{Name: me.Name, Scope: me.Scope, Verbs: me.Verbs, token: new(Token)}
	if err := v.May(VerbApprove); err != nil && w.Token != "" { // before a key is looked for that would not help
		return nil, err
	}
	if me.Key.IsZero() || w.Token == "" {
		if w.Signer, err = w.OwnKey(); err != nil {
			return nil, err
		}
		if w.Signer == nil {
			return nil, perdure.WithHint(errors.New("answers are signed, and there is no key here"),
				"use a token of yours that unlocks one, or make one with perdure key new and have the server's home "+
					"trust it with approve")
		}
	}
	var about *view.Wait
	see := func(q *client.Question) error {
		if about = checked(q); x.See == nil {
			return nil
		}
		return x.See(about)
	}
	do, b := w.Deny, client.Ballot{Digest: x.Digest, Note: x.Note}
	if x.Approve {
		do = w.Approve
	}
	if x.Expires != 0 {
		b.Expires = x.Expires.String()
	}
	t, err := do(ctx, agent, b, see)
	if err != nil {
		return nil, err
	}
	w.notes(t.Notes)
	if t.About, err = sheetFor(about, t.About); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(t)
	out := toldFrom(&t, view.Sent{JSON: raw})
	out.About = about
	return out, err
}

// checked is what is answered, out of the entries that the digest binds. Of what the server says about it, only people
// are left, who is called how and how many have approved: a person's key signs what they were shown, whatever the
// server would like them to see.
func checked(q *client.Question) *view.Wait {
	about := &view.Wait{Agent: q.Agent, Kind: view.WaitApproval, Decision: q.Decision, Digest: q.Digest,
		Action: q.Action, What: view.ActionText(q.Action), Why: q.Verdict.Reason, Asked: q.Verdict.Asked,
		Quorum: q.Verdict.Quorum, Rules: q.Verdict.Rules, Policy: q.Verdict.Policy, Effect: q.Effect,
		Reserve: q.Reserve, Expires: q.Verdict.Expires}
	if x, ok := q.Action.(perdure.Execute); ok {
		about.Tool = x.Tool
	}
	if q.About != nil {
		about.Name, about.Whom, about.Approved = q.About.Name, q.About.Whom, q.About.Approved
	}
	return about
}

// sheetFor is what was answered, as programs read it: with what was checked in the place of what the server says.
func sheetFor(about *view.Wait, said *client.Wait) (*client.Wait, error) {
	if about == nil || said == nil {
		return nil, nil
	}
	text, err := view.ReadableJSON(struct {
		Action perdure.Action `json:"action"`
	}{about.Action})
	out := *said
	if err == nil {
		err = json.Unmarshal(text, &out) // the action alone
	}
	if err != nil {
		return nil, err
	}
	out.Agent, out.Decision, out.Digest, out.Tool = about.Agent, about.Decision, about.Digest, about.Tool
	out.What, out.Why, out.Asked, out.Quorum, out.Head = about.What, about.Why, about.Asked, about.Quorum, about.Head()
	out.Sheet = nil
	for _, r := range about.Sheet(time.Now()) {
		out.Sheet = append(out.Sheet, client.Row{Label: r.Label, Text: r.Text})
	}
	return &out, nil
}

// jsonOf is data as it is sent; nil: none.
func jsonOf(d perdure.Data) json.RawMessage {
	if d == nil {
		return nil
	}
	return d.JSON()
}

// wire is a budget as it is sent; nil: none is named.
func (b BudgetFile) wire() *client.Budget {
	if b == (BudgetFile{}) {
		return nil
	}
	return &client.Budget{Cost: b.Cost, Tokens: b.Tokens, Calls: b.Calls}
}

// wire is an intent for a server, which reads no files of ours.
func (f *IntentFile) wire() (in client.Intent, err error) {
	in = client.Intent{Goal: f.Goal, Name: f.Name, Kind: f.Kind, Advisor: f.Advisor, Labels: f.Labels, Scope: f.Scope,
		Deadline: f.Deadline, Depth: f.Depth, TTL: f.TTL, Approvers: f.Approvers, Delegates: f.Delegates,
		Schema: f.StateSchema, Policies: f.Policies, Budget: f.Budget.wire()}
	if f.Tools != nil {
		in.Tools = &f.Tools
	}
	if f.Inputs != nil {
		d, err := perdure.DataOf(f.Inputs)
		if err != nil {
			return in, perdure.Invalid(fmt.Errorf("inputs: %w", err))
		}
		in.Inputs = d.JSON()
	}
	return in, nil
}

// Create makes an agent.
func (w *Away) Create(ctx context.Context, f *IntentFile, _ string) (*Made, error) {
	in, err := f.wire()
	if err != nil {
		return nil, err
	}
	a, _, err := post[client.Created](ctx, w, "/v1/agents", in)
	return &Made{a.Agent, a.Name}, err
}

// Fork makes an agent that begins where another was.
func (w *Away) Fork(ctx context.Context, arg string, f Fork) (*Forked, error) {
	name, ref := SplitRef(arg)
	in := client.Fork{At: ref, Goal: f.Goal, Name: f.Name, Live: f.Live, Dry: f.Dry}
	if f.Over != nil {
		over, err := f.Over.wire()
		if err != nil {
			return nil, err
		}
		in.Over = &over
	}
	forked, sent, err := post[Forked](ctx, w, agentURL(name, "/fork", nil), in)
	forked.Of, forked.Sent = view.ShownName(name), sent
	return &forked, err
}
