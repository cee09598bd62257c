package tasks

import (
	"regexp"
	"slices"
	"strings"
)

// box is a line of Markdown that can be ticked.
var box = regexp.MustCompile(`^([ \t]*)(?:[-*+]|\d{1,9}[.)]) \[([ xX])\][ \t]+(.*\S)[ \t]*$`)

// stamp is what people and programs add to a line when they tick it.
var stamp = regexp.MustCompile(`(?:\s*(?:<!--.*?-->|✅.*|@done(?:\([^)]*\))?|` +
	`\((?:done|completed|finished)?:?\s*\d{4}-\d{2}-\d{2}[^()]*\)|(?:—|--?)\s*(?:done\s*)?\d{4}-\d{2}-\d{2}\S*))+\s*$`)

// day is the day in a stamp.
var day = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// boxes are what a file is read into.
type boxes struct {
	list   *List
	open   []int          // the tasks that the next line may be below
	indent []int          // of each task
	parent []int          // of each task; -1: none
	above  []string       // headings
	under  string         // what a box that is in no other one is under
	within map[int]string // of a task with boxes below it: what those are under
	before strings.Builder
	below  map[int]*strings.Builder // of a task: its further lines
}

// maxUnder bounds what is kept of what a box is under: each of many boxes repeats it.
const maxUnder = 1 << 10

// under is what is below a title that is itself under something.
func under(above, title string) string {
	if above != "" {
		title = above + " / " + title
	}
	if len(title) <= maxUnder {
		return title
	}
	return strings.ToValidUTF8(title[:maxUnder], "")
}

// parseBoxes reads Markdown. A box with boxes below it is no task of its own: it is done when they are.
func parseBoxes(src []byte) *List {
	p := &boxes{list: &List{src: src}, within: map[int]string{}, below: map[int]*strings.Builder{}}
	at, number, fenced := 0, 0, false
	for line := range strings.Lines(string(src)) {
		number++
		text := strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
		}
		if m := box.FindStringSubmatchIndex(text); m != nil && !fenced {
			p.box(text, m, at, number)
		} else {
			p.other(text, fenced)
		}
		at += len(line)
	}
	return p.done()
}

// box takes in a line with a box.
func (p *boxes) box(text string, m []int, at, number int) {
	indent := width(text[m[2]:m[3]])
	for len(p.open) > 0 && p.indent[p.open[len(p.open)-1]] >= indent {
		p.open = p.open[:len(p.open)-1]
	}
	parent := -1
	above := p.under
	if len(p.open) > 0 {
		parent = p.open[len(p.open)-1]
		if p.within[parent] == "" {
			up := &p.list.Tasks[parent]
			p.within[parent] = under(up.Under, up.Title)
		}
		above = p.within[parent]
	}
	title := strings.TrimSpace(stamp.ReplaceAllString(text[m[6]:m[7]], ""))
	if title == "" {
		title = strings.TrimSpace(text[m[6]:m[7]])
	}
	t := Task{Title: title, Under: above, Line: number, Done: text[m[4]:m[5]] != " ",
		at: at + m[4], to: at + m[5]}
	if t.Done {
		t.Day = day.FindString(stamp.FindString(text[m[6]:m[7]]))
	}
	p.list.Tasks = append(p.list.Tasks, t)
	p.indent, p.parent = append(p.indent, indent), append(p.parent, parent)
	p.open = append(p.open, len(p.list.Tasks)-1)
}

// other takes in another line: a heading, or more about the task above it.
func (p *boxes) other(text string, fenced bool) {
	if hashes := len(text) - len(strings.TrimLeft(text, "#")); !fenced && hashes > 0 && hashes < 7 &&
		strings.HasPrefix(text[hashes:], " ") {
		title := strings.TrimSpace(text[hashes:])
		if p.list.Title == "" && len(p.list.Tasks) == 0 {
			p.list.Title = title
		}
		p.above = append(p.above[:min(len(p.above), hashes-1)], title)
		p.under = ""
		for _, head := range p.above {
			p.under = under(p.under, head)
		}
		p.open = nil
		return
	}
	if len(p.open) == 0 {
		if len(p.list.Tasks) == 0 {
			p.before.WriteString(text + "\n")
		}
		return
	}
	i := p.open[len(p.open)-1]
	if trimmed := strings.TrimSpace(text); trimmed != "" && !fenced && width(text) <= p.indent[i] {
		p.open = nil // a paragraph of its own
		return
	}
	if p.below[i] == nil {
		p.below[i] = new(strings.Builder)
	}
	p.below[i].WriteString(text + "\n")
}

// done is the list.
func (p *boxes) done() *List {
	all, parent := p.list.Tasks, p.parent
	named(all, func(t *Task) string { return t.Under + "\x00" + t.Title })
	holds := make([]bool, len(all))
	for _, up := range parent {
		if up >= 0 {
			holds[up] = true
		}
	}
	var leaves []Task
	place := map[string]int{}
	for i := range all {
		all[i].Text = strings.TrimRight(all[i].Title, "\n ")
		if more := p.below[i]; more != nil {
			all[i].Text = strings.TrimRight(all[i].Title+"\n"+more.String(), "\n ")
		}
		if place[all[i].ID] = i; !holds[i] {
			leaves = append(leaves, all[i])
		}
	}
	p.list.Text = strings.TrimSpace(p.before.String())
	p.list.Tasks = leaves
	p.list.tick = func(t *Task) []edit {
		i := place[t.ID]
		ticked := map[int]bool{i: true}
		var edits []edit
		if !t.Done {
			edits = []edit{{all[i].at, all[i].to, "x"}}
		}
		for up := parent[i]; up >= 0; up = parent[up] {
			for j := range all {
				if parent[j] == up && !all[j].Done && !ticked[j] {
					return edits
				}
			}
			if ticked[up] = true; !all[up].Done {
				edits = slices.Insert(edits, 0, edit{all[up].at, all[up].to, "x"}) // it stands before those below it
			}
		}
		return edits
	}
	return p.list
}

// Last is the task that was done last, by the days of stamps; of one day, the last in the list. Nil: none says when.
func (l *List) Last() (last *Task) {
	for i := range l.Tasks {
		if t := &l.Tasks[i]; t.Done && t.Day != "" && (last == nil || t.Day >= last.Day) {
			last = t
		}
	}
	return last
}

// Blocked reports whether a list has a task under a heading that says so.
func (t *Task) Blocked() bool {
	return slices.ContainsFunc(strings.Split(t.Under, " / "), func(head string) bool {
		return strings.EqualFold(head, "blocked") || strings.EqualFold(head, "blockers")
	})
}

// width is how far a line is indented.
func width(s string) int {
	n := 0
	for _, r := range s {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// ours is the stamp that Stamp puts behind a box.
var ours = regexp.MustCompile(`\s*\(done \d{4}-\d{2}-\d{2}\)$`)

// Stamp is a list with a stamp behind each box that is ticked in it, was not in an earlier form of it, and has none. A
// box that was ticked and is not any more loses that stamp.
func Stamp(was, now []byte, stamped string) []byte {
	before := map[string]bool{} // what was ticked
	known := map[string]bool{}
	for _, b := range lined(was) {
		known[b.words] = true
		before[b.words] = before[b.words] || b.ticked
	}
	var out []byte
	from := 0
	for _, b := range lined(now) {
		switch {
		case b.ticked && !b.stamped && known[b.words] && !before[b.words]:
			out = append(append(out, now[from:b.end]...), " ("+stamped+")"...)
		case !b.ticked && before[b.words] && b.bare < b.end:
			out = append(out, now[from:b.bare]...)
		default:
			continue
		}
		from = b.end
	}
	return append(out, now[from:]...)
}

// boxLine is a line with a box.
type boxLine struct {
	words   string
	ticked  bool
	stamped bool
	bare    int // where the line ends without our stamp
	end     int // of the line
}

// lined are the lines with boxes of a list.
func lined(src []byte) []boxLine {
	var all []boxLine
	at, fenced := 0, false
	for line := range strings.Lines(string(src)) {
		text := strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
		}
		if m := box.FindStringSubmatchIndex(text); m != nil && !fenced {
			words := text[m[6]:m[7]]
			plain := strings.TrimSpace(stamp.ReplaceAllString(words, ""))
			all = append(all, boxLine{words: plain, ticked: text[m[4]:m[5]] != " ", stamped: plain != words,
				bare: at + m[6] + len(ours.ReplaceAllString(words, "")), end: at + m[7]})
		}
		at += len(line)
	}
	return all
}
