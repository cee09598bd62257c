package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// FileCommand is one of the six commands by which models keep files in memory: view, create, str_replace, insert,
// delete and rename. Paths begin with /memories: what is below it is the role's own, but for /memories/team and
// /memories/public, which are shared.
type FileCommand struct {
	Command string `json:"command" jsonschema:"view, create, str_replace, insert, delete or rename"`
	Path    string `json:"path,omitempty" jsonschema:"of all but rename: such as /memories/team/x.md; /memories lists"`

	FileText   string `json:"file_text,omitempty" jsonschema:"of create: the whole text"`
	OldStr     string `json:"old_str,omitempty" jsonschema:"of str_replace: what stands there, exactly once"`
	NewStr     string `json:"new_str,omitempty" jsonschema:"of str_replace: what stands there from now on"`
	InsertLine *int   `json:"insert_line,omitempty" jsonschema:"of insert: the line after which; 0 is before the first"`
	InsertText string `json:"insert_text,omitempty" jsonschema:"of insert: what to insert"`
	OldPath    string `json:"old_path,omitempty" jsonschema:"of rename"`
	NewPath    string `json:"new_path,omitempty" jsonschema:"of rename"`
	ViewRange  []int  `json:"view_range,omitempty" jsonschema:"of view: the first and the last line; -1 is the end"`
}

// filesDir is where the files of models are.
const filesDir = "/memories"

// fileRef is a path below /memories.
type fileRef struct {
	shown string // as the model has it
	path  string // of the document; empty for the folder itself
	on    Visibility
}

// ref is what a path below /memories means.
func (r *Reader) ref(path string) (f fileRef, err error) {
	clean := strings.TrimSuffix(path, "/")
	if clean != filesDir && !strings.HasPrefix(clean, filesDir+"/") {
		return f, perdure.Invalid(fmt.Errorf("path %q: want one that begins with %s", clip(path, maxTitle), filesDir))
	}
	f.shown, f.on = clean, Visibility{Tier: Private}
	rest := strings.TrimPrefix(strings.TrimPrefix(clean, filesDir), "/")
	for _, t := range []Tier{Team, Public} {
		if rest == string(t) || strings.HasPrefix(rest, string(t)+"/") {
			f.on, rest = Visibility{Tier: t}, strings.TrimPrefix(strings.TrimPrefix(rest, string(t)), "/")
			break
		}
	}
	if f.on.Tier == Private {
		if own, ok := strings.CutPrefix(rest, string(Private)+"/"); ok && shadowed(own) {
			rest = own
		}
		f.path = strings.TrimSuffix(PrivatePath(r.role, rest), "/")
		if rest == "" {
			return f, nil
		}
	} else if f.path = rest; rest == "" {
		return f, nil
	}
	if _, err = CleanPath(f.path); err != nil {
		err = told("path %q: want one such as %s/notes.md", clip(path, maxTitle), filesDir)
	}
	return f, err
}

// shadowed reports whether the path of a role's own note would be read as a shared one, below any number of folders
// called private. It is shown below one more of them, as in a folder that people edit.
func shadowed(path string) bool {
	first, rest, _ := strings.Cut(path, "/")
	for first == string(Private) {
		first, rest, _ = strings.Cut(rest, "/")
	}
	return first == string(Team) || first == string(Public)
}

// folder reports whether a reference is to a tier itself.
func (f *fileRef) folder(r *Reader) bool { return f.path == "" || f.path == rolesDir+"/"+r.role }

// Do carries out a command, and returns what the model is told.
func (r *Reader) Do(ctx context.Context, c FileCommand) (string, error) {
	if r.agent.IsZero() {
		return "", perdure.Invalid(errors.New("the files of models belong to a role"))
	}
	switch c.Command {
	case "view":
		return r.view(ctx, &c)
	case "create":
		return r.create(ctx, &c)
	case "str_replace":
		return r.strReplace(ctx, &c)
	case "insert":
		return r.insert(ctx, &c)
	case "delete":
		return r.deleteFile(ctx, &c)
	case "rename":
		return r.renameFile(ctx, &c)
	}
	return "", perdure.Invalid(fmt.Errorf("command %q: want view, create, str_replace, insert, delete or rename",
		clip(c.Command, maxTitle)))
}

// noFile is the error for a path that is not there.
func noFile(f *fileRef) error {
	return perdure.Missing(fmt.Sprintf("The path %s does not exist. Please provide a valid path.", f.shown))
}

// file is the document that a path names.
func (r *Reader) file(ctx context.Context, path string) (*fileRef, *Document, error) {
	f, err := r.ref(path)
	if err != nil {
		return nil, nil, err
	}
	if f.folder(r) {
		return &f, nil, noFile(&f)
	}
	d, err := r.Read(ctx, f.path, &f.on)
	if errors.Is(err, perdure.ErrNotFound) {
		err = noFile(&f)
	}
	if err == nil && len(d.Beside) > 0 {
		err = &Conflict{Path: f.shown, Current: append([]perdure.Hash{d.Version}, d.Beside...)}
	}
	return &f, d, err
}

// maxListed bounds what a view of a folder lists.
const maxListed = 500

func (r *Reader) view(ctx context.Context, c *FileCommand) (string, error) {
	f, err := r.ref(c.Path)
	if err != nil {
		return "", err
	}
	if !f.folder(r) {
		d, err := r.Read(ctx, f.path, &f.on)
		if err == nil {
			return r.viewText(ctx, &f, d, c.ViewRange)
		}
		if !errors.Is(err, perdure.ErrNotFound) {
			return "", err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Here're the files below %s:\n", f.shown)
	n := 0
	list := func(on Visibility, below, strip, shown string) error {
		docs, err := r.List(ctx, Listed{Prefix: below, Visibility: &on, Limit: maxListed + 1})
		for i, d := range docs {
			if i == maxListed {
				fmt.Fprintf(&b, "(only the first %d below %s: view a folder there for the others)\n", maxListed, shown)
				break
			}
			n++
			name := strings.TrimPrefix(d.Path, strip)
			if on.Tier == Private && shadowed(name) {
				name = string(Private) + "/" + name
			}
			fmt.Fprintf(&b, "%d\t%s/%s\t%s\n", d.Size, shown, name, d.Title)
		}
		return err
	}
	private := PrivatePath(r.role, "")
	switch {
	case f.shown == filesDir:
		if err = list(Visibility{Tier: Private}, private, private, filesDir); err == nil {
			if err = list(Visibility{Tier: Team}, "", "", filesDir+"/"+string(Team)); err == nil {
				err = list(Visibility{Tier: Public}, "", "", filesDir+"/"+string(Public))
			}
		}
	case f.on.Tier == Private:
		err = list(f.on, f.path+"/", private, filesDir)
	case f.path == "":
		err = list(f.on, "", "", f.shown)
	default:
		err = list(f.on, f.path+"/", "", filesDir+"/"+string(f.on.Tier))
	}
	if err == nil && n == 0 && !f.folder(r) {
		err = noFile(&f)
	}
	return b.String(), err
}

// viewText is a text with the numbers of its lines. Versions that stand beside each other are all shown.
func (r *Reader) viewText(ctx context.Context, f *fileRef, d *Document, span []int) (string, error) {
	var b strings.Builder
	for i, name := range append([]perdure.Hash{d.Version}, d.Beside...) {
		one := d
		if i > 0 {
			var err error
			if one, err = r.ReadVersion(ctx, name); err != nil {
				return "", err
			}
		}
		fmt.Fprintf(&b, "Here's the content of %s with line numbers", f.shown)
		if len(d.Beside) > 0 {
			fmt.Fprintf(&b, " (version %d of %d that were written at once; create it anew with what belongs in it)",
				i+1, 1+len(d.Beside))
		}
		b.WriteString(":\n")
		all := strings.Split(strings.TrimSuffix(one.Text, "\n"), "\n")
		from, to, err := spanned(span, len(all))
		if err != nil {
			return "", err
		}
		for n := from; n <= to; n++ {
			fmt.Fprintf(&b, "%6d\t%s\n", n, all[n-1])
		}
	}
	return b.String(), nil
}

// spanned is the first and the last of so many lines that a view asks for. An end beyond the last is the last.
func spanned(span []int, lines int) (from, to int, err error) {
	if len(span) == 0 {
		return 1, lines, nil
	}
	if len(span) == 2 {
		if from, to = max(span[0], 1), min(span[1], lines); span[1] == -1 {
			to = lines
		}
	}
	if len(span) != 2 || span[0] < 0 || from > to {
		return 0, 0, told("Invalid `view_range` parameter: %v. It should be the first and the last line to show, "+
			"within [1, %d]; -1 as the last is the end", span, lines)
	}
	return from, to, nil
}

func (r *Reader) create(ctx context.Context, c *FileCommand) (string, error) {
	f, err := r.ref(c.Path)
	if err != nil {
		return "", err
	}
	if f.folder(r) {
		return "", perdure.Invalid(fmt.Errorf("%s is a folder; name a file in it", f.shown))
	}
	replaced := false
	_, err = r.write(ctx, f.path, &f.on, func(current []*version) (*Draft, error) {
		d := &Draft{Text: c.FileText}
		for _, v := range texts(current) {
			d.Base = append(d.Base, v.entry) // all of them: whoever creates it says what it is now
		}
		if replaced = len(d.Base) > 0; replaced && c.FileText == "" {
			return nil, told("%s exists, and file_text is missing or empty: give the whole new text, or delete "+
				"the file", f.shown)
		}
		return d, nil
	}, Draft{})
	switch {
	case err != nil:
		return "", err
	case replaced:
		return "File replaced at: " + f.shown + ". It existed; its earlier versions are kept.", nil
	}
	return "File created successfully at: " + f.shown, nil
}

// change rewrites the text of a file. What to make of it is asked again whenever others were first.
func (r *Reader) change(ctx context.Context, path string, to func(f *fileRef, text string) (string, error)) (*fileRef,
	string, error) {
	f, d, err := r.file(ctx, path)
	if err != nil {
		return f, "", err
	}
	if d.Sealed {
		return f, "", fmt.Errorf("%w: parts of %s are sealed, and would be lost; a person changes it",
			perdure.ErrDenied, f.shown)
	}
	var text string
	_, err = r.write(ctx, f.path, &d.Visibility, func(current []*version) (*Draft, error) {
		there := texts(current)
		if len(there) != 1 {
			return nil, conflict(f.shown, there)
		}
		_, doc, err := r.entry(ctx, there[0])
		if err != nil {
			return nil, err
		}
		was, _ := plainText(doc.Body)
		if text, err = to(f, was); err != nil {
			return nil, err
		}
		title := doc.Title
		if title == TitleOf(f.path, was) {
			title = ""
		}
		return &Draft{Title: title, Text: text, Links: doc.Links, Base: []perdure.Hash{there[0].entry}}, nil
	}, Draft{})
	return f, text, err
}

func (r *Reader) strReplace(ctx context.Context, c *FileCommand) (string, error) {
	if c.OldStr == "" {
		return "", perdure.Invalid(errors.New("old_str is empty; say what is to be replaced"))
	}
	_, text, err := r.change(ctx, c.Path, func(f *fileRef, text string) (string, error) {
		switch n := strings.Count(text, c.OldStr); {
		case n == 0:
			return "", told("No replacement was performed, old_str `%s` did not appear verbatim in %s.",
				clip(c.OldStr, maxTitle), f.shown)
		case n > 1:
			return "", told("No replacement was performed. Multiple occurrences of old_str `%s` in lines: %v. "+
				"Please ensure it is unique", clip(c.OldStr, maxTitle), linesWith(text, c.OldStr))
		}
		return strings.Replace(text, c.OldStr, c.NewStr, 1), nil
	})
	if err != nil {
		return "", err
	}
	at := strings.Count(text[:max(strings.Index(text, c.NewStr), 0)], "\n")
	return "The memory file has been edited.\n" + around(text, at), nil
}

// told is a refusal in the words that models know from such tools.
func told(format string, args ...any) error { return perdure.Invalid(fmt.Errorf(format, args...)) }

// linesWith are the numbers of the lines where a text begins.
func linesWith(text, part string) (found []int) {
	for i := 0; ; {
		j := strings.Index(text[i:], part)
		if j < 0 {
			return found
		}
		found = append(found, 1+strings.Count(text[:i+j], "\n"))
		i += j + len(part)
	}
}

// around is some lines of a text, with their numbers.
func around(text string, at int) string {
	all := strings.Split(text, "\n")
	var b strings.Builder
	for n := max(at-3, 0); n < min(at+4, len(all)); n++ {
		fmt.Fprintf(&b, "%6d\t%s\n", n+1, all[n])
	}
	return b.String()
}

func (r *Reader) insert(ctx context.Context, c *FileCommand) (string, error) {
	if c.InsertText == "" {
		return "", told("insert_text is empty; say what is to be inserted")
	}
	if c.InsertLine == nil {
		return "", told("insert_line is missing; say after which line: 0 is before the first")
	}
	f, _, err := r.change(ctx, c.Path, func(f *fileRef, text string) (string, error) {
		all := strings.SplitAfter(lined(text), "\n")
		all = all[:len(all)-1]
		if *c.InsertLine < 0 || *c.InsertLine > len(all) {
			return "", told("Invalid `insert_line` parameter: %d. It should be within the range of lines of the "+
				"file: [0, %d]", *c.InsertLine, len(all))
		}
		return strings.Join(slices.Insert(all, *c.InsertLine, lined(c.InsertText)), ""), nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The file %s has been edited.", f.shown), nil
}

func (r *Reader) deleteFile(ctx context.Context, c *FileCommand) (string, error) {
	f, err := r.ref(c.Path)
	if err != nil {
		return "", err
	}
	if f.folder(r) {
		return "", perdure.Invalid(fmt.Errorf("%s itself cannot be deleted; name a file or folder in it", f.shown))
	}
	_, err = r.Remove(ctx, f.path, &f.on, nil)
	if errors.Is(err, perdure.ErrNotFound) {
		docs, listErr := r.List(ctx, Listed{Prefix: f.path + "/", Visibility: &f.on, Limit: maxListed})
		if listErr != nil || len(docs) == 0 {
			return "", errors.Join(listErr, noFile(&f))
		}
		for _, d := range docs {
			if _, err := r.Remove(ctx, d.Path, &f.on, nil); err != nil {
				return "", err
			}
		}
		err = nil
	}
	if err != nil {
		return "", err
	}
	return "Successfully deleted " + f.shown, nil
}

func (r *Reader) renameFile(ctx context.Context, c *FileCommand) (string, error) {
	from, _, err := r.file(ctx, c.OldPath)
	gone := errors.Is(err, perdure.ErrNotFound) && from != nil && !from.folder(r) // or it is a folder
	if err != nil && !gone {
		return "", err
	}
	to, toErr := r.ref(c.NewPath)
	if toErr != nil {
		return "", toErr
	}
	if to.folder(r) {
		return "", perdure.Invalid(fmt.Errorf("%s is a folder; name a file in it", to.shown))
	}
	if gone {
		err = r.renameFolder(ctx, from, &to)
	} else {
		err = r.renameTo(ctx, from, from.path, &to, to.path)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Successfully renamed %s to %s", from.shown, to.shown), nil
}

// renameTo renames one file.
func (r *Reader) renameTo(ctx context.Context, from *fileRef, path string, to *fileRef, newPath string) (err error) {
	if from.on.Tier != to.on.Tier {
		_, err = r.Promote(ctx, path, &from.on, to.on, newPath)
	} else {
		_, err = r.Rename(ctx, path, newPath, &from.on)
	}
	return err
}

// renameFolder renames the files of a folder, if none is in the way of another. Where it stops in the middle, the error
// says how far it came.
func (r *Reader) renameFolder(ctx context.Context, from, to *fileRef) error {
	docs, err := r.List(ctx, Listed{Prefix: from.path + "/", Visibility: &from.on, Limit: maxListed + 1})
	switch {
	case err != nil:
		return err
	case len(docs) == 0:
		return noFile(from)
	case len(docs) > maxListed:
		return told("%s has more than %d files: rename folders in it one by one", from.shown, maxListed)
	case strings.HasPrefix(to.path+"/", from.path+"/") && to.on == from.on:
		return told("%s is in %s: a folder cannot be moved into itself", to.shown, from.shown)
	}
	there, err := r.List(ctx, Listed{Prefix: to.path + "/", Visibility: &to.on, Limit: 1})
	if err == nil && len(there) > 0 {
		err = told("The destination %s already exists.", to.shown)
	}
	for i, d := range docs {
		if err == nil {
			err = r.renameTo(ctx, from, d.Path, to, to.path+strings.TrimPrefix(d.Path, from.path))
			if err != nil && i > 0 {
				err = fmt.Errorf("the first %d of %d files in %s are in %s now, in the order of their names; the next "+
					"one stays: %w", i, len(docs), from.shown, to.shown, err)
			}
		}
	}
	return err
}
