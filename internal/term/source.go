package term

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

// source is an input. A read of it cannot be called off, so there is one for all who ask in a process, and its
// goroutine ends with the input or with the process.
type source struct {
	in      io.Reader
	keysOn  sync.Once
	linesOn sync.Once

	chunks chan typed // of a terminal, as it comes

	want    chan struct{}
	lines   chan typed
	waiting bool // a line was asked for and has not come

	mu     sync.Mutex
	passTo chan os.Signal // where Ctrl-C goes; nil: it is a key
}

// typed is a piece of the input.
type typed struct {
	text []byte
	err  error
}

var sources sync.Map // by input

func sourceOf(in io.Reader) *source {
	s, _ := sources.LoadOrStore(in, &source{in: in, chunks: make(chan typed, 64), want: make(chan struct{}),
		lines: make(chan typed)})
	return s.(*source)
}

// readKeys reads what is typed, as it comes.
func (s *source) readKeys() {
	s.keysOn.Do(func() {
		go func() {
			for {
				b := make([]byte, 4096)
				n, err := s.in.Read(b)
				s.chunks <- typed{s.interrupted(b[:n]), err}
				if err != nil {
					return
				}
			}
		}()
	})
}

// readLines reads lines, each when it is asked for.
func (s *source) readLines() {
	s.linesOn.Do(func() {
		go func() {
			r := bufio.NewReader(s.in)
			for range s.want {
				line, err := ReadLine(r)
				if errors.Is(err, io.EOF) && len(line) > 0 {
					err = nil // the last line needs no end
				}
				s.lines <- typed{line, err}
			}
		}()
	})
}

const (
	ctrlC = 0x03
	ctrlD = 0x04
)

// leaving is the signal of who wants to leave while nobody asks; see home.Leaving.
type leaving struct{}

func (leaving) Signal()         {}
func (leaving) String() string  { return "leaving" }
func (leaving) Elsewhere() bool { return true }

// idle says that nobody asks, and where Ctrl-C goes meanwhile.
func (s *source) idle(to chan os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passTo = to
}

// interrupted passes Ctrl-C on while nobody asks, and returns the rest of what was typed. A Ctrl-D is passed on and
// stays: whoever asks next learns that they leave.
func (s *source) interrupted(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sig os.Signal
	switch {
	case s.passTo == nil:
		return b
	case bytes.IndexByte(b, ctrlC) >= 0:
		sig = os.Interrupt
	case bytes.Equal(b, []byte{ctrlD}):
		sig = leaving{}
	default:
		return b
	}
	select {
	case s.passTo <- sig:
	default:
	}
	return bytes.ReplaceAll(b, []byte{ctrlC}, nil)
}

// Interrupted is a context that an interrupt ends, until it is ready.
func Interrupted(ctx context.Context, interrupt <-chan os.Signal) (_ context.Context, ready func()) {
	ctx, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		select {
		case <-interrupt:
			stop()
		case <-over:
		case <-ctx.Done():
		}
	}()
	return ctx, sync.OnceFunc(func() { close(over) })
}

// Interruptible is an input that ends with an error when ctx does. A read of a terminal or a pipe cannot be called off:
// what reads it ends with the input or with the process.
func Interruptible(ctx context.Context, in io.Reader) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
		stop()
	}()
	return r
}
