package term

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/perdure/perdure/view"
)

// Log writes records as people read them: time, what happened to which agent, and the rest; what has several lines,
// such as a stack, stands below. Values may be a stranger's words, so each stays on its line.
type Log struct {
	w     io.Writer
	mu    *sync.Mutex
	level slog.Level
	attrs []slog.Attr
}

// LogFormats are how logs are written: auto is lines for people on a terminal, else text.
var LogFormats = []string{"auto", "text", "json"}

// Logger logs to w in one of these formats.
func Logger(w io.Writer, format string, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	switch {
	case format == "json":
		return slog.New(slog.NewJSONHandler(JSONDoor(w), options))
	case format == "auto" && IsTerminal(w):
		return slog.New(NewLog(w, level))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// NewLog is the log for people.
func NewLog(w io.Writer, level slog.Level) *Log {
	return &Log{w: w, mu: new(sync.Mutex), level: level}
}

// Enabled implements slog.Handler.
func (p *Log) Enabled(_ context.Context, l slog.Level) bool { return l >= p.level }

// WithAttrs implements slog.Handler.
func (p *Log) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *p
	with.attrs = append(with.attrs[:len(with.attrs):len(with.attrs)], attrs...)
	return &with
}

// WithGroup implements slog.Handler. Nothing here has groups.
func (p *Log) WithGroup(string) slog.Handler { return p }

// Handle implements slog.Handler.
func (p *Log) Handle(_ context.Context, r slog.Record) error {
	s := StyleOf(p.w)
	head, rest, below := r.Time.Format("15:04:05")+" ", "", ""
	indent, named := len(head), false
	head = s.Dim(head)
	each := func(a slog.Attr) bool {
		value := a.Value.Resolve().String()
		switch {
		case a.Key == "agent":
			name := view.ShownName(value) + " "
			head, indent, named = head+s.Head(name), indent+Columns(name), true
		case value == "" || a.Key == "id" && named:
		case strings.Contains(strings.TrimSpace(value), "\n"):
			below += "\n" + Paragraphs("    ", strings.ReplaceAll(value, "\t", "  "), s.Width)
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
	}{{slog.LevelError, "error: ", s.Bad}, {slog.LevelWarn, "warning: ", s.Warn}} {
		if r.Level >= word.from {
			head, indent = head+word.tint(word.text), indent+len(word.text)
			break
		}
	}
	text := Hang(strings.Repeat(" ", indent)+view.OneLine(r.Message+rest, 0), 4, s.Width)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := io.WriteString(p.w, head+text[indent:]+below+"\n")
	return err
}
