package term

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestHelpFitsAWidthAndLeavesExamples(t *testing.T) {
	t.Parallel()
	const example = "Example\n\n  perdure something --that must --not be --broken\n"
	text := "One paragraph of\ntwo lines.\n\n  word      what it means, which goes\n            on here\n" +
		"  other     more\n\n" + example
	got := Reflow(text, 30)
	want := "One paragraph of two lines.\n\n  word      what it means,\n            which goes on here\n" +
		"  other     more\n\n" + example
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if Reflow(text, 0) != text {
		t.Error("without a width it is left as it is")
	}
}

func TestACellIsAsWideAsItIsSeen(t *testing.T) {
	t.Parallel()
	if n := columnsOf(Style{on: true}.Bad("wrong") + "日本"); n != len("wrong")+4 {
		t.Errorf("got %d columns, want %d", n, len("wrong")+4)
	}
	if got := shortened("日本語の目標", 6); got != "日本…" {
		t.Errorf("got %s", got)
	}
}

func TestAFlagIsToldWithoutGo(t *testing.T) {
	t.Parallel()
	err := errors.New(`invalid argument "x" for "--calls" flag: strconv.ParseInt: parsing "x": invalid syntax`)
	got := PlainFlag(err, nil).Error()
	if strings.Contains(got, "strconv") || !strings.HasSuffix(got, "not a valid number") {
		t.Errorf("got %s", got)
	}
	if other := errors.New("another"); PlainFlag(other, nil) != other {
		t.Error("another error is left as it is")
	}
	of := pflag.NewFlagSet("", pflag.ContinueOnError)
	of.Int("budget-calls", 0, "")
	of.String("store", "", "")
	for typed, want := range map[string]string{"budget-cals": "; did you mean --budget-calls?",
		"stor": "; did you mean --store?", "x": "unknown flag: --x"} {
		if got := PlainFlag(of.Parse([]string{"--" + typed}), of).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Signs that are wide take two columns, wherever they are in Unicode, and what goes onto a sign takes none.
func TestColumnsOfSigns(t *testing.T) {
	for text, want := range map[string]int{"plain": 5, "日本": 4, "✅ done": 7, "🎉": 2, "⭐": 2, "❤": 1, "❤\ufe0f": 2,
		"🏔\ufe0f": 2, "👍🏽": 2, "e\u0301": 1, "한국": 4, "→ …": 3, "ｆｕｌｌ": 8} {
		if got := Columns(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

// A command is there to be copied: it stays whole, however narrow the terminal.
func TestCommandsStayWhole(t *testing.T) {
	command := "perdure approve shop " + strings.Repeat("0123456789abcdef", 4)
	plain := func(s string) string { return s }
	if got, want := Wrapped("answer    ", command, 60, plain), "answer    "+command+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Wrapped("note      ", "not "+command, 60, plain); strings.Count(got, "\n") < 2 {
		t.Errorf("got %q, want lines", got)
	}
}
