package files

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

func TestTextsMerge(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, base, memory, file, want string }{
		{"only the file", "a\nb\n", "a\nb\n", "a\nx\nb\n", "a\nx\nb\n"},
		{"only memory", "a\nb\n", "a\nb\nc\n", "a\nb\n", "a\nb\nc\n"},
		{"apart", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"},
		{"both append", "a\n", "a\nm\n", "a\nf\n", "a\nm\nf\n"},
		{"both append the same", "a\n", "a\nm\n", "a\nm\n", "a\nm\n"},
		{"one has what the other appended", "a\n", "a\nm\nf\n", "a\nf\n", "a\nm\nf\n"},
		{"adjacent lines", "- [ ] one\n- [ ] two\n", "- [x] one\n- [ ] two\n", "- [ ] one\n- [ ] zwei\n",
			"- [x] one\n- [ ] zwei\n"},
		{"a tick and a line more beside another's line", "# Now\n- [ ] one\n- [ ] two\n",
			"# Now\n- [ ] one\n- [ ] zwei\n",
			"# Now\n- [x] one\n- [ ] two\n- [ ] three\n", "# Now\n- [x] one\n- [ ] zwei\n- [ ] three\n"},
		{"a tick and words of one line", "- [ ] one two three\n", "- [x] one two three\n", "- [ ] one two four\n",
			"- [x] one two four\n"},
		{"a line taken away beside one added", "a\nb\n", "a\nb\nc\n", "a\n", "a\nc\n"},
		{"changed here, taken away there", "a\nb\nc\n", "a\nc\n", "a\nb2\nc\n", "a\nb2\nc\n"},
		{"no line end", "a", "a\nb", "a\nc", "a\nb\nc"},
		{"a tick, and a task in front and other words of the first", "- [ ] buy milk\n- [ ] pay rent\n",
			"- [ ] buy milk\n- [x] pay rent\n", "- [ ] call mum\n- [ ] buy oat milk\n- [ ] pay rent\n",
			markMemory + "\n- [ ] buy milk\n- [x] pay rent\n" + markMiddle +
				"\n- [ ] call mum\n- [ ] buy oat milk\n- [ ] pay rent\n" + markFile + "\n"},
		{"a tick, and another task in the place of the one", "- [ ] pay rent\n", "- [x] pay rent\n", "- [ ] call mum\n",
			markMemory + "\n- [x] pay rent\n" + markMiddle + "\n- [ ] call mum\n" + markFile + "\n"},
		{"clash", "a\nb\nc\n", "a\nm\nc\n", "a\nf\nc\n",
			"a\n" + markMemory + "\nm\n" + markMiddle + "\nf\n" + markFile + "\nc\n"},
		{"the same word, and a tick", "- [ ] write the parser\n", "- [ ] write the new parser\n",
			"- [x] write the new parser\n", "- [x] write the new parser\n"},
		{"the same word, a tick, and one more", "- [ ] write the parser\n", "- [ ] write the new parser\n",
			"- [x] write the new parser now\n", "- [x] write the new parser now\n"},
		{"the same paragraph, and another title", "# A\n\nx\n\ny\n", "# A\n\nx\n\nnew\n\ny\n",
			"# B\n\nx\n\nnew\n\ny\n", "# B\n\nx\n\nnew\n\ny\n"},
		{"one of two alike, taken away by both", "a\nx\nx\ny\n", "t\na\nx\ny\n", "a\nx\ny\n", "t\na\nx\ny\n"},
		{"nothing before", "", "m\n", "f\n", "m\nf\n"},
	} {
		got, conflict := merge(x.base, x.memory, x.file)
		if got != x.want || conflict != strings.Contains(x.want, markFile) {
			t.Errorf("%s: got %q (conflict %v), want %q", x.name, got, conflict, x.want)
		}
		if again, _ := merge(x.base, got, x.file); again != got {
			t.Errorf("%s, once more: got %q, want %q", x.name, again, got)
		}
	}
}

// Whatever two change in one text, what each wrote is in the result, and merging again changes nothing.
func TestMergesLoseNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var base []string
		for i := range r.IntN(8) {
			base = append(base, fmt.Sprintf("- [ ] line %d of %d", i%3, r.IntN(3)))
		}
		memory, wroteM := scribble(r, base, "m")
		file, wroteF := scribble(r, base, "f")
		b, m, f := text(base), text(memory), text(file)
		got, _ := merge(b, m, f)
		for _, w := range append(wroteM, wroteF...) {
			if !strings.Contains(got, w) {
				t.Fatalf("seed %d: %s is lost\nbase:\n%smemory:\n%sfile:\n%sgot:\n%s", seed, w, b, m, f, got)
			}
		}
		if again, _ := merge(f, got, got); again != got {
			t.Fatalf("seed %d: merged again: %q, want %q", seed, again, got)
		}
	}
}

// Whatever one does to a list of tasks, what the other ticked is ticked, or there is a conflict, and no other task is.
func TestATickStaysWithItsTask(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var base []string
		for i := range 1 + r.IntN(6) {
			base = append(base, fmt.Sprintf("- [ ] do%d the%d thing%d", i, i, i))
		}
		ticked, ticks := slices.Clone(base), []string(nil)
		for i := range base {
			if r.IntN(2) == 0 {
				ticked[i], ticks = strings.Replace(base[i], "[ ]", "[x]", 1), append(ticks, fmt.Sprintf("thing%d", i))
			}
		}
		other, gone := slices.Clone(base), []string(nil)
		for n := range r.IntN(5) {
			switch at := r.IntN(len(other) + 1); {
			case at == len(other) || r.IntN(3) == 0:
				other = slices.Insert(other, at, fmt.Sprintf("- [ ] new%d task%d", n, n))
			case r.IntN(3) == 0:
				gone = append(gone, other[at])
				other = slices.Delete(other, at, at+1)
			case r.IntN(4) == 0 && at > 0:
				other[at-1], other[at] = other[at], other[at-1]
			default:
				other[at] = strings.Replace(other[at], "the", fmt.Sprintf("word%d the", n), 1)
			}
		}
		for turn, sides := range [][2][]string{{ticked, other}, {other, ticked}} {
			got, conflict := merge(text(base), text(sides[0]), text(sides[1]))
			fail := func(what string) {
				t.Fatalf("seed %d, turn %d: %s\nbase:\n%sone:\n%sother:\n%sgot:\n%s", seed, turn, what, text(base),
					text(sides[0]), text(sides[1]), got)
			}
			for _, line := range split(got) {
				task := func(tick string) bool { return strings.HasSuffix(line, tick) }
				if strings.Contains(line, "[x]") && !slices.ContainsFunc(ticks, task) {
					fail("another task is ticked: " + line)
				}
			}
			for _, tick := range ticks {
				is := func(line string) bool { return strings.HasSuffix(line, tick) }
				ends := func(line string) bool { return is(line) && strings.Contains(line, "[x]") }
				if !slices.ContainsFunc(split(got), ends) && (conflict || !slices.ContainsFunc(gone, is)) {
					fail("the tick is lost: " + tick)
				}
			}
			for _, line := range other {
				said := line[len("- [ ] "):]
				if !strings.Contains(got, said) {
					fail("text is lost: " + said)
				}
			}
		}
	}
}

func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// scribble changes a text as somebody would, and returns the words that are new and still there.
func scribble(r *rand.Rand, base []string, who string) (lines, wrote []string) {
	lines = slices.Clone(base)
	for n := range r.IntN(4) {
		word := fmt.Sprintf("%sword%d", who, n)
		switch at := r.IntN(len(lines) + 1); {
		case at == len(lines) || r.IntN(3) == 0:
			lines, wrote = slices.Insert(lines, at, "- [ ] "+word), append(wrote, word)
		case strings.Contains(lines[at], "word"):
		case r.IntN(3) == 0:
			lines = slices.Delete(lines, at, at+1)
		case r.IntN(3) == 0:
			lines[at] = strings.Replace(lines[at], "[ ]", "[x]", 1)
		case r.IntN(2) == 0:
			lines[at], wrote = strings.Replace(lines[at], "line", "line "+word, 1), append(wrote, word)
		default:
			lines[at], wrote = word, append(wrote, word)
		}
	}
	return lines, wrote
}

// However many versions stand beside each other, a text has so many of them, and those that follow once they are one.
func TestManyVersionsComeByAndBy(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/a.md", "a\n")
	texts := make([]string, workspace.MaxBase+7)
	for i := range texts {
		texts[i] = fmt.Sprintf("version-%d-\n", i)
	}
	p.twice("agents/coder/a.md", texts[0], texts[1:]...)
	seen := map[string]bool{}
	for _, left := range []int{len(texts) - workspace.MaxBase, 0} {
		p.sync()
		is := p.texts()["a.md"]
		for _, text := range texts {
			seen[text] = seen[text] || strings.Contains(is, text)
		}
		p.still()
		p.save("a.md", fmt.Sprintf("settled, but for %d\n", left))
		p.sync()
		if got := len(p.read("agents/coder/a.md").Beside); got != left {
			t.Fatalf("%d versions are left beside it, want %d", got, left)
		}
	}
	for _, text := range texts {
		if !seen[text] {
			t.Errorf("%q was in no text", text)
		}
	}
}

func TestVersionsBesideEachOtherAreBothShown(t *testing.T) {
	t.Parallel()
	l := lineage{}
	got, _, err := l.merged(t.Context(), []*workspace.Document{{Text: "a\nb\nc\n"}, {Text: "a\nd\nc\n"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "a\n" + markOne + "\nb\n" + markMiddle + "\nd\n" + markOther + "\nc\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Of two homes one removes a document and the other changes it: what was written is in the folder, alone, and what a
// person adds comes back.
func TestWhatAnotherHomeRemovedStaysAsItWasChanged(t *testing.T) {
	t.Parallel()
	const path = "agents/coder/a.md"
	for _, more := range []int{0, 9} {
		p := newWorld(t, "ann").person(0)
		p.write(path, "one\ntwo\n")
		p.sync()
		apart := p.w.copy(new(perdure.MemStore))
		other := apart.person(0)
		for i := range more {
			other.write(fmt.Sprintf("agents/coder/more/%d.md", i), "more\n")
		}
		if _, err := other.Reader.Remove(t.Context(), path, nil, nil); err != nil {
			t.Fatal(err)
		}
		p.write(path, "one\ntwo\nthree\n")
		if err := p.w.store.Put(t.Context(), p.w.agent.ID(), apart.entries()...); err != nil {
			t.Fatal(err)
		}
		p.save("a.md", "zero\none\ntwo\n")
		p.sync()
		p.shows("a.md", "zero\none\ntwo\nthree\n")
		if d := p.read(path); d.Text != "zero\none\ntwo\nthree\n" || len(d.Beside) != 0 {
			t.Errorf("it reads %q and %d beside it", d.Text, len(d.Beside))
		}
		p.still()
	}
}
