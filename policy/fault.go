package policy

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Fault is one thing wrong with a policy file. Load returns all of them, joined; Faults takes them apart.
type Fault struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Rule   string `json:"rule,omitempty"` // its @id
	What   string `json:"what"`
}

func (f *Fault) Error() string {
	rule := ""
	if f.Rule != "" {
		rule = "rule " + f.Rule + ": "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", f.File, f.Line, f.Column, rule, f.What)
}

// Faults are what an error of Load, LoadPaths or Parse found wrong, in the order of the files; none when it is about
// something else.
func Faults(err error) []*Fault {
	var list []*Fault
	for _, e := range flatten(err) {
		var f *Fault
		if errors.As(e, &f) {
			list = append(list, f)
		}
	}
	return list
}

// What the type checker of Cedar says, and the same in the words of this package.
var (
	noAttribute = regexp.MustCompile("^attribute `([^`]+)` in context for Action::\"([a-z.]+)\" not found$")
	mayBeAbsent = regexp.MustCompile("^unable to guarantee safety of access to optional attribute `([^`]+)` in " +
		"context for Action::\"([a-z.]+)\"$")
	wrongToken = regexp.MustCompile(`^"(.*)": exact got (.*) want (.+)$`)
)

// plainly is what is wrong with a rule, each thing once, whatever number of actions it is wrong for.
func plainly(errs []error) []string {
	var out []string
	missing := map[string][]string{} // fact: the actions that do not have it
	absent := map[string]bool{}
	for _, err := range errs {
		text := err.Error()
		if m := noAttribute.FindStringSubmatch(text); m != nil {
			if missing[m[1]] == nil {
				out = append(out, m[0])
			}
			missing[m[1]] = append(missing[m[1]], m[2])
			continue
		}
		if m := mayBeAbsent.FindStringSubmatch(text); m != nil {
			if !absent[m[1]] {
				record, name := "context", m[1]
				if i := strings.LastIndexByte(m[1], '.'); i >= 0 {
					record, name = "context."+m[1][:i], m[1][i+1:]
				}
				out = append(out, fmt.Sprintf("`%s` may be absent: say `%s has %s &&` before it is read", m[1], record,
					name))
			}
			absent[m[1]] = true
			continue
		}
		out = append(out, text)
	}
	for i, text := range out {
		m := noAttribute.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		actions := missing[m[1]]
		slices.Sort(actions)
		out[i] = fmt.Sprintf("there is no fact `%s` of %s", m[1], strings.Join(actions, ", "))
		if len(actions) < len(contextShapes()) && len(actions) > 1 {
			out[i] += fmt.Sprintf(": name the actions the rule is about, or say `context has %s &&` before it is read",
				m[1])
		}
	}
	return out
}

// syntaxPlace is where cedar-go says a text does not parse.
var syntaxPlace = regexp.MustCompile(`^(?:parser error: )?(?:parse error )?at (?:<input>|[^:]*):(\d+):(\d+):? ?`)

// token is a token of a policy in a sentence: signs in quotes, so that they are not taken for those of the sentence.
func token(s string) string {
	switch {
	case s == "":
		return "the end of the file"
	case strings.ContainsFunc(s, unicode.IsLetter):
		return s
	}
	return strconv.Quote(s)
}

// syntaxFault is an error of the Cedar parser, at its place.
func syntaxFault(f File, err error) *Fault {
	fault := &Fault{File: f.Name, Line: 1, Column: 1, What: err.Error()}
	if m := syntaxPlace.FindStringSubmatch(fault.What); m != nil {
		fault.Line, _ = strconv.Atoi(m[1])
		fault.Column, _ = strconv.Atoi(m[2])
		fault.What = fault.What[len(m[0]):]
	}
	if m := wrongToken.FindStringSubmatch(fault.What); m != nil {
		fault.What = fmt.Sprintf("got %s, want %s", token(m[2]), token(m[3]))
		fault.back(f.Text, m[2])
		if m[2] == "=" {
			fault.What += " (equal is written ==)"
		}
	}
	return fault
}

// back moves the place of a fault to the word before it: the parser names the one after.
func (f *Fault) back(text []byte, word string) {
	lines := strings.SplitAfter(string(text), "\n")
	if f.Line > len(lines) {
		return
	}
	before := strings.Join(lines[:f.Line-1], "")
	if line := []rune(lines[f.Line-1]); f.Column-1 <= len(line) {
		before += string(line[:f.Column-1])
	}
	i := strings.LastIndex(before, word)
	if i < 0 {
		return
	}
	before = before[:i]
	f.Line = strings.Count(before, "\n") + 1
	f.Column = len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
}

// fault is something wrong with a rule as a whole.
func (r *rule) fault(f File, what string) *Fault {
	return &Fault{File: f.Name, Line: r.at.Line, Column: r.at.Column, Rule: r.id, What: what}
}

// quoted is the name an error of the type checker is about.
var quoted = regexp.MustCompile("`([A-Za-z0-9_.\":]+)`|context\\.args\\.([A-Za-z0-9_.]+)")

// faultWithin is something wrong in a rule: at the first mention of what the error names, if it names something, else
// at the rule. The parser keeps no place for the parts of a rule.
func (r *rule) faultWithin(f File, end int, what string) *Fault {
	fault := r.fault(f, what)
	m := quoted.FindStringSubmatch(what)
	if m == nil {
		return fault
	}
	name := m[1] + m[2]
	if i := strings.LastIndexByte(name, '.'); i >= 0 && !strings.Contains(name, `"`) {
		name = name[i+1:]
	}
	text := string(f.Text[r.at.Offset:end])
	mention, err := regexp.Compile(`(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(name) + `($|[^A-Za-z0-9_])`)
	if err != nil {
		return fault
	}
	at := mention.FindStringSubmatchIndex(text)
	if at == nil {
		return fault
	}
	before := text[:at[3]]
	if n := strings.Count(before, "\n"); n > 0 {
		fault.Line, fault.Column = fault.Line+n, 1
		before = before[strings.LastIndexByte(before, '\n')+1:]
	}
	fault.Column += len([]rune(before))
	return fault
}

// where is the place of a rule.
func (r *rule) where() string {
	return path.Clean(filepath.ToSlash(r.at.Filename)) + ":" + strconv.Itoa(r.at.Line) + ":" + strconv.Itoa(r.at.Column)
}
