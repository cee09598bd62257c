package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/perdure/perdure"
)

const (
	// callTime is how long one request waits for its answer before it is made again.
	callTime = 5 * time.Second
	// firstRetry and lastRetry are how long it is waited before a request is made again.
	firstRetry, lastRetry = 20 * time.Millisecond, 500 * time.Millisecond
)

// line is the connection as it is now: what waits for an answer ends when it is cut, since answers are lost then.
type line struct {
	mu   sync.Mutex
	now  context.Context
	cut  context.CancelFunc
	over chan struct{} // closed when the connection has ended for good
}

func (l *line) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now, l.cut = context.WithCancel(context.Background())
}

// broke is told that the connection was cut.
func (l *line) broke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut()
	l.now, l.cut = context.WithCancel(context.Background())
}

func (l *line) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// wait waits until the connection has told that it ended.
func (l *line) wait() {
	<-l.over
	l.cut()
}

// reach is connect, with patience for servers that stop or start at the moment.
func (s *Store) reach(ctx context.Context, waits func(text string)) error {
	patience, told := min(s.patience, openPatience), false
	deadline, wait := time.Now().Add(patience), firstRetry
	for {
		err := s.connect(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !away(err) || time.Now().Add(wait).After(deadline) {
			return err
		}
		if !told && wait == lastRetry && waits != nil { // they are not gone for a moment only
			told = true
			waits(fmt.Sprintf("%v; waiting for it for up to %s", advise(err, s.name), patience))
		}
		if !s.pause(ctx, wait) {
			return ctx.Err()
		}
		wait = min(2*wait, lastRetry)
	}
}

// away reports whether no server answers, which may be different in a moment; that there is none of that name may not.
func away(err error) bool {
	var lookup *net.DNSError
	if errors.As(err, &lookup) && lookup.IsNotFound {
		return false
	}
	var line *net.OpError
	return errors.Is(err, client.ErrNoServers) || errors.Is(err, client.ErrTimeout) || errors.As(err, &line)
}

// connect connects to one of the servers.
func (s *Store) connect(ctx context.Context) error {
	s.line.begin()
	over := make(chan struct{})
	s.line.over = over
	o := client.GetDefaultOptions()
	o.Servers = s.name.servers
	o.Name = "perdure"
	o.User, o.Password = s.name.user, s.name.password
	o.MaxReconnect = -1
	o.ReconnectWait = 50 * time.Millisecond
	o.ReconnectJitter = 50 * time.Millisecond
	o.ReconnectBufSize = -1 // what cannot be sent now is not sent later behind the back of who gave it up
	o.PingInterval, o.MaxPingsOut = 10*time.Second, 2
	o.IgnoreAuthErrorAbort = true
	o.Timeout = 2 * time.Second
	o.DisconnectedErrCB = func(*client.Conn, error) { s.line.broke() }
	o.AsyncErrorCB = func(*client.Conn, *client.Subscription, error) {}
	o.ClosedCB = func(*client.Conn) { close(over) }
	if s.name.creds != "" {
		if err := client.UserCredentials(s.name.creds)(&o); err != nil {
			return err
		}
		if _, err := os.Stat(s.name.creds); err != nil {
			return fmt.Errorf("credentials: %w", err)
		}
	}
	if s.name.ca != "" {
		if err := client.RootCAs(s.name.ca)(&o); err != nil {
			return err
		}
	}
	nc, err := o.Connect()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		nc.Close()
		return ctx.Err()
	}
	s.conn = nc
	return nil
}

// send makes one request and returns the answer. It waits at most callTime, and not for a connection that is cut.
func (s *Store) send(ctx context.Context, m *client.Msg) (*client.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	stop := context.AfterFunc(s.line.context(), cancel)
	defer stop()
	answer, err := s.conn.RequestMsgWithContext(ctx, m)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return answer, err
}

// errNoAnswer says that an answer did not come: what was asked for may have been done.
var errNoAnswer = errors.New("no answer came")

// behindFor is how long a server may not know a stream that was there when the store was opened: one that has just come
// to lead the others is behind for a moment. A stream that was deleted is said to be gone after it.
const behindFor = 5 * time.Second

// try calls f until it ends otherwise than for a server that cannot be reached at the moment, or is behind.
func (s *Store) try(ctx context.Context, f func(ctx context.Context) error) error {
	deadline, wait := time.Now().Add(s.patience), firstRetry
	behind := time.Now().Add(min(s.patience, behindFor))
	for {
		if err := s.usable(ctx); err != nil {
			return err
		}
		err := f(ctx)
		late := s.opened && isAPI(err, errNoStream) && time.Now().Before(behind)
		if err == nil || !passing(err) && !late {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().Add(wait).After(deadline) {
			return s.unreachable(ctx, err)
		}
		if !s.pause(ctx, wait) {
			continue // which says why
		}
		wait = min(2*wait, lastRetry)
	}
}

// pause waits, and reports whether nothing came between.
func (s *Store) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.ended:
	}
	return false
}

// unreachable is an error of servers that cannot be reached, with what to do.
func (s *Store) unreachable(ctx context.Context, err error) error {
	var hint *perdure.Hint
	if errors.As(err, &hint) {
		return err
	}
	if errors.Is(err, errNoAnswer) && s.led(ctx) {
		return perdure.WithHint(fmt.Errorf("the servers of this store answer and store nothing: %w", err),
			"read the log of the server that leads stream "+s.streams.log+": one whose disk was full or failed stores "+
				"nothing until there is room and it is started again")
	}
	return perdure.WithHint(fmt.Errorf("no server of this store answers: %w", err),
		"look whether most of the servers run (nats server report jetstream), and try again")
}

// led reports whether the log has a leader that answers.
func (s *Store) led(ctx context.Context) bool {
	var info streamInfo
	err := s.api(ctx, "STREAM.INFO", s.streams.log, nil, &info)
	return err == nil && (info.Cluster == nil || info.Cluster.Leader != "")
}

// passing reports whether an error may be gone when it is tried again.
func passing(err error) bool {
	var api *apiError
	if errors.As(err, &api) {
		// not available: no leader, no quorum, starting; or the stream is being moved
		return api.Code == 503 && !slices.Contains(errNotEnabled, api.ErrCode)
	}
	var line *net.OpError // of a connection that broke while a long message was written
	if errors.As(err, &line) {
		return true
	}
	for _, one := range []error{
		errNoAnswer, client.ErrNoResponders, client.ErrDisconnected, client.ErrReconnectBufExceeded,
		client.ErrTimeout, client.ErrConnectionReconnecting, client.ErrStaleConnection,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// advise is an error of opening a store with what to do about it.
func advise(err error, name *Name) error {
	var hint *perdure.Hint
	if errors.As(err, &hint) || errors.Is(err, perdure.ErrNotFound) {
		return err
	}
	var api *apiError
	switch text := err.Error(); {
	case errors.Is(err, client.ErrAuthorization), errors.Is(err, client.ErrAuthExpired),
		strings.Contains(text, "uthorization"):
		return perdure.WithHint(errors.New("the server refuses the user"),
			"name a credentials file with ?creds=FILE or NATS_CREDS, or set NATS_USER and NATS_PASSWORD")
	case errors.Is(err, client.ErrNoServers), strings.Contains(text, "connection refused"):
		return perdure.WithHint(fmt.Errorf("no server answers at %s", strings.Join(name.servers, ", ")),
			"start it, or look whether host and port are right")
	case errors.As(err, &api) && slices.Contains(errNotEnabled, api.ErrCode):
		return perdure.WithHint(errors.New("the server has no JetStream for this account"),
			"start it with JetStream (nats-server -js), and enable it for the account")
	case errors.As(err, &api) && (api.ErrCode == 10005 || api.ErrCode == 10074):
		return perdure.WithHint(fmt.Errorf("the servers cannot keep that many copies: %w", err),
			"add servers to the cluster, or name fewer copies with ?replicas=1")
	}
	return err
}

// jsonOf reads an answer.
func jsonOf(m *client.Msg, out any) error {
	var failed struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &failed); err != nil {
		return fmt.Errorf("read answer of the server: %w", err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	return json.Unmarshal(m.Data, out)
}
