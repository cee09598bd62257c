package main

import (
	"strings"

	"github.com/perdure/perdure"
)

// called is what people call an agent, as part of a line.
func called(a *perdure.Agent) string { return shownName(nameOrID(a)) }

// shownName is a name as part of a line. One that could pass for several columns is quoted.
func shownName(name string) string {
	if strings.Contains(name, "  ") || strings.TrimSpace(name) != name {
		return quoted(name)
	}
	return inLine(name)
}

// nameOrID is the name of an agent as it stands, or the beginning of its id if it has none.
func nameOrID(a *perdure.Agent) string {
	if n := a.Fold().Intent.Name; n != "" {
		return n
	}
	return a.ID().Short()
}

// callable is how to name an agent in a command that people are told to type.
func callable(a *perdure.Agent) string { return commandName(a.Fold().Intent.Name, a.ID()) }

// commandName is an agent in a command that people are told to type: its name, in quotes if a shell needs them, or the
// beginning of its id when the name could be taken for something else: a flag, a file, AGENT@REF, the id of another
// agent, or what people see differently. An agent that the user named by its file is named so again.
func commandName(name string, id perdure.AgentID) string {
	word, ok := shellWord(name)
	if !ok || isPath(name) || strings.Contains(name, "@") || len(name) >= minPrefix && isHex(strings.ToLower(name)) {
		return id.Short()
	}
	return word
}

// maxWord bounds a word in a command that people are told to type.
const maxWord = 64

// shellWord is a word as a POSIX shell takes it, in single quotes if it needs them. A word that a command would take
// for a flag, or that people cannot be sure to see as it is, has no such form: anything but printable ASCII, which can
// be drawn in another order.
func shellWord(s string) (word string, ok bool) {
	if s == "" || len(s) > maxWord || strings.HasPrefix(s, "-") || strings.TrimSpace(s) != s ||
		strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", false
	}
	if plainWord(s) {
		return s, true
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'", true
}

// plainWord reports whether every shell takes a word as it stands.
func plainWord(s string) bool {
	return s != "" && !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+:,/@", r))
	})
}
