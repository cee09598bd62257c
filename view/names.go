package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// IsPath reports whether an argument can only be a file: it names a folder on the way, or ends as capsules do.
func IsPath(arg string) bool {
	return strings.ContainsAny(arg, `/\`) || strings.HasSuffix(arg, capsule.Ext)
}

// Called is what people call an agent, as part of a line.
func Called(a *perdure.Agent) string { return ShownName(nameOrID(a)) }

// ShownName is a name as part of a line. One that could pass for several columns is quoted.
func ShownName(name string) string {
	if strings.Contains(name, "  ") || strings.TrimSpace(name) != name {
		return Quoted(name)
	}
	return InLine(name)
}

// nameOrID is the name of an agent as it stands, or the beginning of its id if it has none.
func nameOrID(a *perdure.Agent) string {
	if n := a.Fold().Intent.Name; n != "" {
		return n
	}
	return a.ID().Short()
}

// Callable is how to name an agent in a command that people are told to type.
func Callable(a *perdure.Agent) string { return CommandName(a.Fold().Intent.Name, a.ID()) }

// CommandName is an agent in a command that people are told to type: its name, in quotes if a shell needs them, or the
// beginning of its id when the name could be taken for something else: a flag, a file, AGENT@REF, the id of another
// agent, or what people see differently. An agent that the user named by its file is named so again.
func CommandName(name string, id perdure.AgentID) string {
	word, ok := shellWord(name)
	if !ok || IsPath(name) || strings.Contains(name, "@") || len(name) >= MinPrefix && IsHex(strings.ToLower(name)) {
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
	if PlainWord(s) {
		return s, true
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'", true
}

// Pasted is a word that somebody typed, as a shell takes it, in quotes if it needs them.
func Pasted(typed string) string {
	if word, ok := shellWord(typed); ok {
		return word
	}
	return "'" + strings.ReplaceAll(typed, "'", `'\''`) + "'"
}

// PlainWord reports whether every shell takes a word as it stands.
func PlainWord(s string) bool {
	return s != "" && !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("._-+:,/@", r))
	})
}

// MinPrefix is how many hex digits of a name are enough to try it: fewer are words people use.
const MinPrefix = 4

func IsHex(s string) bool {
	return len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// Quoted is a value as JSON in which everything hidden is escaped.
func Quoted(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return InLine(err.Error())
	}
	return string(EscapeJSON(bytes.TrimSpace(b.Bytes())))
}

// CalledBy is a name and an id, as part of a line.
func CalledBy(name string, id perdure.AgentID) string {
	return strings.TrimSpace(id.Short() + " " + ShownName(name))
}

// ParseName reads the name of a wire number.
func ParseName[T interface {
	~uint8
	CanonNames() []string
}](what, word string) (T, error) {
	names := T(0).CanonNames()
	i := slices.Index(names, word)
	if i < 0 || word == "" {
		return 0, fmt.Errorf("%s %q: want one of %s", what, word, strings.Join(names[1:], ", "))
	}
	return T(i), nil
}
