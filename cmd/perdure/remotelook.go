package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// agentURL is the path of an agent at a server; AGENT@REF asks for a point in its memory.
func agentURL(arg, more string) string {
	name, ref := home.SplitRef(arg)
	path := "/v1/agents/" + url.PathEscape(name) + more
	if ref != "" {
		path += "?at=" + url.QueryEscape(ref)
	}
	return path
}

// ls lists agents.
func (r *remote) ls(f perdure.Filter) error {
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
	var all []json.RawMessage
	for {
		raw, err := r.get("/v1/agents?" + q.Encode())
		if err != nil {
			return err
		}
		var page struct {
			Agents []json.RawMessage `json:"agents"`
			Next   string            `json:"next"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return err
		}
		all = append(all, page.Agents...)
		if f.Limit > 0 && len(all) >= f.Limit {
			all = all[:f.Limit]
			break
		}
		if page.Next == "" {
			break
		}
		q.Set("cursor", page.Next)
	}
	var lines []home.Listed
	for _, raw := range all {
		l, wrong, err := listedFrom(raw)
		if err != nil {
			return err
		}
		if wrong != "" {
			defer note(r.c, "%s", wrong)
		}
		lines = append(lines, l)
	}
	return r.values(all, func(w io.Writer) error { return listings(w, lines, time.Now()) })
}

// listedFrom is a line of a list.
func listedFrom(raw json.RawMessage) (l home.Listed, wrong string, err error) {
	var x client.Listed
	if err := json.Unmarshal(raw, &x); err != nil {
		return l, "", err
	}
	l = home.Listed{Standing: x.Standing, Depth: x.Depth, Damaged: x.Damaged, Listing: perdure.Listing{Agent: x.Agent,
		Name: x.Name, Kind: x.Kind, Scope: x.Scope, Labels: x.Labels, Created: timeOf(x.Created),
		Updated: timeOf(x.Updated), Due: timeOf(x.Due), Entries: x.Entries, Waiting: x.Waiting}}
	_ = l.State.UnmarshalText([]byte(x.State)) // one of a newer server is none here
	return l, x.Wrong, nil
}

// show shows an agent.
func (r *remote) show(arg string, brief bool) error {
	format, err := r.out.check()
	if err != nil {
		return err
	}
	if format != formatTable {
		raw, err := r.get(agentURL(arg, ""))
		if err != nil {
			return err
		}
		return r.value(format, raw)
	}
	name, ref := home.SplitRef(arg)
	q := url.Values{}
	if ref != "" {
		q.Set("at", ref)
	}
	if brief {
		q.Set("brief", "true")
	}
	raw, err := r.get("/v1/agents/" + url.PathEscape(name) + "/page?" + q.Encode())
	if err != nil {
		return err
	}
	var page client.Page
	if err := json.Unmarshal(raw, &page); err != nil {
		return err
	}
	return writeSummaryRows(r.c.OutOrStdout(), rowsFrom(page.Rows))
}

func rowsFrom(rows []client.PageRow) []view.PageRow {
	out := make([]view.PageRow, 0, len(rows))
	for _, row := range rows {
		out = append(out, view.PageRow{Label: row.Label, Text: row.Text, Do: row.Do})
	}
	return out
}

// state shows everything derived from a memory.
func (r *remote) state(arg string) error {
	raw, err := r.get(agentURL(arg, "/state"))
	if err != nil {
		return err
	}
	return r.print(raw, func(io.Writer) error { return r.value(formatYAML, raw) })
}

// diff compares two points.
func (r *remote) diff(a, b string) error {
	from, fromRef := home.SplitRef(a)
	to, toRef := home.SplitRef(b)
	d, err := r.Diff(r.c.Context(), from, fromRef, toRef, to)
	if err != nil {
		return err
	}
	raw, found := []json.RawMessage{}, []view.Change{}
	for _, c := range d.Changes {
		one, err := json.Marshal(c)
		if err != nil {
			return err
		}
		raw = append(raw, one)
		change := view.Change{Path: c.Path}
		if c.From != nil {
			change.From = c.From
		}
		if c.To != nil {
			change.To = c.To
		}
		found = append(found, change)
	}
	return r.values(raw, func(w io.Writer) error { return writeChanges(w, d.From, d.To, found) })
}

// inbox lists what waits for people.
func (r *remote) inbox(brief bool) error {
	raw, err := r.waits()
	if err != nil {
		return err
	}
	var all struct {
		Waits  []json.RawMessage `json:"waits"`
		Faults string            `json:"faults"`
	}
	var waits client.Waits
	if err := errors.Join(json.Unmarshal(raw, &all), json.Unmarshal(raw, &waits)); err != nil {
		return err
	}
	err = r.values(all.Waits, func(w io.Writer) error {
		if len(waits.Waits) == 0 && waits.Faults == "" {
			note(r.c, "nothing is waiting for a person")
		}
		found := make([]view.Wait, 0, len(waits.Waits))
		for i := range waits.Waits {
			found = append(found, *sheetOf(&waits.Waits[i]))
		}
		return term.WriteWaits(w, found, time.Now(), brief)
	})
	if waits.Faults != "" {
		err = errors.Join(err, errors.New(waits.Faults))
	}
	return err
}

// verify has the server verify a memory.
func (r *remote) verify(args []string, f *verifyFlag) error {
	if len(args) > 1 || f.trusted || f.policy || f.attest || f.shallow || f.parent != "" || len(f.heads) > 0 {
		return perdure.Invalid(
			errors.New("a server verifies every link, hash and signature, and nothing else; export the " +
				"agent and verify the file with the other flags"),
		)
	}
	arg := args[0]
	var raw json.RawMessage
	if _, err := r.Do(r.c.Context(), "POST", "/v1/agents/"+url.PathEscape(arg)+"/verify", nil, &raw); err != nil {
		return err
	}
	var v client.Verified
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	return r.print(raw, func(w io.Writer) error {
		return show.Checked(w, rowsFrom(v.Rows), v.OK)
	})
}

// tools lists the tools of the server's node.
func (r *remote) tools(agent string, brief bool) error {
	raw, err := r.get("/v1/tools?agent=" + url.QueryEscape(agent))
	if err != nil {
		return err
	}
	var all struct {
		Tools []json.RawMessage `json:"tools"`
	}
	var typed struct {
		Tools []home.ToolUse `json:"tools"`
	}
	if err := errors.Join(json.Unmarshal(raw, &all), json.Unmarshal(raw, &typed)); err != nil {
		return err
	}
	return r.values(all.Tools, func(w io.Writer) error { return show.Tools(w, typed.Tools, brief) })
}

// log shows entries of a memory, and with --follow what comes.
func (r *remote) log(arg string, l *logged) error {
	if l.talk {
		return r.transcript(arg, l)
	}
	show := func(one *client.Line) error {
		return r.line(l.format, one, func(s term.Style) string { return term.Line(lineFrom(one, l.much), s) })
	}
	var all []json.RawMessage
	if l.format == formatJSON || l.format == formatYAML {
		show = func(one *client.Line) error {
			b, err := json.Marshal(one)
			all = append(all, b)
			return err
		}
	}
	after, err := r.past(arg, l, show)
	if err != nil {
		return err
	}
	switch {
	case l.format == formatJSON || l.format == formatYAML:
		return r.values(all, nil)
	case !l.follow:
		return nil
	}
	t := client.Tail{Agent: arg, After: after, Kinds: l.kinds, Tool: l.Tool, Ends: true}
	for one, err := range r.Tail(r.c.Context(), t) {
		if err != nil {
			return err
		}
		one.Cursor = ""
		if err := show(&one); err != nil {
			return err
		}
	}
	return nil
}

// past shows the entries there are, and returns the position behind them.
func (r *remote) past(arg string, l *logged, show func(*client.Line) error) (after string, err error) {
	q := url.Values{"limit": {"1000"}}
	for _, k := range l.kinds {
		q.Add("kind", k)
	}
	for _, g := range l.signals {
		q.Add("signal", g)
	}
	if l.Tool != "" {
		q.Set("tool", l.Tool)
	}
	if l.last > 0 && l.last <= maxLast {
		q.Set("last", strconv.Itoa(l.last))
	}
	var kept []client.Line // of more than a server gives from the end, the last are kept while all are read
	for {
		raw, err := r.get("/v1/agents/" + url.PathEscape(arg) + "/entries?" + q.Encode())
		if err != nil {
			return "", err
		}
		var page client.Lines
		if err := json.Unmarshal(raw, &page); err != nil {
			return "", err
		}
		if after = page.Position; l.last > maxLast {
			kept = append(kept, page.Entries...)
			kept = slices.Clone(kept[max(len(kept)-l.last, 0):])
		} else if err := showAll(page.Entries, show); err != nil {
			return "", err
		}
		if page.Next == "" || q.Has("last") {
			return after, showAll(kept, show)
		}
		q.Set("after", page.Next)
	}
}

// maxLast is how many entries a server gives from the end.
const maxLast = 1000

func showAll(all []client.Line, show func(*client.Line) error) error {
	for i := range all {
		all[i].Cursor = ""
		if err := show(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// transcript shows a conversation.
func (r *remote) transcript(arg string, l *logged) error {
	last := maxLast
	if l.last > 0 {
		last = min(l.last, last)
	}
	raw, err := r.get("/v1/agents/" + url.PathEscape(arg) + "/transcript?last=" + strconv.Itoa(last))
	if err != nil {
		return err
	}
	var all struct {
		Said []json.RawMessage `json:"said"`
	}
	var talk client.Transcript
	if err := errors.Join(json.Unmarshal(raw, &all), json.Unmarshal(raw, &talk)); err != nil {
		return err
	}
	if talk.Before && (l.last == 0 || l.last > maxLast) {
		note(r.c, "a server gives the conversation of the last %d entries; there is more before", maxLast)
	}
	return r.values(all.Said, func(w io.Writer) error {
		for _, x := range talk.Said {
			said := view.Said{Seq: x.Seq, Entry: x.Entry, Time: timeOf(x.Time), Who: x.Who, What: x.What, Text: x.Text,
				Tool: x.Tool}
			if g, err := view.ParseName[perdure.Signal]("signal", x.Signal); err == nil && x.Signal != "" {
				said.Signal = g
			}
			if _, err := fmt.Fprintln(w, term.Said(&said, term.StyleOf(w), l.whole)); err != nil {
				return err
			}
		}
		return nil
	})
}

// line prints one of many values.
func (r *remote) line(format string, v any, text func(term.Style) string) error {
	w := r.c.OutOrStdout()
	if format == formatTable {
		_, err := fmt.Fprintln(w, text(term.StyleOf(w)))
		return err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.value(format, raw)
}

// tail follows agents, or all of them without any.
func (r *remote) tail(args []string, t *tailed) error {
	if len(args) == 0 {
		args = []string{""}
	}
	var lock sync.Mutex
	show := func(one *client.Line) error {
		lock.Lock()
		defer lock.Unlock()
		one.Cursor = ""
		label := view.ShownName(one.Name)
		if label == "" {
			label = one.Agent.Short()
		}
		t.width = max(t.width, utf8.RuneCountInString(label))
		return r.line(t.format, one, func(s term.Style) string {
			if !t.many {
				return term.Line(lineFrom(one, 0), s)
			}
			pad := fmt.Sprintf("%*s", t.width-utf8.RuneCountInString(label)+1, "")
			return term.LineAfter(lineFrom(one, 0), s, s.Head(label)+pad, t.width+1)
		})
	}
	ctx, stop := context.WithCancel(r.c.Context())
	defer stop()
	failed := make(chan error, len(args))
	for _, arg := range args {
		go func() {
			of := client.Tail{Agent: arg, Last: t.last, Kinds: t.kinds, Tool: t.Tool, Ends: true}
			for one, err := range r.Tail(ctx, of) {
				if err == nil && len(t.Signals) > 0 && !t.Fits(lineFrom(&one, 0)) {
					continue
				}
				if err == nil {
					err = show(&one)
				}
				if err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	var err error
	for range args {
		if one := <-failed; one != nil && err == nil {
			err = one
			stop() // what is wrong with one is said now, not when the others have ended
		}
	}
	return err
}
