package term_test

import (
	"testing"

	"github.com/perdure/perdure/internal/term"
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
