package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure/advisor/internal/action"
	"github.com/perdure/perdure/advisor/internal/bound"
)

// roots are the names a template may begin with.
var roots = []string{"turn", "round", "turns", "agent", "goal", "inputs", "vars", "results", "last", "inbox", "said"}

// piece is a part of a text: words as they are, or the path of a value.
type piece struct {
	words string
	path  []string
}

// parseTemplate cuts a text into pieces.
func parseTemplate(s string) ([]piece, error) {
	var out []piece
	for {
		i := strings.Index(s, action.Opening)
		if i < 0 {
			if s != "" || len(out) == 0 {
				out = append(out, piece{words: s})
			}
			return out, nil
		}
		if i > 0 && s[i-1] == '$' {
			out = append(out, piece{words: s[:i-1] + action.Opening})
			s = s[i+len(action.Opening):]
			continue
		}
		if i > 0 {
			out = append(out, piece{words: s[:i]})
		}
		body, rest, closed := strings.Cut(s[i+len(action.Opening):], "}")
		if !closed {
			return nil, fmt.Errorf("%.40q has no closing brace; write $${ for the characters themselves", s[i:])
		}
		path := strings.Split(strings.TrimSpace(body), ".")
		if slices.Contains(path, "") {
			return nil, fmt.Errorf("${%s} is not a path such as results.name.result.field", body)
		}
		out = append(out, piece{path: path})
		s = rest
	}
}

// checkTemplate says what is wrong with a text, and whether it needs what came of earlier turns.
func checkTemplate(s string, names map[string]bool) (history bool, err error) {
	pieces, err := parseTemplate(s)
	if err != nil {
		return false, err
	}
	for _, p := range pieces {
		if p.path == nil {
			continue
		}
		root := p.path[0]
		if !slices.Contains(roots, root) {
			return false, fmt.Errorf("${%s}: there is no %s; there are %s", strings.Join(p.path, "."), root,
				strings.Join(roots, ", "))
		}
		if root == "results" && len(p.path) > 1 && !names[p.path[1]] {
			return false, fmt.Errorf("${%s}: no action of the script is named %s; name one with as: %[2]s",
				strings.Join(p.path, "."), p.path[1])
		}
		history = history || root == "results" || root == "last" || root == "said"
	}
	return history, nil
}

// expand puts values into a text. A text that is one value and nothing else becomes that value, whatever its type.
func expand(s string, at action.Item, vars map[string]any) (any, error) {
	pieces, err := parseTemplate(s)
	if err != nil {
		return nil, at.Errorf("%v", err)
	}
	var out strings.Builder
	for _, p := range pieces {
		if p.path == nil {
			out.WriteString(p.words)
			continue
		}
		v, err := lookup(vars, p.path)
		if err != nil {
			return nil, at.Errorf("${%s}: %v", strings.Join(p.path, "."), err)
		}
		if len(pieces) == 1 {
			return v, nil
		}
		out.WriteString(action.TextOf(v))
	}
	return out.String(), nil
}

// lookup follows a path: names of fields, and numbers of elements from 0.
func lookup(v any, path []string) (any, error) {
	for _, name := range path {
		switch c := v.(type) {
		case map[string]any:
			next, ok := c[name]
			if !ok {
				return nil, errors.New("there is no " + name + among(c))
			}
			v = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(c) {
				return nil, fmt.Errorf("there is no element %s of %d", name, len(c))
			}
			v = c[n]
		case nil:
			return nil, errors.New("there is no " + name)
		default:
			return nil, errors.New("there is no " + name + " in something that is not an object or a list")
		}
	}
	return v, nil
}

// isName reports whether s can name an action.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// among says which names there are instead of one that is missing, within bounds: they may be anybody's.
func among(fields map[string]any) string {
	if len(fields) == 0 {
		return ""
	}
	return "; there are " + bound.Text(strings.Join(slices.Sorted(maps.Keys(fields)), ", "), 200)
}
