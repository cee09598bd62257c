package nats

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/natstest"
)

// TestServersThatDoNotSyncAlwaysAreRefused opens stores on servers that do not, that do not say, and that say so in
// either way.
func TestServersThatDoNotSyncAlwaysAreRefused(t *testing.T) {
	t.Parallel()
	lax := natstest.Start(t, natstest.Lax)
	strict := natstest.Start(t, natstest.Export)
	mute := "nats://" + shared.Addr() + "/mute"
	for _, c := range []struct {
		url, want string
	}{
		{lax.URL("x"), "does not sync always"},
		{mute, "does not say whether it syncs always"},
		{mute + "?monitor=" + lax.Monitor(), "does not say whether it syncs always"}, // that of another server
		{"nats://" + strict.Addr() + "/x", ""},
		{shared.URL("said"), ""},
		{lax.URL("x") + "&unsafe=1", ""},
		{mute + "?unsafe=1", ""},
	} {
		s, err := Open(t.Context(), c.url, Options{})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.url, err)
				continue
			}
			if safe := !strings.Contains(c.url, "unsafe"); safe == strings.Contains(s.Survives(), "not a power cut") {
				t.Errorf("%s survives %s", c.url, s.Survives())
			}
			_ = s.Close()
			continue
		}
		var hint *perdure.Hint
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &hint) ||
			!strings.Contains(hint.Do, "unsafe=1") {
			t.Errorf("%s: %v, want %q", c.url, err, c.want)
		}
		if s, err := Open(t.Context(), c.url+map[bool]string{true: "&", false: "?"}[strings.Contains(c.url, "?")]+
			"unsafe=1", Options{Existing: true}); !errors.Is(err, perdure.ErrNotFound) {
			if err == nil {
				_ = s.Close()
			}
			t.Errorf("a refused server was written to: %v", err)
		}
	}
}

// TestAMajorityThatSyncsAlwaysOpensTheStore opens a store of three servers while one is down, while the monitor of one
// takes questions and never answers, and while one is back and does not sync any more.
func TestAMajorityThatSyncsAlwaysOpensTheStore(t *testing.T) {
	t.Parallel()
	c := natstest.StartCluster(t, 3)
	s := open(t, c.URL("most"), Options{Patience: patient})
	w := enginetest.NewWriter(t, s)
	if survives := s.Survives(); !strings.Contains(survives, "a power cut, and the loss of a minority") {
		t.Errorf("with all servers: %s", survives)
	}
	deaf, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // as a machine that has lost its power
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	var hosts, monitors []string
	for _, one := range c {
		hosts, monitors = append(hosts, one.Addr()), append(monitors, one.Monitor())
	}
	monitors[0] = "http://" + deaf.Addr().String()
	mostly := "nats://" + strings.Join(hosts, ",") + "/most?monitor=" + strings.Join(monitors, "&monitor=")
	opensWithout(t, mostly, c[0].Name(), w)
	c[0].Kill()
	opensWithout(t, mostly, c[0].Name(), w)
	opensWithout(t, c.URL("most"), c[0].Name(), w)

	if err := errors.Join(c[0].Begin(natstest.Lax), c.Ready()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), c.URL("most"), Options{Patience: patient}); err == nil ||
		!strings.Contains(err.Error(), "server "+c[0].Name()+" does not sync always") {
		t.Errorf("with a server that does not sync: %v", err)
	}
}

// opensWithout opens and uses a store of which one server says nothing: it is named, and what is not known is.
func opensWithout(t *testing.T, url, silent string, w *enginetest.Writer) {
	t.Helper()
	var notes []string
	note := func(text string) { notes = append(notes, text) }
	s, err := Open(t.Context(), url, Options{Patience: patient, Note: note})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(notes) != 1 || !strings.Contains(notes[0], silent) {
		t.Errorf("notes %q, want one that names %s", notes, silent)
	}
	if survives := s.Survives(); !strings.Contains(survives, "a power cut if "+silent) {
		t.Errorf("%s is silent, and it survives %s", silent, survives)
	}
	if err := w.Write(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
	w.Kept(t, s)
}

func TestNamesOfStores(t *testing.T) {
	for _, c := range []struct{ url, label, shown string }{
		{"nats://a", "nats://a/perdure", "nats://a/perdure"},
		{"nats://me:pw@a:4222,b:4223/x-1?monitor=http://a:1", "nats://me@a:4222,b:4223/x-1",
			"nats://me@a:4222,b:4223/x-1?monitor=http://a:1"},
		{"tls://a/x?domain=d&replicas=3&unsafe=1&creds=f&ca=g", "tls://a/x?domain=d",
			"tls://a/x?domain=d&replicas=3&unsafe=1&creds=f&ca=g"},
	} {
		n, err := Parse(c.url)
		if err != nil || n.Label != c.label || n.Shown != c.shown {
			t.Errorf("%s: %+v, %v, want %s and %s", c.url, n, err, c.label, c.shown)
		}
	}
	for _, bad := range []string{
		"nats:", "nats://", "http://a", "nats://a,,b", "nats://me:pw@a/A", "nats://me:pw@a/a.b", "nats://me:pw@a/a/b",
		"nats://me:pw@a/x?replicas=0", "nats://me:pw@a/x?replicas=9", "nats://me:pw@a/x?colour=red",
		"nats://me:pw@a/x?monitor=ftp://a", "nats://me:pw@a/x?monitor=http://u:pw@a", "nats://me:pw@a/x?domain=a.b",
		"nats://me:pw@a/x?unsafe=maybe", "nats://me:pw@a/x?%zz", "nats://me:pw@a/x#y", "nats://me:pw@a:4222x/y",
		"nats://a/" + strings.Repeat("x", 33), "nats://me:12/pw@a/x", "nats://me:12?pw@a/x", "nats://me:12#pw@a/x",
		"nats://me:pw@a,me:pw@b/x", "nats://me:p@pw@a/x",
	} {
		if n, err := Parse(bad); err == nil || !errors.Is(err, perdure.ErrInvalid) ||
			strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %+v, %v, want a refusal without the password", bad, n, err)
		}
	}
	if _, err := url.Parse("nats://a:1,b:2/x"); err != nil {
		t.Error(err)
	}
}
