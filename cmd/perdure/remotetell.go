package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// tell sends what an agent is told, once however often the connection breaks, and says how it stands then.
func (r *remote) tell(agent, verb string, in any, options ...client.Option) error {
	var raw json.RawMessage
	options = append([]client.Option{client.Once(client.NewKey())}, options...)
	_, err := r.Do(r.c.Context(), "POST", "/v1/agents/"+url.PathEscape(agent)+"/"+verb, in, &raw, options...)
	if err != nil {
		return err
	}
	return r.said(agent, raw, false)
}

// said prints what an agent was told.
func (r *remote) said(agent string, raw json.RawMessage, shown bool) error {
	var t client.Told
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	return r.print(raw, func(w io.Writer) error {
		if about := sheetOf(t.About); about != nil && !shown {
			if err := term.WriteSheet(w, about, time.Now()); err != nil {
				return err
			}
		}
		name := t.Name
		if name == "" {
			name = t.Agent.Short()
		}
		text := fmt.Sprintf("%s (seq %d), now %s", view.OneLine(t.What, 0), t.Seq, t.Standing)
		if t.Before {
			text = fmt.Sprintf("it was received before (seq %d); nothing changed", t.Seq)
		}
		_, err := fmt.Fprintf(w, "%s: %s\n", view.ShownName(name), text)
		return err
	})
}

// send tells an agent what happened.
func (r *remote) send(agent string, ev client.Event, trace string) error {
	var options []client.Option
	if trace != "" {
		options = append(options, client.Trace(trace))
	}
	if ev.ID == "" {
		options = append(options, client.Once(client.NewKey())) // the connection may break
	}
	var raw json.RawMessage
	_, err := r.Do(r.c.Context(), "POST", "/v1/agents/"+url.PathEscape(agent)+"/events", ev, &raw, options...)
	if err != nil {
		return err
	}
	var t client.Recorded
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	return r.print(raw, func(w io.Writer) error {
		text := fmt.Sprintf("%s (seq %d)", view.OneLine(ev.Name, 0), t.Seq)
		if t.Before {
			text = fmt.Sprintf("%s was received before (seq %d); nothing changed", view.OneLine(ev.ID, 0), t.Seq)
		}
		_, err := fmt.Fprintf(w, "%s: %s\n", view.ShownName(agent), text)
		return err
	})
}

// vote answers what policy asks about: with the key that the token unlocks, if it is a person's, else with the key of
// this home. What is shown was checked against the digest that is signed.
func (r *remote) vote(t *teller, args []string, approve bool, expires string) error {
	me, err := r.Who(r.c.Context())
	if err != nil {
		return err
	}
	if me.Key.IsZero() || r.Token == "" {
		s, err := r.ownKey()
		if err != nil {
			return err
		}
		if s == nil {
			return perdure.WithHint(
				errors.New("answers are signed, and there is no key here"),
				"use a token of yours that unlocks one, or make one with perdure key new and have the server's home "+
					"trust it with "+
					"approve",
			)
		}
		r.Signer = s
	}
	shown := false
	see := func(q *client.Question) error {
		if !approve || t.yes != nil && *t.yes || !term.IsTerminal(r.c.InOrStdin()) {
			return nil
		}
		shown = true
		w := view.Wait{
			Agent:    q.Agent,
			Kind:     view.WaitApproval,
			Decision: q.Decision,
			Digest:   q.Digest,
			Action:   q.Action,
			What:     view.ActionText(q.Action),
			Why:      q.Verdict.Reason,
			Rules:    q.Verdict.Rules,
			Quorum:   max(q.Verdict.Quorum, 1),
			Asked:    q.Verdict.Asked,
			Expires:  q.Verdict.Expires,
		}
		if q.About != nil {
			w.Name = q.About.Name
		}
		if err := term.WriteSheet(r.c.ErrOrStderr(), &w, time.Now()); err != nil {
			return err
		}
		line, err := lineOf(r.c, "approve this? [y/N] ")
		if vote, ok := home.ParseVote(line, q.Digest); err == nil && (!ok || !vote.Yes) {
			err = errors.New("nothing was approved")
		}
		return err
	}
	do := r.Deny
	if approve {
		do = r.Approve
	}
	until, err := home.ParseDeadline(expires, time.Now())
	if err != nil {
		return perdure.Invalid(fmt.Errorf("--expires: %w", err))
	}
	ballot := client.Ballot{Digest: append(args, "")[1], Note: *t.note}
	if until != 0 {
		ballot.Expires = until.String()
	}
	told, err := do(r.c.Context(), args[0], ballot, see)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(told)
	if err != nil {
		return err
	}
	return r.said(args[0], raw, shown)
}

// intentFrom is an intent for a server, which reads no files of ours.
func intentFrom(f *home.IntentFile) (in client.Intent, err error) {
	in = client.Intent{Goal: f.Goal, Name: f.Name, Kind: f.Kind, Advisor: f.Advisor, Labels: f.Labels, Scope: f.Scope,
		Deadline: f.Deadline, Depth: f.Depth, TTL: f.TTL, Approvers: f.Approvers, Delegates: f.Delegates,
		Schema: f.StateSchema, Policies: f.Policies}
	if f.Tools != nil {
		in.Tools = &f.Tools
	}
	if b := f.Budget; b != (home.BudgetFile{}) {
		in.Budget = &client.Budget{Cost: b.Cost, Tokens: b.Tokens, Calls: b.Calls}
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

// create creates an agent.
func (r *remote) create(f *home.IntentFile) error {
	in, err := intentFrom(f)
	if err != nil {
		return err
	}
	a, err := r.Create(r.c.Context(), in)
	if err != nil {
		return err
	}
	return r.out.say(made{a.Agent, a.Name}, "%s %s\n", view.InLine(a.Name), a.Agent)
}

// fork creates an agent that begins where another was.
func (r *remote) fork(arg string, f home.Fork) error {
	name, ref := home.SplitRef(arg)
	in := client.Fork{At: ref, Goal: f.Goal, Name: f.Name, Live: f.Live, Dry: f.Dry}
	if f.Over != nil {
		over, err := intentFrom(f.Over)
		if err != nil {
			return err
		}
		in.Over = &over
	}
	var raw json.RawMessage
	_, err := r.Do(r.c.Context(), "POST", "/v1/agents/"+url.PathEscape(name)+"/fork", in, &raw,
		client.Once(client.NewKey()))
	if err != nil {
		return err
	}
	var forked home.Forked
	if err := json.Unmarshal(raw, &forked); err != nil {
		return err
	}
	return r.print(raw, func(w io.Writer) error { return writeForked(w, &forked, view.ShownName(name)) })
}

// export writes an agent as a capsule.
func (r *remote) export(agent, file string, e *exporting) error {
	if e.set != "" || e.Detached || e.Move || len(e.Recipients) > 0 || e.Schema {
		return perdure.Invalid(
			errors.New("through a server an agent is exported whole, with its signatures inside; leave out " +
				"--set, --detached, --move, --to and --schema"),
		)
	}
	depth := ""
	if r.c.Flags().Changed("depth") {
		depth = e.depth
	}
	if e.toStdout {
		_, err := r.Export(r.c.Context(), term.Raw(r.c.OutOrStdout()), agent, e.form.value, depth)
		return err
	}
	if file == "" {
		a, _, err := r.Show(r.c.Context(), agent, "")
		if err != nil {
			return err
		}
		file = capsule.FileName(a.Name, a.Agent)
	}
	if info, err := os.Stat(file); err == nil && (!e.Replace || !info.Mode().IsRegular()) {
		return perdure.WithHint(fmt.Errorf("%s is there already", file),
			"name another FILE, or use --force to replace it")
	}
	var n int64
	err := disk.WriteWhole(file, func(w io.Writer) (err error) {
		n, err = r.Export(r.c.Context(), w, agent, e.form.value, depth)
		return err
	})
	if err != nil {
		return err
	}
	return r.out.say(map[string]any{"file": file, "bytes": n}, "%s: %d bytes\n", file, n)
}

// take has the server take an agent in.
func (r *remote) take(src io.Reader, older bool) error {
	a, err := r.Import(r.c.Context(), src, older)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return r.print(raw, func(w io.Writer) error {
		for _, line := range a.Text {
			if _, err := fmt.Fprintln(w, here(line)); err != nil {
				return err
			}
		}
		return nil
	})
}

// edit changes an agent.
func (r *remote) edit(
	agent string,
	m *perdure.Mutate,
	set map[string]perdure.Data,
	deadline string,
	b home.BudgetFile,
) error {
	in := client.Edit{
		Goal:     m.Goal,
		Kind:     m.Kind,
		Scope:    m.Scope,
		Depth:    m.Depth,
		Labels:   m.Labels,
		Note:     m.Note,
		Deadline: deadline,
	}
	if m.Inputs != nil {
		in.Inputs = m.Inputs.JSON()
	}
	if m.Tools != nil {
		in.Tools = &m.Tools
	}
	if b != (home.BudgetFile{}) {
		in.Budget = &client.Budget{Cost: b.Cost, Tokens: b.Tokens, Calls: b.Calls}
	}
	for name, v := range set {
		if in.Set == nil {
			in.Set = map[string]json.RawMessage{}
		}
		in.Set[name] = json.RawMessage("null")
		if v != nil {
			in.Set[name] = v.JSON()
		}
	}
	return r.tell(agent, "edit", in)
}
