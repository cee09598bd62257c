package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/tool"
)

// checker finds out whether what documents say still holds: about files of the project, which is the folder that the
// home is in, and by commands. What a document says may be a model's word, and whether a check holds tells its reader
// something. So nobody's check reaches the home, the store or the secrets, and
//
//   - what the owner wrote in person here (not a role, not a model) counts as accepted, by its text: it looks at any
//     other file of the project, and runs a command where policy also lets the reading role call the tool shell;
//   - any other check looks only at what the reading role may read by the tool files.read, and runs nothing.
type checker struct {
	home   *Home
	node   *perdure.Node
	policy *policy.Set
}

// checkTime is how long one command may take.
const checkTime = 10 * time.Second

// Hold implements workspace.Holder.
func (c *checker) Hold(ctx context.Context, reader *perdure.Agent, check string) (string, error) {
	if err := c.Fit(check); err != nil {
		return "", err
	}
	verb, rest := parts(check)
	l := looker{checker: c, reader: reader, accepted: c.accepted(check)}
	if reader == nil && (verb == "run" || !l.accepted) {
		return "", errors.New("it is looked at for a role alone")
	}
	if err := l.powers.Fill(c.home); err != nil {
		return "", err
	}
	switch verb {
	case "run":
		return l.run(ctx, check, strings.Fields(rest))
	case "exists", "missing":
		return l.there(ctx, rest, verb == "exists")
	case "contains":
		path, text, _ := strings.Cut(rest, " ")
		return l.contains(ctx, path, strings.TrimSpace(text))
	}
	return "", errUnknownCheck(check)
}

// Fit implements workspace.Holder.
func (*checker) Fit(check string) error {
	verb, rest := parts(check)
	words := strings.Fields(rest)
	need := map[string]int{"exists": 1, "missing": 1, "contains": 2, "run": 1}[verb]
	if need == 0 || len(words) < need {
		return errUnknownCheck(check)
	}
	if verb != "run" && !filepath.IsLocal(filepath.FromSlash(words[0])) {
		return fmt.Errorf("its check looks at %.80q, which is not a path in the project: want one below the folder "+
			"that the home is in", words[0])
	}
	return nil
}

// parts are the verb of a check and what comes after it.
func parts(check string) (verb, rest string) {
	verb, rest, _ = strings.Cut(strings.TrimSpace(check), " ")
	return verb, strings.TrimSpace(rest)
}

func errUnknownCheck(check string) error {
	return fmt.Errorf("its check is %.80q; want exists PATH, missing PATH, contains PATH TEXT or run COMMAND", check)
}

// Accept implements workspace.Holder: it records, outside of the home, that the owner wrote a check.
func (c *checker) Accept(check string) {
	name, err := c.noteOf(check)
	if err == nil {
		err = keepNote(acceptedDir, name, check)
	}
	if err != nil {
		c.home.note("that you wrote its check could not be recorded, so it is looked at as a model's is: %v", err)
	}
}

// accepted reports whether the owner wrote a check here.
func (c *checker) accepted(check string) bool {
	name, err := c.noteOf(check)
	if err != nil {
		return false
	}
	found, _ := hasNote(acceptedDir, name)
	return found
}

// noteOf is how a check is noted: by its text, for this key in this home, and no other.
func (c *checker) noteOf(check string) (string, error) {
	dir, err := filepath.Abs(c.home.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil || c.home.Dir == "" {
		return "", errors.Join(err, errors.New("there is no home"))
	}
	key := c.node.Key.Key()
	return perdure.HashOf([]byte(fmt.Sprintf("perdure check 1\x00%x\x00%s\x00%s", key[:], dir,
		strings.TrimSpace(check)))).String(), nil
}

// looker looks at one check, for one reader.
type looker struct {
	*checker
	reader   *perdure.Agent
	accepted bool
	powers   Powers // what the home's file says
}

// there looks whether something is at a path.
func (l *looker) there(ctx context.Context, path string, want bool) (string, error) {
	found, err := l.ask(ctx, path, "files.stat")
	if err != nil {
		return "", err
	}
	switch is := found["kind"] != "nothing"; {
	case want && !is:
		return path + " is not there", nil
	case !want && is:
		return path + " is there", nil
	}
	return "", nil
}

// contains looks whether a file has a text in it.
func (l *looker) contains(ctx context.Context, path, text string) (string, error) {
	if text == "" {
		return "", errUnknownCheck("contains " + path)
	}
	if why, err := l.there(ctx, path, true); err != nil || why != "" {
		return why, err
	}
	found, err := l.ask(ctx, path, "files.read")
	if err != nil {
		return "", err
	}
	body, _ := found["text"].(string)
	if b, ok := found["bytes"].([]byte); ok {
		body = string(b)
	}
	if !strings.Contains(body, text) {
		return fmt.Sprintf("%s does not contain %q", path, text), nil
	}
	return "", nil
}

// ask calls a tool about a file of the project, as an agent would, and returns what it answers: the tool keeps out of
// the home and the secrets, follows no link, and takes secrets out of what it read.
func (l *looker) ask(ctx context.Context, path, name string) (map[string]any, error) {
	dir, path, err := l.place(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // it was only looked at
	tools := tool.Files(root, l.powers.keepOut(l.home)...)
	known, err := readSecrets(l.powers.Secrets)
	if err != nil {
		return nil, err
	}
	if known != nil {
		tools = tool.WithSecrets(tools, known)
	}
	args, err := perdure.DataOf(map[string]any{"path": path})
	if err != nil {
		return nil, err
	}
	if !l.accepted { // whether something is there is told only of what may be read
		for _, t := range slices.Compact([]string{"files.read", name}) {
			if err := l.lets(perdure.Execute{Tool: t, Args: args}, perdure.Read); err != nil {
				return nil, fmt.Errorf("it looks at a file, and %w", err)
			}
		}
	}
	i := slices.IndexFunc(tools, func(t perdure.Tool) bool { return t.Spec().Name == name })
	call := perdure.Call{Key: "check", Args: args}
	if l.reader != nil {
		call.Agent = l.reader.ID()
	}
	r, err := tools[i].Call(ctx, call)
	if err != nil {
		return nil, err
	}
	if r.Signal != 0 && r.Signal != perdure.OK && r.Signal != perdure.Partial {
		return nil, errors.New(r.Note)
	}
	found, _ := r.Data.Value().(map[string]any)
	return found, nil
}

// place is where a file of the project is: a folder to look in, and the path below it. That folder is the project, or
// for checks that the owner did not write the folder of the tools files.*: there is nothing else a role may read.
func (l *looker) place(path string) (dir, below string, err error) {
	at, err := filepath.Abs(l.home.Dir)
	if err != nil {
		return "", "", err
	}
	if l.home.Dir == "" || filepath.Base(at) != HomeName {
		return "", "", errors.New("files are looked at only where the home is the " + HomeName + " of a project")
	}
	project := filepath.Dir(at)
	if l.accepted {
		return project, filepath.ToSlash(filepath.Clean(filepath.FromSlash(path))), nil
	}
	if l.powers.Files == "" {
		return "", "", errors.New("it looks at a file, and node.yaml names no folder of files that roles may read; " +
			"what the owner writes with --check, without --role, is looked at in all of the project")
	}
	files, err := filepath.Abs(l.powers.Files)
	if err == nil {
		below, err = filepath.Rel(files, filepath.Join(project, filepath.FromSlash(path)))
	}
	if err != nil || !filepath.IsLocal(below) {
		return "", "", fmt.Errorf("%.80q is not in the folder of files that roles may read", path)
	}
	return files, filepath.ToSlash(below), nil
}

// lets asks the bounds of the reader, and policy, whether it may call a tool without asking anybody.
func (l *looker) lets(call perdure.Execute, effect perdure.Effect) error {
	if why := l.reader.Fold().OutOfBounds(call); why != "" {
		return errors.New(why)
	}
	r := perdure.Request{Action: call, Effect: effect, Node: l.node.Key.Key()}
	v := l.policy.Decide(l.reader, l.node.Trusted().Sees(l.reader, r), time.Now())
	if v.Answer != perdure.Allow {
		return fmt.Errorf("policy answers %s: %s", v.Answer, cmp.Or(v.Reason, "no rule permits it"))
	}
	return nil
}

// run runs a command by the tool shell, if the owner wrote it and policy lets the role call it.
func (l *looker) run(ctx context.Context, check string, words []string) (string, error) {
	if !l.accepted {
		return "", fmt.Errorf("it runs a command, and the owner of this home did not write it: read %.200q, then "+
			"write "+
			"it yourself with --check, without --role", check)
	}
	if len(l.powers.Programs) == 0 || l.powers.Files == "" {
		return "", errors.New("it runs a command, and node.yaml names no programs and files")
	}
	shell := tool.Shell{Dir: l.powers.Files, Allow: l.powers.Programs, Exclude: l.powers.keepOut(l.home)}
	args, err := perdure.DataOf(map[string]any{"command": texts(words)})
	if err != nil {
		return "", err
	}
	if err := l.lets(perdure.Execute{Tool: shell.Spec().Name, Args: args}, shell.Spec().Effect); err != nil {
		return "", fmt.Errorf("it runs a command, and %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r, err := shell.Call(ctx, perdure.Call{Agent: l.reader.ID(), Key: "check", Args: args})
	if err != nil {
		return "", err
	}
	if r.Signal != 0 && r.Signal != perdure.OK {
		return strings.Join(words, " ") + " ends with " + r.Signal.String() + " " + r.Note, nil
	}
	return "", nil
}

func texts(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}
