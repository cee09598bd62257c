package files

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// play is people and an agent who write at random, with crashes, until all have stopped.
type play struct {
	t       *testing.T
	r       *rand.Rand
	people  []*person
	agent   *workspace.Reader
	n       int
	removed map[string]bool // words that somebody took away on purpose
	wrote   []string        // words of people, and of the agent
	log     []string
	old     perdure.Store      // a backup; nil: there is none
	dirty   [2]map[string]bool // what each person edited since the last sync, as a watcher is told; nil: anything
}

// names are the files that everybody writes to.
var names = []string{"TASKS.md", "notes/a.md", "team/plans/b.md", "LEARNINGS.md", "progress.txt"}

var token = regexp.MustCompile(`tok\d+[a-z]`)

func newPlay(t *testing.T, seed uint64) *play {
	w := newWorld(t, "ann", "bob", "agent")
	agent, err := w.open(2).For(t.Context(), w.agent)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{t: t, r: rand.New(rand.NewPCG(seed, 7)), removed: map[string]bool{},
		people: []*person{w.person(0), w.person(1)}, agent: agent}
	for _, name := range names[:3] {
		p.tell(name, "# "+name+"\n\n- [ ] one\n- [ ] two\n- [ ] three\n- [ ] four\n")
	}
	p.tell("learnings/2026-10.md", "- first\n- second\n")
	return p
}

func (p *play) say(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }

func (p *play) word(who string) string {
	p.n++
	return fmt.Sprintf("tok%d%s", p.n, who)
}

// docPath is the document of a file.
func docPath(name string) string {
	if rest, ok := strings.CutPrefix(name, "team/"); ok {
		return rest
	}
	return "agents/coder/" + name
}

// tell has the agent write a document.
func (p *play) tell(name, text string) {
	p.t.Helper()
	_, err := p.agent.Write(p.t.Context(), workspace.Draft{Path: docPath(name), Text: text})
	if err != nil {
		p.t.Fatal(err)
	}
}

// agentWrites changes a document as an agent would: it takes nothing away that people wrote.
func (p *play) agentWrites() {
	name := names[p.r.IntN(3)]
	if p.r.IntN(5) == 0 {
		name = "learnings/2026-11.md"
		if _, err := p.agent.Append(p.t.Context(), workspace.Draft{Path: docPath(name),
			Text: "- " + p.word("z") + "\n"}); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	d, err := p.agent.Read(p.t.Context(), docPath(name), nil)
	if errors.Is(err, perdure.ErrNotFound) {
		return
	}
	if err != nil {
		p.t.Fatal(err)
	}
	lines := p.change(split(d.Text), "z", false)
	p.notes(d.Text, text(lines))
	p.tell(name, text(lines))
	p.say("agent writes %s: %q", name, lines)
}

// notes notes which words somebody wrote.
func (p *play) notes(before, after string) {
	for _, w := range token.FindAllString(after, -1) {
		if !strings.Contains(before, w) {
			p.wrote = append(p.wrote, w)
		}
	}
}

// change changes a text, and notes what is taken away on purpose.
func (p *play) change(lines []string, who string, free bool) []string {
	at := p.r.IntN(len(lines) + 1)
	word := p.word(who)
	switch p.r.IntN(6) {
	case 0, 1:
		lines = slices.Insert(lines, at, "- [ ] "+word)
	case 2:
		lines = append(lines, "- [ ] "+word)
	default:
		if at == len(lines) {
			return append(lines, word)
		}
		has := token.FindAllString(lines[at], -1)
		mark := strings.HasPrefix(lines[at], "<<<") || strings.HasPrefix(lines[at], "===") ||
			strings.HasPrefix(lines[at], ">>>")
		switch {
		case mark:
			return append(lines, word)
		case p.r.IntN(3) == 0 && (free || len(has) == 0):
			for _, h := range has {
				p.removed[h] = true
			}
			return slices.Delete(lines, at, at+1)
		case p.r.IntN(2) == 0:
			lines[at] = strings.Replace(lines[at], "[ ]", "[x]", 1)
			return append(lines, word)
		default:
			lines[at] += " " + word
		}
	}
	return lines
}

// edits changes a file as a person would: atomically, or in place.
func (p *play) edits(i int, name string) {
	who := p.people[i]
	b, err := os.ReadFile(who.file(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	lines := p.change(split(string(b)), string(rune('a'+i)), true)
	after := text(lines)
	p.notes(string(b), after)
	if p.r.IntN(2) == 0 {
		who.save(name, after)
	} else {
		who.save(name+"~", after)
		if err := os.Rename(who.file(name+"~"), who.file(name)); err != nil {
			p.t.Fatal(err)
		}
	}
	if after == "" { // and left it so
		if err := os.Chtimes(who.file(name), time.Time{}, time.Now().Add(-time.Minute)); err != nil {
			p.t.Fatal(err)
		}
	}
	if p.dirty[i] != nil {
		p.dirty[i][name] = true
	}
	p.say("person %d edits %s: %q", i, name, lines)
}

// deletes takes a file away, or a folder with all that is in it.
func (p *play) deletes(i int) {
	who, name := p.people[i], names[1+p.r.IntN(3)]
	if _, err := os.Stat(who.Dir); err != nil {
		return
	}
	if name == "team/plans/b.md" && p.r.IntN(2) == 0 {
		name = "team"
	}
	for file, text := range who.texts() {
		if file == name || strings.HasPrefix(file, name+"/") {
			for _, w := range token.FindAllString(text, -1) {
				p.removed[w] = true
			}
		}
	}
	if err := os.RemoveAll(who.file(name)); err != nil {
		p.t.Fatal(err)
	}
	p.dirty[i] = nil
	p.say("person %d deletes %s", i, name)
}

// renames gives a file another name, or its old one back, unless that is taken.
func (p *play) renames(i int) {
	who, name := p.people[i], names[1+p.r.IntN(2)]
	other := strings.TrimSuffix(name, ".md") + "-too.md"
	if p.r.IntN(3) == 0 {
		name, other = other, name
	}
	if _, err := os.Stat(who.file(name)); err != nil {
		return
	}
	if _, err := os.Stat(who.file(other)); err == nil {
		return
	}
	if err := os.Rename(who.file(name), who.file(other)); err != nil {
		p.t.Fatal(err)
	}
	p.dirty[i] = nil
	p.say("person %d renames %s to %s", i, name, other)
}

// syncs syncs the folder of a person; it may crash, and the person may write in the middle of it.
func (p *play) syncs(i int, calm bool) *Report {
	who := p.people[i]
	who.fail, who.late = nil, nil
	if crash := p.r.IntN(12); !calm && crash < 6 {
		who.fail = func(string) error {
			if crash--; crash < 0 {
				return errCrash
			}
			return nil
		}
	}
	if !calm && p.r.IntN(3) == 0 {
		left := 1 + p.r.IntN(2)
		who.late = func(file string) {
			if left--; left >= 0 {
				p.say("in the last moment:")
				p.edits(i, file)
			}
		}
	}
	some := p.dirty[i]
	if calm || p.r.IntN(3) == 0 {
		some = nil
	}
	p.say("person %d syncs %v", i, some)
	p.dirty[i] = map[string]bool{}
	r, err := who.syncSome(p.t.Context(), some)
	if err != nil && !errors.Is(err, errCrash) {
		p.t.Fatalf("%v\n%s", err, strings.Join(p.log, "\n"))
	}
	if err != nil {
		p.say("  and crashes")
		p.dirty[i], who.upTo = nil, 0 // another process begins anew
	} else {
		p.say("  %v", r.Changes)
	}
	return r
}

// gits has a person use git in their folder: commit by hand, drop what is not committed, or look at an older commit.
func (p *play) gits(i int) {
	who := p.people[i]
	p.dirty[i] = nil
	before := who.all()
	switch p.r.IntN(4) {
	case 3:
		p.say("person %d puts what is not committed aside", i)
		who.git("stash", "-q")
	case 0:
		p.say("person %d commits", i)
		who.git("add", "-A")
		who.git("commit", "-q", "--allow-empty", "-m", "by hand")
	case 1:
		p.say("person %d drops what is not committed", i)
		who.git("checkout", "-q", "--", ".")
	case 2:
		who.git("add", "-A")
		who.git("commit", "-q", "--allow-empty", "-m", "by hand")
		if who.git("rev-list", "--count", "HEAD") == "1" {
			return
		}
		p.say("person %d looks at an older commit", i)
		at := who.git("rev-parse", "--abbrev-ref", "HEAD")
		who.git("checkout", "-q", "HEAD~1")
		who.fail, who.late = nil, nil
		if _, err := who.Sync(p.t.Context()); err != nil && !errors.Is(err, ErrMoved) {
			p.t.Fatal(err)
		}
		who.git("checkout", "-q", "-f", at)
	}
	after := who.all()
	for _, w := range token.FindAllString(before, -1) {
		if !strings.Contains(after, w) && strings.HasSuffix(w, string(rune('a'+i))) {
			p.removed[w] = true
		}
	}
}

// restores makes a backup of the store, or puts back the one there is.
func (p *play) restores() {
	if p.old == nil {
		p.say("backup")
		p.old = p.people[0].w.backup()
		return
	}
	p.say("the store is put back")
	all := ""
	for _, who := range p.people {
		if _, err := os.Stat(who.Dir); err == nil {
			all += who.all()
		}
	}
	for _, w := range p.wrote {
		if !strings.Contains(all, w) {
			p.removed[w] = true
		}
	}
	for i, who := range p.people {
		who.over(i, p.old)
		p.dirty[i] = nil
	}
	w := p.people[0].w
	agent, err := w.open(2).For(p.t.Context(), w.agent)
	if err != nil {
		p.t.Fatal(err)
	}
	p.agent, p.old = agent, nil
}

// all is all texts in a folder.
func (p *person) all() string {
	all := ""
	for _, text := range p.texts() {
		all += text
	}
	return all
}

// end has everybody sync until nothing happens any more.
func (p *play) end() {
	for range 12 {
		quiet := 0
		for i := range p.people {
			if p.syncs(i, true).still() {
				quiet++
			}
		}
		if quiet == len(p.people) {
			return
		}
	}
	p.t.Fatalf("it does not come to rest:\n%s", strings.Join(p.log, "\n"))
}

func (p *play) check() {
	one, two := p.people[0].texts(), p.people[1].texts()
	all := ""
	for name, text := range one {
		if two[name] != text {
			p.t.Errorf("%s differs:\n%s\nand\n%s", name, text, two[name])
		}
		all += text
	}
	if len(one) != len(two) {
		p.t.Errorf("%d files and %d", len(one), len(two))
	}
	for _, w := range p.wrote {
		if !p.removed[w] && !strings.Contains(all, w) {
			p.t.Errorf("%s is lost", w)
		}
	}
	for name, text := range one {
		if name == "progress.txt" || name == "ERRORS.md" || name == "LEARNINGS.md" {
			continue
		}
		d, err := p.agent.Read(p.t.Context(), docPath(name), nil)
		if err != nil {
			p.t.Errorf("%s is not in memory: %v", name, err)
		} else if d.Text != text {
			p.t.Errorf("%s is %q in memory, and %q in the folder", name, d.Text, text)
		}
	}
	if p.t.Failed() {
		p.t.Log(strings.Join(p.log, "\n"))
	}
}

// People and an agent write at once, syncs crash and meet files that change in the last moment: no text that a person
// wrote is lost, all folders come to show the same, and then nothing happens any more.
func TestNothingThatPeopleWriteIsLost(t *testing.T) {
	t.Parallel()
	plays := 40
	if testing.Short() {
		plays = 12
	}
	for seed := range uint64(plays) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, seed)
			kinds := 4
			if seed%4 == 0 {
				needGit(t)
				p.people[0].Git, kinds = true, 5
			}
			for n := range 30 {
				if seed%6 == 5 && n%5 == 4 {
					p.people[seed%2].Delete = true
					p.deletes(int(seed % 2))
				}
				if seed%5 < 2 && n%4 == 3 {
					p.renames(int(seed % 2))
				}
				if seed%3 == 0 && (n == 8 || n == 20) {
					p.restores()
				}
				switch i := p.r.IntN(2); p.r.IntN(kinds) {
				case 0:
					p.agentWrites()
				case 1, 2:
					if _, err := os.Stat(filepath.Join(p.people[i].Dir, markerName)); err == nil {
						p.edits(i, names[p.r.IntN(len(names))])
					}
				case 3:
					p.syncs(i, false)
				case 4:
					if _, err := os.Stat(filepath.Join(p.people[0].Dir, ".git")); err == nil {
						p.gits(0)
					}
				}
			}
			p.end()
			p.check()
		})
	}
}
