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

func newProgramFace(t *chat) *programFace { return &programFace{t: t} }

func (f *programFace) print(v any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return printJSON(f.t.c.OutOrStdout(), view.Readable(v))
}

// saying is what has no place in the agent's memory.
type saying struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (f *programFace) delta(text string) {
	if text != "" {
		_ = f.print(saying{"delta", text}) // what counts comes after it
	}
}

func (f *programFace) show(s view.Spoken) { _ = f.print(s) } // whoever reads it next finds that it cannot

func (f *programFace) past(of []view.Spoken) {
	for _, s := range of {
		f.show(s)
	}
}

func (f *programFace) tell(format string, args ...any) {
	_ = f.print(saying{"note", here(fmt.Sprintf(format, args...))}) // as above
}

func (f *programFace) rest(r *chatRest) error { return f.print(r) }

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
func (f *programFace) next(ctx context.Context, r *chatRest) (chatInput, error) {
	if f.in == nil {
		f.in = make(chan programInput)
		go f.read() // it ends with its input or with the process
	}
	for {
		var in programInput
		select {
		case in = <-f.in:
		case sig := <-f.t.interrupt:
			if sig == os.Interrupt {
				return chatInput{leave: true}, nil
			}
			continue // there is no turn to interrupt
		case <-ctx.Done():
			return chatInput{}, ctx.Err()
		}
		out, err := in.wants(r)
		if errors.Is(err, io.EOF) {
			return chatInput{leave: true}, nil
		}
		if err == nil {
			return out, nil
		}
		f.t.problem(err)
	}
}

// wants is what an input asks for where a conversation rests.
func (in *programInput) wants(r *chatRest) (chatInput, error) {
	switch {
	case in.err != nil:
		return chatInput{}, in.err
	case in.Quit:
		return chatInput{leave: true}, nil
	case in.Go:
		return chatInput{}, nil
	case strings.TrimSpace(in.Say) != "":
		return chatInput{say: in.Say}, nil
	case in.Approve == "" && in.Deny == "":
		return chatInput{}, perdure.Invalid(errors.New("want one of say, approve, deny, go, interrupt and quit"))
	}
	prefix := strings.ToLower(in.Approve + in.Deny)
	for i := range r.Waits {
		w := &r.Waits[i]
		if len(prefix) >= view.MinPrefix && w.Kind == view.WaitApproval && strings.HasPrefix(w.Digest.String(), prefix) {
			return chatInput{digest: w.Digest, yes: in.Approve != "", note: in.Note}, nil
		}
	}
	return chatInput{}, perdure.Missing("nothing with the digest " + prefix + " is asked for")
}
