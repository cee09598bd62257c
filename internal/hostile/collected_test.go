package hostile

import (
	"os"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// light is the owner's agent as somebody passes it on who left bodies out, with a record that claims a collection did.
// The home has it without the last words and the snapshot.
func light(p *place, record *perdure.Signer) *attack {
	p.t.Helper()
	a := weather(p.t, p.owner).write(perdure.Event{Name: "hello"})
	p.ok("import", "--ready", a.capsule(p, "mine.agent"))
	a.write(perdure.Event{Name: "again"}).snapshot(func(*perdure.Fold) {})
	through := a.last()
	a.as(record).tell("pruned", perdure.Pruned{Rule: "ttl of the entries", Through: through, Entries: 2, Bytes: 100})
	return a.dropped(2, false)
}

// Bodies are gone where those who may collect an agent say so: its owner, and who is trusted here to own it.
func TestForgedRecordOfACollectionIsNone(t *testing.T) {
	t.Parallel()
	for name, arrive := range map[string]func(p *place, a *attack) got{
		"import": func(p *place, a *attack) got { return p.perdure("import", a.capsule(p, "gift.agent")) },
		"sync": func(p *place, a *attack) got {
			must(p.t, os.Mkdir(p.path("shared"), 0o700))
			must(p.t, capsule.CreateLog(p.path("shared", "gift.agent"), capsule.Text, a.entries...))
			return p.perdure("sync", "--all", "./shared")
		},
	} {
		for _, by := range []string{"owner", "author"} {
			t.Run(name+" of a record by the "+by, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				signer := p.owner
				if by == "author" {
					signer = stranger(t)
					p.trust(signer, "author", "home")
				}
				a := light(p, signer)
				before := p.state("weather")
				g := arrive(p, a)
				changed := p.state("weather") != before
				switch {
				case by == "owner" && (g.code != 0 || !changed):
					t.Errorf("what the owner collected was refused, so the attack proves nothing: %v", g)
				case by == "author" && (g.code == 0 || changed || !g.says("body.present") && !g.says("capsule.depth")):
					t.Errorf("want a refusal by name, and nothing changed, got %v", g)
				}
			})
		}
	}
}
