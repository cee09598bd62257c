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

// Whoever runs an agent begins its children. One whose parent does not say so is nobody's child.
func TestChildCountsByTheWordOfItsParent(t *testing.T) {
	t.Parallel()
	lead := func(by *perdure.Signer, owner perdure.Key) *attack {
		g := perdure.Genesis{Charter: perdure.Charter{Owner: owner, Scope: "home", Depth: 2}}
		if by.Key() != owner {
			g.Lineage = &perdure.Lineage{Parent: perdure.AgentID(perdure.HashOf([]byte("x"))),
				Cause: perdure.HashOf([]byte("y")), Relation: perdure.Child}
		}
		return begin(t, by, g)
	}
	for name, of := range map[string]struct {
		rights string
		parent func(p *place, nora *perdure.Signer) (child, parent *attack)
		want   int
	}{
		"its parent is nowhere": {"author", func(p *place, nora *perdure.Signer) (*attack, *attack) {
			child, _ := childOf(lead(p.owner, p.owner.Key()), nora)
			return child, nil
		}, 0},
		"its parent knows nothing of it": {"author", func(p *place, nora *perdure.Signer) (*attack, *attack) {
			a := lead(p.owner, p.owner.Key())
			child, _ := childOf(a, nora)
			return child, a
		}, 0},
		"its parent is held": {"author", func(p *place, nora *perdure.Signer) (*attack, *attack) {
			return childOf(lead(nora, p.owner.Key()), nora)
		}, 0},
		"its parent is a stranger's": {"author", func(p *place, nora *perdure.Signer) (*attack, *attack) {
			return childOf(lead(stranger(p.t), p.owner.Key()), nora)
		}, 0},
		"its parent says so": {"author", func(p *place, nora *perdure.Signer) (*attack, *attack) {
			return childOf(lead(p.owner, p.owner.Key()), nora)
		}, 1},
		"its parent is in a wider scope": {"author", func(p *place, nora *perdure.Signer) (*attack, *attack) {
			return childIn("home/ops", lead(p.owner, p.owner.Key()), nora)
		}, 0},
		"nothing came of it": {"author", func(p *place, nora *perdure.Signer) (*attack, *attack) {
			child, parent := childOf(lead(p.owner, p.owner.Key()), nora)
			failed := perdure.Settle{Decision: parent.last(), Signal: perdure.Failed}
			return child, parent.as(p.owner).tell("settle", failed)
		}, 0},
		"who began it may own": {"own", func(p *place, nora *perdure.Signer) (*attack, *attack) {
			child, _ := childOf(lead(p.owner, p.owner.Key()), nora)
			return child, nil
		}, 1},
	} {
		for _, door := range []string{"folder", "import", "import, parent last"} {
			t.Run(name+"/"+door, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				nora := trusted(p, "nora", of.rights, "home")
				child, parent := of.parent(p, nora)
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
					if door != "import" {
						slices.Reverse(files)
					}
					for _, a := range files {
						if a != nil {
							p.ok("import", a.capsule(p, "gift.agent"))
						}
					}
				}
				g := p.run("spawn", "open", "pay")
				p.done(of.want, "a child in the owner's name: "+name)
				if of.want > 0 {
					return
				}
				for _, text := range []string{nora.Key().Short(), "parent", "perdure resume"} {
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
