package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// progress shows how far long work is, on a terminal only. The zero progress shows nothing.
type progress struct {
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

// newProgress begins a bar. Work that is over soon shows none.
func newProgress(c *cobra.Command, what string, total int64) *progress {
	p := &progress{what: what, total: total, last: time.Now()}
	if passesOwn(c.ErrOrStderr()) && isTerminal(c.ErrOrStderr()) {
		p.w = c.ErrOrStderr()
	}
	return p
}

// to moves the bar.
func (p *progress) to(done int64) {
	if p.w == nil || time.Since(p.last) < progressEvery {
		return
	}
	p.last, p.shown = time.Now(), true
	if p.total <= 0 {
		_, _ = fmt.Fprintf(p.w, "%s%s %d", clearLine(), p.what, done) // nothing depends on it
		return
	}
	full := int(min(done, p.total) * barWidth / p.total)
	_, _ = fmt.Fprintf(p.w, "%s%s [%s%s] %d/%d", clearLine(), p.what, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, p.total)
}

// end takes the bar away.
func (p *progress) end() {
	if p.shown {
		_, _ = io.WriteString(p.w, clearLine()) // as above
	}
}
