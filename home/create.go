package home

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

// Create makes an agent with the key of this home, and lists it. One without a name is named after the first words of
// its goal.
func (h *Home) Create(ctx context.Context, s perdure.Store, g perdure.Genesis) (*perdure.Agent, error) {
	n, err := h.maker(ctx, s, &g)
	if err != nil {
		return nil, err
	}
	a, err := h.createBy(ctx, n, g)
	if err != nil {
		return nil, err
	}
	if h.URL == "" && os.Getenv(StoreEnv) == "" && !h.Found {
		h.note("%s is in %s, as there is no %s here or in a folder above", view.Called(a), h.Dir, HomeName)
	}
	return a, nil
}

// createBy makes an agent whose name was checked by a node, lists it, and says what it will lack.
func (h *Home) createBy(ctx context.Context, n *perdure.Node, g perdure.Genesis) (a *perdure.Agent, err error) {
	if err := checkKind(g.Intent.Kind); err != nil {
		return nil, err
	}
	s := n.Store
	if g.Intent.Name == "" {
		if g.Intent.Name, err = freeName(ctx, s, Slug(g.Intent.Goal)); err != nil {
			return nil, err
		}
	}
	if a, err = n.Create(ctx, g); err != nil {
		return nil, err
	}
	if err := Index(ctx, s, a); err != nil { // the agent is there: to make it again would make two
		h.noteFault(ctx, view.Called(a)+" is made, but perdure ls does not show it yet", err)
	}
	h.noteLacks(ctx, n, g.Intent.Advisor, g.Intent.Tools)
	set, ok := n.Policy.(*policy.Set)
	if !ok {
		set, err = LoadPolicy(h, nil)
	}
	if err == nil { // whoever runs it is told what is wrong with the policy
		for _, text := range short(set, n.Trusted(), a.Fold()) {
			h.noteFor(ctx, "%s: %s", view.Called(a), text)
		}
	}
	return a, nil
}

// checkKind refuses the kinds of agents that only memory makes: one that somebody else made could pass for a role, or
// for a place of documents.
func checkKind(kind string) error {
	if !workspace.Keeps(kind) {
		return nil
	}
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("kind %s: such agents only keep documents, and are made when "+
		"somebody writes the first", kind)), "choose another word; see perdure help doc")
}

// maker is a node that can make an agent: it knows the texts of the policies the agent takes along.
func (h *Home) maker(ctx context.Context, s perdure.Store, g *perdure.Genesis) (*perdure.Node, error) {
	if err := checkName(g.Intent.Name); err != nil {
		return nil, err
	}
	if err := h.noteNamesake(ctx, s, g.Intent.Name); err != nil {
		return nil, err
	}
	n, err := h.Node(ctx, s)
	if err != nil || len(g.Charter.Policies) == 0 {
		return n, err
	}
	set, err := LoadPolicy(h, nil)
	if err != nil {
		return nil, err
	}
	n.Policy, n.PolicyHash = set, set.Hash()
	return n, nil
}

// maxName is how long a name may be, in bytes: as long as what a list of agents is asked for.
const maxName = 200

// checkName refuses a name that commands would take for a file or that is not what people see.
func checkName(name string) error {
	if view.IsPath(name) {
		return perdure.Invalid(fmt.Errorf("name %q: commands take it for a file; leave out slashes, and %s at the end",
			name, capsule.Ext))
	}
	if strings.Contains(name, "@") {
		return perdure.Invalid(fmt.Errorf("name %q: AGENT@N is a point in the memory of AGENT; leave @ out", name))
	}
	if len(name) > maxName {
		return perdure.Invalid(fmt.Errorf("the name has %d bytes; want at most %d", len(name), maxName))
	}
	if strings.ContainsFunc(name, glyph.Control) {
		return perdure.Invalid(fmt.Errorf("name %s: it holds a character that cannot be seen; leave it out",
			view.Quoted(name)))
	}
	return nil
}

// noteNamesake says when another agent has the name.
func (h *Home) noteNamesake(ctx context.Context, s perdure.Store, name string) error {
	if name == "" {
		return nil
	}
	free, err := freeName(ctx, s, name)
	if err == nil && free != name {
		h.note("another agent is also called %s: refer to either by its id", view.ShownName(name))
	}
	return err
}

// Index tells the store what the agent comes to, for listings.
func Index(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
	l, ok := s.(perdure.Lister)
	if !ok {
		return nil
	}
	return l.Index(ctx, a.Heads(), a.Listing(time.Now()))
}

// relist is Index, if the line about an agent is behind: whoever added to its memory was killed before the line was
// written.
func relist(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
	if listed(ctx, s, a.ID()) {
		return nil
	}
	return Index(ctx, s, a)
}

// listed reports whether the line about an agent tells of all its entries.
func listed(ctx context.Context, s perdure.Store, id perdure.AgentID) bool {
	l, ok := s.(perdure.Lister)
	if !ok {
		return true // there are no lines
	}
	for one, err := range l.List(ctx, perdure.Filter{Prefix: id.String(), Limit: 1}) {
		return err == nil && !one.Behind
	}
	return false
}

// slugWords is how many words of a goal make a name.
const slugWords = 4

// latin are letters that do not come apart into one of ASCII and a mark.
var latin = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th")

// Slug is the first words of a goal as one word: Latin letters lose their marks, those of other scripts stay as they
// are.
func Slug(goal string) string {
	var plain strings.Builder
	for _, r := range norm.NFC.String(latin.Replace(strings.ToLower(goal))) {
		base, _ := utf8.DecodeRuneInString(norm.NFKD.String(string(r)))
		switch {
		case base <= unicode.MaxASCII:
			plain.WriteRune(unicode.ToLower(base))
		case !glyph.Hidden(r):
			plain.WriteRune(r)
		}
	}
	words := strings.FieldsFunc(plain.String(), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !(r > unicode.MaxASCII && unicode.IsMark(r))
	})
	name := strings.Join(words[:min(len(words), slugWords)], "-")
	if name == "" {
		name = "agent"
	}
	if most := 48; len(name) > most {
		for !utf8.RuneStart(name[most]) {
			most--
		}
		name = name[:most]
	}
	return name
}

// freeName is the name, or with a number if agents are called that already.
func freeName(ctx context.Context, s perdure.Store, name string) (string, error) {
	l, err := view.Lister(s)
	if err != nil {
		return name, nil
	}
	taken := map[string]bool{}
	if !strings.ContainsAny(name, "*?") {
		for _, err := range l.List(ctx, perdure.Filter{Name: name, Limit: 1}) {
			if err != nil {
				return "", err
			}
			taken[name] = true
		}
		if !taken[name] {
			return name, nil
		}
	}
	for one, err := range l.List(ctx, perdure.Filter{Name: name + "*"}) {
		if err != nil {
			return "", err
		}
		taken[one.Name] = true
	}
	free := name
	for i := 2; taken[free]; i++ {
		free = fmt.Sprintf("%s-%d", name, i)
	}
	return free, nil
}
