package advisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// wireNames are the names tools have on the wire, where only letters, digits, _ and - are allowed.
type wireNames struct {
	wire map[string]string
	tool map[string]string
}

// newWireNames gives each tool a name of its own.
func newWireNames(tools []perdure.Spec) *wireNames {
	n := &wireNames{wire: map[string]string{}, tool: map[string]string{}}
	for _, t := range tools {
		base := plainName(t.Name)
		name := base
		for i := 2; n.tool[name] != ""; i++ {
			name = fmt.Sprintf("%s_%d", base, i)
		}
		n.wire[t.Name], n.tool[name] = name, t.Name
	}
	return n
}

// toWire is the name of a tool on the wire, also of one that is no longer offered.
func (n *wireNames) toWire(tool string) string {
	if w, ok := n.wire[tool]; ok {
		return w
	}
	return plainName(tool)
}

// longestName is what every provider allows.
const longestName = 60

func plainName(s string) string {
	b := []byte(s[:min(len(s), longestName)])
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return "_"
	}
	return string(b)
}

// offered is the tools and built-ins an agent may use, by name.
func offered(tools []perdure.Spec, f *perdure.Fold) []perdure.Spec {
	var out []perdure.Spec
	for _, t := range tools {
		if f.Intent.Tools == nil || slices.Contains(f.Intent.Tools, t.Name) {
			out = append(out, t)
		}
	}
	for _, b := range builtins {
		taken := slices.ContainsFunc(out, func(t perdure.Spec) bool { return t.Name == b.Name })
		if !taken && (b.Name != "delegate" || f.Charter.Depth > 0) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b perdure.Spec) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// isBuiltin reports whether a name offered is that of a built-in, not of a tool.
func isBuiltin(tools []perdure.Spec, name string) bool {
	return slices.ContainsFunc(builtins, func(b perdure.Spec) bool { return b.Name == name }) &&
		!slices.ContainsFunc(tools, func(t perdure.Spec) bool { return t.Name == name })
}
