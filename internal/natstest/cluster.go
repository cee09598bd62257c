package natstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Cluster is servers that keep copies of each other's streams.
type Cluster []*Server

// NewCluster starts a cluster.
func NewCluster(n int, options ...Option) (all Cluster, err error) {
	for range starts {
		if all, err = newCluster(n, options); err == nil {
			return all, all.Ready()
		}
		all.Remove()
	}
	return nil, err
}

func newCluster(n int, options []Option) (all Cluster, err error) {
	ports, err := free(3 * n)
	if err != nil {
		return nil, err
	}
	var routes []string
	for _, port := range ports[:n] { // each must know where the others will be
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	for i := range n {
		dir, err := os.MkdirTemp("", "perdure-nats-")
		if err != nil {
			return all, err
		}
		s := &Server{set: settings{Dir: dir, Name: fmt.Sprintf("n%d", i+1), Cluster: "perdure", Port: ports[n+2*i],
			HTTP: ports[n+2*i+1], RoutePort: ports[i], Routes: routes}}
		s.set.take(options)
		all = append(all, s)
		if err := s.Begin(); err != nil {
			return all, err
		}
	}
	return all, nil
}

// Ports for servers are below those that a system gives to connections and to listeners that want any: nobody takes
// that of a server while it is dead.
const firstPort, lastPort = 10_000, 32_000

// free are ports that nobody listens on.
func free(n int) (ports []int, err error) {
	for tries := 0; len(ports) < n; tries++ {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil && tries > 100*n {
			return nil, err
		}
		if err == nil {
			defer l.Close() // when all are known
			ports = append(ports, port)
		}
	}
	return ports, nil
}

// StartCluster starts a cluster until the test ends.
func StartCluster(t testing.TB, n int, options ...Option) Cluster {
	t.Helper()
	c, err := NewCluster(n, options...)
	t.Cleanup(c.Remove)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Remove stops the servers and removes what they kept.
func (c Cluster) Remove() {
	for _, s := range c {
		s.Remove()
	}
}

// URL names a store on the cluster.
func (c Cluster) URL(store string) string { return URL(store, c...) }

// Ready waits until the servers that run have a leader among them that knows all of the cluster.
func (c Cluster) Ready() error {
	deadline := time.Now().Add(patience)
	var last error
	for time.Now().Before(deadline) {
		last = nil
		for _, s := range c {
			if !s.Running() {
				continue
			}
			info, err := s.jsz()
			switch {
			case err != nil:
				last = err
			case info.Meta == nil || info.Meta.Leader == "" || info.Meta.Size < len(c):
				last = errors.New("the cluster has no leader yet")
			}
		}
		if last == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return last
}

// LeaderOf is the server that leads a stream; nil: none does.
func (c Cluster) LeaderOf(stream string) *Server {
	for _, s := range c {
		if !s.Running() {
			continue
		}
		info, err := s.jsz()
		if err != nil {
			continue
		}
		for _, a := range info.AccountDetails {
			for _, t := range a.Streams {
				if t.Name == stream && t.Cluster != nil {
					for _, l := range c {
						if l.Running() && l.Name() == t.Cluster.Leader {
							return l
						}
					}
				}
			}
		}
	}
	return nil
}

func (s *Server) jsz() (*server.JSInfo, error) {
	answer, err := http.Get(s.Monitor() + "/jsz?streams=1&accounts=1")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var out server.JSInfo
	return &out, json.NewDecoder(answer.Body).Decode(&out)
}

// export has the server tell accounts how it is set up, in place of the accounts it makes by itself.
func export(o *server.Options, dir string) error {
	file := filepath.Join(dir, "accounts.conf")
	text := `accounts {
	SYS: {exports: [{service: "$SYS.REQ.SERVER.PING.JSZ", response_type: "stream", accounts: [APP]}]}
	APP: {jetstream: enabled, users: [{user: app, password: app}],
		imports: [{service: {account: SYS, subject: "$SYS.REQ.SERVER.PING.JSZ"}}]}
}
system_account: SYS
no_auth_user: app
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	return o.ProcessConfigFile(file)
}
