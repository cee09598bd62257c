package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

func (w *world) client(token string, key *perdure.Signer) *client.Client {
	return &client.Client{URL: w.url, Token: token, Signer: key}
}

func TestTwoPeoplesTokensAreTwoVotesAndOnePersonsTwoAreOne(t *testing.T) {
	w := newWorld(t)
	w.quorum = 2
	ana, key := w.person("ana")
	anaToo := w.again(key)
	bob, _ := w.person("bob")
	id, digest := w.asking()
	path := "/v1/agents/" + id.String()
	w.call(ana, "POST", path+"/approve", client.Ballot{Digest: digest.String()}, 200, nil)
	p := w.problem(anaToo, "POST", path+"/approve", client.Ballot{Digest: digest.String()}, 409)
	contains(t, p.Detail, "already approved, with this key")
	if w.run(id); w.paid != 0 {
		t.Fatal("one person's two tokens were two votes")
	}
	w.call(bob, "POST", path+"/approve", client.Ballot{Digest: digest.String()}, 200, nil)
	if w.run(id); w.paid != 1 {
		t.Fatalf("two people approved, and it paid %d times", w.paid)
	}
	p = w.problem(bob, "POST", path+"/deny", client.Ballot{Digest: digest.String()}, 409)
	contains(t, p.Detail, "already approved, by bob")
}

// Who was first is said also once the agent has ended, of a whole digest, its beginning and none.
func TestALateAnswerToAnEndedAgentIsToldWhoWasFirst(t *testing.T) {
	w := newWorld(t)
	ana, _ := w.person("ana")
	bob, _ := w.person("bob")
	id, digest := w.asking()
	path := "/v1/agents/" + id.String()
	var l client.Link
	w.call(ana, "POST", path+"/links", client.NewLink{}, 200, &l)
	_, link, _ := strings.Cut(l.Link, "#")
	w.call(bob, "POST", path+"/approve", client.Ballot{}, 200, nil)
	w.run(id)
	w.call(w.human(), "POST", path+"/answer", client.Answer{Text: "done"}, 200, nil)
	if w.run(id).Ended == nil {
		t.Fatal("it has not ended")
	}
	for _, given := range []string{digest.String(), digest.String()[:8], ""} {
		for _, word := range []string{"/approve", "/deny"} {
			for _, by := range []string{ana, link} {
				p := w.problem(by, "POST", path+word, client.Ballot{Digest: given}, 409)
				contains(t, p.Detail, "already approved, by bob")
			}
		}
	}
}

func TestAPersonSignsElsewhereAndTheServerOnlyStores(t *testing.T) {
	w := newWorld(t)
	token := w.token("", home.VerbRead, home.VerbApprove)
	_, ana := w.person("ana")
	id, digest := w.asking()
	ctx := t.Context()
	var seen *client.Question
	c := w.client(token, ana)
	refuse := errors.New("I would rather not")
	_, err := c.Approve(ctx, id.String(), client.Ballot{}, func(q *client.Question) error { seen = q; return refuse })
	if !errors.Is(err, refuse) || seen.Digest != digest {
		t.Fatalf("got %v, and was shown %+v", err, seen)
	}
	if x, ok := seen.Action.(perdure.Execute); !ok || x.Tool != "pay" || !strings.Contains(string(x.Args.JSON()), "7") {
		t.Errorf("was shown %+v", seen.Action)
	}
	told, err := c.Approve(ctx, id.String(), client.Ballot{Note: "fine"}, nil)
	if err != nil || told.Before {
		t.Fatalf("approve: %+v, %v", told, err)
	}
	if _, err := c.Approve(ctx, id.String(), client.Ballot{Digest: digest.String()}, nil); !errors.Is(
		err,
		perdure.ErrConflict,
	) {
		t.Errorf("a second approval: got %v, want a conflict", err)
	}
	eve, err := perdure.GenerateSigner("eve")
	if err != nil {
		t.Fatal(err)
	}
	id2, _ := w.asking()
	if _, err := w.client(token, eve).Approve(ctx, id2.String(), client.Ballot{}, nil); !errors.Is(
		err,
		perdure.ErrDenied,
	) {
		t.Errorf("a stranger's approval: got %v, want denied", err)
	}
	own, err := w.home.Key()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client(token, own).Approve(ctx, id2.String(), client.Ballot{}, nil); !errors.Is(err,
		perdure.ErrDenied) ||
		!strings.Contains(err.Error(), "never votes") {
		t.Errorf("the server's key voted through it: %v", err)
	}
	if w.run(id); w.paid != 1 {
		t.Errorf("it paid %d times, want once", w.paid)
	}
}

func TestASignedAnswerThatComesAgainChangesNothing(t *testing.T) {
	w := newWorld(t)
	token := w.token("", home.VerbApprove)
	_, ana := w.person("ana")
	id, digest := w.asking()
	path := "/v1/agents/" + id.String()
	var u client.Unsigned
	w.call(token, "POST", path+"/votes/prepare",
		client.ToSign{Approve: true, Key: ana.Key().String(), Name: "ana"}, 200, &u)
	var entries []*perdure.Entry
	for _, b := range u.Entries {
		e, err := perdure.DecodeEntry(b, perdure.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	post := func(entries []*perdure.Entry, status int) (told client.Told) {
		var s client.Signed
		for _, e := range entries {
			b, err := e.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			s.Entries = append(s.Entries, b)
		}
		w.call(token, "POST", path+"/votes", s, status, &told)
		return told
	}
	post(entries, 400) // it is not signed
	signed, err := ana.SignVote(entries, id, perdure.Approval{Approve: true, Digest: digest})
	if err != nil {
		t.Fatal(err)
	}
	first := post(signed, 200)
	for range 3 {
		if again := post(signed, 200); again.Entry != first.Entry || !again.Before {
			t.Errorf("got %+v, want the first entry again", again)
		}
	}
	b, err := signed[len(signed)-1].MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if code, _, text := w.raw(token, "POST", path+"/votes", client.Signed{Entries: [][]byte{b}}); code != 422 {
		t.Errorf("a broken signature: got %d: %s", code, text)
	}
	n := 0
	for e, err := range perdure.Memory(t.Context(), w.store, id) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok && ev.Name == "approval" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("there are %d approvals in memory, want 1", n)
	}
}

func TestALinkIsGoodForOneAnswerToOneQuestion(t *testing.T) {
	w := newWorld(t)
	ana, _ := w.person("ana")
	id, digest := w.asking()
	other, _ := w.asking()
	path := "/v1/agents/" + id.String()
	var l client.Link
	w.call(ana, "POST", path+"/links", client.NewLink{Digest: digest.String(), Expires: "1h"}, 200, &l)
	page, secret, ok := strings.Cut(l.Link, "#")
	if !ok || page != w.url+"/approve" {
		t.Fatalf("the link is %s", l.Link)
	}
	code, _, html := w.raw("", "GET", "/approve", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	if code != http.StatusOK || strings.Contains(string(html), secret) {
		t.Errorf("the page: %d", code)
	}
	var me client.Who
	w.call(secret, "GET", "/v1/whoami", nil, 200, &me)
	if me.Agent != id.String() || me.Digest != digest.String() || me.Name != "ana" {
		t.Errorf("got %+v", me)
	}
	w.problem(secret, "GET", path, nil, 403)
	w.problem(secret, "POST", "/v1/agents/"+other.String()+"/approve", nil, 404)
	w.problem(secret, "POST", path+"/links", client.NewLink{}, 403)
	var u client.Unsigned
	ask := client.ToSign{Ballot: client.Ballot{Digest: me.Digest}, Approve: true, Key: me.Key.String(), Name: me.Name}
	w.call(secret, "POST", path+"/votes/prepare", ask, 200, &u)
	if u.About == nil || len(u.About.Sheet) == 0 {
		t.Errorf("the person is shown %+v", u.About)
	}
	w.call(secret, "POST", path+"/approve", client.Ballot{Digest: digest.String()}, 200, nil)
	var again client.Told // the answer got lost, or somebody clicked twice
	w.call(secret, "POST", path+"/approve", client.Ballot{Digest: digest.String()}, 200, &again)
	if !again.Before {
		t.Errorf("the same answer again: got %+v, want that it was received before", again)
	}
	p := w.problem(secret, "POST", path+"/deny", client.Ballot{Digest: digest.String()}, 409)
	if p.Detail != "this link was used, to approve; nothing was changed" { // not that a node was first
		t.Errorf("got %q", p.Detail)
	}
	w.problem(secret, "POST", path+"/approve", client.Ballot{Digest: strings.Repeat("0", 64)}, 403) // another question
	if w.run(id); w.paid != 1 {
		t.Errorf("it paid %d times, want once", w.paid)
	}
	w.call(secret, "POST", path+"/approve", client.Ballot{Digest: digest.String()}, 200, nil)
	w.problem(secret, "POST", path+"/deny", client.Ballot{Digest: digest.String()}, 409)
	if w.run(id); w.paid != 1 {
		t.Errorf("it paid %d times, want once", w.paid)
	}
	w.problem(w.token("", home.VerbApprove), "POST", "/v1/agents/"+other.String()+"/links", client.NewLink{}, 403)
	v, err := w.home.Visit(ana, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := w.desk.NewLink(t.Context(), v, other.String(), "", time.Now().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.home.Unlock(text, time.Now().Add(2*time.Second)); !errors.Is(err, home.ErrUnknown) {
		t.Errorf("an expired link: got %v", err)
	}
}

// Links that are no longer useful are removed, and one person has not more of them than anybody answers.
func TestLinksAreSweptAndBounded(t *testing.T) {
	w := newWorld(t)
	ana, _ := w.person("ana")
	id, digest := w.asking()
	path := "/v1/agents/" + id.String()
	dir := filepath.Join(w.home.Dir, "links")
	var made client.Link
	w.call(ana, "POST", path+"/links", client.NewLink{Digest: digest.String()}, 200, &made)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	own := strings.TrimSuffix(filepath.Base(files[0]), ".json")
	put := func(name string, at time.Time, from, to string) string { // another link like it
		changed := strings.ReplaceAll(strings.Replace(string(text), from, to, 1), own, name)
		if changed == string(text) {
			t.Fatalf("%s is not in %s", from, text)
		}
		file := filepath.Join(dir, name+".json")
		err := errors.Join(os.WriteFile(file, []byte(changed), 0o600), os.Chtimes(file, time.Time{}, at))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	long, now := time.Now().Add(-48*time.Hour), time.Now()
	said := `"digest": "` + digest.String() + `"`
	var expires string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"expires"`) {
			expires = strings.TrimSpace(line)
		}
	}
	gone := []string{
		put("00000000000000a1", long, said, said+`, "said": "approve"`),
		put("00000000000000a2", now, expires, `"expires": 1,`),
		put("00000000000000a3", now, `"token": "`, `"token": "0`),
	}
	stays := put("00000000000000a4", now, said, said+`, "said": "approve"`)
	unread := put("00000000000000a5", now, `"token": "`, `"token": "0000000000000bad", "was": "`)
	bad := filepath.Join(w.home.Dir, "tokens", "0000000000000bad.json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.call(ana, "POST", path+"/links", client.NewLink{Digest: digest.String()}, 200, nil)
	for _, file := range gone {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is still there", filepath.Base(file))
		}
	}
	if _, err := os.Stat(stays); err != nil {
		t.Errorf("one that was used just now: %v", err)
	}
	if _, err := os.Stat(unread); err != nil {
		t.Errorf("one of a token that cannot be read: %v", err)
	}
	for i := range 250 {
		put(fmt.Sprintf("00000000000001%02x", i), now, own, own)
	}
	var many sync.WaitGroup
	for range 16 { // of which there is room for three
		many.Go(func() { w.raw(ana, "POST", path+"/links", client.NewLink{Digest: digest.String()}) })
	}
	many.Wait()
	if files, err = filepath.Glob(filepath.Join(dir, "*.json")); err != nil || len(files) != 256+1 { // one is used
		t.Errorf("%d links, %v", len(files), err)
	}
	p := w.problem(ana, "POST", path+"/links", client.NewLink{Digest: digest.String()}, 429)
	contains(t, p.Detail, "256 links of ana are open")
	contains(t, p.Hint, "perdure token revoke")
	bob, _ := w.person("bob")
	w.call(bob, "POST", path+"/links", client.NewLink{Digest: digest.String()}, 200, nil)
}

// A process that is killed after a vote by a link was stored, and before the link is marked as used.
func TestALinkThatWasUsedBeforeAKillAnswersNothingElse(t *testing.T) {
	for name, x := range map[string]struct {
		quorum int64
		runs   bool
	}{"still open": {2, false}, "approved": {1, false}, "done": {1, true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ana, _ := w.person("ana")
			w.quorum = x.quorum
			id, digest := w.asking()
			path := "/v1/agents/" + id.String()
			var made client.Link
			w.call(ana, "POST", path+"/links", client.NewLink{Digest: digest.String()}, 200, &made)
			_, link, _ := strings.Cut(made.Link, "#")
			files, err := filepath.Glob(filepath.Join(w.home.Dir, "links", "*.json"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			before, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			w.call(link, "POST", path+"/approve", client.Ballot{}, 200, nil)
			if err := os.WriteFile(files[0], before, 0o600); err != nil { // as if it had been killed
				t.Fatal(err)
			}
			if x.runs {
				w.run(id)
			}
			p := w.problem(link, "POST", path+"/deny", client.Ballot{}, 409)
			if !x.runs && p.Detail != "this link was used, to approve; nothing was changed" {
				t.Errorf("to deny: %q", p.Detail)
			}
			for _, digest := range []string{"", digest.String()} {
				var again client.Told
				w.call(link, "POST", path+"/approve", client.Ballot{Digest: digest}, 200, &again)
				if !again.Before {
					t.Errorf("the same answer again, for %q: %+v, want that it was received before", digest, again)
				}
			}
			if after, err := os.ReadFile(files[0]); err != nil || bytes.Equal(after, before) {
				t.Errorf("the link is still open, %v", err)
			}
			p = w.problem(link, "POST", path+"/deny", client.Ballot{}, 409)
			if p.Detail != "this link was used, to approve; nothing was changed" {
				t.Errorf("to deny, then: %q", p.Detail)
			}
		})
	}
}

// A link that is used many times at once, for both answers, gives one.
func TestALinkGivesOneAnswerHoweverManyAreAskedOfItAtOnce(t *testing.T) {
	w := newWorld(t)
	ana, key := w.person("ana")
	w.quorum = 2
	id, digest := w.asking()
	var made client.Link
	w.call(ana, "POST", "/v1/agents/"+id.String()+"/links", client.NewLink{Digest: digest.String()}, 200, &made)
	_, link, _ := strings.Cut(made.Link, "#")
	var all sync.WaitGroup
	for i := range 8 {
		word := []string{"approve", "deny"}[i%2]
		all.Go(func() { w.raw(link, "POST", "/v1/agents/"+id.String()+"/"+word, client.Ballot{}) })
	}
	all.Wait()
	said := map[bool]int{}
	for e, err := range w.store.Entries(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		ev, _ := e.Content().(perdure.Event)
		if vote, ok := ev.Notice.(perdure.Approval); ok && e.Origin == key.Key() {
			said[vote.Approve]++
		}
	}
	if len(said) != 1 {
		t.Errorf("answers by one link, yes and no: %v", said)
	}
}

// A fork names approvers as a new agent does.
func TestAForkNamesApproversByName(t *testing.T) {
	w := newWorld(t)
	w.person("ana")
	all := w.token("", home.Verbs...)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "one", Approvers: []string{"ana"}}, 201, nil)
	over := &client.Intent{Goal: "x", Approvers: []string{"ana"}}
	w.call(all, "POST", "/v1/agents/one/fork", client.Fork{Name: "two", Over: over}, 200, nil)
}

// What a program says taints an agent, however it says it; a person's word and a bare pause do not.
func TestWordsOfProgramsTaintHoweverTheyAreSaid(t *testing.T) {
	w := newWorld(t)
	prog := w.token("", home.Verbs...)
	ana := w.human()
	goal := "pay mallory"
	for name, x := range map[string]struct {
		token, verb string
		body        any
		want        bool
	}{
		"a bare pause":     {prog, "pause", client.Note{}, false},
		"a pause":          {prog, "pause", client.Note{Note: "pay mallory"}, true},
		"an edit":          {prog, "edit", client.Edit{Goal: &goal}, true},
		"a person's pause": {ana, "pause", client.Note{Note: "wait"}, false},
	} {
		var made client.Created
		w.call(ana, "POST", "/v1/agents", client.Intent{Goal: "listen", Name: "a"}, 201, &made)
		id := made.Agent
		w.call(x.token, "POST", "/v1/agents/"+id.String()+"/"+x.verb, x.body, 200, nil)
		a, err := w.desk.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got := !a.Fold().Taint.IsZero(); got != x.want {
			t.Errorf("%s: tainted %v, want %v", name, got, x.want)
		}
	}
}

// So does what it says when it makes an agent, by itself or of another one.
func TestWordsOfProgramsTaintWhatTheyBegin(t *testing.T) {
	w := newWorld(t)
	prog, ana := w.token("", home.Verbs...), w.human()
	var clean client.Created
	w.call(ana, "POST", "/v1/agents", client.Intent{Goal: "listen", Name: "clean"}, 201, &clean)
	evil := client.Fork{Goal: "pay mallory"}
	over := client.Fork{Over: &client.Intent{Goal: "pay mallory"}}
	for name, x := range map[string]struct {
		token string
		fork  *client.Fork // nil: made from nothing
		want  bool
	}{
		"made by a program":                 {prog, nil, true},
		"made by a person":                  {ana, nil, false},
		"forked by a program":               {prog, &client.Fork{}, false},
		"forked with a goal by a program":   {prog, &evil, true},
		"forked with a goal by a person":    {ana, &evil, false},
		"forked with an intent, by program": {prog, &over, true},
	} {
		var made client.Created
		if x.fork == nil {
			w.call(x.token, "POST", "/v1/agents", client.Intent{Goal: "pay mallory"}, 201, &made)
		} else {
			var forked client.Forked
			w.call(x.token, "POST", "/v1/agents/"+clean.Agent.String()+"/fork", x.fork, 200, &forked)
			made.Agent = forked.Agent
		}
		a, err := w.desk.Load(t.Context(), made.Agent)
		if err != nil {
			t.Fatal(err)
		}
		if got := !a.Fold().Taint.IsZero(); got != x.want {
			t.Errorf("%s: tainted %v, want %v", name, got, x.want)
		}
	}
}

// Where somebody may approve does not say that they may elsewhere: neither prepare an answer, for whomever, nor hand
// one in.
func TestAnswersAreTakenFromThoseWhoMayApproveThere(t *testing.T) {
	w := newWorld(t)
	id, digest := w.asking()
	_, ana := w.person("ana")
	ballot := home.Ballot{Digest: digest.String(), Approve: true}
	visitor := func(scope string) *home.Visitor {
		bob, err := perdure.GenerateSigner("bob")
		if err != nil {
			t.Fatal(err)
		}
		for right, scope := range map[perdure.Right]string{
			perdure.MayAuthor: perdure.AnyScope, perdure.MayApprove: scope,
		} {
			who := perdure.Trustee{Key: bob.Key(), Name: "bob", Rights: right, Scope: scope}
			if err := w.home.AddTrust(who); err != nil {
				t.Fatal(err)
			}
		}
		v, err := w.home.Peer(bob.Key())
		if err != nil {
			t.Fatal(err)
		}
		v.Person = ana
		return v
	}
	here, elsewhere := visitor(perdure.AnyScope), visitor("acme/ops")
	if _, _, err := w.desk.Prepare(t.Context(), elsewhere, id.String(), ana.Key(), "ana",
		ballot); home.KindOf(err) != home.KindDenied {
		t.Errorf("an answer is prepared for who may not approve there: %v", err)
	}
	unsigned, _, err := w.desk.Prepare(t.Context(), here, id.String(), ana.Key(), "ana", ballot)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := ana.SignVote(unsigned, id, perdure.Approval{Digest: digest, Approve: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.desk.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	_, votable := w.desk.Votable(elsewhere, a, digest, true)
	_, _, vote := w.desk.Vote(t.Context(), elsewhere, id.String(), ballot)
	_, _, take := w.desk.Take(t.Context(), elsewhere, id.String(), signed)
	for what, err := range map[string]error{"asked about": votable, "given": vote, "handed in": take} {
		if home.KindOf(err) != home.KindDenied {
			t.Errorf("an answer is %s by who may not approve there: %v", what, err)
		}
	}
	if _, _, err := w.desk.Take(t.Context(), here, id.String(), signed); err != nil {
		t.Errorf("an answer of who may approve there is refused: %v", err)
	}
}
