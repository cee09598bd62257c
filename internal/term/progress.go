package term

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Progress shows how far long work is, on a terminal only. The zero progress shows nothing.
type Progress struct {
	w     io.Writer
	what  string
	total int64 // zero: not known
	last  time.Time
	shown bool
}

const (
	// progressEvery is how often a bar moves: faster is only flicker.
	progressEvery = 100 * time.Millisecond
	barWidth      = 30
)

// clearLine empties the line a bar is on.
func clearLine() string { return own("\r\x1b[K") }

// NewProgress begins a bar on w. Work that is over soon shows none.
func NewProgress(w io.Writer, what string, total int64) *Progress {
	p := &Progress{what: what, total: total, last: time.Now()}
	if passesOwn(w) && IsTerminal(w) {
		p.w = w
	}
	return p
}

// To moves the bar.
func (p *Progress) To(done int64) {
	if p.w == nil || time.Since(p.last) < progressEvery {
		return
	}
	p.last, p.shown = time.Now(), true
	if p.total <= 0 {
		_, _ = fmt.Fprintf(p.w, "%s%s %d", clearLine(), p.what, done) // nothing depends on it
		return
	}
	full := int(min(done, p.total) * barWidth / p.total)
	bar := fmt.Sprintf(" [%s%s]", strings.Repeat("#", full), strings.Repeat(".", barWidth-full))
	text := fmt.Sprintf(" %d/%d", done, p.total)
	if width := WidthOf(p.w); width > 0 && Columns(p.what+bar+text) >= width {
		bar = "" // a line that goes on below could not be taken away
	}
	_, _ = io.WriteString(p.w, clearLine()+p.what+bar+text)
}

// Is reports whether the bar is of this work.
func (p *Progress) Is(what string) bool { return p.what == what }

// Of moves the bar of work whose total may change.
func (p *Progress) Of(done, total int64) {
	p.total = total
	p.To(done)
}

// End takes the bar away.
func (p *Progress) End() {
	if p.shown {
		_, _ = io.WriteString(p.w, clearLine()) // as above
	}
}
