package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	Say       string `json:"say"`
	Approve   string `json:"approve"`
	Deny      string `json:"deny"`
	Note      string `json:"note"`
	Go        bool   `json:"go"`
	Interrupt bool   `json:"interrupt"`
	Quit      bool   `json:"quit"`

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

// read reads the input. An interrupt is passed on at once; the rest waits until the turn is over.
func (f *programFace) read() {
	r := bufio.NewReader(f.t.c.InOrStdin())
	for {
		line, err := r.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			var in programInput
			dec := json.NewDecoder(strings.NewReader(string(line)))
			dec.DisallowUnknownFields()
			if bad := dec.Decode(&in); bad != nil {
				in.err = perdure.Invalid(fmt.Errorf("the input is no value chat knows: %w", bad))
			}
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
	if f.in == nil {
		f.in = make(chan programInput)
		go f.read() // it ends with its input or with the process
	}
	for {
		var got programInput
		select {
		case got = <-f.in:
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
		if in, err = got.wants(r); err == nil {
			return in, false, nil
		}
		f.t.problem(err)
	}
}

// wants is what an input asks for where a conversation rests.
func (in *programInput) wants(r *home.Rest) (home.Input, error) {
	switch {
	case in.err != nil:
		return home.Input{}, in.err
	case in.Go:
		return home.Input{}, nil
	case strings.TrimSpace(in.Say) != "":
		return home.Input{Say: in.Say}, nil
	case in.Approve == "" && in.Deny == "":
		return home.Input{}, perdure.Invalid(errors.New("want one of say, approve, deny, go, interrupt and quit"))
	}
	prefix := strings.ToLower(in.Approve + in.Deny)
	for i := range r.Waits {
		w := &r.Waits[i]
		if len(prefix) >= view.MinPrefix && w.Kind == view.WaitApproval && strings.HasPrefix(w.Digest.String(), prefix) {
			return home.Input{Digest: w.Digest, Yes: in.Approve != "", Note: in.Note}, nil
		}
	}
	return home.Input{}, perdure.Missing("nothing with the digest " + prefix + " is asked for")
}
