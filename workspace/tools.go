package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/view"
)

// Tools are what models inside agents use memory with: memory (the six file commands), memory_search, document_read,
// document_write, document_list, document_promote, session_open and session_close. Each acts as the agent that calls
// it, whose role is its name; get opens the workspace when one is called.
func Tools(get func(ctx context.Context) (*Workspace, error)) []perdure.Tool {
	return []perdure.Tool{
		memoryTool(get, "memory", "keeps your own files below /memories, and shared ones below /memories/team and "+
			"/memories/public: view, create, str_replace, insert, "+
			"delete, rename", perdure.Idempotent, func(ctx context.Context, r *Reader, c FileCommand,
			key string) (string, error) {
			return r.Once(key).Do(ctx, c)
		}),
		memoryTool(get, "memory_search", "finds documents, notes, session summaries and what was said, by their words",
			perdure.Read,
			func(ctx context.Context, r *Reader, in SearchArgs, _ string) ([]*Found, error) {
				s, err := in.Search()
				if err != nil {
					return nil, err
				}
				return r.Find(ctx, s)
			}),
		memoryTool(get, "document_read", "returns a document: its text, version and links", perdure.Read,
			func(ctx context.Context, r *Reader, in ReadArgs, _ string) (*Document, error) {
				return r.ReadArgs(ctx, in)
			}),
		memoryTool(get, "document_list", "lists documents by path, with titles", perdure.Read,
			func(ctx context.Context, r *Reader, in ListArgs, _ string) ([]*Document, error) {
				l, err := in.Listed()
				if err != nil {
					return nil, err
				}
				return r.List(ctx, l)
			}),
		memoryTool(get, "document_write", "writes a document that others find: a decision, a plan, an observation; "+
			"over an existing one only with its version as base",
			perdure.Idempotent, func(ctx context.Context, r *Reader, in WriteArgs, key string) (*Document, error) {
				return r.Once(key).WriteArgs(ctx, in)
			}),
		memoryTool(get, "document_promote", "lets more see a document: from private to team, from team to public",
			perdure.Idempotent,
			func(ctx context.Context, r *Reader, in PromoteArgs, _ string) (*Document, error) {
				return r.PromoteArgs(ctx, in)
			}),
		memoryTool(get, "session_open", "begins a session: shows your current state, what changed since, and what is "+
			"stale", perdure.Idempotent,
			func(ctx context.Context, r *Reader, _ struct{}, _ string) (*Opening, error) { return r.Open(ctx) }),
		memoryTool(get, "session_close", "ends a session with a summary, and brings your current state up to date",
			perdure.Idempotent,
			func(ctx context.Context, r *Reader, in CloseArgs, _ string) (*Closed, error) {
				return r.CloseArgs(ctx, in)
			}),
	}
}

// Once is the reader for a call that may be made again: what it writes, it writes once.
func (r *Reader) Once(key string) *Reader {
	c := *r
	c.key = key
	return &c
}

func memoryTool[In, Out any](
	get func(context.Context) (*Workspace, error), name, about string, effect perdure.Effect,
	do func(ctx context.Context, r *Reader, in In, key string) (Out, error),
) perdure.Tool {
	return tool.Func(name, about, effect, func(ctx context.Context, c perdure.Call, in In) (out Out, err error) {
		w, err := get(ctx)
		if err != nil {
			return out, err
		}
		a, err := w.Node.Load(ctx, c.Agent)
		if err != nil {
			return out, err
		}
		r, err := w.For(ctx, a)
		if err != nil {
			return out, err
		}
		return do(ctx, r, in, c.Key)
	})
}

// SearchArgs are the arguments of a search, for models.
type SearchArgs struct {
	Query      string     `json:"query" jsonschema:"a question or words; \"words in quotes\" stand together"`
	Kinds      []string   `json:"kinds,omitempty" jsonschema:"only these kinds: decision, plan, note, session, turn (what was said), …"`
	Agent      string     `json:"agent,omitempty" jsonschema:"only the memory of this agent"`
	Visibility string     `json:"visibility,omitempty" jsonschema:"only private, team, public or custom:SCOPE documents"`
	Since      string     `json:"since,omitempty" jsonschema:"only from this time on: 2026-01-31, or how long ago: 48h"`
	Before     string     `json:"before,omitempty" jsonschema:"only before this time"`
	Limit      view.Limit `json:"limit,omitempty" jsonschema:"at most so many, up to 200; default 10"`
}

// Search is the search that the arguments say.
func (in *SearchArgs) Search() (s Search, err error) {
	s = Search{Text: in.Query, Kinds: in.Kinds, Agent: in.Agent, Limit: int(in.Limit)}
	if s.Visibility, err = visibilityArg(in.Visibility); err != nil {
		return s, err
	}
	if s.Since, err = momentArg("since", in.Since); err != nil {
		return s, err
	}
	s.Before, err = momentArg("before", in.Before)
	return s, err
}

func visibilityArg(text string) (*Visibility, error) {
	if text == "" {
		return nil, nil
	}
	v, err := ParseVisibility(text)
	return &v, err
}

// momentArg reads a time, a day, or how long ago.
func momentArg(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return time.Now().Add(-d), nil
	}
	return time.Time{}, perdure.Invalid(fmt.Errorf("%s %q: want a day such as 2026-01-31, a time, or a duration such "+
		"as 48h", name, clip(text, maxTitle)))
}

// ReadArgs are the arguments to read a document, for models.
type ReadArgs struct {
	Path       string `json:"path,omitempty" jsonschema:"such as decisions/use-sqlite.md, or agents/ROLE/current-state.md"`
	Visibility string `json:"visibility,omitempty" jsonschema:"where several tiers or scopes have the path: team, public, custom:SCOPE, team:SCOPE or public:SCOPE"`
	Version    string `json:"version,omitempty" jsonschema:"one version instead of the current one: its hash, or with a path its first digits"`
}

// ReadArgs reads a document with its links.
func (r *Reader) ReadArgs(ctx context.Context, in ReadArgs) (*Document, error) {
	on, err := visibilityArg(in.Visibility)
	if err != nil {
		return nil, err
	}
	if in.Version == "" {
		d, err := r.Read(ctx, in.Path, on)
		if err == nil {
			r.mark(ctx, d)
		}
		return d, err
	}
	h, err := r.versionOf(ctx, in.Path, on, in.Version)
	if err != nil {
		return nil, err
	}
	d, err := r.ReadVersion(ctx, h)
	if errors.Is(err, perdure.ErrNotFound) && in.Path != "" {
		all, missing := r.History(ctx, in.Path, on)
		if missing != nil {
			return nil, missing
		}
		if !slices.ContainsFunc(all, func(d *Document) bool { return d.Version == h }) { // else its text is gone
			return nil, noVersion(in.Path, h.Short())
		}
	}
	return d, err
}

// ListArgs are the arguments to list documents, for models.
type ListArgs struct {
	Prefix     string     `json:"prefix,omitempty" jsonschema:"only paths that begin so, such as decisions/"`
	Kind       string     `json:"kind,omitempty" jsonschema:"only this kind"`
	Tag        string     `json:"tag,omitempty" jsonschema:"only those with this tag"`
	Visibility string     `json:"visibility,omitempty" jsonschema:"only private, team, public or custom:SCOPE"`
	Since      string     `json:"since,omitempty" jsonschema:"only those written from this time on"`
	Limit      view.Limit `json:"limit,omitempty" jsonschema:"at most so many, up to 500; default 100"`
	After      string     `json:"after,omitempty" jsonschema:"the last path of the page before"`
}

// Listed is the list that the arguments say.
func (in *ListArgs) Listed() (l Listed, err error) {
	l = Listed{Prefix: strings.TrimPrefix(in.Prefix, "/"), Kind: in.Kind, Tag: in.Tag, After: in.After,
		Limit: min(int(in.Limit), maxListed)}
	if l.Visibility, err = visibilityArg(in.Visibility); err != nil {
		return l, err
	}
	l.Since, err = momentArg("since", in.Since)
	return l, err
}

// WriteArgs are the arguments to write a document, for models.
type WriteArgs struct {
	Path       string   `json:"path,omitempty" jsonschema:"where; default: the place of its kind, by its title"`
	Kind       string   `json:"kind,omitempty" jsonschema:"observation, decision, bug-report, feature-request, design-note, incident, plan, practice-note, index or note"`
	Title      string   `json:"title,omitempty" jsonschema:"one line, by which it is found; default: its first line"`
	Text       string   `json:"text" jsonschema:"Markdown; [[path]] links to another document"`
	Visibility string   `json:"visibility,omitempty" jsonschema:"private, team, public or custom:SCOPE; default: as it is, or team"`
	Tags       []string `json:"tags,omitempty" jsonschema:"words to find it by"`
	Base       []string `json:"base,omitempty" jsonschema:"the versions you have read and replace; needed where the document exists"`
	Append     bool     `json:"append,omitempty" jsonschema:"add the text to the end; needs no base"`
	Check      string   `json:"check,omitempty" jsonschema:"how to find out whether it still holds: exists PATH, missing PATH, contains PATH TEXT, or run COMMAND"`
}

// WriteArgs writes a document. One that exists is replaced only by who has read it.
func (r *Reader) WriteArgs(ctx context.Context, in WriteArgs) (*Document, error) {
	on, err := visibilityArg(in.Visibility)
	if err != nil {
		return nil, err
	}
	d := Draft{Path: in.Path, Kind: in.Kind, Title: in.Title, Text: in.Text, Visibility: on, Tags: in.Tags,
		Check: in.Check, models: true}
	if in.Append {
		return r.Append(ctx, d)
	}
	if err := r.Based(ctx, &d, in.Base); err != nil {
		return nil, err
	}
	d.New = d.Base == nil
	doc, err := r.Write(ctx, d)
	var c *Conflict
	if errors.As(err, &c) && d.New {
		return nil, perdure.WithHint(err, "read it, and give its version as base; or append")
	}
	return doc, err
}

// PromoteArgs are the arguments to promote a document, for models.
type PromoteArgs struct {
	Path string `json:"path" jsonschema:"the document"`
	To   string `json:"to" jsonschema:"team, public or custom:SCOPE"`
	As   string `json:"as,omitempty" jsonschema:"its path there; default: the same"`
}

// PromoteArgs promotes a document.
func (r *Reader) PromoteArgs(ctx context.Context, in PromoteArgs) (*Document, error) {
	to, err := ParseVisibility(in.To)
	if err != nil {
		return nil, err
	}
	return r.Promote(ctx, in.Path, nil, to, in.As)
}

// CloseArgs are the arguments to close a session, for models.
type CloseArgs struct {
	Session   string   `json:"session,omitempty" jsonschema:"the session that session_open named; default: the one you opened last"`
	Title     string   `json:"title" jsonschema:"one line, by which it is found"`
	Happened  string   `json:"happened" jsonschema:"what happened, with the paths and names somebody needs to go on"`
	Decisions []string `json:"decisions,omitempty" jsonschema:"what was decided, and why"`
	Threads   []string `json:"open_threads,omitempty" jsonschema:"what is left to do"`
	State     string   `json:"state,omitempty" jsonschema:"the whole current state from now on, in at most 100 lines; default: as it was, with what is open"`
	StateBase string   `json:"state_base,omitempty" jsonschema:"the version of the current state the new one rests on, if another session wrote it meanwhile"`
}

// CloseArgs closes a session.
func (r *Reader) CloseArgs(ctx context.Context, in CloseArgs) (*Closed, error) {
	c := Closing{Session: in.Session, Title: in.Title, Happened: in.Happened, Decisions: in.Decisions,
		Threads: in.Threads, State: in.State}
	if in.StateBase != "" {
		h, err := r.versionOf(ctx, StatePath(r.role), nil, in.StateBase)
		if err != nil {
			return nil, err
		}
		c.StateBase = h
	}
	return r.Close(ctx, c)
}
