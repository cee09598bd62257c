package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// knownDir is the folder beside a home's policy with further sets, each a .cedar file or a folder of them: those that
// charters name by their hash, and those that were in force before.
const knownDir = "known"

// byHash is what a set is called there that somebody named by its hash. It is read only when it is asked for: most of
// them came along with agents, and their texts are those of strangers.
var byHash = regexp.MustCompile(`^[0-9a-f]{12}([0-9a-f]{52})?(\.own)?$`)

// ownMark ends the names of the policies and schemas that the owner of the home gave an agent: they take nothing of
// what agents may bring along.
const ownMark = ".own"

// knownPolicies are the further sets of a home, those of a hash only for whoever wants all.
func knownPolicies(h *Home, all bool) ([]*policy.Set, error) {
	if h.Dir == "" {
		return nil, nil
	}
	dir := filepath.Join(h.Dir, PolicyDir, knownDir)
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for policies: %w", err)
	}
	var sets []*policy.Set
	for _, f := range found {
		if !f.IsDir() && filepath.Ext(f.Name()) != ".cedar" || !all && byHash.MatchString(f.Name()) {
			continue
		}
		set, err := policy.LoadPaths(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, perdure.WithHint(fmt.Errorf("load policies: %w", err), "correct it, or take it out of "+dir)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// seekPolicy looks for policies where those are kept that agents bring along, be it after the node of the home began.
func (h *Home) seekPolicy() func(perdure.Hash) *policy.Set {
	var found sync.Map // by hash
	return func(of perdure.Hash) *policy.Set {
		if set, ok := found.Load(of); ok {
			return set.(*policy.Set)
		}
		if h.Dir == "" {
			return nil
		}
		for _, name := range []string{of.String() + ownMark, of.String(), of.Short()} {
			set, err := policy.LoadPaths(filepath.Join(h.Dir, PolicyDir, knownDir, name))
			if err == nil && set.Hash() == of {
				found.Store(of, set)
				return set
			}
		}
		return nil // one that is not known denies
	}
}

// AuditPolicies is the policy of a home with every set that decisions may have been made under: each of the paths by
// itself, all of them together, those the home knows, and the built-in one.
func AuditPolicies(h *Home, paths []string) (*policy.Set, error) {
	var sets []*policy.Set
	for _, path := range paths {
		set, err := policy.LoadPaths(path)
		if err != nil {
			return nil, perdure.WithHint(fmt.Errorf("load policies: %w", err), "name .cedar files, or folders of them")
		}
		sets = append(sets, set)
	}
	if len(paths) > 1 {
		// sets of one home at different times do not go together
		if together, err := policy.LoadPaths(paths...); err == nil {
			sets = append(sets, together)
		}
	}
	set, err := LoadPolicy(h, nil)
	if err != nil {
		return nil, err
	}
	known, err := knownPolicies(h, true)
	return set.Seek(nil).Know(slices.Concat(sets, known, []*policy.Set{policy.Default()})...), err
}

// LoadPolicy loads the policies named, else those of the home.
func LoadPolicy(h *Home, paths []string) (*policy.Set, error) {
	return (&Powers{Policies: paths}).Policy(h)
}
