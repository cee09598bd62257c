package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// hub tells the readers of streams what arrives. There is one watch of the store, however many read: each topic that
// somebody reads is read once and written out once, into a short row of frames that all its readers copy from. One who
// is too slow for the row reads the store instead, from where they are: nothing is kept for anybody.
type hub struct {
	ctx   context.Context
	store perdure.Store
	most  int

	mu      sync.Mutex
	readers int
	of      map[string]int             // the readers of each visitor
	topics  map[perdure.AgentID]*topic // the zero id: every agent
}

// share is how many of the streams one visitor has at most: one who follows as much as they can keeps nobody else from
// following.
func (h *hub) share() int { return max(1, h.most/4) }

// begin watches a store until ctx ends.
func (h *hub) begin(ctx context.Context, s perdure.Store, most int) {
	h.ctx, h.store, h.most = ctx, s, most
	h.of, h.topics = map[string]int{}, map[perdure.AgentID]*topic{}
	changed := view.Watch(ctx, s)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed.Signal:
			}
			ids, all := changed.Take()
			for _, t := range h.read(ids, all) {
				t.refresh(ctx)
			}
		}
	}()
}

// read are the topics that somebody reads and that may have changed.
func (h *hub) read(ids map[perdure.AgentID]struct{}, all bool) (found []*topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, t := range h.topics {
		if _, is := ids[id]; is || all || id.IsZero() {
			found = append(found, t)
		}
	}
	return found
}

// errStreams says that there are too many streams.
var errStreams = &home.Error{
	Kind: home.KindTooMany,
	Err:  errors.New("there are as many streams as this server serves; try again later"),
}

// join is the topic of an agent, or of all; leave it when done. Whoever is the first to read a topic begins it, and
// nobody else waits for that but those who read the same.
func (h *hub) join(ctx context.Context, d *home.Desk, who string, id perdure.AgentID) (*topic, func(), error) {
	t, first, err := h.enter(d, who, id)
	if err != nil {
		return nil, nil, err
	}
	leave := func() { h.leave(who, t) }
	if first {
		t.err = t.begin(h.ctx)
		close(t.ready)
		if t.err == nil {
			t.refresh(h.ctx) // what arrived meanwhile
		}
	}
	select {
	case <-t.ready:
		err = t.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return t, leave, nil
}

// enter counts a reader of a topic. First says that the topic is to be begun.
func (h *hub) enter(d *home.Desk, who string, id perdure.AgentID) (t *topic, first bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers >= h.most {
		return nil, false, errStreams
	}
	if most := h.share(); h.of[who] >= most {
		return nil, false, &home.Error{Kind: home.KindTooMany,
			Err: fmt.Errorf("you follow %d streams, which is as many as one visitor may here; end some", most)}
	}
	if t = h.topics[id]; t == nil {
		t, first = newTopic(d, id), true
		h.topics[id] = t
	}
	h.readers++
	h.of[who]++
	t.readers++
	return t, first, nil
}

// leave ends a reading. A topic that could not be begun is not kept for others to find.
func (h *hub) leave(who string, t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers--
	if h.of[who]--; h.of[who] == 0 {
		delete(h.of, who)
	}
	t.readers--
	if (t.readers == 0 || t.failed()) && h.topics[t.id] == t {
		delete(h.topics, t.id)
	}
}

// frame is an entry as it is sent.
type frame struct {
	place view.Place // behind it
	agent perdure.AgentID
	line  view.Line // without its body, for those who choose
	notes bool      // a version of a document
	text  []byte
}

const (
	// maxFrames and maxFrameBytes bound the row of a topic.
	maxFrames     = 1024
	maxFrameBytes = 4 << 20
	// sendBytes is how much of a row or of the store is taken for a reader at a time, unless one frame alone is longer:
	// what is taken is held until the reader has it, however slow they are.
	sendBytes = 64 << 10
	// maxNarrators bounds the agents of which a stream of all knows what they refer to.
	maxNarrators = 4096
)

// topic is what many read at once: the memory of one agent, or what arrives for any.
type topic struct {
	id      perdure.AgentID // zero: every agent
	desk    *home.Desk
	readers int // under the lock of the hub

	ready chan struct{} // closed once it has begun, or could not
	err   error         // why it could not; to be read once ready

	reading sync.Mutex // held by who reads the store for it
	scribe  scribe

	mu      sync.Mutex // never held while the store is read: readers wait for it
	edition edition
	row     []frame
	size    int
	start   perdure.Cursor // the row holds everything after it
	end     view.Place     // up to here
	ended   bool           // the agent has ended
	changed chan struct{}  // closed when there is more

	unsure atomic.Bool // whether the agent has ended could not be found out
}

// edition is what positions are of. The store begins another feed where it was restored or rebuilt; what was written in
// another order under a topic is another edition of the same feed.
type edition struct {
	feed perdure.Hash
	n    int
}

func newTopic(d *home.Desk, id perdure.AgentID) *topic {
	return &topic{id: id, desk: d, ready: make(chan struct{}), changed: make(chan struct{}), scribe: scribe{desk: d}}
}

// failed reports whether a topic could not be begun.
func (t *topic) failed() bool {
	select {
	case <-t.ready:
		return t.err != nil
	default:
		return false
	}
}

// begin has the row of a topic begin at the end of the feed there is now. What is before that readers read themselves.
func (t *topic) begin(ctx context.Context) error {
	t.reading.Lock()
	defer t.reading.Unlock()
	return t.restart(ctx)
}

// restart is begin for who reads already.
func (t *topic) restart(ctx context.Context) error {
	f, ok := t.desk.Store.(perdure.Feeder)
	if !ok {
		return perdure.Invalid(errors.New("this store keeps no order of arrival to follow"))
	}
	feed, last, err := f.FeedEnd(ctx)
	if err != nil {
		return err
	}
	end, ended := view.Place{Cursor: last}, false
	if !t.id.IsZero() {
		ended = t.hasEnded(ctx) // before it is read to the end: then that has all of it
		w, _, err := view.FollowRecent(ctx, t.desk.Store, t.id, 0, view.Fitting(func(view.Line) bool { return false }))
		if err != nil {
			return err
		}
		end = w.Place()
		t.scribe.begin(ctx, t.id, w.Told())
	}
	t.mu.Lock()
	t.edition = edition{feed, t.edition.n + 1}
	t.row, t.size, t.start, t.end, t.ended = nil, 0, end.Cursor, end, ended
	t.wake()
	t.mu.Unlock()
	t.finish(ctx) // it may have ended while it was read: no other entry would say so
	return nil
}

// finish says that the agent has ended, if it has.
func (t *topic) finish(ctx context.Context) {
	if t.id.IsZero() || t.ended || !t.hasEnded(ctx) {
		return
	}
	t.take(ctx) // it may have ended after it was read: that it has is said after the last entry
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.wake()
}

// after is what arrived after a place.
func (t *topic) after(ctx context.Context, p view.Place) iter.Seq2[perdure.Item, error] {
	if t.id.IsZero() {
		return t.desk.Store.(perdure.Feeder).Feed(ctx, p.Cursor)
	}
	return p.After(ctx, t.desk.Store, t.id)
}

// past is the place behind an entry that follows another place.
func (t *topic) past(p view.Place, item perdure.Item) view.Place {
	if t.id.IsZero() {
		return view.Place{Cursor: item.Cursor} // a feed is never in another order
	}
	return p.Past(item)
}

// hasEnded reports whether the agent has ended, as far as that counts here: a stranger's word ends no stream.
func (t *topic) hasEnded(ctx context.Context) bool {
	a, err := t.desk.Load(ctx, t.id)
	ended := false
	if err == nil {
		ended, err = t.desk.Home.Ended(a)
	}
	t.unsure.Store(err != nil)
	return ended && err == nil
}

// refresh takes in what has arrived.
func (t *topic) refresh(ctx context.Context) {
	select {
	case <-t.ready:
	default:
		return // whoever begins it looks after that
	}
	t.reading.Lock()
	defer t.reading.Unlock()
	feed, _, err := t.desk.Store.(perdure.Feeder).FeedEnd(ctx)
	if err == nil && feed != t.edition.feed { // positions mean nothing any more
		_ = t.restart(ctx) // it is tried again with the next change
		return
	}
	if t.take(ctx) || t.unsure.Load() {
		t.finish(ctx)
	}
}

// take takes in what has arrived, and reports whether the agent may have ended by it.
func (t *topic) take(ctx context.Context) (ends bool) {
	for item, err := range t.after(ctx, t.end) {
		if errors.Is(err, view.ErrReordered) {
			_ = t.restart(ctx) // it is tried again with the next change
			return false
		}
		if err != nil {
			break // those who read find out for themselves
		}
		t.add(t.scribe.frame(ctx, t.edition.feed, t.past(t.end, item), item))
		ends = ends || item.Kind == perdure.KindDecision || item.Kind == perdure.KindEvent
	}
	return ends
}

// add adds a frame to the row, and has those who wait take it.
func (t *topic) add(f frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.row, t.size, t.end = append(t.row, f), t.size+len(f.text), f.place
	t.shorten()
	t.wake()
}

func (t *topic) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// shorten drops the oldest frames of a row that is too long, many at once.
func (t *topic) shorten() {
	if len(t.row) < maxFrames && t.size < maxFrameBytes {
		return
	}
	n := max(len(t.row)/2, 1)
	for _, f := range t.row[:n] {
		t.size -= len(f.text)
	}
	t.start = t.row[n-1].place.Cursor
	t.row = slices.Clone(t.row[n:])
}

// turn is what a topic has for a reader.
type turn struct {
	edition edition
	frames  []frame         // that follow
	before  bool            // the row does not reach back so far: the store does
	rest    bool            // there are more
	ended   bool            // the agent has ended, and there is nothing after these
	more    <-chan struct{} // closed when something comes
}

// next are the frames after a cursor, as many as are sent at a time. They are the reader's own, so that the row is not
// kept for who is slow.
func (t *topic) next(at perdure.Cursor) turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := turn{edition: t.edition, more: t.changed, before: at < t.start}
	if out.before {
		return out
	}
	row := t.row[t.find(at+1):]
	n, size := 0, 0
	for ; n < len(row) && (n == 0 || size+len(row[n].text) <= sendBytes); n++ {
		size += len(row[n].text)
	}
	out.frames, out.rest = slices.Clone(row[:n]), n < len(row)
	out.ended = t.ended && !out.rest
	return out
}

// find is where the first frame is that is not before a cursor.
func (t *topic) find(at perdure.Cursor) int {
	i, _ := slices.BinarySearchFunc(t.row, at, func(f frame, at perdure.Cursor) int { return int(f.place.Cursor - at) })
	return i
}

// place is the place of a position, if the row has it.
func (t *topic) place(at perdure.Cursor, mark string) (p view.Place, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.find(at); i < len(t.row) {
		p = t.row[i].place
	} else {
		p = t.end
	}
	return p, p.Cursor == at && p.Mark() == mark
}

// scribe writes entries out as frames. It remembers of agents what their entries refer to, and their names.
type scribe struct {
	desk  *home.Desk
	known map[perdure.AgentID]*known
}

type known struct {
	told   *view.Narrator
	name   string
	voices view.Voices
	whole  bool // the narrator was shown what was there before
}

// begin has the scribe go on with what is known of an agent; nil: nothing yet.
func (s *scribe) begin(ctx context.Context, id perdure.AgentID, told *view.Narrator) *known {
	if s.known == nil || len(s.known) >= maxNarrators {
		s.known = map[perdure.AgentID]*known{}
	}
	k := &known{told: told, whole: told != nil}
	if told == nil {
		k.told = view.Narrate()
	}
	if a, err := s.desk.Load(ctx, id); err == nil {
		k.name = a.Fold().Intent.Name
	}
	k.voices = s.desk.Voices(ctx, id) // which keep no agent
	s.known[id] = k
	return k
}

// frame is an entry as it is sent, and the place behind it.
func (s *scribe) frame(ctx context.Context, feed perdure.Hash, behind view.Place, item perdure.Item) frame {
	id := item.ID()
	k := s.known[id]
	if k == nil {
		k = s.begin(ctx, id, nil)
	}
	if !k.whole && k.told.Lacks(item.Entry) { // what it refers to came before the stream began
		k.whole = true // it is looked for once
		if told, err := view.NarrateBefore(ctx, s.desk.Store, item.Entry); err == nil {
			k.told = told
		}
	}
	one := k.told.Line(item.Entry)
	one.Call(k.voices)
	f := frame{place: behind, agent: id, notes: one.IsDocument()}
	f.text = written(position(feed, behind), "entry", view.AgentLine{Agent: id, Name: k.name, Line: one})
	one.Body, one.Act = nil, nil
	f.line = one
	return f
}

// position is a place as clients give it back.
func position(feed perdure.Hash, p view.Place) string {
	text := fmt.Sprintf("%s.%d", feed.String()[:16], p.Cursor)
	if mark := p.Mark(); mark != "" {
		text += "." + mark
	}
	return text
}

// parsePosition reads a position, of an agent or of all; ours says whether it is of this feed.
func parsePosition(text string, feed perdure.Hash, agent bool) (at perdure.Cursor, mark string, ours bool, err error) {
	name, rest, _ := strings.Cut(text, ".")
	number, mark, marked := strings.Cut(rest, ".")
	n, bad := strconv.ParseInt(number, 10, 64)
	if bad != nil || n < 0 || strconv.FormatInt(n, 10) != number || len(name) != 16 || !view.IsHex(name) ||
		marked != (agent && n > 0) || marked && (len(mark) != view.MarkDigits || !view.IsHex(mark)) {
		return 0, "", false, noPosition(text, "is not a position of this stream")
	}
	return perdure.Cursor(n), mark, name == feed.String()[:16], nil
}

// noPosition refuses what is given as a position, and says what is one.
func noPosition(text, why string) error {
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("%q %s: want the id of an event that this stream sent, such as "+
		"0123456789abcdef.42", cut(text), why)),
		"give the last id back as Last-Event-ID or ?after=; ?after=start is from the beginning, none is from now on")
}

// written is one event of a stream. Without a position it leaves that of the one before.
func written(id, event string, data any) []byte {
	b, err := json.Marshal(view.Readable(data))
	if err != nil {
		b = []byte("{}")
	}
	var out []byte
	if id != "" {
		out = append(append(append(out, "id: "...), id...), '\n')
	}
	out = append(append(append(out, "event: "...), event...), "\ndata: "...)
	return append(append(out, b...), "\n\n"...)
}
