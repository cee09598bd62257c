package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
)

// bareServer is what net/http alone can do: the floor of the serve workload.
type bareServer struct {
	file *os.File
	in   chan bareWrite
	done chan struct{}
	show []byte

	mu      sync.Mutex
	readers map[chan []byte]struct{}
}

// bareWrite is a body to be appended, and whoever waits until it is synced.
type bareWrite struct {
	body []byte
	done chan error
}

func newBare(dir string) (*bareServer, error) {
	f, err := os.Create(filepath.Join(dir, "bare.log"))
	if err != nil {
		return nil, err
	}
	b := &bareServer{
		file:    f,
		in:      make(chan bareWrite, 1024),
		done:    make(chan struct{}),
		readers: map[chan []byte]struct{}{},
	}
	go b.commit()
	return b, nil
}

// commit writes what is there, syncs it once, and says so to all who wait.
func (b *bareServer) commit() {
	defer close(b.done)
	for first := range b.in {
		batch := []bareWrite{first}
		for more := true; more && len(batch) < 1024; {
			select {
			case w, ok := <-b.in:
				if more = ok; ok {
					batch = append(batch, w)
				}
			default:
				more = false
			}
		}
		var err error
		for _, w := range batch {
			if err == nil {
				_, err = b.file.Write(w.body)
			}
		}
		if err == nil {
			err = b.file.Sync()
		}
		for _, w := range batch {
			w.done <- err
		}
	}
}

func (b *bareServer) close() error {
	close(b.in)
	<-b.done
	return b.file.Close()
}

// append makes a body durable, together with all others that wait.
func (b *bareServer) append(r *http.Request) ([]byte, error) {
	body, err := posted(r)
	if err != nil {
		return nil, err
	}
	w := bareWrite{body, make(chan error, 1)}
	b.in <- w
	return body, <-w.done
}

// plain makes a body durable by a sync of its own, as most handlers do.
func (b *bareServer) plain(r *http.Request) ([]byte, error) {
	body, err := posted(r)
	if err == nil {
		_, err = b.file.Write(body)
	}
	if err == nil {
		err = b.file.Sync()
	}
	return body, err
}

func posted(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err == nil && !json.Valid(body) {
		err = errors.New("it is not JSON")
	}
	return body, err
}

func (b *bareServer) serve(ctx context.Context, ln net.Listener) error {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, body []byte, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // who has gone needs no answer
	}
	mux.HandleFunc("POST /append", func(w http.ResponseWriter, r *http.Request) {
		body, err := b.append(r)
		answer(w, fmt.Appendf(nil, `{"bytes":%d}`, len(body)), err)
	})
	mux.HandleFunc("POST /plain", func(w http.ResponseWriter, r *http.Request) {
		body, err := b.plain(r)
		answer(w, fmt.Appendf(nil, `{"bytes":%d}`, len(body)), err)
	})
	mux.HandleFunc("GET /show", func(w http.ResponseWriter, _ *http.Request) { answer(w, b.show, nil) })
	mux.HandleFunc("POST /tell", func(w http.ResponseWriter, r *http.Request) {
		body, err := b.append(r)
		if err == nil {
			b.spread(fmt.Appendf(nil, "id: 1\nevent: entry\ndata: %s\n\n", body))
		}
		answer(w, []byte("{}"), err)
	})
	mux.HandleFunc("GET /tail", func(w http.ResponseWriter, r *http.Request) { b.follow(ctx, w, r) })
	s := &http.Server{Handler: mux} //nolint:gosec // it is there for a moment, on loopback
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	return s.Serve(ln)
}

// spread copies an event to every reader.
func (b *bareServer) spread(event []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.readers {
		r <- event
	}
}

// follow writes events to a reader as they come.
func (b *bareServer) follow(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	in := make(chan []byte, 1024)
	b.mu.Lock()
	b.readers[in] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.readers, in)
		b.mu.Unlock()
	}()
	c := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	for c.Flush() == nil {
		select {
		case <-ctx.Done():
			return
		case <-r.Context().Done():
			return
		case event := <-in:
			if _, err := w.Write(event); err != nil {
				return
			}
		}
	}
}
