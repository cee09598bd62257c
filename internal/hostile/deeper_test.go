package hostile

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// partly is an agent of the owner's, paused, of which a place has the end only.
func partly(p *place) *attack {
	p.t.Helper()
	a := weather(p.t, p.owner)
	for range 5 {
		a.write(perdure.Event{Name: "hello", Data: have(perdure.DataOf("the owner's words"))(p.t)})
	}
	a.snapshot(func(*perdure.Fold) {}).write(perdure.Event{Name: "hello"}).tell("pause", perdure.Pause{Note: "wait"})
	a.file(p.path("end.agent"), capsule.Options{Depth: perdure.Last(1)})
	p.ok("import", "--ready", "./end.agent")
	a.at = time.Now()
	return a
}

// What reaches further back than the agent that is here would stand in its place.
func TestDeeperCopyReplacesNothingThatIsHere(t *testing.T) {
	t.Parallel()
	lies := func(f *perdure.Fold) { f.Paused, f.Intent.Goal = nil, "pay mallory" }
	gifts := []struct {
		name, rights string
		write        func(a *attack) *attack
	}{
		{"a lying snapshot in the place of the bodies", "", func(a *attack) *attack {
			return a.snapshot(lies).dropped(1, false)
		}},
		{"an author's lying snapshot", "author", func(a *attack) *attack { return a.snapshot(lies).dropped(1, false) }},
		{"an approver's lying snapshot", "approve", func(a *attack) *attack {
			return a.snapshot(lies).dropped(1, false)
		}},
		{"a lying snapshot, without genesis", "", func(a *attack) *attack { return a.snapshot(lies).dropped(1, true) }},
		{"a true snapshot in the place of the bodies", "", func(a *attack) *attack {
			return a.snapshot(func(*perdure.Fold) {}).dropped(1, false)
		}},
		{"an entry on top of every body", "", func(a *attack) *attack { return a.write(perdure.Event{Name: "hello"}) }},
		{"an entry beside what is here", "", func(a *attack) *attack {
			b := weather(a.t, a.by)
			b.entries, b.agent = a.entries[:1:1], have(perdure.Begin(a.entries[0]))(a.t)
			b.tell("resume", perdure.Resume{Of: a.agent.Fold().Paused})
			a.entries = append(a.entries, b.entries[1:]...)
			return a
		}},
	}
	for _, gift := range gifts {
		for _, folder := range []bool{false, true} {
			t.Run(gift.name+map[bool]string{true: ", in a folder"}[folder], func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				if folder {
					p = p.inFolder()
				}
				a, by := partly(p), stranger(t)
				if gift.rights != "" {
					p.trust(by, gift.rights, "home")
				}
				good := a.fork(t, p.owner).capsule(p, "good.agent")
				state, log := p.state("weather"), p.ok("log", "weather", "--json")
				if g := p.perdure("import", gift.write(a.fork(t, by)).capsule(p, "gift.agent")); g.code != 5 {
					t.Errorf("want a refusal, exit code 5, got %v", g)
				}
				if p.state("weather") != state || p.ok("log", "weather", "--json") != log {
					t.Errorf("the agent that was here is another now:\n%s", p.ok("log", "weather"))
				}
				p.ok("import", good)
				p.ok("verify", "weather")
				p.ok("resume", "weather")
				p.run("weather", "open", "pay")
				p.done(1, "the owner's own deeper copy")
			})
		}
	}
}

// The owner's own deeper copy lacks bodies that the store has.
func TestDeeperCopyTakesNoBodyAway(t *testing.T) {
	t.Parallel()
	for _, d := range []perdure.Depth{perdure.Full, perdure.Headers, perdure.Last(8)} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a := weather(t, p.owner).snapshot(func(*perdure.Fold) {})
			a.write(perdure.Event{Name: "hello"}).write(perdure.Event{Name: "hello"}).snapshot(func(*perdure.Fold) {})
			told := a.write(perdure.Event{Name: "kept", Data: have(perdure.DataOf("words that stay"))(t)}).last()
			a.write(perdure.Event{Name: "hello"})
			a.file(p.path("end.agent"), capsule.Options{Depth: perdure.Last(1)})
			p.ok("import", "--ready", "./end.agent")
			a.at = time.Now()
			a.write(perdure.Event{Name: "more"}).snapshot(func(*perdure.Fold) {})
			for i, e := range a.entries {
				if e.Name == told {
					a.entries[i] = e.Drop()
				}
			}
			a.file(p.path("deeper.agent"), capsule.Options{Depth: d})
			if out := p.ok("import", "./deeper.agent"); !strings.Contains(out, "deeper") {
				t.Errorf("the copy does not reach further, so this proves nothing: %s", out)
			}
			// as it is told itself, not as a snapshot repeats it
			said := p.ok("log", "weather", "--jq", `.[] | select(.entry == "`+told.String()+`")`)
			if !strings.Contains(said, "words that stay") {
				t.Errorf("a body that was here is gone: %s", said)
			}
		})
	}
}
