package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Tail says what is followed.
type Tail struct {
	Agent string // empty: every agent
	After string // the position of the last line that is known; start: from the beginning; empty: see Last
	Last  int    // without a position: how many past lines of an agent to begin with
	Kinds []string
	Tool  string
	// Lost, if it is not nil, is told why a connection ended and none has followed yet: it goes on trying.
	Lost func(error)
}

func (t *Tail) path(after string) string {
	q := url.Values{}
	if after != "" {
		q.Set("after", after)
	} else if t.Agent != "" {
		q.Set("last", strconv.Itoa(t.Last))
	}
	for _, k := range t.Kinds {
		q.Add("kind", k)
	}
	if t.Tool != "" {
		q.Set("tool", t.Tool)
	}
	if t.Agent == "" {
		return "/v1/tail?" + q.Encode()
	}
	return agentPath(t.Agent, "/tail?"+q.Encode())
}

const (
	// tailAgain is how long it waits before it connects again, at first and at most.
	tailAgain, tailMost = 100 * time.Millisecond, 5 * time.Second
	// tailSilence is how long a stream may say nothing, not even that it is alive.
	tailSilence = time.Minute
	// maxLine bounds a line of a stream.
	maxLine = 128 << 20
	// eventStream is the media type of a stream that does not end.
	eventStream = "text/event-stream"
)

// Tail yields lines as they arrive, over as many connections as it takes: each goes on behind the last line, whose
// cursor is its position. It ends when ctx does, and of one agent when that has ended and everything was yielded. A
// server that refuses ends it, and so do one that was never reached and a line that cannot be read.
func (c *Client) Tail(ctx context.Context, t Tail) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		after, wait, reached, lost := t.After, tailAgain, false, false
		reach := func() { reached, lost = true, false }
		for {
			got, err := c.follow(ctx, &t, &after, reach, yield)
			var p *Problem
			answered := errors.As(err, &p)
			switch {
			case errors.Is(err, errOver):
				return
			case ctx.Err() != nil:
				yield(Line{}, ctx.Err())
				return
			case errors.Is(err, ErrStranger), answered && p.Status < 500 && p.Kind != "too-many", !answered && !reached:
				yield(Line{}, err)
				return
			case got:
				wait = tailAgain
			case !lost && t.Lost != nil && wait > tailAgain: // the next connection did not come at once, either
				lost = true
				t.Lost(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
			wait = min(2*wait, tailMost)
		}
	}
}

// errOver says that who follows wants no more.
var errOver = errors.New("over")

// follow reads one connection to its end. Got says that something came.
func (c *Client) follow(
	ctx context.Context,
	t *Tail,
	after *string,
	reached func(),
	yield func(Line, error) bool,
) (got bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, _, err := c.send(ctx, http.MethodGet, t.path(*after), "", nil, false,
		func(r *http.Request) { r.Header.Set("Accept", eventStream) })
	if err != nil {
		return false, err
	}
	if res.StatusCode != http.StatusOK {
		return false, c.read(res, nil)
	}
	defer func() { _ = res.Body.Close() }() // it is over
	reached()
	alive := time.AfterFunc(tailSilence, cancel)
	defer alive.Stop()
	for ev, err := range events(res.Body, func() { alive.Reset(tailSilence) }) {
		if err != nil {
			return got, c.broken(err)
		}
		switch ev.name {
		case "reset":
			*after = "start" // everything follows, also over another connection
		case "ended":
			return got, errOver
		case "entry":
			var l Line
			if err := json.Unmarshal(ev.data, &l); err != nil { // what came is told or asked for again, never left out
				yield(Line{}, fmt.Errorf("the line at %s of the stream cannot be read: %w", ev.id, err))
				return got, errOver
			}
			if l.Cursor = ev.id; !yield(l, nil) {
				return got, errOver
			}
			got = true
		}
		if ev.id != "" {
			*after = ev.id
		}
	}
	return got, c.broken(io.ErrUnexpectedEOF)
}

// event is one of a stream.
type event struct {
	id, name string
	data     []byte
}

// events reads a stream as the HTML standard says. Alive is called with each line, comments too.
func events(r io.Reader, alive func()) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(make([]byte, 0, 64<<10), maxLine)
		var ev event
		for in.Scan() {
			alive()
			line := in.Bytes()
			if len(line) == 0 {
				if ev.name != "" || ev.data != nil || ev.id != "" {
					if !yield(ev, nil) {
						return
					}
				}
				ev = event{}
				continue
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "id":
				ev.id = string(value)
			case "event":
				ev.name = string(value)
			case "data":
				if ev.data != nil {
					ev.data = append(ev.data, '\n')
				}
				ev.data = append(ev.data, value...)
			}
		}
		if err := in.Err(); err != nil {
			yield(event{}, err)
		}
	}
}
