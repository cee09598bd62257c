package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/home"
)

// readme returns the README and its fenced blocks of a language.
func readme(t *testing.T, language string) (text string, blocks []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$")
	for _, m := range fenced.FindAllStringSubmatch(string(b), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("the README has no %s block", language)
	}
	return string(b), blocks
}

func TestReadmeSessionsRunAsShown(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is needed to run the README's sessions and is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "perdure")); err != nil {
		t.Fatal(err)
	}
	_, sessions := readme(t, "console")
	for _, session := range sessions {
		dir := t.TempDir()
		var shown strings.Builder
		for line := range strings.Lines(session) {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			cmd := exec.CommandContext(t.Context(), shell, "-c", command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), home.StoreEnv+"=", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if _, exited := err.(*exec.ExitError); err != nil && !exited {
				t.Fatal(err)
			}
			shown.WriteString("$ " + command)
			shown.Write(out)
		}
		if diff := cmp.Diff(session, shown.String()); diff != "" {
			t.Errorf("the session runs otherwise (-README +run):\n%s", diff)
		}
	}
}

func TestReadmeProgramPrintsWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	_, programs := readme(t, "go")
	_, outputs := readme(t, "text")
	if len(programs) != 1 || len(outputs) != 1 {
		t.Fatalf("got %d programs and %d outputs, want one of each", len(programs), len(outputs))
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(programs[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(outputs[0], string(out)); diff != "" {
		t.Errorf("the program prints otherwise (-README +run):\n%s", diff)
	}
	formatted, err := exec.CommandContext(t.Context(), "gofmt", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(programs[0], string(formatted)); diff != "" {
		t.Errorf("the program is not formatted (-README +gofmt):\n%s", diff)
	}
}

func TestReadmeIsShortAndNamesTheTwoCommands(t *testing.T) {
	text, _ := readme(t, "console")
	lines := strings.Split(text, "\n")
	if len(lines) >= 200 {
		t.Errorf("it has %d lines, want less than 200", len(lines))
	}
	session := 0
	for i, line := range lines {
		if line == "```console" {
			session = i + 1
			break
		}
	}
	if session > 20 {
		t.Errorf("the first session is at line %d, want it by line 20", session)
	}
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"demo", "test"} {
		if !strings.Contains(text, "`make "+target+"`") || !strings.Contains("\n"+string(makefile), "\n"+target+":") {
			t.Errorf("make %s is not named in the README, or not a target", target)
		}
	}
	for _, m := range exitMeanings {
		if !strings.Contains(text, m.meaning) {
			t.Errorf("exit code %d is not explained as %q", m.code, m.meaning)
		}
	}
}
