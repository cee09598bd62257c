package hostile

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// A program that an agent runs can read the key; what it says of it is not recorded.
func TestPrivateKeyIsInNoMemory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	text := strings.TrimSpace(string(have(os.ReadFile(p.path(".perdure", "key")))(t)))
	seed := strings.SplitN(text, "+", 5)[4] // PRIVATE+KEY+NAME+HASH+SEED
	for name, script := range map[string]string{
		"plain": "cat ../.perdure/key", "alone": "cut -d+ -f5- ../.perdure/key",
		"hex":      "cut -d+ -f5- ../.perdure/key | base64 -d | od -An -tx1 | tr -d ' \\n'",
		"harmless": "echo hello",
	} {
		p.propose(name, "shell", "script: "+quoted(script))
		p.ok("new", "steal", "--name", name)
		p.run(name, "open", name)
		log := p.ok("log", name, "--json")
		if strings.Contains(log, seed) || strings.Contains(log, hexOf(t, seed)) {
			t.Errorf("%s: the private key is in memory", name)
		}
		if name == "harmless" && !strings.Contains(log, "hello") {
			t.Errorf("the shell does nothing: the attack would prove nothing\n%s", log)
		}
	}
}

// hexOf is what follows the mark of the algorithm in base64, in hex.
func hexOf(t *testing.T, text string) string {
	t.Helper()
	return hex.EncodeToString(have(base64.StdEncoding.DecodeString(text))(t)[1:])
}

// Who can write to the folder of a home decides in it; and agents do not work there.
func TestHomeIsNoSharedFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("new", "pay", "--name", "payer")
	must(t, os.Mkdir(p.path("shared"), 0o700))
	p.ok("new", "wait", "--store", "shared/store.db")
	must(t, os.Chmod(p.path("shared"), 0o777))
	must(t, os.Chmod(p.path(".perdure"), 0o777))
	for _, args := range [][]string{{"new", "wait", "--store", "shared/store.db"},
		append([]string{"run", "payer"}, powers("open", "pay")...)} {
		if g := p.perdure(args...); g.code == 0 || !g.says("others can change") {
			t.Errorf("%v: want a refusal, got %v", args, g)
		}
	}
	p.done(0, "an agent in a home that others can write to")
	must(t, os.Chmod(p.path(".perdure"), 0o700))
	g := p.perdure("run", "payer", "--quiet", "--advisor", "script:pay.yaml", "--policy", "open.cedar", "--files",
		".perdure", "--program", "sh")
	if g.code == 0 || !g.says("is in the home") {
		t.Errorf("agents work in the home: %v", g)
	}
	p.run("payer", "open", "pay")
	p.done(1, "the same in a home of its own, and a folder beside it")
}
