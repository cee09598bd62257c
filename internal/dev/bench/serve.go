package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// Serve are the settings of the serve workload.
type Serve struct {
	Clients int `json:"clients"` // at once
	Agents  int `json:"agents"`  // the events are spread over so many
	Each    int `json:"each"`    // requests of each client
	Payload int `json:"payload"` // bytes of the data of an event
	Readers int `json:"readers"` // of a stream
	Events  int `json:"events"`  // that each of them gets
	Rounds  int `json:"rounds"`  // in which both take turns

	Done func(what string, n, of int) `json:"-"`
}

// Served is what one kind of request comes to, beside a bare handler.
type Served struct {
	What      string    `json:"what"`
	PerSecond float64   `json:"per_second"`
	Time      Quantiles `json:"time"`
	Bare      float64   `json:"bare_per_second"`
	BareTime  Quantiles `json:"bare_time"`
	Ratio     float64   `json:"ratio"` // how many times slower
	// a bare handler with a sync per request; zero: it was not measured
	Plain      float64 `json:"plain_per_second,omitempty"`
	PlainRatio float64 `json:"plain_ratio,omitempty"`
	// processor time of a request, that of the client included; zero: it was not measured
	CPU     time.Duration `json:"cpu,omitempty"`
	BareCPU time.Duration `json:"bare_cpu,omitempty"`
}

// ServeResult is what serving costs.
type ServeResult struct {
	Machine
	Serve
	Durable string   `json:"durable"`
	Rows    []Served `json:"requests"`
}

// Tables is the result for people.
func (r *ServeResult) Tables() []Table {
	t := Table{Title: fmt.Sprintf("%d clients at once, %d readers, %s", r.Clients, r.Readers, r.Machine),
		Head: []string{"", "PER SECOND", "P50", "P99", "CPU", "BARE/S", "BARE P50", "BARE P99", "BARE CPU", "RATIO",
			"PLAIN/S", "RATIO"}}
	round := func(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
	cpu := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.Round(time.Microsecond).String()
	}
	some := func(x float64, digits int) string {
		if x == 0 {
			return ""
		}
		return number(x, digits)
	}
	for _, x := range r.Rows {
		t.add(x.What, number(x.PerSecond, 0), round(x.Time.P50), round(x.Time.P99), cpu(x.CPU), number(x.Bare, 0),
			round(x.BareTime.P50), round(x.BareTime.P99), cpu(x.BareCPU), number(x.Ratio, 2),
			some(x.Plain, 0), some(x.PlainRatio, 2))
	}
	t.note(
		"bare: a net/http handler that appends the body to a file, syncs it (one sync for all that wait) and " +
			"answers; " +
			"for show one that answers the same bytes; for tail one that copies them to its readers",
	)
	t.note("plain: the same handler with a sync of its own per request")
	t.note("the clients are in the same process, and in its processor time; the ratio is that of requests per second")
	t.note("%s", r.Durable)
	return []Table{t}
}

// Run serves a new home and asks it, in turns with the bare handlers.
func (s Serve) Run(ctx context.Context, p *Place) (r *ServeResult, err error) {
	h := &home.Home{URL: filepath.Join(p.Dir, "home"), Acts: true}
	err = h.Use(ctx, true, func(ctx context.Context, store perdure.Store) error {
		w, err := s.begin(ctx, h, store, p.Dir)
		if err != nil {
			return err
		}
		defer w.end()
		var f Figures
		p.Label(&f)
		r = &ServeResult{Machine: thisMachine(), Serve: s, Durable: f.Durable}
		for _, do := range []func(context.Context, *serveWorld) (Served, error){s.creates, s.events, s.shows, s.tails} {
			row, err := do(ctx, w)
			if err != nil {
				return err
			}
			row.Ratio, row.PlainRatio = row.Bare/row.PerSecond, row.Plain/row.PerSecond
			r.Rows = append(r.Rows, row)
		}
		return nil
	})
	return r, err
}

// serveWorld is both servers.
type serveWorld struct {
	ours, bare string // URLs
	token      string
	http       *http.Client
	names      []string
	end        func()
	show       *[]byte // what the bare handler shows
}

func (s Serve) begin(ctx context.Context, h *home.Home, store perdure.Store, dir string) (*serveWorld, error) {
	n, err := h.Node(ctx, store)
	if err != nil {
		return nil, err
	}
	requests, err := h.OpenRequests(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	none := slog.New(slog.DiscardHandler)
	ours := &server.Server{Desk: &home.Desk{Home: h, Store: store, Node: n}, Requests: requests, Log: none,
		Limits: server.Limits{Rate: 1e9, Burst: 1e9, Streams: 4 * (s.Readers + 10)}} // one visitor has a quarter
	bare, err := newBare(dir)
	if err != nil {
		stop()
		return nil, errors.Join(err, requests.Close())
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, s.Clients+s.Readers
	w := &serveWorld{http: &http.Client{Transport: t}, show: &bare.show}
	var running sync.WaitGroup
	for to, handler := range map[*string]func(net.Listener) error{
		&w.ours: func(ln net.Listener) error { return ours.Serve(ctx, time.Second, ln) },
		&w.bare: func(ln net.Listener) error { return bare.serve(ctx, ln) },
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			stop()
			return nil, err
		}
		*to = "http://" + ln.Addr().String()
		running.Go(func() { _ = handler(ln) }) // it ends with ctx
	}
	w.end = func() {
		t.CloseIdleConnections()
		stop()
		running.Wait()
		_ = errors.Join(requests.Close(), bare.close()) // it was measured
	}
	w.token, _, err = h.MakeToken(home.NewToken{Name: "bench", Verbs: home.Verbs})
	return w, err
}

// ask sends one request and reads the answer.
func (w *serveWorld) ask(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := w.http.Do(req)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, url, res.Status, b)
	}
	return b, err
}

// load has every client ask, and returns how often a second that was answered, and how long each took.
func (s Serve) load(what string, ask func(client, i int) error) (float64, []time.Duration, error) {
	laps := make([][]time.Duration, s.Clients)
	began := time.Now()
	err := each(s.Clients, func(c int) error {
		for i := range s.Each {
			at := time.Now()
			if err := ask(c, i); err != nil {
				return err
			}
			laps[c] = append(laps[c], time.Since(at))
		}
		return nil
	})
	took := time.Since(began)
	if s.Done != nil {
		s.Done(what, s.Clients*s.Each, s.Clients*s.Each)
	}
	var all []time.Duration
	for _, l := range laps {
		all = append(all, l...)
	}
	return float64(len(all)) / took.Seconds(), all, err
}

// turns measures all of them, round by round.
func (s Serve) turns(what string, ours, bare, plain func(round, client, i int) error) (Served, error) {
	var row Served
	var mine, theirs []time.Duration
	for round := range s.Rounds {
		begun := CPUTime()
		rate, laps, err := s.load(what, func(c, i int) error { return ours(round, c, i) })
		if err != nil {
			return row, err
		}
		row.CPU, begun = row.CPU+CPUTime()-begun, CPUTime()
		row.PerSecond, mine = row.PerSecond+rate/float64(s.Rounds), append(mine, laps...)
		if rate, laps, err = s.load("bare "+what, func(c, i int) error { return bare(round, c, i) }); err != nil {
			return row, err
		}
		row.BareCPU += CPUTime() - begun
		row.Bare, theirs = row.Bare+rate/float64(s.Rounds), append(theirs, laps...)
		if plain == nil {
			continue
		}
		if rate, _, err = s.load("plain "+what, func(c, i int) error { return plain(round, c, i) }); err != nil {
			return row, err
		}
		row.Plain += rate / float64(s.Rounds)
	}
	row.CPU, row.BareCPU = row.CPU/time.Duration(len(mine)), row.BareCPU/time.Duration(len(theirs))
	row.What, row.Time, row.BareTime = what, quantiles(mine), quantiles(theirs)
	return row, nil
}

// creates creates agents.
func (s Serve) creates(ctx context.Context, w *serveWorld) (Served, error) {
	body := func(r, c, i int) []byte { return fmt.Appendf(nil, `{"goal":"listen","name":"n-%d-%d-%d"}`, r, c, i) }
	row, err := s.turns("create", func(r, c, i int) error {
		_, err := w.ask(ctx, "POST", w.ours+"/v1/agents", body(r, c, i))
		return err
	}, func(r, c, i int) error {
		_, err := w.ask(ctx, "POST", w.bare+"/append", body(r, c, i))
		return err
	}, func(r, c, i int) error {
		_, err := w.ask(ctx, "POST", w.bare+"/plain", body(r, c, i))
		return err
	})
	for i := range s.Agents {
		if err == nil {
			var b []byte
			b, err = w.ask(ctx, "POST", w.ours+"/v1/agents", fmt.Appendf(nil, `{"goal":"listen","name":"agent-%d"}`, i))
			var made struct{ Agent string }
			if err == nil {
				err = json.Unmarshal(b, &made)
			}
			w.names = append(w.names, made.Agent)
		}
	}
	return row, err
}

// events tells agents what happened.
func (s Serve) events(ctx context.Context, w *serveWorld) (Served, error) {
	body := fmt.Appendf(nil, `{"name":"happened","data":{"text":%q}}`, strings.Repeat("x", s.Payload))
	return s.turns("event", func(_, c, i int) error {
		_, err := w.ask(ctx, "POST", w.ours+"/v1/agents/"+w.names[(c+i*s.Clients)%len(w.names)]+"/events", body)
		return err
	}, func(_, _, _ int) error {
		_, err := w.ask(ctx, "POST", w.bare+"/append", body)
		return err
	}, func(_, _, _ int) error {
		_, err := w.ask(ctx, "POST", w.bare+"/plain", body)
		return err
	})
}

// shows looks at agents.
func (s Serve) shows(ctx context.Context, w *serveWorld) (Served, error) {
	var err error
	if *w.show, err = w.ask(ctx, "GET", w.ours+"/v1/agents/"+w.names[0], nil); err != nil {
		return Served{}, err
	}
	return s.turns("show", func(_, c, i int) error {
		_, err := w.ask(ctx, "GET", w.ours+"/v1/agents/"+w.names[(c+i*s.Clients)%len(w.names)], nil)
		return err
	}, func(_, _, _ int) error {
		_, err := w.ask(ctx, "GET", w.bare+"/show", nil)
		return err
	}, nil)
}

// tails has many readers follow one agent, and measures how long after it was sent each has an event.
func (s Serve) tails(ctx context.Context, w *serveWorld) (Served, error) {
	row := Served{What: fmt.Sprintf("tail to %d", s.Readers)}
	agent := w.ours + "/v1/agents/" + w.names[0]
	var err error
	if row.PerSecond, row.Time, err = s.fan(ctx, w, agent+"/tail?last=0", agent+"/events"); err != nil {
		return row, err
	}
	row.Bare, row.BareTime, err = s.fan(ctx, w, w.bare+"/tail", w.bare+"/tell")
	return row, err
}

// fan is how many events a second reach readers, and how long each took from when it was sent.
func (s Serve) fan(ctx context.Context, w *serveWorld, tail, tell string) (float64, Quantiles, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sent := make([]time.Time, s.Events)
	laps := make([][]time.Duration, s.Readers)
	var ready, got sync.WaitGroup
	ready.Add(s.Readers)
	failed := make(chan error, s.Readers)
	for r := range s.Readers {
		got.Go(func() {
			if err := s.read(ctx, w, tail, &ready, sent, &laps[r]); err != nil {
				failed <- err
			}
		})
	}
	ready.Wait()
	began := time.Now()
	for i := range s.Events {
		sent[i] = time.Now()
		if _, err := w.ask(ctx, "POST", tell, fmt.Appendf(nil, `{"name":"n%d."}`, i)); err != nil {
			return 0, Quantiles{}, err
		}
		if s.Done != nil {
			s.Done("tail", i+1, s.Events)
		}
	}
	got.Wait()
	took := time.Since(began)
	select {
	case err := <-failed:
		return 0, Quantiles{}, err
	default:
	}
	var all []time.Duration
	for _, l := range laps {
		all = append(all, l...)
	}
	return float64(len(all)) / took.Seconds(), quantiles(all), nil
}

// read follows until every event has come.
func (s Serve) read(ctx context.Context, w *serveWorld, tail string, ready *sync.WaitGroup, sent []time.Time,
	laps *[]time.Duration) error {
	req, err := http.NewRequestWithContext(ctx, "GET", tail, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	res, err := w.http.Do(req)
	ready.Done()
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it is cut off
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("a reader got %s", res.Status)
	}
	in := bufio.NewScanner(res.Body)
	in.Buffer(make([]byte, 4<<10), 1<<20)
	for next := 0; next < s.Events && in.Scan(); {
		line := in.Text()
		if strings.HasPrefix(line, "data: ") && strings.Contains(line, fmt.Sprintf(`n%d.`, next)) {
			*laps = append(*laps, time.Since(sent[next]))
			next++
		}
	}
	if len(*laps) < s.Events {
		return errors.Join(in.Err(), fmt.Errorf("a reader has %d of %d events", len(*laps), s.Events))
	}
	return nil
}
