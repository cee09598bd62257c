package hostile

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// friendsPolicy lets in what is trusted.
const friendsPolicy = openPolicy + `
@id("friends")
permit (principal, action == Action::"admit", resource);
@id("ask-others")
@obligation("approval:operator")
forbid (principal, action == Action::"admit", resource) unless { context.trusted };
`

// childOf is a child that somebody begins in the name of the owner of an agent, and the agent with a decision of theirs
// that created it.
func childOf(a *attack, by *perdure.Signer) (child, parent *attack) { return childIn("home", a, by) }

func childIn(scope string, a *attack, by *perdure.Signer) (child, parent *attack) {
	a.t.Helper()
	d := perdure.Delegate{Intent: perdure.Intent{Name: "spawn", Goal: "pay"}, Scope: scope}
	g := have(a.agent.Fold().ChildGenesis(&d, perdure.Hash{}))(a.t)
	child = begin(a.t, by, g)
	parent = a.fork(a.t, by).write(perdure.Decision{
		Action: d, Verdict: allowed, Effect: perdure.Idempotent, Deadline: perdure.TimeOf(a.at),
		Child: have(child.entries[0].MarshalBinary())(a.t),
	})
	return child, parent
}

// Whoever runs an agent begins its children in the name of its owner: that takes the right to, whatever a parent says.
func TestChildInTheOwnersNameTakesTheRightToBegin(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		rights string
		parent bool // it is here, with a decision of theirs
		want   int
	}{
		"by an author":                       {"author", false, 0},
		"by an author who decided it":        {"author", true, 0},
		"by an approver":                     {"approve", false, 0},
		"by somebody who may begin children": {"author,begin", true, 1},
		"by somebody who may own":            {"own", false, 1},
	} {
		for _, door := range []string{"folder", "import", "import, parent last", "import, parent alone"} {
			if door == "import, parent alone" && !of.parent {
				continue
			}
			t.Run(name+"/"+door, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				nora := trusted(p, "nora", of.rights, "home")
				child, parent := childOf(begin(t, p.owner, perdure.Genesis{
					Charter: perdure.Charter{Scope: "home", Depth: 2}}), nora)
				if !of.parent {
					parent = nil
				}
				if door == "folder" {
					p = p.inFolder()
					child.dropIn(p, "spawn.agent")
					if parent != nil {
						parent.dropIn(p, "weather.agent")
					}
				} else {
					must(t, os.Mkdir(p.path(".perdure", "policies"), 0o700))
					p.write(".perdure/policies/friends.cedar", friendsPolicy)
					files := []*attack{parent, child}
					switch door {
					case "import, parent last":
						slices.Reverse(files)
					case "import, parent alone": // this node stores the child that they decided on
						files = files[:1]
					}
					for _, a := range files {
						if a != nil {
							p.ok("import", a.capsule(p, "gift.agent"))
						}
					}
				}
				if parent != nil { // whose decision is still to be carried out
					p.write("rest.yaml", "turns:\n  - sleep: {on: nothing}\n")
					p.run("weather", "open", "rest")
				}
				g := p.run("spawn", "open", "pay")
				p.done(of.want, "a child in the owner's name: "+name)
				if of.want > 0 {
					return
				}
				for _, text := range []string{nora.Key().Short(), "--rights begin"} {
					if !g.says(text) {
						t.Errorf("a run does not say %q: %v", text, g)
					}
				}
				if inbox := p.ok("inbox"); !strings.Contains(inbox, "spawn") {
					t.Errorf("the inbox does not have it: %s", inbox)
				}
				if s := p.standing("spawn"); s != "waiting" {
					t.Errorf("it stands as %s", s)
				}
				p.ok("resume", "spawn")
				p.run("spawn", "open", "pay")
				p.done(1, "a child that somebody admitted")
			})
		}
	}
}

// A file has no parents in it.
func TestChildInAFileIsAdmittedFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	nora := trusted(p, "nora", "author", "home")
	child, parent := childOf(begin(t, p.owner, perdure.Genesis{Charter: perdure.Charter{Depth: 2}}), nora)
	p.ok("import", "--ready", parent.capsule(p, "weather.agent"))
	file := child.capsule(p, "spawn.agent")
	p.held(p.run(file, "open", "pay"), child)
	p.done(0, "a child in a file")
	p.ok("resume", file)
	p.run(file, "open", "pay")
	p.done(1, "one that somebody admitted")
}

// A charter that somebody wrote in the name of the owner says who may approve. A child that this node began by it would
// carry its signature.
func TestApproversOfAClaimedCharterAreNotPassedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ approver, known bool }{
		"with approvers of its own": {true, true}, "with none": {false, true},
		"of an owner who is trusted elsewhere": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			nora, eve, owner := trusted(p, "nora", "author", "home"), stranger(t), p.owner
			if !c.known {
				owner = trusted(p, "olga", "own", "home/ops")
			}
			of := begin(t, owner, perdure.Genesis{Charter: perdure.Charter{Scope: "home", Depth: 3}})
			d := perdure.Delegate{Intent: perdure.Intent{Name: "spawn", Goal: "pay"}, Depth: 2}
			g := have(of.agent.Fold().ChildGenesis(&d, perdure.Hash{}))(t)
			if c.approver {
				g.Charter.Approvers = []perdure.Key{eve.Key()}
			}
			p.ok("import", "--ready", begin(t, nora, g).capsule(p, "spawn.agent"))
			p.write("delegate.yaml", "turns:\n  - delegate: {name: grandchild, goal: pay}\n  - end: {}\n")
			p.run("spawn", "open", "delegate")
			if begun := slices.Contains(p.agents(), "grandchild"); begun == c.approver {
				t.Errorf("a grandchild was begun: %t", begun)
			}
		})
	}
}
