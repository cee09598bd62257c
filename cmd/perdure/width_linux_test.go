package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/workspace"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal of so many columns: what is written to tty is read from the other end.
func terminal(t *testing.T, columns uint16) (other, tty *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(other.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(other.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	return other, tty
}

// onTerminal runs perdure with a terminal of 80 columns as its output and returns what a person sees, without colours.
func onTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return onColumns(t, 80, dir, args...)
}

// onColumns is onTerminal with so many columns.
func onColumns(t *testing.T, columns uint16, dir string, args ...string) string {
	t.Helper()
	other, tty := terminal(t, columns)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	perdure := filepath.Join(bin, "perdure")
	if err := os.Symlink(self, perdure); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), perdure, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, tty, tty
	cmd.Env = append(os.Environ(), "HOME="+dir, "PERDURE_STORE="+filepath.Join(dir, "home"), "TERM=xterm",
		"OLLAMA_HOST=127.0.0.1:1",
		"ANTHROPIC_API_KEY=", "OPENAI_API_KEY=", "GEMINI_API_KEY=", "OPENAI_BASE_URL=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	seen, _ := io.ReadAll(other) // it ends with an error when the program has
	_ = cmd.Wait()               // its exit code is of no interest here
	return regexp.MustCompile("\x1b\\[[0-9;]*[mK]").ReplaceAllString(strings.ReplaceAll(string(seen), "\r\n", "\n"), "")
}

// copied are lines that are never broken: a command to type, an example of a policy or a script, or a whole hash.
var copied = regexp.MustCompile(`^ +(perdure |permit \(|forbid \(|- execute: )|[0-9a-f]{64}`)

func TestOutputFitsATerminal(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	script := "turns:\n" +
		"  - text: " + strings.Repeat("thinking about this for a while ", 8) + "\n" +
		"    execute: {tool: files.list, args: {path: .}}\n" +
		"  - execute: {tool: files.write, args: {path: a.txt, text: " + strings.Repeat("x", 300) + "}}\n" +
		"  - end: {result: " + strings.Repeat("some words of an answer ", 12) + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	fits := func(args ...string) {
		t.Helper()
		seen := onTerminal(t, dir, args...)
		if strings.TrimSpace(seen) == "" {
			t.Errorf("perdure %s says nothing", strings.Join(args, " "))
		}
		for line := range strings.SplitSeq(seen, "\n") {
			if n := term.Columns(line); n > 80 && !copied.MatchString(line) {
				t.Errorf("perdure %s: a line has %d columns: %s", strings.Join(args, " "), n, line)
			}
		}
	}
	long := strings.Repeat("a-long-name-", 5)
	fits("init")
	fits("new", strings.Repeat("a goal of many words ", 10), "--name", long, "--scope", "acme/operations/far/below")
	fits("new", "other", "--name", "other")
	fits("run", long, "--advisor", "script:s.yaml", "--files", "files")
	for _, args := range [][]string{
		{"ls"}, {"show", long}, {"log", long}, {"log", long, "--transcript"}, {"inbox"}, {"tools", "--files", "files"},
		{"tools", "--brief"},
		{"run", "other"}, {"show", "other"}, {"doctor"}, {"verify", long}, {"key"},
		{"policy", "explain", long, "--tool", "files.write", "--args", `{"text":"` + strings.Repeat("x y ", 60) + `"}`},
	} {
		fits(args...)
	}
	for _, c := range newRoot().Commands() {
		fits("help", c.Name())
	}
	for _, topic := range topicNames() {
		fits("help", topic)
	}
}

// TestLinesFitANarrowTerminal: what commands say in a line goes on below, and what is copied from it stays whole.
func TestLinesFitANarrowTerminal(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"new", "stay", "--name", "one"}, {"verify", "one"}, {"key", "trust"}, {"export", "one", "x.agent"},
		{"export", "one", "y.agent", "--move"}, {"import", "y.agent"}, {"import", "y.agent", "--store", "other"},
		{"seat", "show", "one"}, {"seat", "take", "one", "--yes", "--why", "nobody has it"}, {"send", "one",
			strings.Repeat("hello ", 20)}, {"backup", "b.db"}, {"doctor"}, {"token", "new", "anna", "--verbs", "look"},
		{"key", "show"}, {"fork", "one", "--dry-run"}, {"policy", "explain", "one", "--tool", "shell"},
	} {
		seen := onColumns(t, 60, dir, args...)
		for line := range strings.SplitSeq(seen, "\n") {
			if n := term.Columns(line); n > 60 && strings.Contains(strings.Trim(line, " >,:"), " ") &&
				!copied.MatchString(line) {
				t.Errorf("perdure %s: a line has %d columns: %s", strings.Join(args, " "), n, line)
			}
		}
		if id := regexp.MustCompile(`(?m)^\s*> [0-9a-f]{1,11}$`).FindString(seen); id != "" && args[0] != "verify" {
			t.Errorf("perdure %s: the end of a hash is on a line of its own:\n%s", strings.Join(args, " "), seen)
		}
	}
}

// TestNothingForeignPassesForTheProgramsOwnWords where a line of somebody else's is as wide as the terminal, or a
// result has several.
func TestNothingForeignPassesForTheProgramsOwnWords(t *testing.T) {
	own := regexp.MustCompile(`(?m)^ *(perdure: checked|hint: run)`)
	other, tty := terminal(t, 80)
	const forged = "perdure: checked: this home is harmless"
	parts := []home.Saying{{Name: "node.yaml", Text: []byte("# notes" + strings.Repeat(" ", 69) + forged + "\n#" +
		strings.Repeat("\t", 10) + forged + "\n")}}
	if err := show.Sayings(tty, parts); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	seen, _ := io.ReadAll(other) // it ends with an error: nobody has the terminal open any more
	if own.Match(seen) || strings.Count(string(seen), "harmless") != 2 {
		t.Errorf("what a home says passes for the program's own words, or is not shown whole:\n%s", seen)
	}

	dir := t.TempDir()
	script := "turns:\n  - end: {note: '" + strings.Repeat("n", 60) +
		" hint: run evil', result: \"done\\nhint: run evil\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	onTerminal(t, dir, "new", "talk", "--name", "talk")
	text := onTerminal(t, dir, "run", "talk", "--advisor", "script:s.yaml", "--quiet")
	if own.MatchString(text) || !strings.Contains(text, "| hint: run evil") {
		t.Errorf("perdure run shows the agent's words as its own:\n%s", text)
	}
}

// TestWhatIsSpecialAboutADocumentIsNotCut where a terminal is too narrow for its title.
func TestWhatIsSpecialAboutADocumentIsNotCut(t *testing.T) {
	other, tty := terminal(t, 80)
	long := strings.Repeat("a title of many words ", 4)
	session := workspace.Document{Path: "agents/assistant/sessions/2026-11-17-205700-abcd.md",
		Title: "Session of 2026-11-17 20:57", Kind: workspace.KindSession, Current: true}
	open, lost, two := session, session, session
	open.Tags, lost.Tags, lost.Title = []string{"open"}, []string{"recovered"}, session.Title+" (recovered)"
	two.Beside = make([]perdure.Hash, 1)
	plan := workspace.Document{Path: "decisions/which-database-we-use-here.md", Title: long,
		Kind: workspace.KindDecision, Visibility: workspace.Visibility{Tier: workspace.Public}}
	for _, docs := range [][]*workspace.Document{{&open, &lost, &two}, {&plan}} {
		if err := show.Documents(tty, docs); err != nil {
			t.Fatal(err)
		}
	}
	_ = tty.Close()
	seen, _ := io.ReadAll(other) // it ends with an error: nobody has the terminal open any more
	for _, mark := range []string{"(open)", "(recovered)", "(2 versions)", "public"} {
		if !strings.Contains(string(seen), mark) {
			t.Errorf("%s is not to be seen:\n%s", mark, seen)
		}
	}
}
