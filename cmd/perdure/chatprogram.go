package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// programFace is a conversation for a program: one JSON value per line in and out.
type programFace struct {
	t  *chat
	in chan programInput
	mu sync.Mutex
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

func (f *programFace) print(v any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return term.WriteJSON(f.t.c.OutOrStdout(), view.Readable(v))
}

// saying is what has no place in the agent's memory.
type saying struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Delta implements home.Listener.
func (f *programFace) Delta(text string) {
	if text != "" {
		_ = f.print(saying{"delta", text}) // what counts comes after it
	}
}

// Show implements home.Listener.
func (f *programFace) Show(s view.Spoken) { _ = f.print(s) } // whoever reads it next finds that it cannot

func (f *programFace) past(of []view.Spoken) {
	for _, s := range of {
		f.Show(s)
	}
}

// Tell implements home.Listener.
func (f *programFace) Tell(text string) { _ = f.print(saying{"note", here(text)}) } // as above

func (f *programFace) rest(r *home.Rest) error { return f.print(r) }

func (f *programFace) begin() {
	f.in = make(chan programInput)
	go f.read() // it ends with its input or with the process
}

func (f *programFace) close() {}

// read reads the input. An interrupt is passed on at once; the rest waits until the turn is over.
func (f *programFace) read() {
	r := bufio.NewReader(f.t.c.InOrStdin())
	for {
		line, err := term.ReadLine(r)
		if errors.Is(err, term.ErrLong) {
			f.in <- programInput{err: perdure.Invalid(err)}
			continue
		}
		if len(strings.TrimSpace(string(line))) > 0 {
			var in programInput
			in.Request, in.err = home.ReadRequest(line)
			if in.Interrupt {
				select {
				case f.t.interrupt <- askedInterrupt{}:
				default:
				}
				continue
			}
			f.in <- in
		}
		if err != nil {
			f.in <- programInput{err: err}
			return
		}
	}
}

// next is what the program wants.
func (f *programFace) next(ctx context.Context, r *home.Rest) (in home.Input, leave bool, err error) {
	for {
		var got programInput
		select {
		case got = <-f.in:
		case <-f.t.Stirred:
			switch news, err := f.t.Look(ctx, r); {
			case err != nil:
				return in, false, err
			case news == home.Due:
				return home.Input{Due: true}, false, nil
			case news == home.Moved:
				return in, false, errMoved
			}
			continue
		case sig := <-f.t.interrupt:
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
			return in, false, nil
		}
		f.t.problem(err)
	}
}
