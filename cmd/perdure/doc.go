package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

func docCommand() *cobra.Command {
	c := command("doc", nil)
	c.AddCommand(docWriteCommand(), docReadCommand(), docLsCommand(), docHistoryCommand(), docLinksCommand(),
		docPromoteCommand(), docMvCommand(), docRmCommand(), docImportCommand())
	return c
}

// memoryFlags are what commands about documents share: the home, and on whose behalf.
type memoryFlags struct {
	c    *cobra.Command
	h    *homeFlag
	out  *output
	role *string
	on   *string
}

// roleEnv names the role of commands and servers that are not told one.
const roleEnv = "PERDURE_ROLE"

func newMemory(c *cobra.Command) *memoryFlags {
	m := &memoryFlags{c: c, h: storeFlag(c).acting(), out: outputFlags(c)}
	m.role = c.Flags().String("role", "", "act as this role, which sees what it may see (default: $"+roleEnv+", else "+
		"the owner, who sees all)")
	return m
}

// visibility adds --visibility.
func (m *memoryFlags) visibility(usage string) *memoryFlags {
	m.on = m.c.Flags().String("visibility", "", usage+": private, team, public or custom:SCOPE")
	err := m.c.RegisterFlagCompletionFunc("visibility", cobra.FixedCompletions([]string{"private", "team", "public",
		"custom:"}, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was added a line above
	}
	return m
}

// given is the visibility that was given; nil: none.
func (m *memoryFlags) given() (*workspace.Visibility, error) {
	if m.on == nil || *m.on == "" {
		return nil, nil
	}
	v, err := workspace.ParseVisibility(*m.on)
	return &v, err
}

// use calls f with the reader of the command.
func (m *memoryFlags) use(create bool, f func(ctx context.Context, r *workspace.Reader) error) error {
	return m.h.UseWorkspace(m.c.Context(), create, func(ctx context.Context, w *workspace.Workspace) error {
		role := *m.role
		if role == "" {
			role = os.Getenv(roleEnv)
		}
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

// about calls f with the visibility that was given.
func (m *memoryFlags) about(create bool, f func(ctx context.Context, r *workspace.Reader,
	on *workspace.Visibility) (any, func(io.Writer) error, error)) error {
	on, err := m.given()
	if err != nil {
		return err
	}
	return m.use(create, func(ctx context.Context, r *workspace.Reader) error {
		v, text, err := f(ctx, r, on)
		if err != nil {
			return err
		}
		return m.out.print(v, text)
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
	base := fl.StringArray("base", nil, "the version you have read: if it is not the current one, nothing is "+
		"written; may be repeated, to bring versions together")
	fl.BoolVar(&d.New, "new", false, "refuse to replace a document")
	ttl := fl.String("ttl", "", "how long the text is kept: 90d, 24h")
	seal := fl.StringArray("seal", nil, "SUBJECT=TEXT: a part that only the owner reads, and that perdure erase "+
		"SUBJECT makes unreadable everywhere; may be repeated")
	add := fl.Bool("append", false, "add the text to the end")
	c.RunE = func(c *cobra.Command, args []string) error {
		text, err := textArg(c, strings.Join(args[1:], ""))
		if err != nil {
			return err
		}
		if err := fillDraft(&d, args[0], text, *base, *seal, *ttl); err != nil {
			return err
		}
		return m.about(true, func(ctx context.Context, r *workspace.Reader, on *workspace.Visibility) (any,
			func(io.Writer) error, error) {
			d.Visibility = on
			write := r.Write
			if *add {
				write = r.Append
			}
			doc, err := write(ctx, d)
			if err != nil {
				return nil, nil, err
			}
			doc.Text = ""
			return doc, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: version %s, %s\n", view.InLine(doc.Path), doc.Version.Short(),
					doc.Visibility)
				return err
			}, nil
		})
	}
	return c
}

// fillDraft puts what was given on the command line into a draft. A path that ends with a slash, or a dash, leaves the
// place to the kind and title.
func fillDraft(d *workspace.Draft, path, text string, base, seal []string, ttl string) error {
	if d.Path, d.Text = path, text; path == "-" {
		d.Path = ""
	}
	for _, one := range base {
		h, err := perdure.ParseHash(one)
		if err != nil {
			return perdure.Invalid(fmt.Errorf("--base: %w; it is the whole hash, see perdure doc read --json", err))
		}
		d.Base = append(d.Base, h)
	}
	for _, one := range seal {
		subject, text, ok := strings.Cut(one, "=")
		if !ok || subject == "" || text == "" {
			return perdure.Invalid(errors.New("--seal: want SUBJECT=TEXT"))
		}
		d.Sealed = append(d.Sealed, workspace.Part{Subject: subject, Text: text})
	}
	if ttl == "" {
		return nil
	}
	then, err := home.ParseMoment(ttl, time.Time{}.AddDate(9000, 0, 0))
	if err != nil {
		return perdure.Invalid(fmt.Errorf("--ttl: %w", err))
	}
	if d.TTL = (time.Time{}).AddDate(9000, 0, 0).Sub(then); d.TTL <= 0 {
		return perdure.Invalid(fmt.Errorf("--ttl %s: want a duration such as 90d or 24h", ttl))
	}
	return nil
}

// textArg is a text from the command line: itself, @FILE, or standard input for - and for nothing.
func textArg(c *cobra.Command, arg string) (string, error) {
	name, isFile := strings.CutPrefix(arg, "@")
	switch {
	case arg == "" || arg == "-":
		b, err := readWhole(c, "-", perdure.Limits{Bytes: workspace.MaxText + 1})
		return string(b), err
	case isFile:
		b, err := disk.ReadFile(name, workspace.MaxText+1)
		return string(b), err
	}
	return lineEnded(arg), nil
}

// lineEnded is a text that ends with a line end.
func lineEnded(text string) string { return strings.TrimSuffix(text, "\n") + "\n" }

func docReadCommand() *cobra.Command {
	c := command("doc read", cobra.MaximumNArgs(1))
	m := newMemory(c).visibility("where several tiers have the path")
	version := c.Flags().String("version", "", "one version, by its hash, instead of the current one")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if (len(args) == 0) == (*version == "") {
			return perdure.Invalid(errors.New("name a PATH, or a version with --version"))
		}
		return m.about(false, func(ctx context.Context, r *workspace.Reader, on *workspace.Visibility) (any,
			func(io.Writer) error, error) {
			in := workspace.ReadArgs{Path: strings.Join(args, ""), Version: *version}
			if on != nil {
				in.Visibility = on.String()
			}
			d, err := r.ReadArgs(ctx, in)
			if err != nil {
				return nil, nil, err
			}
			return d, func(w io.Writer) error { return writeDocument(w, m.c, d) }, nil
		})
	}
	return c
}

// writeDocument prints the text of a document, and beside it what a person should know.
func writeDocument(w io.Writer, c *cobra.Command, d *workspace.Document) error {
	if _, err := io.WriteString(w, lineEnded(d.Text)); err != nil {
		return err
	}
	if len(d.Beside) > 0 {
		var names []string
		for _, h := range d.Beside {
			names = append(names, h.String())
		}
		note(c, "other versions were written at once: read them with --version %s, bring them together, and write "+
			"with --base for each", strings.Join(names, ", "))
	}
	return nil
}

func docLsCommand() *cobra.Command {
	c := command("doc ls", cobra.MaximumNArgs(1))
	m := newMemory(c).visibility("only these")
	var l workspace.Listed
	c.Flags().StringVar(&l.Kind, "kind", "", "only those of this kind")
	c.Flags().StringVar(&l.Tag, "tag", "", "only those with this tag")
	c.Flags().IntVar(&l.Limit, "limit", 1000, "list at most N")
	c.Flags().StringVar(&l.After, "after", "", "go on after this path")
	since := c.Flags().String("since", "", "only those written since this time, or within this duration")
	c.RunE = func(_ *cobra.Command, args []string) error {
		l.Prefix = strings.Join(args, "")
		if *since != "" {
			at, err := home.ParseMoment(*since, time.Now())
			if err != nil {
				return perdure.Invalid(fmt.Errorf("--since: %w", err))
			}
			l.Since = at
		}
		return m.list(func(ctx context.Context, r *workspace.Reader, on *workspace.Visibility) ([]*workspace.Document,
			error) {
			l.Visibility = on
			return r.List(ctx, l)
		})
	}
	return c
}

// list prints documents.
func (m *memoryFlags) list(f func(ctx context.Context, r *workspace.Reader,
	on *workspace.Visibility) ([]*workspace.Document, error)) error {
	on, err := m.given()
	if err != nil {
		return err
	}
	return m.use(false, func(ctx context.Context, r *workspace.Reader) error {
		docs, err := f(ctx, r, on)
		if err != nil {
			return err
		}
		return list(m.out, docs, func(w io.Writer) error { return writeDocuments(w, docs) })
	})
}

func writeDocuments(w io.Writer, docs []*workspace.Document) error {
	t := term.Table{Head: []string{"PATH", "TITLE", "KIND", "VISIBILITY", "SIZE", "WRITTEN", "VERSION"}}
	now := time.Now()
	for _, d := range docs {
		title := view.OneLine(d.Title, 60)
		if len(d.Beside) > 0 {
			title += fmt.Sprintf(" (%d versions)", 1+len(d.Beside))
		}
		if d.Gone {
			title = "(removed)"
		}
		t.Add(view.InLine(d.Path), title, d.Kind, d.Visibility.String(), strconv.FormatInt(d.Size, 10),
			view.Ago(d.Time, now), d.Version.Short())
	}
	return t.Write(w)
}

func docHistoryCommand() *cobra.Command {
	c := command("doc history", cobra.ExactArgs(1))
	m := newMemory(c).visibility("where several tiers have the path")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return m.list(func(ctx context.Context, r *workspace.Reader, on *workspace.Visibility) ([]*workspace.Document,
			error) {
			return r.History(ctx, args[0], on)
		})
	}
	return c
}

// linksOut is what a document links to, and what links to it.
type linksOut struct {
	Path  string                `json:"path"`
	To    []*workspace.Document `json:"to"`
	Other []string              `json:"other,omitempty"` // targets that are no documents here
	From  []*workspace.Document `json:"from"`
}

func docLinksCommand() *cobra.Command {
	c := command("doc links", cobra.ExactArgs(1))
	m := newMemory(c).visibility("where several tiers have the path")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return m.about(false, func(ctx context.Context, r *workspace.Reader, on *workspace.Visibility) (any,
			func(io.Writer) error, error) {
			d, err := r.Read(ctx, args[0], on)
			if err != nil {
				return nil, nil, err
			}
			v := linksOut{Path: d.Path}
			if v.To, v.Other, err = r.Links(ctx, d); err == nil {
				v.From, err = r.Linked(ctx, d.Path)
			}
			return v, func(w io.Writer) error { return writeLinks(w, &v) }, err
		})
	}
	return c
}

func writeLinks(w io.Writer, v *linksOut) error {
	var b strings.Builder
	for _, d := range v.To {
		fmt.Fprintf(&b, "to    %s  %s\n", view.InLine(d.Path), view.OneLine(d.Title, 80))
	}
	for _, t := range v.Other {
		fmt.Fprintf(&b, "to    %s  (not here)\n", view.InLine(t))
	}
	for _, d := range v.From {
		fmt.Fprintf(&b, "from  %s  %s\n", view.InLine(d.Path), view.OneLine(d.Title, 80))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// moved prints where a document is now.
func moved(d *workspace.Document, err error) (any, func(io.Writer) error, error) {
	if err != nil {
		return nil, nil, err
	}
	d.Text = ""
	return d, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: version %s, %s\n", view.InLine(d.Path), d.Version.Short(), d.Visibility)
		return err
	}, nil
}

func docPromoteCommand() *cobra.Command {
	c := command("doc promote", cobra.ExactArgs(1))
	m := newMemory(c).visibility("where it is now, if several tiers have the path")
	to := c.Flags().String("to", "team", "who sees it from now on: team, public or custom:SCOPE")
	as := c.Flags().String("as", "", "its path there (default: the same, without agents/ROLE)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		v, err := workspace.ParseVisibility(*to)
		if err != nil {
			return err
		}
		return m.about(false, func(ctx context.Context, r *workspace.Reader, on *workspace.Visibility) (any,
			func(io.Writer) error, error) {
			return moved(r.Promote(ctx, args[0], on, v, *as))
		})
	}
	return c
}

func docMvCommand() *cobra.Command {
	c := command("doc mv", cobra.ExactArgs(2))
	m := newMemory(c).visibility("where several tiers have the path")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return m.about(false, func(ctx context.Context, r *workspace.Reader, on *workspace.Visibility) (any,
			func(io.Writer) error, error) {
			return moved(r.Rename(ctx, args[0], args[1], on))
		})
	}
	return c
}

func docRmCommand() *cobra.Command {
	c := command("doc rm", cobra.ExactArgs(1))
	m := newMemory(c).visibility("where several tiers have the path")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return m.about(false, func(ctx context.Context, r *workspace.Reader, on *workspace.Visibility) (any,
			func(io.Writer) error, error) {
			d, err := r.Remove(ctx, args[0], on, nil)
			return d, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: removed; its versions stay in memory\n", view.InLine(d.Path))
				return err
			}, err
		})
	}
	return c
}
