package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// adapters connect the core to something outside it. Each is one folder, sub-packages included, except that every
// package below store is an adapter of its own.
var adapters = []string{
	"a2a",
	"advisor",
	"capsule",
	"client",
	"exchange",
	"keyfile",
	"mcp",
	"notify",
	"policy",
	"server",
	"telemetry",
	"tool",
	"webhook",
}

// shared are adapters that some others may import: a folder of agents is a folder of capsules, and servers hand them
// out and mount what speaks MCP; what is sent is signed as what is received; a server and its client speak the same
// values.
var shared = map[string][]string{"capsule": {"store/dir", "server"}, "a2a": {"server"}, "mcp": {"server"},
	"client": {"server"}, "exchange": {"client", "server"}, "webhook": {"notify", "server"}}

// narrow are adapters that import of ours only what is named here, besides the root.
var narrow = map[string][]string{"client": {"exchange", "internal/jsontext"},
	"capsule": {"internal/canon", "internal/chunk", "internal/disk"}}

// inner are the rooms of the core that have doors of their own: words and values that the root is written in. Whoever
// may import the root may import them.
var inner = []string{"phase", "seal", "trace"}

// isCore reports whether a package of ours is the root or one of its rooms.
func isCore(rel string) bool { return rel == "" || slices.Contains(inner, rel) }

// wiring may import everything: the program, the examples, the harness that kills the program, the simulation, and what
// is for development.
var wiring = []string{"cmd", "examples", "internal/dev", "internal/simulate", "internal/torture"}

// house is what every face of the program builds on. A home wires adapters into a node; a view knows of them only how
// capsules are named, a workspace how a function is a tool.
var house = map[string][]string{"home": append([]string{"store"}, adapters...), "view": {"capsule"},
	"workspace": {"tool"}}

// roomOf is the part of the house that a package belongs to, or "".
func roomOf(path string) string {
	for room := range house {
		if under(path, room) {
			return room
		}
	}
	return ""
}

// faces show agents to people and programs. Each imports the house, the core, what it serves and what is internal; no
// adapter, which is wired by the home, and no other face.
var faces = map[string][]string{
	"a2a":    {},
	"mcp":    {},
	"server": {"a2a", "capsule", "client", "exchange", "mcp", "webhook"},
}

// printer writes as text for people what a home, a workspace, policy and the like say. Only the program has it.
const printer = "internal/show"

// impure are the packages the core must not import, and none of ours that it imports either. It may name the errors of
// io/fs, which opens nothing.
var impure = []string{"database/sql", "net", "os", "path/filepath", "plugin", "syscall"}

// testOnly are packages that tests need, and nothing that is shipped.
var testOnly = []string{
	"testing", "net/http/httptest", "github.com/google/go-cmp", "pgregory.net/rapid",
	"github.com/nats-io/nats-server", "storetest", "internal/enginetest", "internal/natstest", "internal/npmtest",
	"internal/pgtest", "internal/simulate", "internal/torture",
}

// pureNet are the packages below net that only compute.
var pureNet = []string{"net/netip", "net/url"}

// violations returns what is wrong with the imports, one line each, sorted.
func violations(pkgs []pkg) []string {
	var found []string
	report := func(p pkg, imp, why string) {
		found = append(found, fmt.Sprintf("%s imports %s: %s", p.ImportPath, imp, why))
	}
	core, shipped := reach(pkgs, module), reach(pkgs, module+"/cmd/perdure")
	for _, p := range pkgs {
		mine := adapter(p.path())
		for _, imp := range p.Imports {
			rel, ours := strings.CutPrefix(imp, module)
			rel = strings.TrimPrefix(rel, "/")
			theirs := adapter(rel)
			switch {
			case core[p.ImportPath] && isImpure(imp):
				report(p, imp, "the core does no I/O; put it in an adapter")
			case shipped[p.ImportPath] && (under(imp, testOnly...) || under(rel, testOnly...)):
				report(p, imp, "the program that people run carries no tests")
			case under(imp, "github.com/spf13/cobra") && !under(p.path(), "cmd"):
				report(p, imp, "only cmd knows flags")
			case !ours || under(p.path(), wiring...):
			case p.path() == printer:
			case rel == printer:
				report(p, imp, "only the program prints for people")
			case p.path() == "internal/canon":
				report(p, imp, "canonical bytes depend on nothing of ours")
			case under(rel, wiring...):
				report(p, imp, "wiring is imported by nobody")
			case narrow[mine] != nil && !isCore(rel) && theirs != mine && !slices.Contains(narrow[mine], rel):
				report(p, imp, "it depends on the root and "+strings.Join(narrow[mine], ", ")+" alone")
			case roomOf(p.path()) != "":
				if room := roomOf(p.path()); theirs != "" && !under(theirs, house[room]...) || room != "home" &&
					rel == "home" || room == "view" && roomOf(rel) == "workspace" {
					report(p, imp, "views are plain values, and workspaces know agents alone: a home may know them, "+
						"not they a home or an adapter")
				}
			case faces[mine] != nil && theirs != mine && !under(rel, faces[mine]...) &&
				(theirs != "" || !under(rel, "home", "view", "workspace", "internal") && !isCore(rel)):
				report(p, imp, "a face imports home, view, workspace, the root and what it serves")
			case rel == "view" && p.path() == "internal/term": // a terminal shows what a view says
			case roomOf(rel) != "" && faces[mine] == nil:
				report(p, imp, "only faces and wiring know a home, a view or a workspace")
			case theirs != "" && mine == "":
				report(p, imp, "adapters depend on the core, never the other way; wire them in cmd")
			case theirs != "" && theirs != mine && !slices.Contains(shared[theirs], mine):
				report(p, imp, "adapters never import each other; declare an interface and wire them in cmd")
			}
		}
	}
	slices.Sort(found)
	return found
}

// reach returns the packages of ours that a package imports, itself included.
func reach(pkgs []pkg, from string) map[string]bool {
	imports := make(map[string][]string)
	for _, p := range pkgs {
		imports[p.ImportPath] = p.Imports
	}
	seen := make(map[string]bool)
	var visit func(string)
	visit = func(path string) {
		if _, ours := imports[path]; !ours || seen[path] {
			return
		}
		seen[path] = true
		for _, imp := range imports[path] {
			visit(imp)
		}
	}
	visit(from)
	return seen
}

// adapter names the adapter that a package belongs to, or returns "".
func adapter(path string) string {
	if below, ok := strings.CutPrefix(path, "store/"); ok {
		name, _, _ := strings.Cut(below, "/")
		return "store/" + name
	}
	for _, a := range adapters {
		if under(path, a) {
			return a
		}
	}
	return ""
}

// under reports whether path is one of the folders or below one.
func under(path string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return path == f || strings.HasPrefix(path, f+"/")
	})
}

func isImpure(imp string) bool {
	return under(imp, impure...) && !slices.Contains(pureNet, imp)
}

func TestDependenciesPointOneWay(t *testing.T) {
	for _, v := range violations(packages(t)) {
		t.Error(v)
	}
}

func TestEveryForbiddenImportIsFound(t *testing.T) {
	p := func(path string, imports ...string) pkg {
		for i, imp := range imports {
			if rest, ok := strings.CutPrefix(imp, "~"); ok {
				imports[i] = module + rest
			}
		}
		return pkg{ImportPath: module + path, Imports: imports}
	}
	got := violations([]pkg{
		p("", "fmt", "io/fs", "net", "net/url", "os", "os/exec", "path/filepath", "~/internal/canon", "~/internal/x",
			"~/store/sqlite"),
		p("/internal/canon", "io", "~/internal/x"),
		p("/internal/x", "net/http", "database/sql"), // reached from the root
		p("/internal/y", "net/http", "~/tool"),       // not reached, but below the adapters
		p("/internal/torture", "~/store/sqlite", "~/tool", "os/exec"),
		p("/storetest", "~", "testing"),
		p("/store/sqlite", "~", "database/sql", "~/store/dir", "~/store/sqlite/internal/wal"),
		p("/tool", "~", "os/exec", "~/tool/mcp", "github.com/spf13/cobra"),
		p("/tool/mcp", "~/tool", "~/server"),
		p("/toolbox", "net"),
		p("/server", "~", "net/http", "~/capsule", "~/cmd/perdure"),
		p("/capsule", "~", "~/internal/canon", "~/internal/z", "~/store/dir"),
		p("/store/dir", "~", "~/capsule", "~/store/sqlite"),
		p("/policy", "~/capsule"),
		p("/cmd/perdure", "github.com/spf13/cobra", "net/http/httptest", "~/storetest", "~", "~/server", "~/tool",
			"~/store/sqlite", "~/store/dir"),
		p("/examples/one", "~", "~/store/dir", "testing"),
		p("/home", "~", "~/view", "~/tool", "~/store/sqlite"),
		p("/view", "~", "~/capsule", "~/home", "~/tool"),
		p("/server/console", "~", "~/home", "~/view", "~/server", "~/capsule", "~/internal/w", "~/tool", "~/schema"),
		p("/schema", "~", "~/view"),
		p("/workspace", "~", "~/view", "~/tool", "~/home", "~/policy"),
		p("/workspace/files", "~", "~/workspace", "~/home"),
		p("/keyfile", "~", "~/workspace"),
		p("/internal/show", "~", "~/home", "~/policy", "~/workspace"),
		p("/mcp", "~/internal/show"),
		p("/view/x", "~/internal/show"),
	})
	for i := range got {
		got[i] = strings.ReplaceAll(got[i][:strings.Index(got[i], ": ")], module, "~")
	}
	want := []string{
		"~ imports net",
		"~ imports os",
		"~ imports os/exec",
		"~ imports path/filepath",
		"~ imports ~/store/sqlite",
		"~/capsule imports ~/internal/z",
		"~/capsule imports ~/store/dir",
		"~/cmd/perdure imports net/http/httptest",
		"~/cmd/perdure imports ~/storetest",
		"~/internal/canon imports ~/internal/x",
		"~/internal/x imports database/sql",
		"~/internal/x imports net/http",
		"~/internal/y imports ~/tool",
		"~/policy imports ~/capsule",
		"~/schema imports ~/view",
		"~/server/console imports ~/schema",
		"~/server/console imports ~/tool",
		"~/server imports ~/cmd/perdure",
		"~/store/dir imports ~/store/sqlite",
		"~/store/sqlite imports database/sql", // reached from the root in this made-up tree
		"~/store/sqlite imports ~/store/dir",
		"~/storetest imports testing", // the program imports it in this made-up tree
		"~/tool imports github.com/spf13/cobra",
		"~/tool/mcp imports ~/server",
		"~/keyfile imports ~/workspace",
		"~/mcp imports ~/internal/show",
		"~/view/x imports ~/internal/show",
		"~/view imports ~/home",
		"~/view imports ~/tool",
		"~/workspace imports ~/home",
		"~/workspace imports ~/policy",
		"~/workspace/files imports ~/home",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
