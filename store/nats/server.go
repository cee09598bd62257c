package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/perdure/perdure"
)

// minMinor is the oldest server, 2.11: older ones cannot read several messages at once.
const minMinor = 11

// server is what is known of the servers.
type server struct {
	place    perdure.Hash
	feed     perdure.Hash
	replicas int
	names    []string // of the servers that keep the log
	synced   []string // of which these say that they sync always
	payload  int      // the longest message
	atomic   bool     // they take batches for the log
}

// ask refuses a server that is too old.
func (v *server) ask(_ context.Context, s *Store) error {
	version := s.conn.ConnectedServerVersion()
	parts := strings.SplitN(version, ".", 3)
	if len(parts) >= 2 {
		major, err := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err == nil && err2 == nil && (major < 2 || major == 2 && minor < minMinor) {
			return perdure.WithHint(fmt.Errorf("the server is nats-server %s", version),
				fmt.Sprintf("use nats-server 2.%d or newer", minMinor))
		}
	}
	if v.payload = int(s.conn.MaxPayload()); v.payload < 64<<10 {
		return perdure.WithHint(fmt.Errorf("the server takes messages of %d bytes at most", v.payload),
			"set max_payload to 64 KiB or more")
	}
	return nil
}

// learn takes in what tells this store from others.
func (v *server) learn(info *streamInfo) {
	id := info.Config.Metadata[keyID]
	v.place = perdure.HashOf(fmt.Appendf([]byte("place "), "%s %s", id, info.Config.Name))
	// A stream that is made anew was created later. One that a single server restores from a backup was not: see
	// docs/operations.md for how to go back to a backup.
	v.feed = perdure.HashOf(fmt.Appendf([]byte("feed "), "%s %d", id, info.Created.UnixNano()))
	v.replicas = max(1, info.Config.Replicas)
	v.names = info.servers()
	v.atomic = info.Config.Atomic
}

// syncsHere refuses the server that is connected, before anything is made on it, unless it syncs always.
func (v *server) syncsHere(ctx context.Context, s *Store) error {
	return v.demand(ctx, s, []string{s.conn.ConnectedServerName()})
}

// durable refuses servers that do not sync always. Of those that keep the log most must say that they do: while the
// others are gone, nothing is acknowledged without these.
func (v *server) durable(ctx context.Context, s *Store) error {
	if len(v.names) == 0 { // not a cluster
		v.names = []string{s.conn.ConnectedServerName()}
	}
	return v.demand(ctx, s, v.names)
}

// unsafeCosts says how a server is accepted as it is, and at which price.
const unsafeCosts = "or accept it as it is with ?unsafe=1 in the URL: a power cut then loses the newest entries, and " +
	"an effect that must happen once may happen twice"

func (v *server) demand(ctx context.Context, s *Store, names []string) error {
	said := s.syncs(ctx, names)
	var silent []string
	v.synced = nil
	for _, name := range names {
		always, known := said[name]
		switch {
		case always:
			v.synced = append(v.synced, name)
		case !known:
			silent = append(silent, name)
		case !s.name.Unsafe:
			return perdure.WithHint(
				fmt.Errorf("server %s does not sync always: it loses what it acknowledged when its power is cut", name),
				"set sync_interval: always in the jetstream block of its configuration; "+unsafeCosts)
		}
	}
	if s.name.Unsafe || 2*len(v.synced) > len(names) {
		return nil
	}
	text := "server %s does not say whether it syncs always: it is down, or its monitoring is not known, and only " +
		"that tells"
	if len(silent) > 1 {
		text = "servers %s do not say whether they sync always: they are down, or their monitoring is not known, and " +
			"only that tells"
	}
	return perdure.WithHint(fmt.Errorf(text, strings.Join(silent, " and ")), "start what is down, and name where each "+
		"answers with ?monitor=http://HOST:8222 (once per server); "+unsafeCosts)
}

// pingTime is how long servers have to say how they are set up.
const pingTime = 2 * time.Second

// syncs asks servers whether they sync always: those whose system account is open to this one, and the monitors. All
// are asked at once: one that takes a question and never answers keeps no other from being heard.
func (s *Store) syncs(ctx context.Context, names []string) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	said := make(chan setting)
	var group sync.WaitGroup
	group.Go(func() { s.askSystem(ctx, said) })
	for _, at := range s.name.monitors {
		group.Go(func() { askMonitor(ctx, at, said) })
	}
	go func() {
		group.Wait()
		close(said)
	}()
	out := map[string]bool{}
	missing := func(name string) bool { _, known := out[name]; return !known }
	for one := range said {
		if out[one.server] = one.always; !slices.ContainsFunc(names, missing) {
			break
		}
	}
	cancel()
	for range said { // until nobody asks any more
	}
	return out
}

// setting is how a server says that it is set up.
type setting struct {
	server string
	always bool // it syncs always
}

// tell passes on what a server said, while anybody listens.
func (v setting) tell(ctx context.Context, said chan<- setting) {
	select {
	case said <- v:
	case <-ctx.Done():
	}
}

// askSystem asks every server over NATS, which answers where the operator exports that to this account.
func (s *Store) askSystem(ctx context.Context, said chan<- setting) {
	answers := make(chan *client.Msg, 64)
	inbox := s.conn.NewInbox()
	sub, err := s.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := s.conn.PublishRequest("$SYS.REQ.SERVER.PING.JSZ", inbox, nil); err != nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-answers:
			if m.Header.Get("Status") != "" { // nobody answers
				return
			}
			var got struct {
				Server struct{ Name string } `json:"server"`
				Data   struct {
					Config struct {
						Always bool `json:"sync_always"`
					} `json:"config"`
				} `json:"data"`
			}
			if json.Unmarshal(m.Data, &got) == nil && got.Server.Name != "" {
				setting{got.Server.Name, got.Data.Config.Always}.tell(ctx, said)
			}
		}
	}
}

// askMonitor asks a monitor that the URL names.
func askMonitor(ctx context.Context, at string, said chan<- setting) {
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	if name, always, err := readMonitor(ctx, transport, at); err == nil {
		setting{name, always}.tell(ctx, said)
	}
}

func readMonitor(ctx context.Context, t *http.Transport, at string) (name string, always bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(at, "/")+"/varz", nil)
	if err != nil {
		return "", false, err
	}
	answer, err := t.RoundTrip(r)
	if err != nil {
		return "", false, err
	}
	defer answer.Body.Close()
	var got struct {
		Name      string `json:"server_name"`
		JetStream struct {
			Config struct {
				Always bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, answer.Body, 4<<20)).Decode(&got); err != nil {
		return "", false, err
	}
	if got.Name == "" {
		return "", false, errors.New("not a NATS server")
	}
	return got.Name, got.JetStream.Config.Always, nil
}

// Durability is what an acknowledged write survives, as the servers are set up.
type Durability struct {
	Replicas int      // of the log
	Servers  []string // that keep them
	Synced   []string // of which these said, when the store was opened, that they sync always
}

// Durability says what writes survive.
func (s *Store) Durability() Durability {
	return Durability{s.server.replicas, s.server.names, s.server.synced}
}

// Silent are the servers that did not say whether they sync always, or that they do.
func (d Durability) Silent() []string {
	return slices.DeleteFunc(slices.Clone(d.Servers), func(name string) bool { return slices.Contains(d.Synced, name) })
}

// Unknown says which servers did not say that they sync always; empty: all did.
func (d Durability) Unknown() string {
	if len(d.Silent()) == 0 {
		return ""
	}
	return fmt.Sprintf("%s did not say whether it syncs always: it is down, or its monitoring is not known; the store "+
		"is used with the others, %s, which do", strings.Join(d.Silent(), " and "), strings.Join(d.Synced, " and "))
}

// Survives says it for people.
func (d Durability) Survives() string {
	silent, most := strings.Join(d.Silent(), " and "), 2*len(d.Synced) > len(d.Servers)
	switch {
	case silent != "" && !most && d.Replicas > 1:
		return fmt.Sprintf("the loss of a minority of %d servers, not a power cut of all of them (not every server "+
			"says that it syncs always)", d.Replicas)
	case silent != "" && !most:
		return "kill -9 of this program and of the server, not a power cut (the server does not say that it syncs " +
			"always)"
	case silent != "":
		return fmt.Sprintf("kill -9, the loss of a minority of %d servers, and a power cut if %s syncs always, too: "+
			"it did not say", d.Replicas, silent)
	case d.Replicas > 1:
		return fmt.Sprintf("kill -9, a power cut, and the loss of a minority of %d servers (sync_interval: always)",
			d.Replicas)
	}
	return "kill -9 and a power cut of the server (sync_interval: always)"
}

// Survives says what an acknowledged write survives.
func (s *Store) Survives() string { return s.Durability().Survives() }

// Lasts reports whether that is a power cut for certain: all servers said that they sync always.
func (s *Store) Lasts() bool { return len(s.Durability().Silent()) == 0 }
