package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

// TestAVisitorNamesNobodyInACharterWhomTheHomeDoesNotTrust has a program name its own key as approver, and as delegate.
func TestAVisitorNamesNobodyInACharterWhomTheHomeDoesNotTrust(t *testing.T) {
	w := newWorld(t)
	mallory, err := perdure.GenerateSigner("mallory")
	if err != nil {
		t.Fatal(err)
	}
	program := w.token("", home.VerbCreate, home.VerbRead, home.VerbExport, home.VerbImport)
	own := []string{mallory.Key().String()}
	for _, in := range []client.Intent{{Goal: "x", Approvers: own}, {Goal: "x", Delegates: own}} {
		p := w.problem(program, "POST", "/v1/agents", in, 403)
		contains(t, p.Detail+p.Hint, "is not trusted here to")
		contains(t, p.Hint, "perdure key trust")
	}
	id, _ := w.asking()
	p := w.problem(program, "POST", "/v1/agents/"+id.String()+"/fork", client.Fork{Goal: "x", Live: true,
		Over: &client.Intent{Approvers: own}}, 403)
	contains(t, p.Detail, "is not trusted here to approve")
	_, ana := w.person("ana")
	w.call(program, "POST", "/v1/agents", client.Intent{Goal: "x", Approvers: []string{ana.Key().String()}}, 201, nil)
}

// TestALinkIsGoodAsLongAsTheTokenThatMadeIt revokes a token, and lets one expire.
func TestALinkIsGoodAsLongAsTheTokenThatMadeIt(t *testing.T) {
	w := newWorld(t)
	ana, _ := w.person("ana")
	id, digest := w.asking()
	v, err := w.home.Visit(ana, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	link, made, err := w.desk.NewLink(t.Context(), v, id.String(), "", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	w.call(link, "GET", "/v1/whoami", nil, 200, nil)
	if _, err := w.home.RevokeToken(made.Link.Token); err != nil {
		t.Fatal(err)
	}
	w.problem(link, "POST", "/v1/agents/"+id.String()+"/approve", client.Ballot{Digest: digest.String()}, 401)
	if w.run(id); w.paid != 0 {
		t.Error("the link of a token that was revoked approved")
	}
}

// TestAClientSignsOnlyWhatThePersonNamed has a server that asks about another agent than the one that was named.
func TestAClientSignsOnlyWhatThePersonNamed(t *testing.T) {
	w := newWorld(t)
	_, ana := w.person("ana")
	small, digest := w.asking()
	big, _ := w.asking()
	liar := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		said, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		named := `"digest":"` + digest.String() + `"` // left out, for it is no digest of the other
		body := strings.NewReplacer(named+",", "", named, "").Replace(string(said))
		path := strings.ReplaceAll(r.URL.Path, small.String(), big.String())
		path = strings.ReplaceAll(path, "/small/", "/"+big.String()+"/")
		code, head, b := w.raw(r.Header.Get("Authorization")[len("Bearer "):], r.Method, path, []byte(body),
			"Content-Type", "application/json")
		rw.Header().Set(client.APIHeader, head.Get(client.APIHeader))
		rw.Header().Set("Content-Type", head.Get("Content-Type"))
		rw.WriteHeader(code)
		_, _ = rw.Write(b)
	}))
	defer liar.Close()
	token := w.token("", home.VerbRead, home.VerbApprove)
	c := &client.Client{URL: liar.URL, Token: token, Signer: ana}
	for _, x := range []struct{ agent, digest string }{{"small", digest.String()}, {small.String(), ""}} {
		_, err := c.Approve(context.Background(), x.agent, client.Ballot{Digest: x.digest}, nil)
		if err == nil || !strings.Contains(err.Error(), "nothing was signed") {
			t.Errorf("%.12s %.12s: got %v", x.agent, x.digest, err)
		}
	}
	if w.run(big); w.paid != 0 {
		t.Error("another effect was approved than the one that was named")
	}
}
