package home

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Maker is a node that can make an agent: it knows the texts of the policies the agent takes along.
func (h *Home) Maker(ctx context.Context, s perdure.Store, g *perdure.Genesis) (*perdure.Node, error) {
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

// Index tells the store what the agent comes to, for listings.
func Index(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
	l, ok := s.(perdure.Lister)
	if !ok {
		return nil
	}
	return l.Index(ctx, a.Heads(), a.Listing(time.Now()))
}

// slugWords is how many words of a goal make a name.
const slugWords = 4

// Slug is the first words of a goal as one word.
func Slug(goal string) string {
	words := strings.FieldsFunc(strings.ToLower(goal), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	name := strings.Join(words[:min(len(words), slugWords)], "-")
	if name == "" {
		name = "agent"
	}
	return name[:min(len(name), 48)]
}

// FreeName is the name, or with a number if agents are called that already.
func FreeName(ctx context.Context, s perdure.Store, name string) (string, error) {
	l, err := view.Lister(s)
	if err != nil {
		return name, nil
	}
	taken := map[string]bool{}
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
