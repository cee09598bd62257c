package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadmeSessionsRunAsShown(t *testing.T) { runDocument(t, newMachines(t), "README.md") }

func TestTheMemoryPageRunsAsShown(t *testing.T) { runDocument(t, newMachines(t), "docs/memory.md") }

func TestTheMCPPageRunsAsShown(t *testing.T) { runDocument(t, newMachines(t), "docs/mcp.md") }

func TestReadmeIsShortAndSaysHowToBegin(t *testing.T) {
	text, blocks := document(t, "README.md")
	if lines := strings.Count(text, "\n"); lines >= 200 {
		t.Errorf("it has %d lines, want less than 200", lines)
	}
	for _, b := range blocks {
		if b.language == "console" && b.line > 25 {
			t.Errorf("the first session is at line %d, want it on the first screen", b.line)
		}
		if b.language == "console" {
			break
		}
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
	if install := "go install " + ours + "/cmd/perdure@latest"; !strings.Contains(text, install) {
		t.Errorf("the README does not say %s", install)
	}
	for _, m := range exitMeanings {
		if !strings.Contains(text, m.meaning) {
			t.Errorf("exit code %d is not explained as %q", m.code, m.meaning)
		}
	}
	examples, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "main.go"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("got %d examples, %v", len(examples), err)
	}
	for _, main := range examples {
		if link := "(examples/" + filepath.Base(filepath.Dir(main)) + "/)"; !strings.Contains(text, link) {
			t.Errorf("the README does not link to %s", link)
		}
	}
}
