package term_test

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func TestAnEmptyArgumentIsNamed(t *testing.T) {
	for _, c := range []struct {
		usage string
		args  []string
		want  string
	}{
		{"AGENT [DIGEST]", []string{"shop", "41d0"}, ""},
		{"AGENT [DIGEST]", []string{"shop", " "}, "DIGEST is empty; give it a value, or leave it out"},
		{"AGENT[@REF] [DECISION]", []string{""}, "AGENT is empty; give it a value"},
		{"FILE|SET|-", []string{""}, "FILE|SET is empty; give it a value"},
		{"[AGENT…] PEER", []string{"a", "b", ""}, "PEER is empty; give it a value"},
		{"-s SCHEMA FILE|-", []string{""}, "FILE is empty; give it a value"},
		{"--from FORM --to FORM FILE|-", []string{""}, "FILE is empty; give it a value"},
		{"AGENT|FILE [--policy POLICY…]", []string{""}, "AGENT|FILE is empty; give it a value"},
		{"PATH [TEXT]", []string{"notes/a.md", ""}, ""},
		{"AGENT TEXT|-", []string{"shop", ""}, ""},
		{"-- COMMAND [ARG...]", []string{""}, ""},
	} {
		got := ""
		if err := term.FilledArgs(c.usage, c.args); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s with %q: got %q, want %q", c.usage, c.args, got, c.want)
		}
	}
}

func TestALongFlagLeavesRoomForWhatFlagsMean(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.Bool("dry-run", false, "write nothing; say what would be imported, and what cannot be read")
	fs.Var(long{}, "format", "what the files are in")
	fs.StringArray("base", nil, "the version you have read; may be repeated")
	fs.IntSlice("writers", []int{1, 16}, "writers at once")
	want := `      --base string   the version you have read; may be
                      repeated
      --dry-run       write nothing; say what would be
                      imported, and what cannot be read
      --format auto|claude-code|openai|mcp-memory
                      what the files are in (default auto)
      --writers int   writers at once (default [1,16])
`
	if got := term.Flags(fs, 60); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// long is the value of a flag that is one of many words.
type long struct{}

func (long) String() string   { return "auto" }
func (long) Set(string) error { return nil }
func (long) Type() string     { return "auto|claude-code|openai|mcp-memory" }

func TestChangesAreReadAtATerminal(t *testing.T) {
	var b strings.Builder
	changes := []view.Change{{Path: "sleep.when", From: "size(inbox) > 0", To: "size(inbox) > 1"}}
	if err := term.WriteChanges(&b, "a@1", "a", changes); err != nil {
		t.Fatal(err)
	}
	want := "--- a@1\n+++ a\n- sleep.when: \"size(inbox) > 0\"\n+ sleep.when: \"size(inbox) > 1\"\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
