package notify

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/webhook"
)

// world is a store with agents, what happens to them, and notifiers.
type world struct {
	t     *testing.T
	store *perdure.MemStore
	key   *perdure.Signer
	node  *perdure.Node
	dir   string
}

func newWorld(t *testing.T) *world {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	s := new(perdure.MemStore)
	return &world{t, s, key, &perdure.Node{Store: s, Key: key}, t.TempDir()}
}

func (w *world) agent() perdure.AgentID {
	w.t.Helper()
	a, err := w.node.Create(w.t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "shop", Goal: "be tested"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return a.ID()
}

func (w *world) happen(id perdure.AgentID, n int) {
	w.t.Helper()
	for i := range n {
		if _, err := w.node.Tell(w.t.Context(), id, perdure.Event{Name: fmt.Sprint(i)}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// derive is an event that somebody ended by every entry that tells something.
func derive(_ context.Context, item perdure.Item) ([]Event, error) {
	ev, ok := item.Content().(perdure.Event)
	if !ok {
		return nil, nil
	}
	if ev.Name == "bad" {
		return nil, errors.New("bad")
	}
	e := NewEvent(Ended, item.Name.String(), Data{Agent: item.ID(), Scope: "acme", Entry: item.Name, Summary: ev.Name,
		Detail: "all of it", Action: "pay"})
	if ev.Name == "once" {
		e.ID, e.Once = "once-"+item.ID().String(), true
	}
	e.Time = item.Time.Go().UTC()
	return []Event{e}, nil
}

// start runs a notifier until the test ends, or until what it returns is called.
func (w *world) start(n *Notifier) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	n.Store, n.Dir, n.Derive = w.store, w.dir, derive
	if n.Pause == 0 {
		n.Pause, n.MaxPause = time.Millisecond, 10*time.Millisecond
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	w.t.Cleanup(stop)
	return stop
}

// begun waits until a destination has a position.
func (w *world) begun(names ...string) {
	w.t.Helper()
	for _, name := range names {
		eventually(w.t, "a position of "+name, func() bool {
			_, found, err := files{w.dir, name}.position()
			return err == nil && found
		})
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("no %s", what)
		}
	}
}

// box is a sender that keeps what it is given, and refuses as told.
type box struct {
	mu     sync.Mutex
	got    []Event
	tries  int
	refuse func(try int, e *Event) error
}

func (b *box) Send(_ context.Context, e *Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tries++
	if b.refuse != nil {
		if err := b.refuse(b.tries, e); err != nil {
			return err
		}
	}
	b.got = append(b.got, *e)
	return nil
}

func (b *box) summaries() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.got {
		all = append(all, e.Data.Summary)
	}
	return all
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func TestEventsComeInOrderThroughFailures(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	w.happen(id, 3) // before anybody was to be told
	b := &box{refuse: func(try int, _ *Event) error {
		if try%3 > 0 {
			return errors.New("not now")
		}
		return nil
	}}
	w.start(&Notifier{Destinations: []Destination{{Name: "ops", Sender: b}}})
	w.begun("ops")
	w.happen(id, 20)
	eventually(t, "twenty events", func() bool { return len(b.summaries()) >= 20 })
	if got := b.summaries(); !slices.Equal(got, numbers(20)) {
		t.Errorf("got %v", got)
	}
}

func TestWhatIsNotTakenIsGivenUpAndCanBeSentAgain(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	down := true
	b := &box{refuse: func(_ int, e *Event) error {
		switch {
		case e.Data.Summary == "1" && down:
			return errors.New("down")
		case e.Data.Summary == "3" && down:
			return &Failure{Err: errors.New("never"), Final: true}
		}
		return nil
	}}
	n := &Notifier{Destinations: []Destination{{Name: "ops", Sender: b, Tries: 4}}}
	stop := w.start(n)
	w.begun("ops")
	w.happen(id, 5)
	eventually(t, "three events", func() bool { return len(b.summaries()) == 3 })
	stop()
	if b.tries != 3+4+1 {
		t.Errorf("%d tries, want 4 of what may be tried again, and one of each other", b.tries)
	}
	all, err := n.Statuses(t.Context())
	if err != nil || len(all) != 1 || len(all[0].Dead) != 2 || all[0].Dead[0].Tries != 4 ||
		all[0].Dead[1].Why != "never" || all[0].Behind || all[0].Sent != 3 || all[0].Fault != "" {
		t.Fatalf("statuses %+v, %v", all, err)
	}
	if taken, err := n.Retry(t.Context(), &n.Destinations[0]); taken != 0 || err == nil {
		t.Errorf("sent again while it is down: %d, %v", taken, err)
	}
	down = false
	if taken, err := n.Retry(t.Context(), &n.Destinations[0]); taken != 2 || err != nil {
		t.Errorf("sent again: %d, %v", taken, err)
	}
	if all, err = n.Statuses(t.Context()); err != nil || len(all[0].Dead) != 0 || all[0].Sent != 5 {
		t.Errorf("left: %+v, %v", all, err)
	}
	if got := b.summaries(); !slices.Equal(got, []string{"0", "2", "4", "1", "3"}) {
		t.Errorf("got %v", got)
	}
}

func TestWhyNothingIsTakenIsSaidMeanwhile(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	b := &box{refuse: func(int, *Event) error { return errors.New("down") }}
	n := &Notifier{Destinations: []Destination{{Name: "ops", Sender: b, Tries: 1000}}}
	defer w.start(n)()
	w.begun("ops")
	w.happen(id, 1)
	eventually(t, "what is wrong", func() bool {
		all, err := n.Statuses(t.Context())
		return err == nil && all[0].Fault == "down" && all[0].Sent == 0
	})
}

func TestDeadLettersAreBounded(t *testing.T) {
	f := files{t.TempDir(), "ops"}
	for i := range maxDead + 10 {
		e := NewEvent(Ended, fmt.Sprint(i), Data{})
		if err := f.bury(Letter{Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := f.dead()
	if err != nil || len(all.Letters) != maxDead || all.Dropped != 10 || all.Letters[0].Event.ID != "10" {
		t.Errorf("%d kept, %d dropped, %v", len(all.Letters), all.Dropped, err)
	}
}

func TestASlowDestinationHoldsUpNobody(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	stuck := make(chan struct{})
	slow := sendFunc(func(ctx context.Context, _ *Event) error {
		select {
		case <-stuck:
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	fast := &box{}
	w.start(&Notifier{Destinations: []Destination{{Name: "slow", Sender: slow}, {Name: "fast", Sender: fast}}})
	w.begun("slow", "fast")
	w.happen(id, 50)
	eventually(t, "fifty events", func() bool { return len(fast.summaries()) == 50 })
	close(stuck)
}

type sendFunc func(context.Context, *Event) error

func (f sendFunc) Send(ctx context.Context, e *Event) error { return f(ctx, e) }

func TestTwoProcessesSendNothingTwice(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	b := &box{}
	one := w.start(&Notifier{Destinations: []Destination{{Name: "ops", Sender: b}}})
	w.begun("ops")
	w.start(&Notifier{Destinations: []Destination{{Name: "ops", Sender: b}}})
	w.happen(id, 30)
	eventually(t, "thirty events", func() bool { return len(b.summaries()) >= 30 })
	one() // the other takes over
	w.happen(id, 5)
	eventually(t, "five more", func() bool { return len(b.summaries()) >= 35 })
	if got := b.summaries(); !slices.Equal(got, append(numbers(30), numbers(5)...)) {
		t.Errorf("got %v", got)
	}
}

func TestAStoppedNotifierGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	w.happen(id, 1)
	b := &box{}
	stop := w.start(&Notifier{Destinations: []Destination{{Name: "ops", Sender: b}}})
	w.begun("ops")
	stop()
	w.happen(id, 10) // while nobody looks
	sent := make(chan struct{}, 100)
	failing := sendFunc(func(ctx context.Context, e *Event) error {
		sent <- struct{}{}
		return errors.New("down")
	})
	stop = w.start(&Notifier{Destinations: []Destination{{Name: "ops", Sender: failing}}})
	<-sent
	stop() // in the middle of its tries
	w.start(&Notifier{Destinations: []Destination{{Name: "ops", Sender: b}}})
	eventually(t, "ten events", func() bool { return len(b.summaries()) >= 10 })
	if got := b.summaries(); !slices.Equal(got, numbers(10)) {
		t.Errorf("got %v", got)
	}
}

// TestAnotherFeedSendsWhatHappenedLately has the store restored: positions mean nothing then.
func TestAnotherFeedSendsWhatHappenedLately(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	b := &box{}
	stop := w.start(&Notifier{Destinations: []Destination{{Name: "ops", Sender: b}}})
	w.begun("ops")
	w.happen(id, 4)
	eventually(t, "four events", func() bool { return len(b.summaries()) == 4 })
	stop()
	restored := new(perdure.MemStore)
	for e, err := range perdure.Memory(t.Context(), w.store, id) {
		if err != nil {
			t.Fatal(err)
		}
		if err := restored.Put(t.Context(), id, e); err != nil {
			t.Fatal(err)
		}
	}
	w.store, w.node = restored, &perdure.Node{Store: restored, Key: w.key}
	w.start(&Notifier{Destinations: []Destination{{Name: "ops", Sender: b}}})
	eventually(t, "the same four again", func() bool { return len(b.summaries()) == 8 })
	w.happen(id, 1)
	eventually(t, "one more", func() bool { return len(b.summaries()) == 9 })
}

// A destination that was begun with before anything arrived, and whose store was then rebuilt or restored, is told what
// happened lately, and not everything that ever happened.
func TestANewDestinationIsNotToldTheWholePastAfterARebuild(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	a, err := perdure.Load(t.Context(), w.store, id)
	if err != nil {
		t.Fatal(err)
	}
	old, _, err := w.key.Commit(a, time.Now().Add(-30*24*time.Hour), perdure.Draft{Body: perdure.Event{Name: "old"}})
	if err == nil {
		err = w.store.Append(t.Context(), id, a.Heads(), old...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, begin := range map[string]func(n *Notifier){
		"run":   func(n *Notifier) { defer w.start(n)(); w.begun("run") },
		"begin": func(n *Notifier) { n.Store, n.Dir = w.store, w.dir; w.fine(n.Begin(t.Context())) },
	} {
		b := &box{}
		n := Notifier{Destinations: []Destination{{Name: name, Sender: b}}}
		begin(&n)
		rebuilt := new(perdure.MemStore)
		for e, err := range perdure.Memory(t.Context(), w.store, id) {
			w.fine(err)
			w.fine(rebuilt.Put(t.Context(), id, e))
		}
		w.store, w.node = rebuilt, &perdure.Node{Store: rebuilt, Key: w.key}
		stop := w.start(&Notifier{Destinations: n.Destinations})
		w.happen(id, 1)
		eventually(t, "the next event", func() bool { return slices.Contains(b.summaries(), "0") })
		if got := b.summaries(); slices.Contains(got, "old") {
			t.Errorf("%s: it was told of last month, too: %v", name, got)
		}
		stop()
	}
}

func (w *world) fine(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestDestinationsGetWhatTheyAskedFor(t *testing.T) {
	w := newWorld(t)
	id := w.agent()
	whole, bare, other, types := &box{}, &box{}, &box{}, &box{}
	w.start(&Notifier{Destinations: []Destination{
		{Name: "whole", Sender: whole, Whole: true},
		{Name: "bare", Sender: bare, Link: "https://c.example/agents/"},
		{Name: "other", Sender: other, Scope: "elsewhere"},
		{Name: "types", Sender: types, Types: []string{QuestionAsked}},
	}})
	w.begun("whole", "bare", "other", "types")
	for _, name := range []string{"bad", "once", "once", "last"} {
		if _, err := w.node.Tell(t.Context(), id, perdure.Event{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range []*box{whole, bare} {
		eventually(t, "two events", func() bool { return len(b.summaries()) >= 2 })
		if got := b.summaries(); !slices.Equal(got, []string{"once", "last"}) {
			t.Errorf("got %v", got)
		}
	}
	if d := whole.got[0].Data; d.Detail == "" || d.Action == nil || d.Link != "" {
		t.Errorf("whole: %+v", d)
	}
	if d := bare.got[0].Data; d.Detail != "" || d.Action != nil || d.Link != "https://c.example/agents/"+id.String() {
		t.Errorf("with a link: %+v", d)
	}
	if len(other.summaries())+len(types.summaries()) > 0 {
		t.Error("events of another scope or type were sent")
	}
}

// receiver is a real web server that takes events as it is told.
func receiver(t *testing.T, f http.HandlerFunc) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func sample() *Event {
	e := NewEvent(ApprovalRequested, "0f3c.approval", Data{Summary: "shop asks <!channel> whether\r\nBcc: x",
		Detail: "pay 5 € to \"Ann\"", Answer: "perdure approve shop"})
	e.Time = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	return &e
}

func TestWebhooksAreSignedCloudEvents(t *testing.T) {
	key, err := webhook.ParseKey("whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	var fault error
	url := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, fault = webhook.Verify(r.Header, body, time.Now(), key)
		if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/cloudevents+json") {
			fault = errors.Join(fault, errors.New(kind))
		}
		fault = errors.Join(fault, json.Unmarshal(body, &got))
	})
	h, err := NewHTTP(HTTP{URL: url, Keys: []webhook.Key{key}, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Send(t.Context(), sample()); err != nil || fault != nil {
		t.Fatal(err, fault)
	}
	for name, want := range map[string]string{"specversion": "1.0", "id": "0f3c.approval",
		"type": "dev.perdure.approval.requested", "time": "2026-05-06T07:08:09Z",
		"datacontenttype": "application/json"} {
		if got[name] != want {
			t.Errorf("%s is %v, want %s", name, got[name], want)
		}
	}
	for _, name := range []string{"source", "data", "subject"} {
		if got[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}

func TestSlackGetsTextWithoutMentions(t *testing.T) {
	var text string
	url := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		var got map[string]string
		_ = json.NewDecoder(r.Body).Decode(&got)
		text = got["text"]
	})
	h, err := NewHTTP(HTTP{URL: url, Slack: true, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "<!channel>") || !strings.Contains(text, "shop asks &lt;!channel&gt; whether Bcc: x\n") {
		t.Errorf("text: %q", text)
	}
}

func TestAnswersAreTakenAtTheirWord(t *testing.T) {
	for name, c := range map[string]struct {
		code  int
		after string
		want  *Failure
	}{
		"accepted":       {code: 202},
		"gone":           {code: 410, want: &Failure{Final: true}},
		"bad request":    {code: 400, want: &Failure{Final: true}},
		"a redirect":     {code: 307, want: &Failure{Final: true}},
		"too many":       {code: 429, after: "7", want: &Failure{After: 7 * time.Second}},
		"far too long":   {code: 503, after: "999999999", want: &Failure{After: maxAfter}},
		"out of service": {code: 503, want: &Failure{}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := false
			var at string
			at = receiver(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/inner" {
					inner = true
				}
				w.Header().Set("Location", at+"/inner")
				w.Header().Set("Retry-After", c.after)
				w.WriteHeader(c.code)
			})
			h, err := NewHTTP(HTTP{URL: at, Private: true})
			if err != nil {
				t.Fatal(err)
			}
			var got *Failure
			errors.As(h.Send(t.Context(), sample()), &got)
			if (got == nil) != (c.want == nil) || got != nil &&
				(got.Final != c.want.Final || got.After != c.want.After) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if inner {
				t.Error("a redirect was followed")
			}
		})
	}
}

func TestPrivateAddressesAreRefusedUnlessAllowed(t *testing.T) {
	hit := false
	url := receiver(t, func(http.ResponseWriter, *http.Request) { hit = true })
	for _, at := range []string{strings.Replace(url, "http:", "https:", 1), "https://169.254.169.254/latest",
		"https://[::1]/", "https://10.0.0.1/", "https://localhost/"} {
		h, err := NewHTTP(HTTP{URL: at})
		if err != nil {
			t.Fatal(err)
		}
		var f *Failure
		if err := h.Send(t.Context(), sample()); !errors.As(err, &f) || !f.Final ||
			!strings.Contains(err.Error(), "not public") {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, at := range []string{"169.254.169.254", "[fd00:ec2::254]", "100.100.100.200"} {
		meta, err := NewHTTP(HTTP{URL: "http://" + at + "/latest", Private: true})
		if err != nil {
			t.Fatal(err)
		}
		var f *Failure
		if err := meta.Send(t.Context(), sample()); !errors.As(err, &f) || !f.Final {
			t.Errorf("credentials of a cloud at %s, with private addresses allowed: %v", at, err)
		}
	}
	if hit {
		t.Error("it was connected to")
	}
	for _, bad := range []string{"http://example.com/", "ftp://example.com", "example.com",
		"https://user:pass@example.com/", ""} {
		if _, err := NewHTTP(HTTP{URL: bad}); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
