package term

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// typing is a person who answers one prompt by keys.
type typing struct {
	*Typist
	p       Prompt
	e       *editor
	leaving bool // Ctrl-D was pressed on a text that is not sent
}

// askKeys is Ask at a terminal. What is typed at a question that is withdrawn becomes part of the next message: nobody
// meant it for what comes after.
func (t *Typist) askKeys(ctx context.Context, p Prompt) (text string, err error) {
	a := &typing{Typist: t, p: p, e: &t.draft}
	if p.Message {
		t.draft.history, t.draft.back = p.History, 0
	} else {
		t.keepTyped()
		a.e = new(editor)
	}
	t.idle(nil)
	defer t.idle(t.interrupt)
	a.show()
	for {
		text, done, err := a.typed()
		if done || err != nil {
			return text, err
		}
		select {
		case c := <-t.chunks:
			t.keys.bytes = append(t.keys.bytes, c.text...)
			t.ended = c.err
		case <-p.Stirred:
			if p.Stale() {
				a.withdraw()
				return "", ErrWithdrawn
			}
		case s := <-t.signals:
			if s == continued {
				t.resume()
			}
			t.out.redraw()
		case <-t.interrupt:
			if !a.cleared() {
				return "", ErrInterrupted
			}
		case <-ctx.Done():
			t.out.leave(true)
			return "", ctx.Err()
		}
	}
}

// resume takes the terminal again after another program had it.
func (t *Typist) resume() {
	_, _ = keyMode(t.in.(interface{ Fd() uintptr }).Fd()) // how it was before is known
	t.out.control("\x1b[?2004h")
}

// keepTyped keeps what was typed before a question was shown for the next message; nothing of it is sent by itself.
func (t *Typist) keepTyped() {
	for len(t.chunks) > 0 {
		c := <-t.chunks
		t.keys.bytes = append(t.keys.bytes, c.text...)
		t.ended = c.err
	}
	for {
		p, ok := t.keys.next()
		if !ok {
			return
		}
		if p.key == keyEnter {
			p.key = keyNewline
		}
		t.draft.at = len(t.draft.text)
		t.draft.apply(p)
	}
}

func (a *typing) show() {
	a.out.edit(shown{a.p.Text, a.p.More, append([]rune(nil), a.e.text...), a.e.at})
}

// typed does what the keys say that have come, up to the one that ends the text.
func (a *typing) typed() (text string, done bool, err error) {
	for seen := true; ; seen = false {
		p, ok := a.keys.next()
		if !ok && !seen {
			a.show()
		}
		if !ok {
			break
		}
		leaving := a.leaving
		a.leaving = false
		switch p.key {
		case keyEnter:
			if text, done := a.enter(); done {
				return text, true, nil
			}
		case keyInterrupt:
			if !a.cleared() {
				return "", true, ErrInterrupted
			}
		case keyEOF:
			if a.leaves(leaving) {
				return "", true, io.EOF
			}
		case keyClear:
			a.out.clear()
		case keyTooLong:
			a.say(fmt.Sprintf("what was pasted has more than %d bytes, and is left out", MaxLine))
		default:
			if !a.p.Message { // a question is answered by a line
				p.text = strings.ReplaceAll(p.text, "\n", " ")
			}
			if a.p.Message || p.key != keyNewline {
				a.e.apply(p)
			}
		}
	}
	if a.ended != nil {
		a.out.leave(true)
		return "", true, io.EOF
	}
	return "", false, nil
}

// enter ends the text, unless it goes on in the next line.
func (a *typing) enter() (string, bool) {
	text, ends := a.e.String(), true
	if a.p.Message {
		text, ends = entered(text)
	}
	if !ends {
		a.e.set(text)
		return "", false
	}
	a.e.at = len(a.e.text)
	a.show()
	a.out.leave(true)
	a.e.clear()
	return text, true
}

// leaves is what Ctrl-D does: it leaves where nothing is typed, and else says first that the text was not sent.
func (a *typing) leaves(again bool) bool {
	switch {
	case len(a.e.text) == 0 || again:
		a.out.leave(true)
		return true
	case a.e.at < len(a.e.text):
		a.e.apply(press{key: keyDelete})
	default:
		a.leaving = true
		a.say("this is not sent: Enter sends it, Ctrl-C clears it, Ctrl-D again leaves without it")
	}
	return false
}

// cleared is what Ctrl-C does: it clears what was typed, and reports whether there was anything.
func (a *typing) cleared() bool {
	was := len(a.e.text) > 0
	a.out.leave(true)
	if a.e.clear(); was {
		a.show()
	}
	return was
}

// withdraw takes a question back.
func (a *typing) withdraw() {
	a.out.leave(false)
	if !a.p.Message && len(a.e.text) > 0 {
		a.draft.at = len(a.draft.text)
		if a.draft.at > 0 {
			a.draft.insert("\n")
		}
		a.draft.insert(a.e.String())
	}
}

func (a *typing) say(text string) {
	_, _ = fmt.Fprintln(a.out, StyleOf(a.out).Dim(text)) // whoever does not see it has gone
}
