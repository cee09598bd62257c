package home

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/tool"
)

// checker finds out whether what documents say still holds: about files of the project, which is the folder that the
// home is in, and by commands. A command is run as the tool shell is: only a program that node.yaml names, in its
// folder of files, and only where policy lets the role call it without asking anybody.
type checker struct {
	home   *Home
	node   *perdure.Node
	policy *policy.Set
	file   NodeFile
}

// checkTime is how long one command may take, and maxChecked how much of a file is looked through.
const (
	checkTime  = 10 * time.Second
	maxChecked = 8 << 20
)

// Hold implements workspace.Holder.
func (c *checker) Hold(ctx context.Context, reader *perdure.Agent, check string) (string, error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(check), " ")
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return "", errUnknownCheck(check)
	}
	switch verb {
	case "run":
		return c.run(ctx, reader, strings.Fields(rest))
	case "exists", "missing":
		root, err := c.root()
		if err != nil {
			return "", err
		}
		defer root.Close() //nolint:errcheck // it was only looked at
		_, err = root.Stat(filepath.FromSlash(rest))
		switch there := err == nil; {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		case verb == "exists" && !there:
			return rest + " is not there", nil
		case verb == "missing" && there:
			return rest + " is there", nil
		}
		return "", nil
	case "contains":
		path, text, _ := strings.Cut(rest, " ")
		return c.contains(path, strings.TrimSpace(text))
	}
	return "", errUnknownCheck(check)
}

func errUnknownCheck(check string) error {
	return fmt.Errorf("its check is %.80q; want exists PATH, missing PATH, contains PATH TEXT or run COMMAND", check)
}

// root is the project: nothing outside it is looked at.
func (c *checker) root() (*os.Root, error) {
	dir, err := filepath.Abs(c.home.Dir)
	if err != nil {
		return nil, err
	}
	if c.home.Dir == "" || filepath.Base(dir) != HomeName {
		return nil, errors.New("files are looked at only where the home is the " + HomeName + " of a project")
	}
	return os.OpenRoot(filepath.Dir(dir))
}

func (c *checker) contains(path, text string) (string, error) {
	if text == "" {
		return "", errUnknownCheck("contains " + path)
	}
	root, err := c.root()
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // it was only read
	f, err := root.Open(filepath.FromSlash(path))
	if errors.Is(err, fs.ErrNotExist) {
		return path + " is not there", nil
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxChecked))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if !strings.Contains(string(b), text) {
		return fmt.Sprintf("%s does not contain %q", path, text), nil
	}
	return "", nil
}

// run runs a command by the tool shell, if policy lets the role call it.
func (c *checker) run(ctx context.Context, reader *perdure.Agent, words []string) (string, error) {
	if len(c.file.Programs) == 0 || c.file.Files == "" {
		return "", errors.New("it runs a command, and node.yaml names no programs and files")
	}
	shell := tool.Shell{Dir: c.file.Files, Allow: c.file.Programs, Exclude: (&Powers{}).keepOut(c.home)}
	args, err := perdure.DataOf(map[string]any{"command": texts(words)})
	if err != nil {
		return "", err
	}
	spec := shell.Spec()
	v := c.policy.Decide(reader, perdure.Request{Action: perdure.Execute{Tool: spec.Name, Args: args},
		Effect: spec.Effect, Node: c.node.Key.Key()}, time.Now())
	if v.Answer != perdure.Allow {
		return "", fmt.Errorf("it runs a command, and policy answers %s: %s", v.Answer, v.Reason)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r, err := shell.Call(ctx, perdure.Call{Agent: reader.ID(), Key: "check", Args: args})
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
