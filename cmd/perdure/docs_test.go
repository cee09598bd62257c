package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/home"
)

// What is shown in the README and in docs/ is run. In a fenced block
//   - console is a session: what follows "$ " is run in one folder, what follows "NAME$ " on another machine of that
//     name, in a folder and with a home folder of its own; a command ends where its output begins. In output … stands
//     for any text, and a line that is … alone for any lines;
//   - LANGUAGE FILE is a file, written before what comes after it is run;
//   - go is compiled; a program that a block of text follows is run, and must print it.
//
// The comment <!-- not run: WHY --> right before a block leaves it out.

// block is a fenced block of a document.
type block struct {
	language, file string
	text           string
	line           int
	skip           bool
}

var (
	fenced   = regexp.MustCompile("(?ms)^(<!-- not run: [^\n]* -->\n)?```(\\w+)(?: (\\S+))?\n(.*?)^```$")
	prompt   = regexp.MustCompile(`^(?:([a-z]+))?\$ (.*)$`)
	ours     = "github.com/perdure/perdure"
	packages = map[string]string{ // by the name code uses
		"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "os": "os", "time": "time",
		"http": "net/http", "fs": "io/fs",
		"perdure": ours, "durable": ours + "/durable", "policy": ours + "/policy", "tool": ours + "/tool",
		"sqlite": ours + "/store/sqlite", "advisor": ours + "/advisor", "anthropic": ours + "/advisor/anthropic",
		"home": ours + "/home", "view": ours + "/view", "keyfile": ours + "/keyfile",
	}
)

// document returns the text of a document, named from the root of the repository, and its fenced blocks.
func document(t *testing.T, name string) (string, []block) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	var blocks []block
	for _, m := range fenced.FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		blocks = append(blocks, block{
			language: part(2), file: part(3), text: part(4), skip: part(1) != "",
			line: 1 + strings.Count(text[:m[0]], "\n"),
		})
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no fenced block", name)
	}
	return text, blocks
}

// machines runs the commands of a document, each on its machine.
type machines struct {
	t               *testing.T
	shell, bin, dir string
}

func newMachines(t *testing.T) *machines {
	t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is needed to run the sessions of the documents and is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &machines{t: t, shell: shell, bin: t.TempDir(), dir: t.TempDir()}
	if err := os.Symlink(self, filepath.Join(m.bin, "perdure")); err != nil {
		t.Fatal(err)
	}
	// Machines of a test share a disk: to copy a file to one is to copy it into its folder.
	copier := fmt.Sprintf("#!/bin/sh\nto=\"%s/${*##* }\"; to=${to%%:}; mkdir -p \"$to\"\n"+
		"while [ $# -gt 1 ]; do cp \"$1\" \"$to/\"; shift; done\n", m.dir)
	if err := os.WriteFile(filepath.Join(m.bin, "scp"), []byte(copier), 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

// folder is where a machine works; "" is the first.
func (m *machines) folder(name string) string {
	if name == "" {
		name = "here"
	}
	dir := filepath.Join(m.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	return dir
}

// do runs a command on a machine and returns what it prints.
func (m *machines) do(machine, command string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), m.shell, "-c", command)
	cmd.Dir = m.folder(machine)
	cmd.Env = append(os.Environ(), home.StoreEnv+"=", "XDG_STATE_HOME=", "XDG_DATA_HOME=", "USER=alice",
		"ANTHROPIC_API_KEY=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "GEMINI_API_KEY=", "OLLAMA_HOST=127.0.0.1:1",
		"HOME="+m.folder("home-of-"+machine), "PATH="+m.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		m.t.Fatal(err)
	}
	return string(out)
}

// session runs what a block shows and compares what it prints.
func (m *machines) session(name string, b block) {
	m.t.Helper()
	var machine, command, want string
	check := func() {
		if command == "" {
			return
		}
		if got := m.do(machine, command); !shown(want, got) {
			m.t.Errorf("%s:%d: %s\nprints otherwise (-document +run):\n%s", name, b.line, command, cmp.Diff(want, got))
		}
	}
	for line := range strings.Lines(b.text) {
		if p := prompt.FindStringSubmatch(strings.TrimSuffix(line, "\n")); p != nil {
			check()
			machine, command, want = p[1], p[2], ""
			continue
		}
		want += line
	}
	check()
}

// shown reports whether output is what a document shows of it.
func shown(want, got string) bool {
	var re strings.Builder
	for line := range strings.Lines(want) {
		if line == "…\n" {
			re.WriteString(`(?:.*\n)*`)
			continue
		}
		re.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	return regexp.MustCompile(`\A` + re.String() + `\z`).MatchString(got)
}

// runDocument runs the sessions of a document, after writing the files that come before each.
func runDocument(t *testing.T, m *machines, name string) {
	t.Helper()
	_, blocks := document(t, name)
	ran := 0
	for _, b := range blocks {
		switch {
		case b.skip:
		case b.file != "":
			path := filepath.Join(m.folder(""), filepath.FromSlash(b.file))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.language == "console":
			m.session(name, b)
			ran++
		}
	}
	if ran == 0 {
		t.Errorf("%s has no session", name)
	}
}

func TestTutorialRunsAsShown(t *testing.T) {
	m := newMachines(t)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(m.bin, "notes"),
		ours+"/examples/notes")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	runDocument(t, m, "docs/tutorial.md")
}

// TestBackupAndRestoreRunAsShown loses a home, and puts it back.
func TestBackupAndRestoreRunAsShown(t *testing.T) {
	runDocument(t, newMachines(t), "docs/operations.md")
}

// TestWebhooksRunAsShown also has its files written: what signs a post is run by the tests of package webhook, and each
// node.yaml is read by those of home.
func TestWebhooksRunAsShown(t *testing.T) { runDocument(t, newMachines(t), "docs/webhooks.md") }

func TestGoInDocumentsCompiles(t *testing.T) {
	overlay := map[string]string{}
	var folders []string
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docs/go.md", "docs/coming-from.md"} {
		_, blocks := document(t, name)
		for _, b := range blocks {
			if b.skip || b.language != "go" {
				continue
			}
			file := filepath.Join(t.TempDir(), "main.go")
			at := fmt.Sprintf("%s:%d", name, b.line)
			if err := os.WriteFile(file, []byte(whole(at, b.text)), 0o600); err != nil {
				t.Fatal(err)
			}
			folder := fmt.Sprintf("docs/snippet%d", len(folders))
			folders = append(folders, "./"+folder)
			overlay[filepath.Join(root, filepath.FromSlash(folder), "main.go")] = file
		}
	}
	if len(folders) == 0 {
		t.Fatal("the documents have no Go")
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", list}, folders...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// whole is Go as a document shows it, made a file: with a package and the imports it uses, if it has none. The compiler
// names the place in the document.
func whole(at, text string) string {
	name, line, _ := strings.Cut(at, ":")
	place := fmt.Sprintf("//line %s:%s\n\n", name, line)
	if strings.HasPrefix(text, "package ") {
		return place + text
	}
	var used []string
	for short, path := range packages {
		if regexp.MustCompile(`\b` + short + `\.[A-Z]`).MatchString(text) {
			used = append(used, fmt.Sprintf("import %q\n", path))
		}
	}
	slices.Sort(used)
	return "package snippet\n" + strings.Join(used, "") + place + text
}

func TestProgramsInDocumentsPrintWhatTheySay(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	ran := 0
	for _, name := range []string{"README.md", "docs/go.md"} {
		_, blocks := document(t, name)
		for i, b := range blocks {
			if b.language != "go" || i+1 == len(blocks) || blocks[i+1].language != "text" {
				continue
			}
			ran++
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput()
			if err != nil {
				t.Fatalf("%s:%d: %v\n%s", name, b.line, err, out)
			}
			if diff := cmp.Diff(blocks[i+1].text, string(out)); diff != "" {
				t.Errorf("%s:%d prints otherwise (-document +run):\n%s", name, b.line, diff)
			}
			formatted, err := exec.CommandContext(t.Context(), "gofmt", file).Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(b.text, string(formatted)); diff != "" {
				t.Errorf("%s:%d is not formatted (-document +gofmt):\n%s", name, b.line, diff)
			}
		}
	}
	if ran < 2 {
		t.Errorf("ran %d programs, want one of the README and one of the Go guide at least", ran)
	}
}

func TestShownIsStrictButForDots(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"a … c\n", "a b c\n", true},
		{"a … c\n", "a b d\n", false},
		{"a\n…\nc\n", "a\nb\nb\nc\n", true},
		{"a\n", "a\nb\n", false},
		{"a.b\n", "axb\n", false},
		{"", "a\n", false},
	} {
		if got := shown(c.want, c.got); got != c.same {
			t.Errorf("%q shown as %q: got %t", c.got, c.want, got)
		}
	}
}
