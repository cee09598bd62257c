//go:build unix

package torture

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// collectParts kill imports, exports and collections of the real program while others write.
func collectParts() []part {
	return []part{
		{name: "import killed", round: importKilled, needs: needsProgram,
			sabotage: "an import that leaves the last entry out"},
		{name: "export killed", round: exportKilled, needs: needsProgram, sabotage: "an acknowledged export cut short"},
		{name: "gc killed beside senders", round: gcKilled, needs: needsProgram,
			sabotage: "a disk that goes back in time"},
	}
}

// bigBody is how long the entries of an agent are that takes a while to import.
const bigBody = 100_000

// bigEntries is how many it has: more than is read or written in one go, if there is time for that.
func bigEntries() int {
	if os.Getenv(torturedFor) != "" {
		return 360
	}
	return 60
}

// collectKills is how often a command is killed before it may end.
const collectKills = 2

// big is an agent that takes a while to import, as entries.
var big = sync.OnceValue(func() []*perdure.Entry {
	key := signerOf("big")
	g := must(key.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: "big", Goal: "be long"},
		Charter: perdure.Charter{Scope: "home"}}, time.Now()))
	a, all := must(perdure.Begin(g)), []*perdure.Entry{g}
	for i := range bigEntries() {
		data := must(perdure.DataOf(fmt.Sprint(i, strings.Repeat("x", bigBody))))
		entries, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "told", Data: data}})
		if err != nil {
			panic(err)
		}
		a, all = next, append(all, entries...)
	}
	return all
})

// bigFile writes the capsule of the first entries of the big agent.
func bigFile(r *round, path string, n int) {
	s := new(perdure.MemStore)
	r.must(s.Put(context.Background(), big()[0].ID(), big()[:n]...))
	f, err := os.Create(path)
	r.must(err)
	_, err = capsule.Export(context.Background(), f, s, big()[0].ID(), capsule.Options{})
	r.must(err)
	r.must(f.Close())
}

// entriesOf counts the entries of an agent that verifies, but for those that say it is held; none: it is not there.
func (h *home) entriesOf(id perdure.AgentID) int {
	s := h.opened()
	defer closed(h.r.t, s)
	for l, err := range s.List(context.Background(), perdure.Filter{}) {
		h.r.must(err)
		if l.Agent != id {
			continue
		}
		n := 0
		a, err := checkAgent(context.Background(), s, id, func(e *perdure.Entry) {
			if e.Origin == signerOf("big").Key() {
				n++
			}
		})
		if err != nil {
			h.r.Wrong("agent %s: %v", l.Name, err)
		} else if a.Fold().Paused == nil && n < len(big()) {
			h.r.Wrong("part of an agent is here, and it is not held")
		}
		return n
	}
	return 0
}

// killedAfter starts a command, kills it after a while, and reports whether it had ended well before.
func (h *home) killedAfter(most time.Duration, args ...string) bool {
	p := h.start(args...)
	select {
	case err := <-p.ended:
		if err != nil {
			h.r.Wrong("perdure %s: %v: %s", strings.Join(args, " "), err, p.said.String())
		}
		return err == nil
	case <-time.After(time.Duration(h.r.rng.Int64N(int64(most)))):
		p.kill()
		h.r.faults++
		return false
	}
}

// beside calls f while somebody sends words to an agent, and returns those that were acknowledged.
func (h *home) beside(name string, f func()) (acknowledged []string) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			word := fmt.Sprintf("word%d-%d", time.Now().UnixNano(), i)
			if _, err := h.try("send", name, word); err == nil {
				acknowledged = append(acknowledged, name+" "+word)
			}
		}
	}()
	f()
	close(done)
	<-ended
	return acknowledged
}

// importKilled kills an import: the agent is not there, or all of it is, or it is held; the next import makes it whole.
func importKilled(r *round) {
	h := newHome(r, "", one(r, "sqlite", "dir"))
	h.agent("other")
	path, id, want := h.file("big.agent"), big()[0].ID(), len(big())
	bigFile(r, path, want)
	acknowledged := h.beside("other", func() {
		for range collectKills {
			h.killedAfter(700*time.Millisecond, "import", path)
			if n := h.entriesOf(id); n != 0 && n != want {
				r.Wrong("a killed import left %d of %d entries", n, want)
			}
		}
	})
	if h.entriesOf(id) == 0 {
		if r.sabotaged {
			bigFile(r, path, want-1)
		}
		h.ok("import", path)
	} else if r.sabotaged {
		want++ // too late to leave something out
	}
	if r.checked += want; h.entriesOf(id) != want {
		r.Lost("%d of %d entries are there after the import", h.entriesOf(id), want)
	}
	h.audit(acknowledged)
}

// exportKilled kills an export, onto the file of an earlier one: that stays until the new one is whole.
func exportKilled(r *round) {
	h := newHome(r, "", one(r, "sqlite", "dir"))
	source, path := h.file("big.agent"), h.file("out.agent")
	bigFile(r, source, len(big()))
	h.ok("import", source)
	h.names = []string{"big"}
	h.ok("export", "big", path)
	sound := func() {
		if _, err := h.try("verify", path); err != nil {
			r.Lost("%v", err)
		}
		r.checked += len(big())
	}
	for range collectKills {
		h.killedAfter(400*time.Millisecond, "export", "big", path, "--force")
		sound()
	}
	if r.sabotaged {
		info, err := os.Stat(path)
		r.must(err)
		r.must(os.Truncate(path, info.Size()/2))
		sound()
	}
	if _, err := h.try("export", "big", path, "--force"); err != nil {
		r.Wrong("%v", err)
	}
}

// gcKilled kills collections of an agent that others write to, whose entries outlive their time at once.
func gcKilled(r *round) {
	h := newHome(r, "", one(r, "sqlite", "dir"))
	r.must(os.WriteFile(h.file("intent.yaml"), []byte("name: brief\ngoal: forget\nttl: 1ms\n"), 0o600))
	h.ok("new", "-f", h.file("intent.yaml"))
	before := h.file("before")
	if r.sabotaged {
		r.must(copyTree(h.folder, before))
	}
	var acknowledged []string
	for range 2 * collectKills {
		acknowledged = append(acknowledged, h.beside("brief", func() {
			h.killedAfter(300*time.Millisecond, "gc")
			h.killedAfter(100*time.Millisecond, "gc")
		})...)
	}
	if r.sabotaged {
		r.must(os.RemoveAll(h.folder))
		r.must(os.Rename(before, h.folder))
	}
	for _, args := range [][]string{{"gc"}, {"verify", "brief"}} {
		if _, err := h.try(args...); err != nil {
			r.Lost("%v", err)
		}
	}
	h.counted(len(acknowledged))
}

// counted finds as many events as were acknowledged at least, with a body or without.
func (h *home) counted(acknowledged int) {
	s := h.opened()
	defer closed(h.r.t, s)
	events := 0
	for l, err := range s.List(context.Background(), perdure.Filter{}) {
		h.r.must(err)
		if _, err := checkAgent(context.Background(), s, l.Agent, func(e *perdure.Entry) {
			if e.Kind == perdure.KindEvent {
				events++
			}
		}); err != nil {
			h.r.Wrong("agent %s: %v", l.Name, err)
		}
	}
	if h.r.checked += acknowledged; events < acknowledged {
		h.r.Lost("%d of %d acknowledged entries are there", events, acknowledged)
	}
}
