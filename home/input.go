package home

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/view"
)

// errRequest says that what a program wrote is no request: no JSON, or not one thing to do.
var errRequest = errors.New("chat does not know this request")

// Request is what a program that talks to an agent wants, as one value of JSON: exactly one of these, and a note with
// an answer.
type Request struct {
	Say       string `json:"say,omitempty"`
	Approve   string `json:"approve,omitempty"` // the beginning of a digest
	Deny      string `json:"deny,omitempty"`
	Happened  string `json:"happened,omitempty"` // the beginning of a decision that is in doubt
	Failed    string `json:"failed,omitempty"`   // the same: it did not happen, and will not
	Note      string `json:"note,omitempty"`
	Go        bool   `json:"go,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"`
	Quit      bool   `json:"quit,omitempty"`
}

// requests are what a request may ask for, and answers those of them that take a note.
var (
	requests = []string{"say", "approve", "deny", "happened", "failed", "go", "interrupt", "quit"}
	answers  = []string{"approve", "deny", "happened", "failed"}
)

// ReadRequest reads a request, and refuses a value that is none or asks for several things with an error that wraps
// errRequest.
func ReadRequest(line []byte) (r Request, err error) {
	refuse := func(format string, args ...any) (Request, error) {
		return Request{}, perdure.Invalid(fmt.Errorf("%w: "+format, append([]any{errRequest}, args...)...))
	}
	if err := jsontext.Text(line); err != nil {
		return refuse("%s", err)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	var kind *json.UnmarshalTypeError
	switch err := dec.Decode(&r); {
	case errors.As(err, &kind) && kind.Field == "":
		return refuse("it is a %s; want an object, such as {\"say\": \"hello\"}", kind.Value)
	case err != nil:
		return refuse("%s", jsontext.Fault(err))
	}
	if dec.More() {
		return refuse("one value per line")
	}
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return refuse("%s", jsontext.Fault(err))
	}
	_, noted := fields["note"]
	delete(fields, "note")
	var given []string
	for _, name := range requests {
		if v, is := fields[name]; is {
			if text, ok := v.(string); v == nil || v == false || ok && strings.TrimSpace(text) == "" {
				return refuse("%q says nothing", name)
			}
			given = append(given, name)
		}
	}
	switch {
	case len(given) != 1:
		got := "none"
		if len(given) > 0 {
			got = strings.Join(given, " and ")
		}
		return refuse("want one of %s; got %s", strings.Join(requests, ", "), got)
	case noted && !slices.Contains(answers, given[0]):
		return refuse("a note goes with one of %s; got %s", strings.Join(answers, ", "), given[0])
	}
	return r, nil
}

// Input is what a request asks for where a conversation rests. To interrupt and to quit are for the caller.
func (r *Request) Input(at *Rest) (Input, error) {
	switch {
	case r.Go:
		return Input{}, nil
	case r.Say != "":
		return Input{Say: r.Say}, nil
	}
	find := func(prefix, kind, what string, of func(*view.Wait) perdure.Hash) (perdure.Hash, error) {
		prefix = strings.ToLower(prefix)
		var found []perdure.Hash
		for i := range at.Waits {
			w := &at.Waits[i]
			if len(prefix) >= view.MinPrefix && w.Kind == kind && strings.HasPrefix(of(w).String(), prefix) {
				found = append(found, of(w))
			}
		}
		switch len(found) {
		case 1:
			return found[0], nil
		case 0:
			return perdure.Hash{}, perdure.Missing(fmt.Sprintf("nothing with the %s %s is asked for", what, prefix))
		}
		return perdure.Hash{}, perdure.Invalid(fmt.Errorf("%w: several have the %s %s; say more of it", errRequest,
			what, prefix))
	}
	in := Input{Yes: r.Approve+r.Happened != "", Note: r.Note}
	var err error
	if asked := r.Approve + r.Deny; asked != "" {
		in.Digest, err = find(asked, view.WaitApproval, "digest", func(w *view.Wait) perdure.Hash { return w.Digest })
	} else {
		in.Decision, err = find(r.Happened+r.Failed, view.WaitDoubt, "decision",
			func(w *view.Wait) perdure.Hash { return w.Decision })
	}
	if err != nil {
		return Input{}, err
	}
	return in, nil
}

// ParseVote reads what a person answers who is asked about an action: y alone, or n, with a reason or none. All else is
// no vote: what comes after a y may take it back, "no idea" refuses nothing, and whoever asks a question has not
// decided. The bare letter n begins no sentence, so that its reason needs no more than a space.
func ParseVote(line string, digest perdure.Hash) (in Input, ok bool) {
	if line = strings.TrimSpace(line); len(line) > 1 && strings.EqualFold(line[:2], "n ") {
		line = "n:" + line[1:]
	}
	yes, note, ok := parseAnswer(line, []string{"y", "yes"}, []string{"n", "no"})
	if !ok || yes && note != "" {
		return Input{}, false
	}
	return Input{Digest: digest, Yes: yes, Note: note}, true
}

// ParseSettle reads what a person answers who is asked whether an effect happened. Whoever wants to leave it open says
// so, or nothing.
func ParseSettle(line string, decision perdure.Hash) (in Input, leave, ok bool) {
	switch strings.ToLower(strings.Trim(line, " \t.")) {
	case "", "leave", "l", "later":
		return Input{}, true, true
	}
	yes, note, ok := parseAnswer(line, []string{"h", "happened", "it happened"},
		[]string{"n", "not", "did not happen", "it did not happen"})
	if !ok {
		return Input{}, false, false
	}
	return Input{Decision: decision, Yes: yes, Note: note}, false, true
}

// reasoned is an answer and why. A word that merely follows may turn an answer around ("not sure", "happened not"):
// only a separator makes it a reason.
var reasoned = regexp.MustCompile(`(?is)^(.*?)\s*(?:[,.:;!]+|--|[–—]|\s-\s|\sbecause\s)\s*(.*)$`)

// parseAnswer reads one of two answers and what is said with it.
func parseAnswer(line string, yes, no []string) (is bool, note string, ok bool) {
	line = strings.TrimSpace(line)
	if strings.HasSuffix(line, "?") {
		return false, "", false
	}
	if parts := reasoned.FindStringSubmatch(line); parts != nil {
		line, note = parts[1], parts[2]
	}
	line = strings.ToLower(line)
	is = slices.Contains(yes, line)
	return is, note, is || slices.Contains(no, line)
}

// Vote tells an agent what a person answered.
func Vote(ctx context.Context, n *perdure.Node, id perdure.AgentID, in Input) (*perdure.Entry, error) {
	if in.Yes {
		return n.Approve(ctx, id, in.Digest, 0, in.Note)
	}
	return n.Deny(ctx, id, in.Digest, in.Note)
}

// settle tells an agent what a person found out about an effect.
func settle(ctx context.Context, n *perdure.Node, id perdure.AgentID, in Input) (*perdure.Entry, error) {
	signal := perdure.Failed
	if in.Yes {
		signal = perdure.OK
	}
	return n.Settle(ctx, id, perdure.Settle{Decision: in.Decision, Signal: signal, Note: in.Note})
}
