package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/glyph"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// vicious is every kind of rune that a terminal obeys, or shows as something else, and a line that tries to look like
// one of ours.
const vicious = "a\x1b[2J\x1b]0;t\x07b\x00\x08\x0b\x0c\rc\x7fd\u0085\u009b31me\u202ef\u2066g\u2069" +
	"\u200e\u200f\u061ch\u200b\u200d\u2060\ufeffi" +
	"\u2028\u2029j\u00adk\U000e0041\U000e0100l\ufe0fm\u3164n\u180e\nFORGED: approved\n\tFORGED"

// seen fails unless text shows itself: no hidden rune but newline and tab, no byte that is not UTF-8, no line of
// somebody else's.
func seen(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || glyph.Hidden(r) && r != '\n' && r != '\t' {
			t.Errorf("%s prints %U at %d: %q", what, r, i, text[max(0, i-40):min(len(text), i+40)])
			return
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "FORGED") {
			t.Errorf("%s lets text look like a line of its own: %q", what, line)
		}
	}
}

func TestFormatsKeepWhatTheyEscape(t *testing.T) {
	in := map[string]any{"k\u202e": vicious}
	for format, read := range map[string]func([]byte, any) error{formatJSON: json.Unmarshal,
		formatYAML: yaml.Unmarshal} {
		var b bytes.Buffer
		if err := writeValue(&b, format, in); err != nil {
			t.Fatal(err)
		}
		seen(t, format, b.String())
		got := map[string]any{}
		if err := read(b.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v in %q", format, err, b.String())
		}
		if got["k\u202e"] != vicious {
			t.Errorf("%s: got %q, want %q", format, got, in)
		}
	}
}

func TestCommandsNameAgentsSafely(t *testing.T) {
	id := perdure.AgentID{0xab, 0xcd}
	for name, want := range map[string]string{
		"news": "news", "two words": "'two words'", "it's": `'it'\''s'`, "$(rm -rf ~)": "'$(rm -rf ~)'", "a;b": "'a;b'",
		"": id.Short(), "-f": id.Short(), "--all": id.Short(), "deadbeef": id.Short(), "DEAD": id.Short(),
		"a/b": id.Short(), "x.agent": id.Short(),
		"a@3": id.Short(), "a\nb": id.Short(), "a\x1b": id.Short(), "\u202ea": id.Short(), "אב": id.Short(),
		" a":                    id.Short(),
		strings.Repeat("n", 65): id.Short(),
	} {
		if got := view.CommandName(name, id); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
}

// hostileHome is a home with one agent whose every text is vicious, that asks for an effect, and one that has ended.
func hostileHome(t *testing.T, args map[string]any) (dir string, asking, ended perdure.AgentID) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	data := func(v any) perdure.Data {
		d, err := perdure.DataOf(v)
		check(err)
		return d
	}
	dir = t.TempDir()
	key, err := perdure.GenerateSigner("tester")
	check(err)
	check(keyfile.Write(filepath.Join(dir, home.KeyFile), key))
	check(os.WriteFile(filepath.Join(dir, home.TrustFile), []byte(key.VerifierKey()+" own *\n"), 0o600))
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, home.StoreFile), sqlite.Options{})
	check(err)
	scripts := map[string][]perdure.Action{
		"asking" + vicious: {perdure.Execute{Tool: "look", Args: data(vicious)},
			perdure.Execute{Tool: "pay", Args: data(args)}},
		"ended" + vicious: {perdure.Mutate{Note: vicious, Labels: map[string]string{"l" + vicious: vicious}},
			perdure.End{Signal: perdure.OK, Result: data(map[string]any{vicious: vicious}), Note: vicious}},
		"asleep" + vicious: {perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}, Note: vicious}},
	}
	n := &perdure.Node{Store: store, Key: key,
		Tools: []perdure.Tool{ends("look", perdure.Read, perdure.Result{Data: data(vicious), Note: vicious}, nil),
			ends("pay", perdure.Once, perdure.Result{}, nil)},
		Policy: perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
			v := perdure.Verdict{Answer: perdure.Allow, Rules: []string{"rule" + vicious}, Reason: vicious}
			if r.Effect == perdure.Once && r.Approvals == 0 {
				v.Answer, v.Asked = perdure.Ask, []string{"owner", "who" + vicious}
			}
			return v
		}),
		Advisors: map[string]perdure.Advisor{"test": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				script, turn := scripts[a.Fold().Intent.Name], a.Fold().Turns
				if turn >= int64(len(script)) {
					return perdure.Advice{}, errors.New("over")
				}
				return perdure.Advice{Actions: []perdure.Action{script[turn]}, Text: vicious, Model: vicious}, nil
			})}}
	for name := range scripts {
		a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: vicious,
			Advisor: "test", Kind: vicious,
			Inputs: data(vicious), Labels: map[string]string{vicious: vicious}},
			Charter: perdure.Charter{Scope: "home"}})
		check(err)
		_, err = n.RunAgent(t.Context(), a.ID())
		check(err)
		if !strings.HasPrefix(name, "ended") {
			_, err = n.Tell(t.Context(), a.ID(), perdure.Event{Name: "ev" + vicious, By: vicious, Data: data(vicious),
				ID: vicious})
			check(err)
		}
		switch {
		case strings.HasPrefix(name, "ended"):
			ended = a.ID()
		case strings.HasPrefix(name, "asking"):
			asking = a.ID()
		}
	}
	check(store.Close())
	return dir, asking, ended
}

// perdureRuns runs a command line in this process.
func perdureRuns(args ...string) (code int, out, beside string) {
	var stdout, stderr bytes.Buffer
	code = run(args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestNoCommandPrintsWhatIsHidden(t *testing.T) {
	dir, asking, ended := hostileHome(t, map[string]any{"text": vicious,
		"k" + vicious: []any{vicious, map[string]any{vicious: 1}}})
	file := filepath.Join(t.TempDir(), "x.agent")
	a, e := asking.String(), ended.String()
	for _, line := range [][]string{
		{"ls"}, {"inbox"}, {"inbox", "--brief"}, {"show", a}, {"show", e}, {"show", a, "--brief"}, {"show", a + "@1"},
		{"log", a}, {"log", a, "--whole"}, {"log", e, "--brief"},
		{"tail", e}, {"tail", e, "-n", "3"}, {"state", a}, {"diff", a + "@0", a}, {"diff", e + "@0", e}, {"verify", a},
		{"verify", e}, {"policy", "explain", a},
		{"export", a, file}, {"verify", file}, {"show", file}, {"log", file},
		{"import", file, "--store", filepath.Join(t.TempDir(), "b")}, {"import", file},
		{"fork", a}, {"fork", e, "--live"}, {"pause", a, "--note", vicious}, {"resume", a, "--note", vicious},
		{"send", a, "x" + vicious, `"y"`}, {"settle", a, "0000", "--signal", "ok"},
		{"answer", e, vicious}, {"answer", a, vicious}, {"run", a}, {"deny", a, "00000000"},
		{"approve", a, "--note", vicious}, {"grant", a, "--calls", "1"}, {"show", "asking" + vicious},
		{"show", "nobody" + vicious}, {"log", vicious}, {"bad" + vicious}, {"ls", "--state", vicious},
		{"new", vicious, "--name", vicious}, {"end", a, "--note", vicious},
		{"gc", "--dry-run"}, {"erase", a, "--subject", vicious}, {"doctor"}, {"doctor", "--reindex"},
		{"__complete", "show", ""}, {"__complete", "approve", a, ""}, {"__complete", "send", a, ""},
		{"verify", "nowhere" + vicious}, {"import", "nowhere" + vicious + ".agent"},
		{"policy", "check", "nowhere" + vicious}, {"key", "trust", vicious},
	} {
		for _, format := range [][]string{nil, {"--json"}, {"-o", "yaml"}, {"--jq", ".."}} {
			if format != nil && (line[0] == "__complete" || line[0] == "tail" && format[0] == "-o") {
				continue
			}
			args := append(append([]string{}, line...), format...)
			if line[0] != "import" || len(line) < 4 {
				args = append(args, "--store", dir)
			}
			if line[0] == "__complete" {
				args = line
				t.Setenv(home.StoreEnv, dir)
			}
			_, out, beside := perdureRuns(args...)
			what := fmt.Sprintf("%.60q", args)
			if len(format) > 0 && format[0] == "--jq" { // the strings themselves, lines and all
				out = strings.ReplaceAll(out, "FORGED", "")
			}
			seen(t, what+" (out)", out)
			seen(t, what+" (err)", beside)
			if strings.Contains(beside, "unknown flag: --brief") || strings.Contains(beside, "panic") {
				t.Errorf("%s: %s", what, beside)
			}
		}
	}
}

func TestPeopleSeeTheWholeAction(t *testing.T) {
	lines := strings.Repeat("a line of the text\n", 2000) + "rm -rf / # the last line"
	dir, asking, _ := hostileHome(t, map[string]any{"path": "notes.txt", "text": lines,
		"long": strings.Repeat("x", 5000) + "END"})
	id := asking.String()
	for _, args := range [][]string{{"show", id}, {"inbox"}, {"approve", id}} {
		code, out, beside := perdureRuns(append(args, "--store", dir)...)
		if code != exitOK {
			t.Fatalf("%s: exit %d, %s", args[0], code, beside)
		}
		for _, want := range []string{`| path: "notes.txt"`, "| text: 2001 lines, ", "| | rm -rf / # the last line\n",
			"xEND\"\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not print %q", args[0], want)
			}
		}
		if n := strings.Count(out, "a line of the text"); n != 2000 {
			t.Errorf("%s prints %d of 2000 lines", args[0], n)
		}
	}
	dir, _, _ = hostileHome(t, map[string]any{"path": "notes.txt", "text": lines})
	_, out, _ := perdureRuns("inbox", "--store", dir, "--jq",
		`.[] | select(.kind=="approval") | .action.execute.args.text`)
	if strings.TrimSpace(out) != lines {
		t.Error("JSON does not have the whole text")
	}
}

func TestNoCellLeavesItsLine(t *testing.T) {
	var b bytes.Buffer
	for _, fold := range []bool{false, true} {
		tab := term.Table{Head: []string{"A", "B"}, Fold: fold}
		tab.Add(vicious, "x")
		tab.Add("x", vicious)
		if err := tab.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	seen(t, "a table", b.String())
	if n := strings.Count(b.String(), "\n"); n != 6 {
		t.Errorf("two tables of three rows have %d lines", n)
	}
}
