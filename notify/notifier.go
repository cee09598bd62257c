package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Destination is somebody who is told what happens.
type Destination struct {
	Name   string
	Sender Sender
	Types  []string // that it is told; none: all but Dormant
	Scope  string   // of the agents it is told about; none: all
	Whole  bool     // it gets what people decide about whole; else where to look at it
	Link   string   // where people look at agents: the id of one is put after it
	Resume string   // where webhooks answer: the same
	Tries  int      // before an event is given up; zero: 12, which takes about half an hour
}

// defaultTries is how often an event is tried.
const defaultTries = 12

// wants reports whether an event is for the destination.
func (d *Destination) wants(e *Event) bool {
	if d.Scope != "" && !perdure.InScope(e.Data.Scope, d.Scope) {
		return false
	}
	if len(d.Types) == 0 {
		return e.Kind() != Dormant
	}
	return slices.Contains(d.Types, e.Kind())
}

// shaped is an event as the destination gets it.
func (d *Destination) shaped(e Event) Event {
	if !d.Whole {
		e = e.bare()
	}
	if d.Link != "" {
		e.Data.Link = d.Link + e.Data.Agent.String()
	}
	if d.Resume != "" && (e.Kind() == ApprovalRequested || e.Kind() == QuestionAsked) {
		e.Data.Resume = d.Resume + e.Data.Agent.String()
	}
	return e
}

// Notifier tells destinations what arrives in a store: at least once, each in the order of the store's feed, and none
// waits for another. Of several processes with one folder, one at a time tells a destination.
//
// An event that is not taken is tried again, later and later, as the other side asks; after so many tries, or at once
// where it is refused for good, it is given up and kept, see Dead. A destination that is new is told what happens from
// then on.
type Notifier struct {
	Store        perdure.Store // that is a perdure.Feeder
	Dir          string        // where it keeps how far each destination has been told
	Destinations []Destination
	// Derive is what happened by an entry. An error of one agent does not stop it: the entry is passed over.
	Derive func(ctx context.Context, item perdure.Item) ([]Event, error)
	Log    *slog.Logger // nil: nothing is logged

	// Pause is how long after a try the next one is, at first; it doubles up to MaxPause, and is shortened at random.
	// Zero: 1 s and 5 minutes.
	Pause, MaxPause time.Duration
}

const (
	// takeOver is how often a process that is not the one to tell a destination looks whether it is now.
	takeOver = 2 * time.Second
	// lookAnyway is how often it looks for arrivals that nobody told it of.
	lookAnyway = 15 * time.Second
	// keepEvery is how many entries that nobody is told of may be read again after a crash.
	keepEvery = 1024
	// again is how far before what was last sent it begins in another feed.
	again = 10 * time.Minute
)

func (n *Notifier) log() *slog.Logger {
	if n.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return n.Log
}

// Run tells the destinations until ctx ends, and returns why it could not, if it could not.
func (n *Notifier) Run(ctx context.Context) error {
	if len(n.Destinations) == 0 {
		return nil
	}
	feed, ok := n.Store.(perdure.Feeder)
	if !ok {
		return errors.New("notify: this kind of store keeps no order of arrival; use one of the kind sqlite, dir, " +
			"postgres or nats")
	}
	changed := make([]chan struct{}, len(n.Destinations))
	var all sync.WaitGroup
	for i := range n.Destinations {
		changed[i] = make(chan struct{}, 1)
		all.Go(func() {
			(&courier{n: n, d: &n.Destinations[i], feed: feed, changed: changed[i],
				files: files{n.Dir, n.Destinations[i].Name}}).run(ctx)
		})
	}
	n.watch(ctx, changed)
	all.Wait()
	for i := range n.Destinations {
		if c, ok := n.Destinations[i].Sender.(io.Closer); ok {
			_ = c.Close() // it only lets connections go
		}
	}
	return nil
}

// Begin has destinations that are new told what happens from now on, not from when Run comes to them.
func (n *Notifier) Begin(ctx context.Context) error {
	feed, ok := n.Store.(perdure.Feeder)
	if !ok {
		return nil // Run says so
	}
	for i := range n.Destinations {
		f := files{n.Dir, n.Destinations[i].Name}
		lock, err := f.lock("lock", false)
		if errors.Is(err, errHeld) {
			continue // another process has begun
		}
		if err != nil {
			return err
		}
		_, found, err := f.position()
		if err == nil && !found {
			if name, end, fault := feed.FeedEnd(ctx); fault != nil {
				err = fault
			} else {
				err = f.keep(from(name, end))
			}
		}
		if err = errors.Join(err, lock.Close()); err != nil {
			return err
		}
	}
	return nil
}

// watch wakes the couriers when something arrives, until ctx ends.
func (n *Notifier) watch(ctx context.Context, changed []chan struct{}) {
	w, ok := n.Store.(perdure.Watcher)
	if !ok {
		<-ctx.Done()
		return
	}
	for ctx.Err() == nil {
		for _, err := range w.Watch(ctx) {
			if err != nil {
				n.log().Warn("watch the store for notifications", "err", err)
				break
			}
			for _, c := range changed {
				select {
				case c <- struct{}{}:
				default: // it knows already
				}
			}
		}
		wait(ctx, nil, lookAnyway)
	}
}

// wait waits for a while, or for a signal; false: ctx has ended.
func wait(ctx context.Context, signal <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-signal:
	case <-t.C:
	}
	return ctx.Err() == nil
}

// courier tells one destination.
type courier struct {
	n       *Notifier
	d       *Destination
	feed    perdure.Feeder
	changed <-chan struct{}
	files   files
	at      position
	passed  int // entries since the position was kept
}

// run tells the destination whenever this process is the one to do so.
func (c *courier) run(ctx context.Context) {
	for told := false; ctx.Err() == nil; {
		lock, err := c.files.lock("lock", false)
		if err == nil {
			err = errors.Join(c.tell(ctx), lock.Close())
		}
		if err != nil && !errors.Is(err, errHeld) && ctx.Err() == nil {
			c.n.log().Error("notify", "destination", c.d.Name, "err", err)
		} else if errors.Is(err, errHeld) && !told {
			told = true
			c.n.log().Info("another process notifies", "destination", c.d.Name)
		}
		wait(ctx, nil, takeOver)
	}
}

// tell sends what arrives until ctx ends. This process has the lock.
func (c *courier) tell(ctx context.Context) error {
	found := false
	var err error
	if c.at, found, err = c.files.position(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := c.begin(ctx, found); err != nil {
			return err
		}
		found = true
		if err := c.pass(ctx); err != nil {
			return err
		}
		wait(ctx, c.changed, lookAnyway)
	}
	return nil
}

// begin looks whether the position is one of this feed. In another feed it begins at the beginning; without a position
// it begins at the end.
func (c *courier) begin(ctx context.Context, found bool) error {
	feed, end, err := c.feed.FeedEnd(ctx)
	switch {
	case err != nil:
		return err
	case !found:
		c.at = from(feed, end)
	case c.at.Feed != feed || c.at.At > end:
		c.n.log().Warn("the order of arrival was begun anew: what is open, and what happened lately, is sent again",
			"destination", c.d.Name)
		c.at.Since = perdure.TimeOf(c.at.Last.Go().Add(-again))
		c.at.Feed, c.at.At = feed, 0
	default:
		return nil
	}
	return c.files.keep(c.at)
}

// pass sends what is new.
func (c *courier) pass(ctx context.Context) error {
	for item, err := range c.feed.Feed(ctx, c.at.At) {
		if errors.Is(err, perdure.ErrNotFound) {
			return nil // another feed: begin sees it
		}
		if err != nil {
			return err
		}
		sent, err := c.handle(ctx, item)
		if err != nil {
			return err
		}
		c.at.At, c.at.Last = item.Cursor, max(c.at.Last, item.Time)
		if c.passed++; sent || c.passed >= keepEvery {
			if err := c.keep(ctx); err != nil {
				return err
			}
		}
	}
	if c.passed == 0 && c.at.Since == 0 {
		return nil
	}
	c.at.Since = 0
	return c.keep(ctx)
}

// keep keeps the position, unless it is one of a feed that has gone meanwhile.
func (c *courier) keep(ctx context.Context) error {
	feed, _, err := c.feed.FeedEnd(ctx)
	if err != nil || feed != c.at.Feed {
		return err
	}
	c.passed = 0
	return c.files.keep(c.at)
}

// handle sends what happened by an entry, and reports whether anything was.
func (c *courier) handle(ctx context.Context, item perdure.Item) (bool, error) {
	events, err := c.derive(ctx, item)
	if err != nil {
		return false, err
	}
	sent := false
	for _, e := range events {
		past := item.Time < c.at.Since && !pressing(&e)
		if past || !c.d.wants(&e) || e.Once && slices.Contains(c.at.Once, e.ID) {
			continue
		}
		taken, err := c.deliver(ctx, c.d.shaped(e))
		if err != nil {
			return sent, err
		}
		if e.Once {
			if c.at.Once = append(c.at.Once, e.ID); len(c.at.Once) > maxOnce {
				c.at.Once = slices.Delete(c.at.Once, 0, len(c.at.Once)-maxOnce)
			}
		}
		sent = true
		if c.at.Fault = ""; taken {
			c.at.Sent++
		}
	}
	return sent, nil
}

// maxDerive is how often it is tried to read what happened by an entry, for about four minutes in all.
const maxDerive = 12

// derive is what happened by an entry. A store that cannot be read is tried again for a while; then it is kept for
// people that they were not told. What no try makes better is passed over.
func (c *courier) derive(ctx context.Context, item perdure.Item) ([]Event, error) {
	for try := 1; ; try++ {
		events, err := c.n.Derive(ctx, item)
		if err == nil {
			return events, nil
		}
		if ctx.Err() != nil || errors.Is(err, fs.ErrClosed) {
			return nil, errors.Join(ctx.Err(), err)
		}
		final := errors.Is(err, perdure.ErrRejected) || errors.Is(err, perdure.ErrNotFound)
		if final || try == maxDerive {
			c.n.log().Warn("nobody can be notified of an entry", "agent", item.ID().Short(), "entry",
				item.Name.Short(), "err", err)
		}
		switch {
		case final:
			return nil, nil
		case try == maxDerive:
			return nil, c.files.bury(unread(item, try, err))
		case !wait(ctx, nil, c.n.backoff(min(try, 6))):
			return nil, ctx.Err()
		}
	}
}

// unread says that what happened by an entry could not be read.
func unread(item perdure.Item, tries int, why error) Letter {
	short := item.ID().Short()
	d := Data{Agent: item.ID(), Entry: item.Name, Summary: fmt.Sprintf("something happened to agent %s, and its "+
		"memory could not be read: see perdure log %s", short, short)}
	e := NewEvent(Unread, item.Name.String()+"-"+Unread, d)
	e.Time = item.Time.Go().UTC()
	return Letter{Event: e, At: perdure.TimeOf(time.Now()), Tries: tries, Why: why.Error()}
}

// pressing reports whether an event is about what a person has to do still.
func pressing(e *Event) bool {
	return slices.Contains([]string{ApprovalRequested, QuestionAsked, InDoubt}, e.Kind())
}

// deliver sends an event, again and again until it is taken or given up. An error is why it could not be told which.
func (c *courier) deliver(ctx context.Context, e Event) (taken bool, err error) {
	tries := c.d.Tries
	if tries <= 0 {
		tries = defaultTries
	}
	for try := 1; ; try++ {
		err := c.d.Sender.Send(ctx, &e)
		if err == nil {
			c.n.log().Debug("notified", "destination", c.d.Name, "event", e.Kind(), "agent", e.Data.Agent.Short(),
				"tries", try)
			return true, nil
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		var f *Failure
		errors.As(err, &f)
		if f != nil && f.Final || try >= tries {
			c.n.log().Error("gave up a notification", "destination", c.d.Name, "event", e.Kind(), "agent",
				e.Data.Agent.Short(), "tries", try, "err", err)
			return false, c.files.bury(Letter{Event: e, At: perdure.TimeOf(time.Now()), Tries: try, Why: err.Error()})
		}
		after := c.n.backoff(try)
		if f != nil {
			after = max(after, f.After)
		}
		c.n.log().Warn("a notification was not taken", "destination", c.d.Name, "event", e.Kind(), "try", try, "again",
			after.Round(time.Millisecond), "err", err)
		if c.at.Fault = err.Error(); try == 1 { // so that people see it meanwhile
			if err := c.keep(ctx); err != nil {
				return false, err
			}
		}
		if !wait(ctx, nil, after) {
			return false, ctx.Err()
		}
	}
}

// backoff is how long to wait after a try: at random between half and all of what doubles each time.
func (n *Notifier) backoff(try int) time.Duration {
	first, most := n.Pause, n.MaxPause
	if first <= 0 {
		first = time.Second
	}
	if most <= 0 {
		most = 5 * time.Minute
	}
	d := min(first<<min(try-1, 30), most)
	if d <= 0 {
		d = most
	}
	return d/2 + rand.N(d/2+1)
}

// Status is how a destination stands.
type Status struct {
	Name    string       `json:"name"`
	Sent    int64        `json:"sent"`
	Last    perdure.Time `json:"last,omitempty"` // of the last entry it was told of, or that was passed over
	Behind  bool         `json:"behind"`         // there is more to tell it
	Dead    []Letter     `json:"dead,omitempty"`
	Dropped int64        `json:"dropped,omitempty"` // events given up that are not kept any more
	Told    bool         `json:"told"`              // it has been begun with
	Fault   string       `json:"fault,omitempty"`   // why it has not taken the next event yet
}

// Statuses say how the destinations stand. It changes nothing.
func (n *Notifier) Statuses(ctx context.Context) ([]Status, error) {
	var end perdure.Cursor
	if feed, ok := n.Store.(perdure.Feeder); ok {
		_, end, _ = feed.FeedEnd(ctx) // who only looks may not be able to tell
	}
	out := make([]Status, len(n.Destinations))
	for i, d := range n.Destinations {
		f := files{n.Dir, d.Name}
		p, told, err := f.position()
		if err != nil {
			return nil, err
		}
		dead, err := f.dead()
		if err != nil {
			return nil, err
		}
		out[i] = Status{Name: d.Name, Sent: p.Sent + dead.Sent, Last: max(p.Last, dead.Last), Behind: told &&
			p.At < end, Dead: dead.Letters, Dropped: dead.Dropped, Told: told, Fault: p.Fault}
	}
	return out, nil
}

// Retry sends the events again that a destination was not told of, and returns how many it took. Those it does not take
// stay.
func (n *Notifier) Retry(ctx context.Context, d *Destination) (taken int, err error) {
	f := files{n.Dir, d.Name}
	dead, err := f.dead()
	if err != nil {
		return 0, err
	}
	done := map[string]bool{}
	for _, l := range dead.Letters {
		refused := d.Sender.Send(ctx, &l.Event)
		if refused == nil {
			done[l.Event.ID] = true
			continue
		}
		if err == nil { // of many, the first says enough
			err = fmt.Errorf("%s: %w", l.Event.Kind(), refused)
		}
		var why *Failure
		if !errors.As(refused, &why) || !why.Final {
			break // the others would fare no better
		}
	}
	return len(done), errors.Join(err, f.raise(done))
}

// Destination is the one of a name.
func (n *Notifier) Destination(name string) (*Destination, error) {
	for i := range n.Destinations {
		if n.Destinations[i].Name == name {
			return &n.Destinations[i], nil
		}
	}
	return nil, perdure.WithHint(perdure.Missing("no destination "+name), "see perdure notify ls")
}

// Taken is how many events a destination took.
type Taken struct {
	Destination string `json:"destination"`
	Taken       int    `json:"taken"`
}

// Test sends a destination an event that says it is a test.
func (n *Notifier) Test(ctx context.Context, name string) (*Taken, error) {
	d, err := n.Destination(name)
	if err != nil {
		return nil, err
	}
	e := NewEvent(Test, fmt.Sprintf("test-%d", time.Now().UnixNano()),
		Data{Name: "test", Scope: "test", Summary: "this is a test of perdure notify"})
	e.Time = time.Now().UTC()
	if err := d.Sender.Send(ctx, &e); err != nil {
		return nil, fmt.Errorf("%s did not take it: %w", d.Name, err)
	}
	return &Taken{d.Name, 1}, nil
}

// RetryAll is Retry of each destination that is named, or of all without any, whatever the others do.
func (n *Notifier) RetryAll(ctx context.Context, names ...string) (all []Taken, failed error) {
	these := n.Destinations
	if len(names) > 0 {
		these = nil
	}
	for _, name := range names {
		d, err := n.Destination(name)
		if err != nil {
			return nil, err
		}
		these = append(these, *d)
	}
	for i := range these {
		taken, err := n.Retry(ctx, &these[i])
		all = append(all, Taken{these[i].Name, taken})
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s did not take the rest: %w", these[i].Name, err))
		}
	}
	return all, failed
}
