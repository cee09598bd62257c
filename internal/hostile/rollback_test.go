package hostile

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// approved is a place with an agent that has been allowed to pay once, and has not paid yet.
func approved(t *testing.T, folder bool) *place {
	t.Helper()
	d := door{folder: folder}
	p := d.at(t)
	p.ok("new", "pay the bill", "--name", "bill")
	if g := p.run("bill", "ask", "pay"); g.code != 7 {
		t.Fatalf("it does not ask: %v", g)
	}
	p.ok("approve", "bill")
	return p
}

// again works on an agent whose store is an older copy, and wants to be told so and nothing done.
func (p *place) again(agent string) {
	p.t.Helper()
	g := p.run(agent, "ask", "pay")
	p.done(1, "an approved effect after the copy was rolled back")
	if g.code == 0 || !g.says("older") {
		p.t.Errorf("an older copy is not refused: %v", g)
	}
}

func TestRolledBackFolderDoesNotPayTwice(t *testing.T) {
	t.Parallel()
	p := approved(t, true)
	files := have(filepath.Glob(p.path("agents", "*.agent")))(t)
	if len(files) != 1 {
		t.Fatalf("files of the folder: %v", files)
	}
	old := have(os.ReadFile(files[0]))(t)
	p.run("bill", "ask", "pay")
	p.done(1, "an approved effect")
	must(t, os.WriteFile(files[0], old, 0o600))
	p.again("bill")

	must(t, os.RemoveAll(p.path("agents", ".index")))
	p.again("bill")
}

func TestRolledBackDatabaseDoesNotPayTwice(t *testing.T) {
	t.Parallel()
	p := approved(t, false)
	p.copy(".perdure/store.db", "old.db")
	p.run("bill", "ask", "pay")
	p.done(1, "an approved effect")
	for _, end := range []string{"-wal", "-shm"} {
		_ = os.Remove(p.path(".perdure", "store.db"+end)) // there may be none
	}
	p.copy("old.db", ".perdure/store.db")
	p.again("bill")
}

// TestGarbledSightingDoesNotPayTwice rolls a store back, and garbles what the home has seen so that it says nothing:
// what cannot be read must not pass for what was never seen.
func TestGarbledSightingDoesNotPayTwice(t *testing.T) {
	t.Parallel()
	for _, garble := range []string{"UPDATE seen SET heads = x''", "UPDATE seen SET heads = zeroblob(7)",
		"UPDATE seen SET heads = 5"} {
		p := approved(t, false)
		p.copy(".perdure/store.db", "old.db")
		p.run("bill", "ask", "pay")
		p.done(1, "an approved effect")
		db := have(sql.Open("sqlite", p.path(".perdure", "seen.db")))(t)
		have(db.ExecContext(t.Context(), garble))(t)
		must(t, db.Close())
		for _, end := range []string{"-wal", "-shm"} {
			_ = os.Remove(p.path(".perdure", "store.db"+end)) // there may be none
		}
		p.copy("old.db", ".perdure/store.db")
		g := p.run("bill", "ask", "pay")
		p.done(1, "an approved effect after "+garble)
		if g.code == 0 || !g.says("doctor --repair") {
			t.Errorf("%s: it does not say what is wrong, and what to do: %v", garble, g)
		}
	}
}

// TestTornFileLosesNoAgent cuts the file of an agent where a crash may have, in the middle of its last entries.
func TestTornFileLosesNoAgent(t *testing.T) {
	t.Parallel()
	p := newPlace(t).inFolder()
	p.ok("new", "stay", "--name", "stays")
	files := have(filepath.Glob(p.path("agents", "*.agent")))(t)
	before := len(have(os.ReadFile(files[0]))(t))
	p.ok("send", "stays", "one", `"a word, so that it is long enough to be cut"`)
	whole := have(os.ReadFile(files[0]))(t)
	for _, cut := range []int{before + 1, before + 4, (before + len(whole)) / 2, len(whole) - 1} {
		for _, zeros := range []int{0, len(whole) - cut} {
			must(t, os.WriteFile(files[0], append(whole[:cut:cut], make([]byte, zeros)...), 0o600))
			if got := p.ok("ls"); !strings.Contains(got, "stays") {
				t.Errorf("cut at %d of %d, with %d zeros: ls says %s", cut, len(whole), zeros, got)
			}
			p.ok("log", "stays")
		}
	}
	p.ok("send", "stays", "two")
}

func TestRolledBackFileDoesNotPayTwice(t *testing.T) {
	t.Parallel()
	p := approved(t, false)
	p.ok("export", "bill", "bill.agent")
	p.copy("bill.agent", "old.agent")
	p.run("./bill.agent", "ask", "pay")
	p.done(1, "an approved effect")
	p.copy("old.agent", "bill.agent")
	p.again("./bill.agent")
	p.copy("old.agent", "other.agent")
	p.again("./other.agent")
}

// TestForgottenSightingsAreMadeAnew removes what the home has seen: its own store still knows that the copy is old.
func TestForgottenSightingsAreMadeAnew(t *testing.T) {
	t.Parallel()
	p := approved(t, false)
	p.ok("export", "bill", "old.agent")
	p.run("bill", "ask", "pay")
	p.done(1, "an approved effect")
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(p.path(".perdure", "seen.db"+end)) // there may be none
	}
	p.again("./old.agent")
}

func TestRolledBackNodeDoesNotPayTwice(t *testing.T) {
	t.Parallel()
	p := approved(t, false)
	p.copy(".perdure/store.db", "old.db")
	p.run("bill", "ask", "pay")
	p.done(1, "an approved effect")
	p.copy("old.db", ".perdure/store.db")
	p.node("ask-beacon", "pay")
	p.done(1, "an approved effect after the copy was rolled back, by a node")
}

func TestNextStepOfAnOlderCopyIsTheOwnersToAllow(t *testing.T) {
	t.Parallel()
	p := newPlace(t).inFolder()
	p.ok("new", "wait", "--name", "bill")
	files := have(filepath.Glob(p.path("agents", "*.agent")))(t)
	old := have(os.ReadFile(files[0]))(t)
	p.ok("send", "bill", "hello")
	must(t, os.WriteFile(files[0], old, 0o600))
	g := p.run("bill", "open", "end")
	if g.code == 0 || !g.says("older") || !g.says("perdure ") {
		t.Errorf("an older copy runs, or nobody is told what to do: %v", g)
	}
}

// An agent is gone and its home told to forget it. Then an old copy of it turns up.
func TestForgottenAgentDoesNotPayTwice(t *testing.T) {
	t.Parallel()
	p := approved(t, true)
	files := have(filepath.Glob(p.path("agents", "*.agent")))(t)
	old := have(os.ReadFile(files[0]))(t)
	p.run("bill", "ask", "pay")
	p.done(1, "an approved effect")
	must(t, os.Remove(files[0]))
	if out := p.ok("doctor", "--forget"); !strings.Contains(out, "1 agent forgotten") {
		t.Errorf("nothing was forgotten: %s", out)
	}
	if out := p.ok("ls", "--json"); out != "[]" {
		t.Errorf("it is still listed: %s", out)
	}
	must(t, os.WriteFile(files[0], old, 0o600))
	p.again("bill")
	p.copy(filepath.Join("agents", filepath.Base(files[0])), "other.agent")
	p.again("./other.agent")
}

// A policy that an agent brings along is learned when somebody admits the agent, not when it comes.
func TestEnclosedPolicyIsLearnedOnAdmissionOnly(t *testing.T) {
	t.Parallel()
	mallory := newPlace(t)
	mallory.write("narrow.cedar",
		"@id(\"no-shell\")\nforbid (principal, action == Action::\"execute\", resource == Tool::\"shell\");\n")
	mallory.write("intent.yaml", "name: weather\ngoal: tell the weather\npolicies: [narrow.cedar]\n")
	mallory.ok("new", "-f", "intent.yaml")
	mallory.ok("export", "weather", "weather.agent")

	p := newPlace(t)
	p.write("weather.agent", string(have(os.ReadFile(mallory.path("weather.agent")))(t)))
	p.ok("import", "./weather.agent")
	if p.exists(".perdure", "policies", "known") {
		t.Error("the policy of an agent that nobody admitted is among those of the home")
	}
	p.ok("resume", "weather")
	if !p.exists(".perdure", "policies", "known") {
		t.Error("the policy of an agent that was admitted is not known")
	}
	p.run("weather", "open", "pay")
	p.done(0, "what the agent's own policy forbids")
}

// A file that is not one is refused, and does not keep the command busy.
func TestImportOfAFIFODoesNotHang(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	makeFIFO(t, p.path("pipe.agent"))
	began := time.Now()
	for _, args := range [][]string{{"import", "pipe.agent"}, {"verify", "./pipe.agent"}, {"run", "./pipe.agent"},
		{"show", "./pipe.agent"}} {
		g := p.perdure(args...)
		if g.code == 0 || !strings.Contains(g.err, "regular file") {
			t.Errorf("%v: want a refusal of what is not a regular file, got %v", args, g)
		}
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
}
