package nats

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/natstest"
)

// TestServersThatDoNotSyncAlwaysAreRefused opens stores on servers that do not, that do not say, and that say so in
// either way.
func TestServersThatDoNotSyncAlwaysAreRefused(t *testing.T) {
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
