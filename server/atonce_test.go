package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/keyfile"
)

// settled waits until the files of a home are old enough to be kept as they were read, and has each read once more.
func (w *world) settled(tokens ...string) {
	w.t.Helper()
	time.Sleep(2100 * time.Millisecond)
	for range 2 {
		for _, token := range tokens {
			w.call(token, "GET", "/v1/agents", nil, 200, nil)
		}
		if _, err := w.home.Trust(); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestWhatIsTakenBackCountsAtOnceAlsoOfFilesThatAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ana, key := w.person("ana")
	bob, bobs := w.person("bob")
	id, digest := w.asking()
	prog, made, err := w.home.MakeToken(home.NewToken{Name: "prog", Verbs: []string{home.VerbRead}})
	if err != nil {
		t.Fatal(err)
	}
	w.settled(ana, bob, prog)
	path := "/v1/agents/" + id.String()
	ballot := client.Ballot{Digest: digest.String()}

	if _, err := w.home.RevokeToken(made.ID); err != nil {
		t.Fatal(err)
	}
	w.problem(prog, "GET", "/v1/agents", nil, 401)

	file := filepath.Join(w.home.Dir, home.TrustFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := w.home.ReadTrust()
	if err != nil {
		t.Fatal(err)
	}
	less := perdure.NewTrust()
	for _, who := range trust.Trustees() {
		if who.Key != key.Key() {
			less = less.With(who)
		}
	}
	if err := os.WriteFile(file, []byte(less.String()), 0o600); err != nil { // in place, as an editor does
		t.Fatal(err)
	}
	w.problem(ana, "POST", path+"/approve", ballot, 403)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.call(ana, "POST", path+"/approve", ballot, 200, nil)

	if err := w.home.TrustKey(perdure.Trustee{Key: bobs.Key(), Revoked: true}); err != nil {
		t.Fatal(err)
	}
	w.problem(bob, "GET", "/v1/agents", nil, 401) // a token of somebody whose key is revoked
}

func TestANodeAtWorkDoesNotUseAVoteOfSomebodyWhoIsNotTrustedAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ana, key := w.person("ana")
	id, digest := w.asking()
	w.node.TrustNow = w.desk.Node.TrustNow
	w.call(ana, "POST", "/v1/agents/"+id.String()+"/approve", client.Ballot{Digest: digest.String()}, 200, nil)
	w.settled(ana)
	if err := w.home.TrustKey(perdure.Trustee{Key: key.Key(), Revoked: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.node.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if w.paid != 0 {
		t.Error("it paid, by the vote of a key that was revoked before")
	}
}

func TestAKeyThatWasReplacedIsTheHomesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, err := w.home.Key()
	if err != nil {
		t.Fatal(err)
	}
	w.settled()
	next, err := perdure.GenerateSigner("next")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.home.Dir, home.KeyFile)
	if err := keyfile.Write(path+".next", next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
	got, err := w.home.Key()
	if err != nil || got.Key() != next.Key() {
		t.Errorf("the key is %v, %v; want the new one", got, err)
	}
	trust, err := w.home.Trust()
	if err != nil || !trust.Allows(next.Key(), perdure.MayOwn, perdure.AnyScope) {
		t.Errorf("the home does not trust its new key: %v", err)
	}
	if _, _, err := w.home.MakeToken(home.NewToken{Name: "x", Verbs: home.Verbs, Person: next}); err == nil {
		t.Error("there is a token with the home's own key")
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.home.Key(); err == nil {
		t.Error("a key that others can read is used")
	}
	if old.Key() == next.Key() {
		t.Fatal("it is the same key")
	}
}
