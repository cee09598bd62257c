package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/view"
)

// nodeLog is a logger of what a node does: lines for people on a terminal, else key=value, or JSON.
func nodeLog(c *cobra.Command, level slog.Level) *slog.Logger {
	w := c.ErrOrStderr()
	options := &slog.HandlerOptions{Level: level}
	switch {
	case jsonFlag(c):
		return slog.New(slog.NewJSONHandler(jsonDoor{w}, options))
	case isTerminal(w):
		return slog.New(newPeopleLog(w, level))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// peopleLog writes records as people read them: time, what happened to which agent, and the rest; what has several lines, such as a stack,
// stands below. Values may be a stranger's words, so each stays on its line.
type peopleLog struct {
	w     io.Writer
	mu    *sync.Mutex
	level slog.Level
	attrs []slog.Attr
}

func newPeopleLog(w io.Writer, level slog.Level) *peopleLog {
	return &peopleLog{w: w, mu: new(sync.Mutex), level: level}
}

// Enabled implements slog.Handler.
func (p *peopleLog) Enabled(_ context.Context, l slog.Level) bool { return l >= p.level }

// WithAttrs implements slog.Handler.
func (p *peopleLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *p
	with.attrs = append(with.attrs[:len(with.attrs):len(with.attrs)], attrs...)
	return &with
}

// WithGroup implements slog.Handler. Nothing here has groups.
func (p *peopleLog) WithGroup(string) slog.Handler { return p }

// Handle implements slog.Handler.
func (p *peopleLog) Handle(_ context.Context, r slog.Record) error {
	s := styleOf(p.w)
	head, rest, below := r.Time.Format("15:04:05")+" ", "", ""
	indent, named := len(head), false
	head = s.dim(head)
	each := func(a slog.Attr) bool {
		value := a.Value.Resolve().String()
		switch {
		case a.Key == "agent":
			name := view.ShownName(value) + " "
			head, indent, named = head+s.head(name), indent+columns(name), true
		case value == "" || a.Key == "id" && named:
		case strings.Contains(strings.TrimSpace(value), "\n"):
			below += "\n" + paragraphs("    ", strings.ReplaceAll(value, "\t", "  "), s.width)
		default:
			rest += ", " + a.Key + " " + view.OneLine(value, 0)
		}
		return true
	}
	for _, a := range p.attrs {
		each(a)
	}
	r.Attrs(each)
	for _, word := range []struct {
		from slog.Level
		text string
		tint func(string) string
	}{{slog.LevelError, "error: ", s.bad}, {slog.LevelWarn, "warning: ", s.warn}} {
		if r.Level >= word.from {
			head, indent = head+word.tint(word.text), indent+len(word.text)
			break
		}
	}
	text := hang(strings.Repeat(" ", indent)+view.OneLine(r.Message+rest, 0), 4, s.width)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := io.WriteString(p.w, head+text[indent:]+below+"\n")
	return err
}
