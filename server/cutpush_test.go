package server_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// hole is a network that carries so many bytes of each connection to a server, and then nothing more, while both ends
// stay as they are: neither is told.
func hole(t *testing.T, to string, after int64) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	open := []io.Closer{l}
	keep := func(c io.Closer) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close() // some were closed before
		}
	})
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			keep(in)
			out, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
			if err != nil {
				return
			}
			keep(out)
			go func() { _, _ = io.CopyN(out, in, after) }()
			go func() { _, _ = io.Copy(in, out) }()
		}
	}()
	return "http://" + l.Addr().String()
}

// countingPeer counts what it sends.
type countingPeer struct {
	storePeer
	sent int
}

func (c *countingPeer) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for e, err := range c.storePeer.Missing(ctx, o) {
			if c.sent++; !yield(e, err) {
				return
			}
		}
	}
}

// arriving is how many files lie there, and how large they are.
func arriving(t *testing.T, h *home.Home) (files int, size int64) {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(h.Dir, "arriving"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, one := range all {
		if info, err := one.Info(); err == nil {
			files, size = files+1, size+info.Size()
		}
	}
	return files, size
}

// A push that was cut so that the server does not know it goes on where it stopped when it is tried again at once,
// however long a sender may be silent otherwise.
func TestAPushThatWasCutSilentlyGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *server.Server) { s.Limits.ReadStall = time.Hour })
	n, id := traveller(t, 0)
	const each, events = 8 << 10, 150
	text, err := perdure.DataOf(strings.Repeat("x", each))
	if err != nil {
		t.Fatal(err)
	}
	for range events {
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "e", Data: text}); err != nil {
			t.Fatal(err)
		}
	}
	token := w.token("", home.VerbRead, home.VerbExport, home.VerbImport)
	const cut, tries = 24 * each, 4
	url, largest := hole(t, w.url, cut), int64(0)
	from := &countingPeer{storePeer: storePeer{n.Store}}
	for range tries - 1 {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		_, before := arriving(t, w.home)
		go func() {
			defer close(gone)
			c := &client.Client{URL: url, Token: token}
			defer c.Close()
			for ctx.Err() == nil { // it does not come to an end; refused while another is at work, it is tried again
				_, _ = exchange.Sync(ctx, from, c, id, exchange.Push)
			}
		}()
		for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
			files, size := arriving(t, w.home)
			if largest = max(largest, size); files > 1 {
				t.Fatalf("%d files lie there, want one", files)
			}
			if size >= before+64<<10 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d bytes lie there, after %d", size, before)
			}
		}
		cancel()
		<-gone
	}
	from.sent = 0
	c := &client.Client{URL: w.url, Token: token}
	s, err := exchange.Sync(t.Context(), from, c, id, exchange.Push)
	if err != nil || s.Pushed == nil || s.Pushed.Entries != events+1 {
		t.Fatalf("%+v %v, want all %d entries", s, err, events+1)
	}
	// Each try ended when there were 64 KiB more, whether the server knew of its end or not.
	if want := events - (tries-1)*6; from.sent > want {
		t.Errorf("%d entries were sent at last, want %d at most", from.sent, want)
	}
	if files, _ := arriving(t, w.home); files > 0 || largest > 2*events*each {
		t.Errorf("%d files are left, there were %d bytes", files, largest)
	}
}
