package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/imports"
)

func docCommand() *cobra.Command {
	c := command("doc", nil)
	c.AddCommand(docWriteCommand(), docReadCommand(), docLsCommand(), docHistoryCommand(), docLinksCommand(),
		docPromoteCommand(), docMvCommand(), docRmCommand(), docImportCommand())
	return c
}

// memoryFlags are what commands about documents share: the home, and on whose behalf.
type memoryFlags struct {
	c     *cobra.Command
	h     *homeFlag
	out   *output
	role  *string
	scope *string
	tier  string
	on    *workspace.Visibility // what tier says, once the command runs; nil: nothing
}

// roleEnv names the role of commands and servers that are not told one.
const roleEnv = "PERDURE_ROLE"

func newMemory(c *cobra.Command) *memoryFlags {
	m := &memoryFlags{c: c, h: storeFlag(c).acting(), out: outputFlags(c)}
	m.role = c.Flags().String("role", "", "act as this role, which sees what it may see (default: $"+roleEnv+", else "+
		"the owner, who sees all)")
	m.scope = c.Flags().String("scope", "", "where a new role belongs, and what the owner reads and writes, a path "+
		"such as acme/ops (default: home to write in, and to read in first)")
	return m
}

// open calls f with the documents of the home.
func (m *memoryFlags) open(create bool, f func(ctx context.Context, w *workspace.Workspace) error) error {
	return m.h.UseScope(m.c.Context(), create, *m.scope, f)
}

// of says whose memory it is if nobody says.
func (m *memoryFlags) of(role string) *memoryFlags {
	m.c.Flags().Lookup("role").Usage = "whose memory it is (default: $" + roleEnv + ", else " + role + ")"
	return m
}

// roleOr is the role that was named, here or in the environment, else another.
func (m *memoryFlags) roleOr(role string) string { return cmp.Or(*m.role, os.Getenv(roleEnv), role) }

// visibility adds --visibility.
func (m *memoryFlags) visibility(usage string) *memoryFlags {
	m.c.Flags().StringVar(&m.tier, "visibility", "", usage+": private, team, public, custom:SCOPE; of another scope "+
		"team:SCOPE, public:SCOPE")
	completes(m.c, "visibility", "private", "team", "public", "custom:")
	return m
}

// use calls f with the reader of the command, which is that of a role if nobody says; empty: the owner.
func (m *memoryFlags) use(create bool, role string, f func(ctx context.Context, r *workspace.Reader) error) error {
	if m.tier != "" {
		on, err := workspace.ParseVisibility(m.tier)
		if err != nil {
			return err
		}
		m.on = &on
	}
	return m.open(create, func(ctx context.Context, w *workspace.Workspace) error {
		role := m.roleOr(role)
		if role == "" {
			return f(ctx, w.Owner())
		}
		r, err := w.As(ctx, role)
		if err != nil {
			return err
		}
		return f(ctx, r)
	})
}

// inMemory prints what f finds or does in memory.
func inMemory[T any](m *memoryFlags, create bool, text func(io.Writer, T) error,
	f func(ctx context.Context, r *workspace.Reader) (T, error)) error {
	return m.use(create, "", func(ctx context.Context, r *workspace.Reader) error {
		return answer(m.out, text)(f(ctx, r))
	})
}

type documents = []*workspace.Document

// listed prints the documents that f finds, or for people that there are none.
func (m *memoryFlags) listed(none string, f func(ctx context.Context, r *workspace.Reader) (documents, error)) error {
	return m.use(false, "", func(ctx context.Context, r *workspace.Reader) error {
		return answers(m.out, func(w io.Writer, found []*workspace.Document) error {
			if len(found) == 0 {
				m.h.Note(none)
			}
			return show.Documents(w, found)
		})(f(ctx, r))
	})
}

// written prints which version of a document f wrote, without its text: whoever wrote it knows what it says.
func (m *memoryFlags) written(create bool, f func(ctx context.Context, r *workspace.Reader) (*workspace.Document,
	error)) error {
	return m.changed(create, show.Written, f)
}

// changed is written with other words for people.
func (m *memoryFlags) changed(create bool, text func(io.Writer, *workspace.Document) error,
	f func(ctx context.Context, r *workspace.Reader) (*workspace.Document, error)) error {
	return m.use(create, "", func(ctx context.Context, r *workspace.Reader) error {
		d, err := f(ctx, r)
		if err == nil {
			d.Text = ""
		}
		return answer(m.out, text)(d, err)
	})
}

func docWriteCommand() *cobra.Command {
	c := command("doc write", cobra.RangeArgs(1, 2))
	m := newMemory(c).visibility("who sees it (default: as it is, or team)")
	var d workspace.Draft
	fl := c.Flags()
	fl.StringVar(&d.Kind, "kind", "", "what it is: "+strings.Join(workspace.Kinds(), ", ")+", or another word")
	fl.StringVar(&d.Title, "title", "", "one line, by which it is found (default: the first line of its text)")
	fl.StringArrayVar(&d.Tags, "tag", nil, "a word to find it by; may be repeated")
	fl.StringArrayVar(&d.Links, "link", nil, "a path or an agent it refers to, besides [[links]] in its text; may be "+
		"repeated")
	fl.StringVar(&d.Check, "check", "", "how to find out whether it still holds: exists PATH, missing PATH, contains "+
		"PATH TEXT, or run COMMAND")
	base := fl.StringArray("base", nil, "the version you have read, or the first digits of it: if it is not the "+
		"current one, nothing is written; may be repeated, to bring versions together")
	fl.BoolVar(&d.New, "new", false, "refuse to replace a document")
	ttl := fl.String("ttl", "", "how long the text is kept: 90d, 24h")
	seal := fl.StringArray("seal", nil, "SUBJECT=TEXT: a part that only the owner reads, and that perdure erase "+
		"--subject SUBJECT AGENT makes unreadable everywhere; may be repeated")
	add := fl.Bool("append", false, "add the text to the end")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if strings.TrimSpace(args[0]) == "" {
			return perdure.Invalid(errors.New("a document needs a PATH, such as notes/today.md; - puts it in the " +
				"place of its kind and title"))
		}
		if len(args) == 1 || args[1] != "" { // "" is a text, and empties a document
			if d.Text, err = textArg(c, strings.Join(args[1:], "")); err != nil {
				return err
			}
		}
		if len(args) == 1 && d.Text == "" && len(*seal) == 0 { // cron and CI have an empty standard input
			return perdure.Invalid(errors.New("there is no text: standard input is empty; give a TEXT, or - or \"\" " +
				"to empty the document"))
		}
		if d.Path = args[0]; d.Path == "-" {
			d.Path = "" // the place of its kind and title
		}
		for _, text := range *seal {
			part, err := workspace.ParsePart(text)
			if err != nil {
				return fmt.Errorf("--seal: %w", err)
			}
			d.Sealed = append(d.Sealed, part)
		}
		if *ttl != "" {
			if d.TTL, err = home.ParseSpan(*ttl); err != nil {
				return fmt.Errorf("--ttl: %w", err)
			}
		}
		return m.written(true, func(ctx context.Context, r *workspace.Reader) (*workspace.Document, error) {
			d.Visibility = m.on
			if err := r.Based(ctx, &d, *base); err != nil {
				return nil, fmt.Errorf("--base: %w", err)
			}
			if *add {
				return r.Append(ctx, d)
			}
			return r.Write(ctx, d)
		})
	}
	return c
}

// textArg is a text from the command line: itself, @FILE, or standard input for - and for nothing.
func textArg(c *cobra.Command, arg string) (string, error) {
	name, isFile := strings.CutPrefix(arg, "@")
	if arg == "" || arg == "-" {
		name, isFile = "-", true
	}
	if isFile {
		b, err := readWhole(c, name, perdure.Limits{Bytes: workspace.MaxText})
		return string(b), err
	}
	return strings.TrimSuffix(arg, "\n") + "\n", nil
}

func docReadCommand() *cobra.Command {
	c := command("doc read", cobra.MaximumNArgs(1))
	m := newMemory(c).visibility("where several tiers or scopes have the path")
	var in workspace.ReadArgs
	c.Flags().StringVar(&in.Version, "version", "", "one version instead of the current one: its hash or, of PATH, "+
		"the first digits of it")
	c.RunE = func(_ *cobra.Command, args []string) error {
		in.Path, in.Visibility = strings.Join(args, ""), m.tier
		if in.Path == "" && in.Version == "" {
			return perdure.Invalid(errors.New("name a PATH, or a version with --version"))
		}
		text := func(w io.Writer, d *workspace.Document) error { return show.Document(w, d, m.h.Note) }
		return inMemory(m, false, text, func(ctx context.Context, r *workspace.Reader) (*workspace.Document, error) {
			return r.ReadArgs(ctx, in)
		})
	}
	return c
}

func docLsCommand() *cobra.Command {
	c := command("doc ls", cobra.MaximumNArgs(1))
	m := newMemory(c).visibility("only these")
	l := workspace.Listed{Limit: 1000}
	c.Flags().StringVar(&l.Kind, "kind", "", "only those of this kind")
	c.Flags().StringVar(&l.Tag, "tag", "", "only those with this tag")
	c.Flags().Var((*view.Limit)(&l.Limit), "limit", "list at most N")
	c.Flags().StringVar(&l.After, "after", "", "go on after this path")
	since := c.Flags().String("since", "", "only those written since this time, or within this duration")
	c.RunE = func(_ *cobra.Command, args []string) (err error) {
		l.Prefix = strings.Join(args, "")
		if *since != "" {
			if l.Since, err = home.ParseMoment(*since, time.Now()); err != nil {
				return perdure.Invalid(fmt.Errorf("--since: %w", err))
			}
		}
		return m.listed(l.Nothing(), func(ctx context.Context, r *workspace.Reader) ([]*workspace.Document, error) {
			l.Visibility = m.on
			return r.List(ctx, l)
		})
	}
	return c
}

func docHistoryCommand() *cobra.Command {
	c := command("doc history", cobra.ExactArgs(1))
	m := newMemory(c).visibility("where several tiers or scopes have the path")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return m.listed("it has no versions", func(ctx context.Context, r *workspace.Reader) (documents, error) {
			return r.History(ctx, args[0], m.on)
		})
	}
	return c
}

func docLinksCommand() *cobra.Command {
	c := command("doc links", cobra.ExactArgs(1))
	m := newMemory(c).visibility("where several tiers or scopes have the path")
	c.RunE = func(_ *cobra.Command, args []string) error {
		find := func(ctx context.Context, r *workspace.Reader) (*workspace.Connections, error) {
			return r.Connections(ctx, args[0], m.on)
		}
		return inMemory(m, false, show.Connections, find)
	}
	return c
}

func docPromoteCommand() *cobra.Command {
	c := command("doc promote", cobra.ExactArgs(1))
	m := newMemory(c).visibility("where it is now, if several tiers have the path")
	to := c.Flags().String("to", "team", "who sees it from now on: team, public or custom:SCOPE")
	as := c.Flags().String("as", "", "its path there (default: the same; of agents/ROLE/NAME, NAME in the folder of "+
		"its kind)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		v, err := workspace.ParseVisibility(*to)
		if err != nil {
			return err
		}
		return m.written(false, func(ctx context.Context, r *workspace.Reader) (*workspace.Document, error) {
			return r.Promote(ctx, args[0], m.on, v, *as)
		})
	}
	return c
}

func docMvCommand() *cobra.Command {
	c := command("doc mv", cobra.ExactArgs(2))
	m := newMemory(c).visibility("where several tiers or scopes have the path")
	c.RunE = func(_ *cobra.Command, args []string) error {
		text := func(w io.Writer, d *workspace.Document) error { return show.Renamed(w, d, m.h.Note) }
		return m.changed(false, text, func(ctx context.Context, r *workspace.Reader) (*workspace.Document, error) {
			return r.Rename(ctx, args[0], args[1], m.on)
		})
	}
	return c
}

func docRmCommand() *cobra.Command {
	c := command("doc rm", cobra.ExactArgs(1))
	m := newMemory(c).visibility("where several tiers or scopes have the path")
	c.RunE = func(_ *cobra.Command, args []string) error {
		remove := func(ctx context.Context, r *workspace.Reader) (*workspace.Document, error) {
			return r.Remove(ctx, args[0], m.on, nil)
		}
		return inMemory(m, false, show.Removed, remove)
	}
	return c
}

func docImportCommand() *cobra.Command {
	c := command("doc import", cobra.MinimumNArgs(1))
	m := newMemory(c).visibility("who sees it (default: team)")
	format := &choice{imports.Auto, imports.Formats()}
	choiceFlag(c, format, "format", "what the files are in")
	to := c.Flags().String("to", "", "the folder that documents go below (default: that of their format)")
	var o imports.Options
	c.Flags().BoolVar(&o.Replace, "replace", false, "replace documents that were written or changed here, too")
	c.Flags().BoolVar(&o.Dry, "dry-run", false, "write nothing; say what would be imported, and what cannot be read")
	c.RunE = func(c *cobra.Command, args []string) error {
		text := func(w io.Writer, v *imports.Imported) error { return show.Imported(w, v, m.h.Note) }
		v := new(imports.Imported)
		err := inMemory(m, !o.Dry, text, func(ctx context.Context, r *workspace.Reader) (*imports.Imported, error) {
			o.Visibility = m.on
			for _, path := range args {
				if err := v.Take(ctx, r, imports.Source{Path: path, Format: format.value, To: *to}, o); err != nil {
					return nil, err
				}
			}
			return v, nil
		})
		return errors.Join(err, v.Err())
	}
	return c
}
