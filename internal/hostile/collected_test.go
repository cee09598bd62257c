package hostile

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

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
				case by == "author" && (changed || !g.says("not passed on: only a part of its memory") &&
					(g.code == 0 || !g.says("body.present") && !g.says("capsule.depth"))):
					t.Errorf("want a refusal by name, and nothing changed, got %v", g)
				}
			})
		}
	}
}

// A record that does not count takes nothing off what the owner's own collections account for: else the agent would
// arrive as a part of itself wherever it goes.
func TestForgedRecordSpoilsNoAccount(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	author := stranger(t)
	p.trust(author, "author", "home")
	g := called("weather", "tell the weather")
	g.Intent.TTL = 100
	a := begin(t, p.owner, g).write(perdure.Event{Name: "hello"})
	p.ok("import", "--ready", a.capsule(p, "mine.agent"))
	forged, _, err := author.Commit(a.agent, time.Now(), perdure.Draft{TTL: 1000 * time.Hour, Body: perdure.Event{
		Name: "pruned", Notice: perdure.Pruned{Rule: "x", Through: a.last(), Entries: 1_000_000, Bytes: 1}}})
	must(t, err)
	a.entries = append(a.entries, forged...)
	p.ok("import", a.capsule(p, "gift.agent"))
	for range 2 { // what the second collection drops is on record, too
		p.ok("send", "weather", "more")
		before := p.ok("log", "weather")
		for i := 0; p.ok("log", "weather") == before; i++ {
			if p.ok("gc"); i > 100 { // it has expired long ago
				t.Fatalf("nothing is collected: %s", before)
			}
		}
	}
	log := p.ok("log", "weather")
	gone := strings.Count(log, "was dropped")
	if want := fmt.Sprintf("pruned %d bodies", gone); gone == 0 || !strings.Contains(log, want) {
		t.Errorf("%d bodies are gone, and the owner's record tells of others:\n%s", gone, log)
	}
}

// A file that lacks bodies is run, or lies in a folder of agents: only the word of its owner makes it whole.
func TestForgedRecordMakesNoFileWhole(t *testing.T) {
	t.Parallel()
	for who, want := range map[string]int{"owner": 1, "author": 0, "delegate": 0} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			p, q := newPlace(t).inFolder(), newPlace(t).inFolder()
			by, g := p.owner, perdure.Genesis{}
			switch who {
			case "author":
				by = trusted(p, "nora", "author", "home")
				q.trust(by, "author", "home")
			case "delegate":
				by = stranger(t)
				g.Charter.Delegates = []perdure.Key{by.Key()}
			}
			q.trust(p.owner, "own", "home")
			a := begin(t, p.owner, g)
			for range 5 {
				a.write(perdure.Event{Name: "hello"})
			}
			a.snapshot(func(*perdure.Fold) {}).write(perdure.Event{Name: "after"})
			b := a.fork(t, by)
			b.tell("pruned", perdure.Pruned{Rule: "x", Through: b.entries[6].Name, Entries: 5, Bytes: 1})
			for i := 1; i < 6; i++ {
				b.entries[i] = b.entries[i].Drop()
			}
			must(t, capsule.CreateLog(p.path("light.agent"), capsule.Text, b.entries...))
			p.run("light.agent", "open", "pay")
			p.done(want, "a file by "+who)
			b.dropIn(q, "light.agent")
			q.run("weather", "open", "pay")
			q.done(want, "a file in a folder, by "+who)
		})
	}
}
