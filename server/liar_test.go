package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
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

func TestAnIDMeansNoOtherAgentWhateverTheServerSays(t *testing.T) {
	w := newWorld(t)
	id, _ := w.asking()
	other := strings.Repeat("ab", 32)
	c := &client.Client{URL: w.lying(id.String(), other), Token: w.token("", home.VerbRead)}
	got, err := c.Find(t.Context(), id.String())
	if err == nil || !strings.Contains(err.Error(), "answers about abab") {
		t.Fatalf("asked for %s, got %s, %v", id, got, err)
	}
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

// A server that changes a word in what it exports: no file is made of what is no capsule.
func TestWhatIsExportedIsACapsuleOrNothing(t *testing.T) {
	w := newWorld(t)
	id, _ := w.asking()
	token := w.token("", home.VerbRead, home.VerbExport)
	file := filepath.Join(t.TempDir(), "x.agent")
	for _, c := range []struct{ from, to, form string }{{"pay", "hum", "text"}, {"pay", "hum", "binary"}} {
		away := &home.Away{Client: &client.Client{URL: w.lying(c.from, c.to), Token: token}}
		_, _, err := away.ExportFile(t.Context(), file, id.String(), c.form, "", false)
		if !errors.Is(err, perdure.ErrRejected) {
			t.Errorf("%s: got %v, want it rejected", c.form, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 0 {
			t.Errorf("%s: %v is left", c.form, left)
		}
	}
	away := &home.Away{Client: &client.Client{URL: w.url, Token: token}}
	if _, n, err := away.ExportFile(t.Context(), file, id.String(), "text", "", false); err != nil || n == 0 {
		t.Errorf("%d bytes, %v, want a file", n, err)
	}
}
