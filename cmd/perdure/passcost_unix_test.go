//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// passes is two homes that trust each other, of which one serves, and a way between them that counts.
type passes struct {
	t          *testing.T
	here, away string // the homes
	way        *cuttable
	token      string // a file
}

func newPasses(t *testing.T) *passes {
	t.Helper()
	root := t.TempDir()
	p := &passes{t: t, here: filepath.Join(root, "here"), away: filepath.Join(root, "away"), way: newCuttable(t),
		token: filepath.Join(root, "token")}
	keys := map[string]string{}
	for _, home := range []string{p.here, p.away} {
		must(t, exitOK, "key", "new", "--name", filepath.Base(home), "--store", home)
		keys[home] = strings.TrimSpace(must(t, exitOK, "key", "show", "--jq", ".text", "--store", home))
	}
	must(t, exitOK, "key", "trust", keys[p.away], "--rights", "own", "--scope", "*", "--store", p.here)
	must(t, exitOK, "key", "trust", keys[p.here], "--rights", "own", "--scope", "*", "--store", p.away)
	text := token(t, p.away, "here", "--verbs", "read,export,import")
	if err := os.WriteFile(p.token, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// serve has the other home serve.
func (p *passes) serve() {
	p.t.Helper()
	s := serve(p.t, p.away, "--no-node")
	p.way.mu.Lock()
	p.way.to = strings.TrimPrefix(s.url, "http://")
	p.way.mu.Unlock()
}

// breakAfter has every further connection break after so many bytes; zero: none does.
func (p *passes) breakAfter(most int64) {
	p.way.mu.Lock()
	defer p.way.mu.Unlock()
	p.way.most = most
}

// run passes agents, and is how many bytes came, and with what exit code it ended.
func (p *passes) run(args ...string) (bytes int64, said string, code int) {
	p.t.Helper()
	before := p.way.passed.Load()
	args = append(args, "http://"+p.way.ln.Addr().String(), "--token-file", p.token, "--store", p.here)
	out, errs, code := perdureIn(p.t, "", args...)
	return p.way.passed.Load() - before, out + errs, code
}

// TestAPullCostsWhatIsNew has an agent with six large events pulled by its name, over connections that break, and then
// again and again while only the home that pulls has something new.
func TestAPullCostsWhatIsNew(t *testing.T) {
	t.Parallel()
	p := newPasses(t)
	const large, events, small = 600_000, 6, 40_000
	must(t, exitOK, "new", "hear", "--name", "big", "--store", p.away)
	data := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(data, []byte(`"`+strings.Repeat("x", large)+`"`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range events {
		must(t, exitOK, "send", "big", "hear", "--data", "@"+data, "--store", p.away)
	}
	p.serve()
	p.breakAfter(2*large + large/2)
	total, tries := int64(0), 0
	for code := -1; code != exitOK; {
		n, said, got := p.run("pull", "big")
		if code, total = got, total+n; code != exitOK && !strings.Contains(said, "run the same command again") {
			t.Errorf("a connection broke: %s", said)
		}
		if tries++; tries > 2*events {
			t.Fatalf("%d tries, and it is not here: %s", tries, said)
		}
	}
	if tries < 2 || total > 2*events*large {
		t.Errorf("%d tries took %d bytes of an agent with %d", tries, total, events*large)
	}
	p.breakAfter(0)
	// what arrived is paused here, by an entry that the other place does not have
	for _, args := range [][]string{{"pull", "big"}, {"pull", "--scope", "home"}, {"sync", "big"}} {
		want := exitOK
		if args[0] == "sync" { // what was named waits here, and is not passed on
			want = exitDenied
		}
		if n, said, code := p.run(args...); code != want || n > small {
			t.Errorf("%q: exit %d, %d bytes: %s", args, code, n, said)
		}
	}
	must(t, exitOK, "resume", "big", "--store", p.here)
	must(t, exitOK, "send", "big", "tiny", "--store", p.here)
	must(t, exitOK, "send", "big", "other", "--store", p.away) // both have something new
	n, said, code := p.run("sync", "big")
	if code != exitOK || n > small || !strings.Contains(said, "1 entry came") || !strings.Contains(said, "went") {
		t.Errorf("sync: exit %d, %d bytes: %s", code, n, said)
	}
}

// TestWhyAServerCannotBeAskedIsSaid: somebody else answers there, it speaks no TLS, nobody is there.
func TestWhyAServerCannotBeAskedIsSaid(t *testing.T) {
	t.Parallel()
	p := newPasses(t)
	key := strings.TrimSpace(must(t, exitOK, "key", "show", "--jq", ".text", "--store", p.here))
	safe, open := serve(t, p.away, "--no-node", "--tls"), newPasses(t)
	plain := serve(t, open.away, "--no-node")
	for _, x := range []struct {
		args []string
		says []string
	}{
		{[]string{safe.url, "--server-key", key}, []string{"is not the one with key", "somebody in between"}},
		{[]string{strings.Replace(plain.url, "http:", "https:", 1)}, []string{"does not speak TLS", "write http://"}},
		{[]string{plain.url + "/v1"}, []string{"leave /v1 out"}},
		{[]string{"http://127.0.0.1:1"}, []string{"see that a perdure server runs there"}},
	} {
		_, errs, code := perdureIn(t, "", append([]string{"pull", "--all", "--store", p.here}, x.args...)...)
		text := strings.Join(strings.Fields(errs), " ")
		for _, want := range x.says {
			if code == exitOK || !strings.Contains(text, want) {
				t.Errorf("pull from %q: exit %d, it does not say %q: %s", x.args, code, want, text)
			}
		}
	}
}
