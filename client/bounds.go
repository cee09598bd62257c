package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/perdure/perdure/exchange"
)

// What a server may cost whoever asks it. Answers of servers that keep to the API stay far below.
const (
	// maxAnswer bounds the bytes of an answer that tells what is in memories: bodies, states, conversations.
	maxAnswer = 256 << 20
	// maxListed bounds one that lists agents or nodes: a page of 1,000 has 16 KiB for each.
	maxListed = 16 << 20
	// maxPassed bounds one that says what there is of an agent: 30,000 heads, where offers name 4,096.
	maxPassed = 4 << 20
	// maxPosition bounds the text by which a server knows where to go on.
	maxPosition = 2 << 10
	// maxProblem bounds what is read of an error.
	maxProblem = 1 << 20
	// maxPage is how many agents a page has at most; maxBarren how many pages in a row may have none, as of agents that
	// are not there for whoever asks.
	maxPage, maxBarren = 1000, 1000
)

// ErrExcess says that a server answers more than it was asked for, or than any server would.
var ErrExcess = errors.New("the server answers more than it should")

// ErrSlow says that a server sends, or takes, so little that it is not waited for any longer.
var ErrSlow = errors.New("the server is too slow")

// most is how large the answer may be that is read into out.
func most(res *http.Response, out any) int64 {
	if res.StatusCode/100 != 2 {
		return maxProblem
	}
	switch out.(type) {
	case *exchange.Offer, *exchange.Changes, *exchange.Receipt:
		return maxPassed
	case *List, *Nodes, *Who, *Health:
		return maxListed
	}
	return maxAnswer
}

// pages sees to it that a list which comes page by page ends.
type pages struct {
	seen   map[string]bool // cursors that were given
	barren int
}

// turn refuses a page after which another is to follow, although nothing shows that there will be an end.
func (p *pages) turn(cursor string, got int) error {
	if p.barren++; got > 0 {
		p.barren = 0
	}
	switch {
	case p.seen[cursor]:
		return fmt.Errorf("%w: its list begins again, at a page that it gave before", ErrExcess)
	case p.barren > maxBarren:
		return fmt.Errorf("%w: %d pages of its list in a row have nothing on them", ErrExcess, p.barren)
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[cursor] = true
	return nil
}

// patience is how long a server is waited for: until it begins to answer, while nothing comes or goes, and in all, for
// whatever size and beyond that for each byte.
type patience struct {
	begin, idle, grace time.Duration
	rate               int64 // bytes per second
}

// usual is generous to slow links: 1 KiB per second is a tenth of what the slowest mobile network carries.
var usual = patience{begin: time.Minute, idle: 30 * time.Second, grace: time.Minute, rate: 1 << 10}

// pace ends a transfer with a server that keeps whoever waits for it waiting for too long. What is done between waiting
// for it does not count.
type pace struct {
	patience
	cut    context.CancelCauseFunc // ends it
	waited time.Duration
	moved  int64
	since  time.Time
	timer  *time.Timer
}

// wait says that the server is waited for from now on.
func (p *pace) wait() {
	if p.rate == 0 {
		return
	}
	seconds, rest := p.moved/p.rate, p.moved%p.rate // as nanoseconds, the bytes of 10 GB are more than an int64 holds
	moved, all := p.moved, p.grace+time.Duration(seconds)*time.Second+
		time.Duration(rest)*time.Second/time.Duration(p.rate)
	left := min(p.idle, all-p.waited)
	idle := left == p.idle
	p.since = time.Now()
	p.timer = time.AfterFunc(left, func() { // the words are made only now: there may be very many reads
		if idle {
			p.cut(fmt.Errorf("%w: for %s nothing moved", ErrSlow, p.idle))
			return
		}
		p.cut(fmt.Errorf("%w: %d bytes in %s, and at least %d per second are expected", ErrSlow, moved,
			all.Round(time.Millisecond), p.rate))
	})
}

// moves says that it is not waited for any longer, and how much came or went.
func (p *pace) moves(n int) {
	if p.timer != nil {
		p.timer.Stop()
		p.waited += time.Since(p.since)
		p.timer = nil
	}
	p.moved += int64(n)
}

// answer is the body of an answer, of a server that is waited for so long.
type answer struct {
	io.ReadCloser
	pace
	why    func() error // the transfer was cut
	broken error        // why no more came, before the end
}

func (a *answer) Read(b []byte) (int, error) {
	a.wait()
	n, err := a.ReadCloser.Read(b)
	a.moves(n)
	if err != nil && err != io.EOF {
		if why := a.why(); errors.Is(why, ErrSlow) {
			err = why
		}
		a.broken = err
	}
	return n, err
}

func (a *answer) Close() error {
	err := a.ReadCloser.Close()
	a.cut(nil)
	return err
}

// question is the body of a request, to a server that is waited for so long: it has taken what was read before when
// more is.
type question struct {
	io.ReadCloser
	mu   sync.Mutex // whoever reads it may close it meanwhile
	over bool
	pace
}

func (q *question) Read(b []byte) (int, error) {
	q.mu.Lock()
	q.moves(0)
	q.mu.Unlock()
	n, err := q.ReadCloser.Read(b)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moves(n)
	if err == nil && !q.over {
		q.wait()
	}
	return n, err
}

func (q *question) Close() error {
	q.mu.Lock()
	q.over = true
	q.moves(0)
	q.mu.Unlock()
	return q.ReadCloser.Close()
}

// paced has a request end with a server that takes it too slowly.
func (p patience) paced(req *http.Request, cut context.CancelCauseFunc) {
	if req.Body == nil || req.Body == http.NoBody {
		return
	}
	req.Body = &question{ReadCloser: req.Body, pace: pace{patience: p, cut: cut}}
	if again := req.GetBody; again != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return &question{ReadCloser: body, pace: pace{patience: p, cut: cut}}, err
		}
	}
}
