package term

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Said is one thing of a conversation for people: who and what on a line with a short text, else the text below.
func Said(said *view.Said, s Style, whole bool) string {
	head := said.Who + " " + said.What
	if said.What == view.SaidNothing {
		head = said.Who + " gave no answer,"
	}
	if said.Signal != 0 && said.Signal != perdure.OK {
		head += " " + said.Signal.String()
	}
	head = view.InLine(head)
	text := strings.TrimSpace(said.Text)
	switch said.What {
	case view.SaidText, view.SaidAsk, view.SaidEnd, view.SaidGoal:
		if strings.Contains(text, "\n") || s.Width > 0 && Columns(head+": "+text) > s.Width {
			return s.Head(head) + ":\n" + Paragraphs("  ", text, s.Width)
		}
	case view.SaidCall, view.SaidResult:
		if text = view.OneLine(text, 0); !whole {
			text = view.OneLine(text, view.LineWidth)
		}
		return strings.TrimRight(Folded("  "+s.Dim(head)+" ", Columns(head)+3, text, s.Width), "\n")
	default:
		if text = view.OneLine(text, 0); !whole {
			text = view.Cut(text, view.ScreenText)
		}
	}
	if text == "" {
		return s.Head(head)
	}
	return strings.TrimRight(Folded(s.Head(head)+": ", Columns(head)+2, view.InLine(text), s.Width), "\n")
}

// text is the line for people. Columns have fixed widths, since lines come one at a time.
func Line(l view.Line, s Style) string { return LineAfter(l, s, "", 0) }

// after is the line for people behind a head that takes so many columns. On a terminal it goes on under its own
// beginning, so that nothing an entry says can look like another entry.
func LineAfter(l view.Line, s Style, head string, width int) string {
	signal := ""
	if l.Signal != 0 {
		signal = l.Signal.String()
	}
	pad := fmt.Sprintf("%-9s", signal)
	switch l.Signal {
	case 0, perdure.OK:
	case perdure.Partial, perdure.Throttled, perdure.Incapable:
		pad = s.Warn(pad)
	default:
		pad = s.Bad(pad)
	}
	kind := l.Folded
	if kind == "" {
		kind = l.Kind.String()
	}
	seq := fmt.Sprintf("%5d", l.Seq)
	at := stamp(l.Time.Go().Local(), s.Width)
	if l.Time == 0 { // the first entry of an agent that is to exist once has no moment
		at = fmt.Sprintf("%-*s", len(at), "-")
	}
	head += fmt.Sprintf("%s  %s  %-8s  %s  ", seq, s.Dim(at), kind, pad)
	width += len(seq) + 2 + len(at) + 2 + 8 + 2 + 9 + 2
	return strings.TrimSuffix(folded(head, width, l.Said(), s.Width, leastSaid), "\n")
}

// leastSaid is the least room for what an entry says beside its head: with less it stands below, where more words fit a
// line.
const leastSaid = 46

// Beside is the line between entries that were written apart and merged.
func Beside(s Style) string {
	return s.Dim("       written apart from the entries above, and merged with them:")
}

// wideLog is how many columns a terminal has that has room for a whole time beside what an entry says.
const wideLog = 120

// stamp is when an entry was written, as far as there is room.
func stamp(t time.Time, width int) string {
	if width > 0 && width < wideLog {
		return t.Format("01-02 15:04:05")
	}
	return t.Format("2006-01-02 15:04:05.000")
}

// WriteSheet prints, whole, what a person answers for.
func WriteSheet(to io.Writer, w *view.Wait, now time.Time) error {
	return writeRows(to, w, w.Sheet(now), true)
}

// WriteBrief prints what a person is asked about: the action whole, the rest in few words.
func WriteBrief(to io.Writer, w *view.Wait, now time.Time) error {
	return writeRows(to, w, w.Brief(now), false)
}

// writeRows prints rows of an action; by its id: with which agent it is of.
func writeRows(to io.Writer, w *view.Wait, rows []view.Row, byID bool) error {
	s, width := StyleOf(to), WidthOf(to)
	var b strings.Builder
	row := func(label, text string) {
		b.WriteString(Wrapped(fmt.Sprintf("%-10s", label), text, width, s.Head))
	}
	if byID {
		row("agent", strings.TrimSpace(view.ShownName(w.Name)+" "+w.Agent.String()))
	}
	row(cmp.Or(w.Kind, "action"), view.InLine(w.Head()))
	for _, r := range rows {
		for i, text := range r.Text {
			label := r.Label
			if i > 0 {
				label = ""
			}
			row(label, text)
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}
