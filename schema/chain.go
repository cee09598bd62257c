package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/canon"
)

// File is one .vein file of a chain: what people call it, and its bytes.
type File struct {
	Name  string
	Bytes []byte
}

// Link is one file of a chain that could be read.
type Link struct {
	Name        string `json:"name"`
	Fingerprint Hash   `json:"fingerprint"`
	Parent      Hash   `json:"parent,omitzero"` // zero: it is the first
	Gone        bool   `json:"gone,omitempty"`  // only its place is left: its parent is the word of whoever retired it
}

// ChainOptions say where a chain must begin and end. The zero options ask for a whole one, whatever its end.
type ChainOptions struct {
	Head  Hash // the fingerprint the last file must have: without it nobody can tell that files are missing at the end
	After Hash // the fingerprint the first file names as its parent: what came before is elsewhere
}

// Chain is what VerifyChain found.
type Chain struct {
	Links    []Link             // parents before children
	Problems []*canon.Rejection // none: the links are one chain, each naming the one before it

	after Hash // what the first names as its parent
}

// Head is the fingerprint of the last link, which stands for the whole chain. It is zero if there are problems.
func (c *Chain) Head() Hash {
	if len(c.Problems) > 0 || len(c.Links) == 0 {
		return Hash{}
	}
	return c.Links[len(c.Links)-1].Fingerprint
}

// MarshalJSON is what was found, for programs.
func (c *Chain) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		OK       bool               `json:"ok"`
		Head     Hash               `json:"head,omitzero"`
		Links    []Link             `json:"links"`
		Problems []*canon.Rejection `json:"problems,omitempty"`
	}{len(c.Problems) == 0, c.Head(), c.Links, c.Problems})
}

// String is what was found, in lines: each link, and that it is a chain, if it is.
func (c *Chain) String() string {
	var b strings.Builder
	gone, collected := 0, ""
	for _, l := range c.Links {
		mark := ""
		if l.Gone {
			gone, mark = gone+1, "  gone"
			collected = fmt.Sprintf(", %d of them gone", gone)
		}
		fmt.Fprintf(&b, "%s  %s%s\n", l.Fingerprint, l.Name, mark)
	}
	if len(c.Problems) == 0 {
		fmt.Fprintf(&b, "ok: a chain of %d%s, head %s\n", len(c.Links), collected, c.Head())
	}
	return b.String()
}

// VerifyChain checks that files are one chain: each can be read, one has no parent, every other names as its parent the
// fingerprint of one of them, and no two the same. The order of files does not matter, and the same file given twice
// counts once. All problems are in the Chain; the first is also the error. reg may be nil if the files hold their
// schemas.
func VerifyChain(files []File, reg *Registry) (*Chain, error) {
	return VerifyPart(files, reg, ChainOptions{})
}

// VerifyPart is VerifyChain for a chain that begins after a given value, or must end with one.
func VerifyPart(files []File, reg *Registry, o ChainOptions) (*Chain, error) {
	c := &Chain{after: o.After}
	if len(files) == 0 || len(files) > maxFiles {
		c.report(predLimit, "", fmt.Sprintf("%d files", len(files)), fmt.Sprintf("from 1 to %d", maxFiles),
			"give the files of the chain")
		return c, c.Problems[0]
	}
	var links []Link
	seen := map[Hash]int{} // the place in links, from 1
	for _, f := range files {
		l, err := link(f, reg)
		if err != nil {
			var cause *canon.Rejection
			got := err.Error()
			if errors.As(err, &cause) {
				got = cause.Error()
			}
			c.report(predBreak, f.Name, got, "a file that can be read")
			continue
		}
		at := seen[l.Fingerprint]
		if at == 0 {
			links = append(links, l)
			seen[l.Fingerprint] = len(links)
			continue
		}
		if other := links[at-1]; other.Parent != l.Parent {
			c.report(predBreak, l.Name, "another parent than "+other.Name+" of the same fingerprint has",
				"the parent the value names", "one of them stands for a value that is gone, and is wrong")
		} else if other.Gone {
			links[at-1] = l
		}
	}
	c.connect(links)
	if head := c.Head(); len(c.Problems) == 0 && o.Head != (Hash{}) && head != o.Head {
		c.report(predFingerprint, c.Links[len(c.Links)-1].Name, "a chain that ends with "+head.String(),
			o.Head.String(), "files at its end are missing, or it was continued elsewhere")
	}
	if len(c.Problems) > 0 {
		return c, c.Problems[0]
	}
	return c, nil
}

func link(f File, reg *Registry) (Link, error) {
	if g, is, err := readGone(f.Bytes); is {
		if err != nil {
			return Link{}, err
		}
		return Link{Name: f.Name, Fingerprint: g.Fingerprint, Parent: g.Parent, Gone: true}, nil
	}
	v, err := Open(f.Bytes, reg)
	if err != nil {
		return Link{}, err
	}
	parent, err := v.Parent()
	return Link{Name: f.Name, Fingerprint: v.Fingerprint, Parent: parent}, err
}

func (c *Chain) report(p canon.Predicate, name, got, want string, hint ...string) {
	c.Problems = append(c.Problems, refuse(p, name, got, want, hint...))
}

// connect orders links, parents first, and reports what keeps them from being one chain.
func (c *Chain) connect(links []Link) {
	slices.SortFunc(links, func(a, b Link) int { return bytes.Compare(a.Fingerprint[:], b.Fingerprint[:]) })
	byName := make(map[Hash]Link, len(links))
	children := map[Hash][]Link{}
	for _, l := range links {
		byName[l.Fingerprint] = l
		children[l.Parent] = append(children[l.Parent], l)
	}
	placed := map[Hash]bool{}
	follow := func(from ...Link) { // to all its descendants
		for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
			if l := queue[0]; !placed[l.Fingerprint] {
				placed[l.Fingerprint] = true
				c.Links = append(c.Links, l)
				queue = append(queue, children[l.Fingerprint]...)
			}
		}
	}
	first := children[c.after]
	follow(first...)
	if c.after != (Hash{}) && len(children[Hash{}]) > 0 {
		l := children[Hash{}][0]
		follow(l)
		c.report(predBreak, l.Name, "no parent", "a chain after "+c.after.String(),
			"leave --after out, or the files before it")
	}
	if len(first) > 1 && c.after != (Hash{}) {
		c.report(predFork, first[1].Name, "the same parent as "+names(first[:1])+others(len(first)-2),
			"a parent of its own")
	} else if len(first) > 1 {
		c.report(predBreak, first[1].Name, "no parent, and neither have "+names(first[:1])+others(len(first)-2),
			"one file without a parent", "name the file before it in parentHash")
	}
	for _, l := range links {
		if _, ok := byName[l.Parent]; !ok && l.Parent != (Hash{}) && l.Parent != c.after {
			follow(l)
			hint := predMissing.Hint
			if len(links) > 0 && len(first) == 0 {
				hint = "add the file with that fingerprint; if the chain goes on from one kept elsewhere, name that " +
					"with --after"
			}
			if tips := loose(links, children, l, len(c.Problems)); tips != "" {
				hint = "add the file with that fingerprint, or look at " + tips +
					", which nothing follows: it may have been changed"
			}
			c.report(predMissing, l.Name, l.Parent.String(), "the fingerprint of a file in the chain", hint)
		}
	}
	for _, l := range links {
		if kids := children[l.Fingerprint]; len(kids) > 1 {
			c.report(predFork, kids[1].Name, l.Name+" as parent, as have "+names(kids[:1])+others(len(kids)-2),
				"a parent of its own")
		}
	}
	for _, l := range links {
		if !placed[l.Fingerprint] {
			l = onCycle(l, byName)
			follow(l)
			c.report(predLoop, l.Name, "a file that descends from itself", "a first file")
		}
	}
}

// onCycle returns a link on the cycle that the ancestors of l end in.
func onCycle(l Link, byName map[Hash]Link) Link {
	met := map[Hash]bool{}
	for !met[l.Fingerprint] {
		met[l.Fingerprint] = true
		l = byName[l.Parent]
	}
	return l
}

// loose names the files nothing follows, other than those that descend from l, if they are few. It looks at all files,
// so only the first problems are worth it.
func loose(links []Link, children map[Hash][]Link, l Link, problems int) string {
	if problems > 8 {
		return ""
	}
	branch := map[Hash]bool{}
	for queue := []Link{l}; len(queue) > 0; queue = queue[1:] {
		branch[queue[0].Fingerprint] = true
		queue = append(queue, children[queue[0].Fingerprint]...)
	}
	var tips []Link
	for _, t := range links {
		if len(children[t.Fingerprint]) == 0 && !branch[t.Fingerprint] {
			tips = append(tips, t)
		}
	}
	if len(tips) == 0 || len(tips) > 3 {
		return ""
	}
	return names(tips)
}

func names(links []Link) string {
	var all []string
	for _, l := range links {
		all = append(all, l.Name)
	}
	return strings.Join(all, ", ")
}

func others(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
