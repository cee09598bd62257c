package perdure

import (
	"fmt"
	"strings"
)

// The scopes that are not paths.
const (
	// AnyScope is the scope of a trustee that stands for every scope.
	AnyScope = "*"
	// NoScope is the scope nothing else is in.
	NoScope = "none"
)

// InScope reports whether scope is outer or below it. Scopes are paths of words: acme/ops is below acme.
func InScope(scope, outer string) bool {
	if outer == NoScope {
		return scope == NoScope
	}
	return scope == outer || (strings.HasPrefix(scope, outer) && scope[len(outer)] == '/')
}

// CheckScope says what is wrong with a scope, if anything.
func CheckScope(scope string) error {
	for _, word := range strings.Split(scope, "/") {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool {
			return r <= ' ' || r == 0x7f || strings.ContainsRune(`*?"\`, r)
		}) {
			return fmt.Errorf("scope %q: want words joined by slashes, such as acme/ops", scope)
		}
	}
	return nil
}
