package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// Following is how a stream is asked for.
type Following struct {
	Seen  string   `header:"Last-Event-ID" maxLength:"100" doc:"the id of the last event you have: what came after it follows, nothing twice"`
	After string   `query:"after" maxLength:"100" doc:"the same, for those who cannot set headers; or start: from the beginning"`
	Kind  []string `query:"kind,explode" maxItems:"6" doc:"only entries of these kinds"`
	Sig   []string `query:"signal,explode" maxItems:"10"`
	Tool  string   `query:"tool" maxLength:"200"`
}

// streams adds what is followed live.
func (s *Server) streams() {
	add := func(op huma.Operation) huma.Operation {
		data := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.Line](), true, "")
		op.Errors = []int{http.StatusGone}
		op.Description = "Server-sent events. An event entry has a line of a memory as its data and its position as " +
			"its id: give the last id back as Last-Event-ID, and the stream goes on " +
			"without loss or duplicates. An event reset says that the store was rebuilt or restored: positions of " +
			"before mean nothing, everything follows from the beginning. " +
			"An event begin has the position after the past lines that a stream begins with. " +
			"An event ended says that the agent has ended and everything was sent; the stream of that agent then " +
			"ends, and whoever asks for more after its last event is answered with 204. Comments keep the " +
			"connection open."
		op.Responses = map[string]*huma.Response{
			"200": {Description: "A stream of events.", Content: map[string]*huma.MediaType{"text/event-stream": {
				Schema: &huma.Schema{
					Type: "array",
					Items: &huma.Schema{Type: "object", Properties: map[string]*huma.Schema{
						"id": {
							Type: "string",
						}, "event": {Type: "string", Enum: []any{"entry", "begin", "reset", "ended"}}, "data": data}},
				}}}},
			"204": {Description: "The agent has ended, and nothing came after the event that you have."},
		}
		return op
	}
	operation(s, add(get("/v1/agents/{agent}/tail", "tail-agent", "live", "Follow what an agent does")),
		home.VerbRead, s.tailAgent)
	operation(s, add(get("/v1/tail", "tail", "live", "Follow what all agents do")), home.VerbRead, s.tailAll)
}

func (s *Server) tailAgent(ctx context.Context, v *home.Visitor, in *struct {
	Named
	Following
	Last int `query:"last" minimum:"0" maximum:"1000" default:"10" doc:"without a position: how many past entries to begin with"`
}) (*huma.StreamResponse, error) {
	id, err := s.Desk.Find(ctx, v, in.Agent)
	if err != nil {
		return nil, err
	}
	return s.tail(ctx, v, id, &in.Following, in.Last)
}

func (s *Server) tailAll(ctx context.Context, v *home.Visitor, in *Following) (*huma.StreamResponse, error) {
	return s.tail(ctx, v, perdure.AgentID{}, in, 0)
}

// tail begins a stream.
func (s *Server) tail(
	ctx context.Context,
	v *home.Visitor,
	id perdure.AgentID,
	in *Following,
	last int,
) (*huma.StreamResponse, error) {
	c, err := choice(in.Kind, in.Sig, in.Tool)
	if err != nil {
		return nil, err
	}
	t, leave, err := s.live.join(ctx, s.Desk, v.ID(), id)
	if err != nil {
		return nil, err
	}
	r := &reader{s: s, topic: t, who: v, Choice: c, scribe: scribe{desk: s.Desk}}
	if err := r.begin(ctx, in, last); err != nil {
		leave()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer leave()
		req, w := humago.Unwrap(ctx)
		r.req, r.w, r.c = req, w, http.NewResponseController(w)
		r.run(req.Context())
	}}, nil
}

// reader is one who follows.
type reader struct {
	s     *Server
	topic *topic
	who   *home.Visitor
	view.Choice
	scribe scribe

	req *http.Request
	w   http.ResponseWriter
	c   *http.ResponseController

	edition edition
	place   view.Place
	past    []byte // what to begin with
	again   bool   // it was cut off, or came to its end, and asks by itself for what came since
	seen    map[perdure.AgentID]sight
	since   time.Time // when what is there for the visitor was last found out
	beat    *time.Ticker
	checked time.Time // when the reader was found to be one who may read
}

// begin finds where the stream begins.
func (r *reader) begin(ctx context.Context, in *Following, last int) error {
	r.edition, r.again = r.topic.next(0).edition, in.Seen != ""
	given := in.Seen
	if given == "" {
		given = in.After
	}
	switch given {
	case "start":
		return nil
	case "":
		return r.recent(ctx, last)
	}
	at, mark, ours, err := parsePosition(given, r.edition.feed, !r.topic.id.IsZero())
	if err == nil && ours {
		err = r.resume(ctx, given, at, mark)
	}
	if err == nil && !ours || errors.Is(err, view.ErrReordered) {
		r.past, err = reset(r.edition), nil
	}
	return err
}

// reset says that positions of before mean nothing.
func reset(e edition) []byte {
	return written("", "reset", map[string]any{"feed": e.feed.String()[:16]})
}

// resume begins at a position of this feed.
func (r *reader) resume(ctx context.Context, given string, at perdure.Cursor, mark string) error {
	if p, ok := r.topic.place(at, mark); ok {
		r.place = p
		return nil
	}
	if r.topic.id.IsZero() {
		_, end, err := r.s.Desk.Store.(perdure.Feeder).FeedEnd(ctx)
		if err != nil || at > end {
			return cmp.Or(err, noPosition(given, fmt.Sprintf("is behind the end of the stream, %s",
				position(r.edition.feed, view.Place{Cursor: end}))))
		}
		r.place = view.Place{Cursor: at}
		return nil
	}
	free, err := r.s.places.take(ctx) // it reads from the snapshot before
	if err != nil {
		return err
	}
	defer free()
	w, err := view.FollowMarked(ctx, r.s.Desk.Store, r.topic.id, at, mark)
	if err == nil {
		r.place = w.Place()
	}
	return err
}

// recent begins with the last lines of an agent, or now.
func (r *reader) recent(ctx context.Context, last int) error {
	if r.topic.id.IsZero() {
		_, end, err := r.s.Desk.Store.(perdure.Feeder).FeedEnd(ctx)
		r.place = view.Place{Cursor: end}
		return err
	}
	free, err := r.s.places.take(ctx) // it may read a whole memory to find them
	if err != nil {
		return err
	}
	defer free()
	notes := sync.OnceValue(func() bool { return r.s.Desk.ShowsNotes(ctx, r.who, r.topic.id) })
	w, lines, err := view.FollowRecent(ctx, r.s.Desk.Store, r.topic.id, last, view.Fitting(func(l view.Line) bool {
		return r.Fits(l) && (!l.IsDocument() || notes())
	}))
	if err != nil {
		return err
	}
	r.place = w.Place()
	k := r.scribe.begin(ctx, r.topic.id, w.Told())
	var past [][]byte
	size := 0
	for _, one := range slices.Backward(lines) { // as many of the last as fit a page
		one.Call(k.voices)
		text := written("", "entry", view.AgentLine{Agent: r.topic.id, Name: k.name, Line: one})
		if size += len(text); size > maxPage && len(past) > 0 {
			break
		}
		past = append(past, text)
	}
	slices.Reverse(past)
	r.past = bytes.Join(past, nil)
	// Whoever is cut off from here on resumes behind them.
	r.past = append(r.past, "id: "+position(r.edition.feed, r.place)+"\nevent: begin\ndata: {}\n\n"...)
	return nil
}

// over reports whether the agent has ended and this reader has all of it: a browser, which asks again whenever a stream
// ends, is told so by a status that makes it stop.
func (r *reader) over() bool {
	turn := r.topic.next(r.place.Cursor)
	return r.again && r.past == nil && turn.ended && len(turn.frames) == 0 && turn.edition == r.edition
}

// errEnded says that the agent has ended, and that everything was sent.
var errEnded = errors.New("the agent has ended")

// run sends until the agent has ended, the reader leaves, the server stops, or the reader takes nothing for too long.
func (r *reader) run(ctx context.Context) {
	if r.over() {
		r.w.WriteHeader(http.StatusNoContent)
		return
	}
	h := r.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	_ = r.c.SetReadDeadline(time.Time{}) // nothing more is read; where there are none, it has none
	r.w.WriteHeader(http.StatusOK)
	if r.c.Flush() != nil || r.send(r.past) != nil { // who follows is told at once that they do
		return
	}
	r.past = nil
	r.beat, r.checked = time.NewTicker(r.s.Limits.Heartbeat), time.Now()
	defer r.beat.Stop()
	for {
		more, err := r.catchUp(ctx)
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-r.s.live.ctx.Done():
			return
		case <-more:
		case <-r.beat.C:
			if r.recheck(ctx) != nil || r.send([]byte(": \n\n")) != nil {
				return
			}
			if r.topic.unsure.Load() { // no entry may come that has it looked for again
				r.topic.refresh(ctx)
			}
		}
	}
}

// recheckAfter is for how long a reader is sent things without a look whether they may still read.
const recheckAfter = 2 * time.Second

// due rechecks the reader when it is time, however much there is to send.
func (r *reader) due(ctx context.Context) error {
	if time.Since(r.checked) < min(recheckAfter, r.s.Limits.Heartbeat) {
		return nil
	}
	return r.recheck(ctx)
}

// recheck finds out anew who reads, and what they may: tokens are revoked, expire and are changed, agents change scope.
func (r *reader) recheck(ctx context.Context) error {
	v, err := r.s.who(r.req)
	if err == nil {
		err = v.May(home.VerbRead)
	}
	if err == nil && !r.topic.id.IsZero() {
		_, err = r.s.Desk.Find(ctx, v, r.topic.id.String())
	}
	if err != nil {
		return err
	}
	r.who, r.seen, r.checked = v, nil, time.Now()
	return nil
}

// catchUp sends what there is, and returns what is closed when there is more; errEnded: there will be no more.
func (r *reader) catchUp(ctx context.Context) (<-chan struct{}, error) {
	for {
		if err := r.due(ctx); err != nil {
			return nil, err
		}
		turn := r.topic.next(r.place.Cursor)
		if turn.edition != r.edition {
			r.edition, r.place, r.scribe = turn.edition, view.Place{}, scribe{desk: r.s.Desk}
			if err := r.send(reset(r.edition)); err != nil {
				return nil, err
			}
			continue
		}
		if turn.before {
			if err := r.fromStore(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if err := r.sendAll(ctx, turn.frames); err != nil {
			return nil, err
		}
		if turn.ended {
			// Behind what was left out for this reader, too: whoever asks again from there is told that it is over.
			end := written(position(r.edition.feed, r.place), "ended", map[string]any{"agent": r.topic.id})
			return nil, cmp.Or(r.send(end), errEnded)
		}
		if !turn.rest {
			return turn.more, nil
		}
	}
}

// sendAll sends the frames that are for this reader.
func (r *reader) sendAll(ctx context.Context, frames []frame) error {
	texts := make([][]byte, 0, len(frames))
	for _, f := range frames {
		if r.place = f.place; r.wants(ctx, &f) {
			texts = append(texts, f.text)
		}
	}
	return r.send(texts...)
}

// fromStore sends the next part of what the row of the topic no longer has. The row may go on from there.
func (r *reader) fromStore(ctx context.Context) error {
	begins := r.topic.begins() // what is before that is in the store by now
	frames, more, err := r.page(ctx)
	if errors.Is(err, view.ErrReordered) {
		r.place, r.scribe = view.Place{}, scribe{desk: r.s.Desk}
		return r.send(reset(r.edition))
	}
	if err == nil {
		err = r.sendAll(ctx, frames)
	}
	if err != nil || more {
		return err
	}
	r.scribe = scribe{desk: r.s.Desk}
	switch {
	case r.place.Cursor >= begins:
	case r.topic.id.IsZero():
		r.place.Cursor = begins // what cannot be read is not waited for
	default: // the memory is shorter than it was
		if r.topic.refresh(ctx); r.topic.begins() > r.place.Cursor {
			return view.ErrReordered
		}
	}
	return nil
}

// page is the next part of what is in the store, and whether there may be more. What the store read is let go before
// anything is sent: who is slow holds nothing but the frames.
func (r *reader) page(ctx context.Context) (frames []frame, more bool, err error) {
	at, size := r.place, 0
	for item, err := range r.topic.after(ctx, at) {
		if err != nil {
			return nil, false, err
		}
		at = r.topic.past(at, item)
		f := r.scribe.frame(ctx, r.edition.feed, at, item)
		if frames, size = append(frames, f), size+len(f.text); size >= sendBytes {
			return frames, true, nil
		}
	}
	return frames, false, nil
}

// begins is where the row of a topic begins.
func (t *topic) begins() perdure.Cursor {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.start
}

// wants reports whether a frame is for this reader.
func (r *reader) wants(ctx context.Context, f *frame) bool {
	switch {
	case !r.Fits(f.line):
		return false
	case r.who.Owns(perdure.AnyScope):
		return true
	case f.notes && !r.sees(ctx, f.agent).notes:
		return false
	}
	return !r.topic.id.IsZero() || r.sees(ctx, f.agent).agent
}

// sight is what a reader is shown: an agent, and its notes.
type sight struct{ agent, notes bool }

// sees is what this reader is shown of an agent; it is asked once a minute.
func (r *reader) sees(ctx context.Context, id perdure.AgentID) sight {
	if r.seen == nil || len(r.seen) > maxNarrators || time.Since(r.since) > time.Minute {
		r.seen, r.since = map[perdure.AgentID]sight{}, time.Now()
	}
	is, known := r.seen[id]
	if !known {
		is = sight{r.s.Desk.Shows(ctx, r.who, id), r.s.Desk.ShowsNotes(ctx, r.who, id)}
		r.seen[id] = is
	}
	return is
}

// send writes, and gives up on who takes nothing.
func (r *reader) send(texts ...[]byte) error {
	if len(texts) == 0 {
		return nil
	}
	if err := r.c.SetWriteDeadline(time.Now().Add(r.s.Limits.WriteStall)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	for _, b := range texts {
		if _, err := r.w.Write(b); err != nil {
			return err
		}
	}
	return r.c.Flush()
}
