package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// lying is the address of a server that says what another says, with one word for another.
func (w *world) lying(from, to string) string {
	base, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(res *http.Response) error {
			b, err := io.ReadAll(res.Body)
			if err != nil {
				return err
			}
			b = bytes.ReplaceAll(b, []byte(from), []byte(to))
			res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
			res.Header.Del("Content-Length")
			return nil
		},
	}
	s := httptest.NewServer(proxy)
	w.t.Cleanup(s.Close)
	return s.URL
}

// A server that says another action than it asks about: what a person signs with their own key is what they are shown,
// before and after, in words and to programs.
func TestAPersonSignsWhatTheyAreShownWhateverTheServerSays(t *testing.T) {
	w := newWorld(t)
	_, ana := w.person("ana")
	id, digest := w.asking()
	var before string
	away := &home.Away{
		Client: &client.Client{URL: w.lying("pay", "hum"), Token: w.token("", home.VerbRead, home.VerbApprove)},
		OwnKey: func() (*perdure.Signer, error) { return ana, nil },
	}
	told, err := away.Tell(t.Context(), id.String(), home.Voting{Ballot: home.Ballot{Approve: true},
		See: func(about *view.Wait) error { before = about.Head() + about.What; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if told.About == nil || told.About.Digest != digest {
		t.Fatalf("answered %+v", told.About)
	}
	text, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ About client.Wait }
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	after := told.About.Head() + told.About.What
	for where, text := range map[string]string{"before": before, "after": after, "to programs": out.About.What +
		out.About.Tool + out.About.Head + string(out.About.Action)} {
		if !strings.Contains(text, "pay") || strings.Contains(text, "hum") {
			t.Errorf("%s: %s", where, text)
		}
	}
}
