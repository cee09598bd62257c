package policy

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// File is the text of one policy file.
type File struct {
	Name string // for errors; it is no part of what the policy says
	Text []byte
}

// defaults are the built-in policies: default.cedar is today's. When it changes, its text goes on in a file
// default-N.cedar, for decisions made under it.
//
//go:embed default*.cedar
var defaults embed.FS

// Default is the built-in policy: deny what is not named, let tools read, ask before they write, let an agent sleep,
// wake, end and narrow its own bounds, let it delegate within its depth unless text from somebody not trusted may be
// speaking, ask before it or a child of it is in another scope, ask before an agent from elsewhere runs here, and let
// agents read and write the documents they may see.
func Default() *Set { return builtIn() }

// DefaultText is the built-in policy as it is written.
func DefaultText() string { return string(must(fs.ReadFile(defaults, "default.cedar"))) }

var builtIn = sync.OnceValue(func() *Set { return must(Load(defaults, "default.cedar")) })

// builtIns are the built-in policies by their hash.
var builtIns = sync.OnceValue(func() map[perdure.Hash]*Set {
	known := map[perdure.Hash]*Set{}
	names, err := fs.Glob(defaults, "*")
	for _, name := range must(names, err) {
		s := must(Load(defaults, name))
		known[s.hash] = s
	}
	return known
})

// must is for the text that comes with this package.
func must[T any](v T, err error) T {
	if err != nil {
		panic("policy: " + err.Error())
	}
	return v
}

// Load reads the policy files that the patterns match in fsys (see fs.Glob; none: *.cedar) and checks every rule. The
// error holds a *Fault for everything that is wrong. A pattern that matches nothing is an error: a policy that is not
// there permits nothing, but forbids nothing either.
func Load(fsys fs.FS, patterns ...string) (*Set, error) {
	if len(patterns) == 0 {
		patterns = []string{"*.cedar"}
	}
	var names []string
	for _, p := range patterns {
		found, err := fs.Glob(fsys, p)
		if err != nil {
			return nil, fmt.Errorf("load policy %s: %w", p, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("load policy %s: no such file: %w", p, fs.ErrNotExist)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	var files []File
	for _, name := range slices.Compact(names) {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("load policy: %w", err)
		}
		files = append(files, File{Name: name, Text: text})
	}
	return Parse(files...)
}

// LoadPaths reads policy files, and the .cedar files of folders.
func LoadPaths(paths ...string) (*Set, error) {
	var files []File
	for _, p := range paths {
		names := []string{p}
		if info, err := os.Stat(p); err != nil {
			return nil, fmt.Errorf("load policy: %w", err)
		} else if info.IsDir() {
			if names, err = disk.Files(p, ".cedar"); err != nil || len(names) == 0 {
				return nil, fmt.Errorf("load policy %s: no .cedar file in this folder: %w", p,
					errors.Join(err, fs.ErrNotExist))
			}
		}
		for _, name := range names {
			text, err := disk.ReadFile(name, 64*maxText)
			if err != nil {
				return nil, fmt.Errorf("load policy: %w", err)
			}
			files = append(files, File{Name: name, Text: text})
		}
	}
	return Parse(files...)
}

// Parse checks policy files and makes a set of their rules.
func Parse(files ...File) (*Set, error) {
	if len(files) == 0 {
		return nil, errors.New("load policy: no files")
	}
	s := &Set{}
	var errs []error
	where := map[string]string{}
	for _, f := range files {
		s.texts = append(s.texts, string(f.Text))
		rules, err := parseFile(f)
		errs = append(errs, flatten(err)...)
		for _, r := range rules {
			if first, twice := where[r.id]; twice {
				errs = append(errs, r.fault(f, "its @id is that of the rule at "+first))
				continue
			}
			where[r.id] = r.where()
			s.rules = append(s.rules, r)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortFunc(s.rules, func(a, b *rule) int { return strings.Compare(a.id, b.id) })
	var err error
	if s.hash, err = hashOf(files); err != nil {
		return nil, fmt.Errorf("load policy: %w", err)
	}
	s.index()
	return s, nil
}

// hashOf is the hash of a set of these files.
func hashOf(files []File) (perdure.Hash, error) {
	var sums []string
	for _, f := range files {
		sums = append(sums, perdure.HashOf(f.Text).String())
	}
	slices.Sort(sums)
	var all []any
	for _, sum := range slices.Compact(sums) {
		all = append(all, sum)
	}
	d, err := perdure.DataOf(all)
	return perdure.HashOf(d), err
}

// parseFile reads the rules of one file.
func parseFile(f File) ([]*rule, error) {
	if len(f.Text) > maxText {
		return nil, &Fault{File: f.Name, Line: 1, Column: 1,
			What: fmt.Sprintf("%d bytes: want at most %d", len(f.Text), maxText)}
	}
	if fault := tooMuch(f); fault != nil {
		return nil, fault
	}
	list, err := cedar.NewPolicyListFromBytes(f.Name, f.Text)
	if err != nil {
		return nil, syntaxFault(f, err)
	}
	if len(list) == 0 {
		return nil, &Fault{File: f.Name, Line: 1, Column: 1, What: "no rule in this file"}
	}
	var rules []*rule
	var errs []error
	for i, p := range list {
		end := len(f.Text)
		if i+1 < len(list) {
			end = list[i+1].Position().Offset
		}
		r, wrong := newRule(p)
		for _, what := range wrong {
			errs = append(errs, r.faultWithin(f, end, what))
		}
		rules = append(rules, r)
	}
	return rules, errors.Join(errs...)
}

// newRule checks one rule; it says all that is wrong with it.
func newRule(p *cedar.Policy) (r *rule, wrong []string) {
	notes := p.Annotations()
	r = &rule{id: string(notes["id"]), reason: string(notes["reason"]), permit: p.Effect() == cedar.Permit, policy: p,
		at: p.Position()}
	if err := checkID(r.id); err != nil {
		wrong = append(wrong, err.Error())
	}
	for key := range notes {
		if key != "id" && key != "reason" && key != "obligation" {
			wrong = append(wrong, fmt.Sprintf("annotation @%s: want @id, @reason or @obligation", key))
		}
	}
	slices.Sort(wrong)
	if text, ok := notes["obligation"]; ok {
		var err error
		if r.obligation, err = parseObligation(string(text)); err != nil {
			wrong = append(wrong, err.Error())
		}
		if r.permit {
			wrong = append(wrong,
				"an @obligation stands on a forbid: permit what a person may allow, and forbid it with the obligation")
		}
	}
	tree := (*ast.Policy)(p.AST())
	if n := countNodes(tree); n > maxNodes {
		return r, append(wrong, fmt.Sprintf("%d parts: want at most %d; split it into several rules", n, maxNodes))
	}
	args, errs := checkPolicy(tree)
	r.tree, r.args, r.likes = tree, args, likesOf(tree)
	return r, append(wrong, plainly(errs)...)
}

func countNodes(p *ast.Policy) int {
	n := 0
	for _, c := range p.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(ast.IsNode) bool { n++; return true })
	}
	return n
}

// ruleID is what an @id looks like.
var ruleID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("a rule needs an @id: it is what decisions say decided them")
	case len(id) > 128 || !ruleID.MatchString(id):
		return fmt.Errorf("@id(%q): want letters, digits, dots, dashes, underscores and slashes", id)
	case strings.HasPrefix(id, "runtime.") || strings.HasPrefix(id, "policy."):
		return fmt.Errorf("@id(%q): names that begin with runtime. or policy. are those of perdure itself", id)
	}
	return nil
}
