//go:build unix

package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// rotParts flip bytes in the files of a home, and follow the doctor's advice to the end.
func rotParts() []part {
	return []part{
		{name: "rot in sqlite", round: func(r *round) {
			rot(r, "sqlite")
		}, needs: needsProgram, sabotage: "rot after the cure"},
		{name: "rot in dir", round: func(r *round) {
			rot(r, "dir")
		}, needs: needsProgram, sabotage: "rot after the cure"},
	}
}

const (
	// rotAgents is how many agents there are, of so many words each; good copies are made in the middle.
	rotAgents, rotWords = 4, 6
	// cures is how many times the doctor is asked at most.
	cures = 8
)

// rot damages a store of the given kind, and cures it.
func rot(r *round, kind string) {
	h := newHome(r, "", kind)
	words := map[string]bool{} // acknowledged; true: in a good copy
	for i := range rotAgents {
		name := fmt.Sprint("agent", i)
		h.ok("new", "a goal that is long enough to be hit", "--name", name)
		h.names = append(h.names, name)
		for w := range rotWords {
			word := fmt.Sprintf("%s-word%d", name, w)
			h.ok("send", name, word, `{"text":"`+strings.Repeat("rot ", 20)+`"}`)
			if words[name+" "+word] = w < rotWords/2; w == rotWords/2-1 {
				h.ok("export", name, h.file(name+".good"))
			}
		}
	}
	flips := 1 + r.rng.IntN(2)
	for range flips {
		h.flip(r.rng, one(r, h.files()...), 1)
		r.faults++
	}
	ended, log := h.cure(r.rng.IntN(2) == 0)
	imported := slices.ContainsFunc(log, func(line string) bool { return strings.HasPrefix(line, "perdure import") })
	if r.sabotaged {
		for _, f := range h.files() {
			h.flip(r.rng, f, 400)
		}
	}
	if !ended {
		r.Wrong("the doctor's advice does not end:\n%s", strings.Join(log, "\n"))
	}
	h.afterwards(words, imported, flips, log)
}

// files are those that hold entries.
func (h *home) files() []string {
	if h.folder == h.store {
		files, err := filepath.Glob(filepath.Join(h.store, storeFile+"*"))
		h.r.must(err)
		return slices.DeleteFunc(files, func(f string) bool {
			info, err := os.Stat(f)
			return err != nil || !info.Mode().IsRegular() || info.Size() == 0 || strings.HasSuffix(f, "-shm") ||
				strings.Contains(f, "damaged")
		})
	}
	files, err := filepath.Glob(filepath.Join(h.folder, "*"+capsule.Ext))
	h.r.must(err)
	return files
}

// flip changes bytes of a file.
func (h *home) flip(rng *rand.Rand, path string, n int) {
	b, err := os.ReadFile(path)
	h.r.must(err)
	for range n {
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	}
	h.r.must(os.WriteFile(path, b, 0o600))
}

// advised finds commands in advice.
var advised = regexp.MustCompile("perdure [a-z]+(?: (?:--?[a-z-]+|[a-z]+[0-9][a-z0-9./-]*|[0-9a-f]{8,}))*")

// cure asks the doctor, does what it says, and asks again, until it finds nothing wrong. Of two ways it takes the
// first, or the last.
func (h *home) cure(last bool) (well bool, log []string) {
	tried := map[string]int{}
	for range cures {
		out, err := h.try("doctor", "--json")
		var said []struct{ What, Health, Found, Fix string }
		if jerr := json.Unmarshal([]byte(out), &said); jerr != nil {
			return false, append(log, fmt.Sprintf("%v: %q %v", jerr, out, err))
		}
		wrong, did := 0, 0
		for _, s := range said {
			if s.Health == "ok" || s.What == "advisor" {
				continue
			}
			log = append(log, fmt.Sprintf("doctor: %s %s: %s; fix: %s", s.Health, s.What, s.Found, s.Fix))
			wrong++
			did += h.follow(s.Fix, last, tried, &log)
		}
		if wrong == 0 {
			return true, log
		}
		if did == 0 {
			return err == nil, log // nothing more to do, and maybe nothing that matters
		}
	}
	return false, log
}

// follow does one of the things an advice names, the first or the last that was not tried often already.
func (h *home) follow(advice string, last bool, tried map[string]int, log *[]string) (did int) {
	ways := strings.Split(advice, ", or ")
	if last {
		slices.Reverse(ways)
	}
	for _, way := range ways {
		commands := advised.FindAllString(strings.TrimPrefix(way, "import "), -1)
		if strings.Contains(way, "import") { // whatever it says of where good copies are
			commands = slices.DeleteFunc(commands, func(c string) bool { return c == "perdure import" })
			for _, name := range h.names {
				commands = append(commands, "perdure import "+h.file(name+".good")+" --older")
			}
		}
		if tried[way]++; tried[way] > 2 || len(commands) == 0 {
			continue
		}
		for _, command := range commands {
			_, err := h.try(strings.Fields(command)[1:]...)
			*log = append(*log, fmt.Sprintf("%.200s: %.400v", command, err))
		}
		return len(commands)
	}
	return 0
}

// afterwards checks that every agent can be read, that no more are the poorer than were hit, and that good copies
// brought everything back.
func (h *home) afterwards(words map[string]bool, imported bool, flips int, log []string) {
	told := fmt.Sprintf("\n%s", strings.Join(log, "\n"))
	for _, name := range h.names {
		if _, err := h.try("verify", name); err != nil {
			h.r.Wrong("after all cures: %v%s", err, told)
			return
		}
	}
	s := h.opened()
	defer closed(h.r.t, s)
	said := map[string]bool{}
	for l, err := range s.List(context.Background(), perdure.Filter{}) {
		h.r.must(err)
		if _, err := checkAgent(context.Background(), s, l.Agent, func(e *perdure.Entry) {
			if ev, ok := e.Content().(perdure.Event); ok {
				said[l.Name+" "+ev.Name] = true
			}
		}); err != nil {
			h.r.Wrong("agent %s: %v%s", l.Name, err, told)
		}
	}
	poorer := map[string]bool{}
	for word, copied := range words {
		h.r.checked++
		if said[word] {
			continue
		}
		name, _, _ := strings.Cut(word, " ")
		if poorer[name] = true; copied && imported {
			h.r.Lost("%q is in a good copy and not here%s", word, told)
		}
	}
	if len(poorer) > flips {
		h.r.Lost("%d flipped bits, and %d agents have lost something%s", flips, len(poorer), told)
	}
}
