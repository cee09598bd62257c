package workspace

import (
	"fmt"
	"strings"
	"unicode"

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

// ParseVisibility reads private, team, public or custom:SCOPE; team:SCOPE and public:SCOPE are those of another scope.
func ParseVisibility(s string) (Visibility, error) {
	tier, scope, named := strings.Cut(s, ":")
	switch t := Tier(tier); {
	case !named && (t == Private || t == Team || t == Public):
		return Visibility{Tier: t}, nil
	case !named || t != Team && t != Public && t != Custom:
		return Visibility{}, perdure.Invalid(fmt.Errorf("visibility %q: want private, team, public or custom:SCOPE, "+
			"such as custom:acme/ops", clip(s, maxTitle)))
	}
	if err := perdure.CheckScope(scope); err != nil {
		return Visibility{}, perdure.Invalid(fmt.Errorf("visibility: %w", err))
	}
	return Visibility{Tier(tier), scope}, nil
}

// named reports whether a visibility says the scope; nil says nothing.
func (v *Visibility) named() bool { return v != nil && v.Scope != "" }

// covers reports whether a document of a visibility is one that was asked for; nil asks for any.
func (v *Visibility) covers(of Visibility) bool {
	return v == nil || v.Tier == of.Tier && (v.Scope == "" || v.Scope == of.Scope)
}

// Wider reports whether a document of one visibility may be promoted to another.
func (v Visibility) Wider(than Visibility) bool { return v.Tier.rank() > than.Tier.rank() }

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

// CheckScope refuses a scope for what is to begin that nobody could read or name a folder after.
func CheckScope(scope string) error {
	err := perdure.CheckScope(scope)
	for word := range strings.SplitSeq(scope, "/") {
		if err == nil && (strings.Trim(word, ".") == "" || len(scope) > maxPart || strings.ContainsFunc(word,
			func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })) {
			err = fmt.Errorf("scope %q: want words joined by slashes, such as acme/ops, of at most %d bytes",
				clip(scope, maxTitle), maxPart)
		}
	}
	if err != nil {
		return perdure.Invalid(err)
	}
	return nil
}
