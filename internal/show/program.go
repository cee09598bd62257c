package show

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// Program is a conversation for a program: one JSON value per line in and out.
type Program struct {
	talk      *home.Conversation
	input     io.Reader
	out       io.Writer
	interrupt chan os.Signal
	typed     func(text string) string
	in        chan programInput
	quits     atomic.Bool // it wants to leave, also the turns that are still to come
	mu        sync.Mutex
}

const (
	// readAhead is how much of the input is read during a turn: an interrupt and a quit may come behind it.
	readAhead = 64
	// endPatience is how long a turn still waits for its model after the end of the input: who writes one message, and
	// no more, wants the answer.
	endPatience = 10 * time.Second
)

// NewProgram has a program talk that writes to in and reads out. An interrupt that it asks for goes to interrupt, and
// typed is a text in which commands are as they are typed here.
func NewProgram(t *home.Conversation, in io.Reader, out io.Writer, interrupt chan os.Signal,
	typed func(string) string) *Program {
	return &Program{talk: t, input: in, out: out, interrupt: interrupt, typed: typed}
}

// programInput is one value of the input.
type programInput struct {
	home.Request
	err error // it is none, or the input has ended
}

// askedInterrupt is an interrupt that the input asks for.
type askedInterrupt struct{}

func (askedInterrupt) String() string { return "interrupt" }
func (askedInterrupt) Signal()        {}

// askedQuit is the wish to leave; see home.Leaving.
type askedQuit struct{}

func (askedQuit) String() string  { return "quit" }
func (askedQuit) Signal()         {}
func (askedQuit) Elsewhere() bool { return false } // who says something and quits wants the answer

func (f *Program) print(v any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return term.WriteJSON(f.out, view.Readable(v))
}

// saying is what has no place in the agent's memory.
type saying struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Delta implements home.Listener.
func (f *Program) Delta(text string) {
	if text != "" {
		_ = f.print(saying{"delta", text}) // what counts comes after it
	}
}

// Show implements home.Listener.
func (f *Program) Show(s view.Spoken) { _ = f.print(s) } // whoever reads it next finds that it cannot

// Past implements home.Talker.
func (f *Program) Past(said []view.Spoken) {
	for _, s := range said {
		f.Show(s)
	}
}

// Tell implements home.Listener.
func (f *Program) Tell(text string) { _ = f.print(saying{"note", f.typed(text)}) } // as above

// Resting implements home.Talker.
func (f *Program) Resting(r *home.Rest) error {
	for i := range r.Waits {
		r.Waits[i].Type(f.typed)
	}
	return f.print(r)
}

// Begin implements home.Talker.
func (f *Program) Begin() {
	f.in = make(chan programInput, readAhead)
	go f.read() // it ends with its input or with the process
}

// Close implements home.Talker.
func (f *Program) Close() {}

// signal passes on what is for the turn.
func (f *Program) signal(sig os.Signal) {
	select {
	case f.interrupt <- sig:
	default:
	}
}

// quit has it leave where it rests, and not wait in a turn.
func (f *Program) quit() {
	f.quits.Store(true)
	f.signal(askedQuit{})
}

// read reads the input. An interrupt is passed on at once, and so is that it leaves; the rest waits until the turn is
// over.
func (f *Program) read() {
	r := bufio.NewReader(f.input)
	for {
		line, err := term.ReadLine(r)
		if errors.Is(err, term.ErrLong) {
			f.in <- programInput{err: perdure.Invalid(err)}
			continue
		}
		if len(strings.TrimSpace(string(line))) > 0 {
			var in programInput
			in.Request, in.err = home.ReadRequest(line)
			switch {
			case in.Interrupt:
				f.signal(askedInterrupt{})
			case f.quits.Load(): // it has gone
			default:
				f.in <- in
			}
			if in.Quit {
				f.quit()
			}
		}
		if err != nil {
			time.AfterFunc(endPatience, f.quit)
			f.in <- programInput{err: err}
			return
		}
	}
}

// Next implements home.Talker: it is what the program wants.
func (f *Program) Next(ctx context.Context, r *home.Rest) (in home.Input, leave bool, err error) {
	for {
		var got programInput
		select {
		case got = <-f.in:
		case <-f.talk.Stirred:
			switch news, err := f.talk.Look(ctx, r); {
			case err != nil:
				return in, false, err
			case news == home.Due:
				return home.Input{Due: true}, false, nil
			case news == home.Moved:
				return in, false, home.ErrMoved
			}
			continue
		case sig := <-f.interrupt:
			if sig == os.Interrupt {
				return in, true, nil
			}
			continue // there is no turn to interrupt
		case <-ctx.Done():
			return in, false, ctx.Err()
		}
		if got.Quit && got.err == nil || errors.Is(got.err, io.EOF) {
			return in, true, nil
		}
		if err = got.err; err == nil {
			in, err = got.Input(r)
		}
		if err == nil {
			if f.quits.Load() {
				f.signal(askedQuit{})
			}
			return in, false, nil
		}
		f.Tell(home.Trouble(err))
	}
}
