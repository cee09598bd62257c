package workspace

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
)

// Tier is who may see a document at all. Policy may narrow it, never widen it.
type Tier string

// The tiers.
const (
	Private Tier = "private" // the role that wrote it
	Team    Tier = "team"    // roles in the scope it belongs to
	Public  Tier = "public"  // every role of the home
	Custom  Tier = "custom"  // roles in a scope that was named for it
)

// Visibility is a tier, and of team and custom documents the scope whose members see them.
type Visibility struct {
	Tier  Tier   `json:"tier"`
	Scope string `json:"scope,omitempty"` // empty: that of the role that writes
}

// String is the visibility as ParseVisibility reads it.
func (v Visibility) String() string {
	if v.Tier == Custom {
		return string(Custom) + ":" + v.Scope
	}
	return string(v.Tier)
}

// ParseVisibility reads private, team, public or custom:SCOPE.
func ParseVisibility(s string) (Visibility, error) {
	switch t := Tier(s); t {
	case Private, Team, Public:
		return Visibility{Tier: t}, nil
	}
	scope, ok := strings.CutPrefix(s, string(Custom)+":")
	if !ok {
		return Visibility{}, perdure.Invalid(fmt.Errorf("visibility %q: want private, team, public or custom:SCOPE, "+
			"such as custom:acme/ops", clip(s, maxTitle)))
	}
	if err := perdure.CheckScope(scope); err != nil {
		return Visibility{}, perdure.Invalid(fmt.Errorf("visibility: %w", err))
	}
	return Visibility{Custom, scope}, nil
}

// rank orders tiers from private to public.
func (t Tier) rank() int {
	switch t {
	case Private:
		return 0
	case Custom:
		return 1
	case Team:
		return 2
	case Public:
		return 3
	}
	return -1
}

const (
	rolesDir    = "agents" // private notes are at agents/ROLE/…
	sessionsDir = "sessions"
	stateName   = "current-state.md"

	tierLabel = "tier" // of a workspace: its tier
	roleKind  = keeper.Role
)

// roleOf is the role whose private notes a path is among, and the rest of the path.
func roleOf(path string) (role, rest string, ok bool) {
	below, ok := strings.CutPrefix(path, rolesDir+"/")
	if !ok {
		return "", "", false
	}
	role, rest, ok = strings.Cut(below, "/")
	return role, rest, ok && role != "" && rest != ""
}

// PrivatePath is where a role keeps something of its own.
func PrivatePath(role, path string) string { return rolesDir + "/" + role + "/" + path }
