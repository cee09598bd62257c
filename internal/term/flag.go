package term

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/perdure/perdure/internal/near"
)

var goNumber = regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": `)

// PlainFlag is what is wrong with a flag, in the words of people who know no Go.
func PlainFlag(err error, of *pflag.FlagSet) error {
	if text := goNumber.ReplaceAllString(err.Error(), ""); text != err.Error() {
		if strings.HasPrefix(goNumber.FindString(err.Error()), "strconv.ParseBool") {
			return errors.New(strings.Replace(text, "invalid syntax", "want true or false, or nothing", 1))
		}
		return errors.New(strings.Replace(text, "invalid syntax", "not a valid number", 1))
	}
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		of.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if meant := near.Words(unknown.GetSpecifiedName(), names); len(meant) > 0 {
			return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(meant, " or --"))
		}
	}
	if text := err.Error(); strings.HasPrefix(text, "unknown shorthand flag") {
		return errors.New(text + "; put -- before arguments that begin with -")
	}
	return err
}

// flagRoom is how wide the names of flags may be beside what they mean; of a longer one that stands below.
const flagRoom = 38

// Flags are flags and what they mean, a line or more each, in a width.
func Flags(of *pflag.FlagSet, width int) string {
	type line struct{ name, text string }
	var lines []line
	column := 0
	for text := range strings.Lines(of.FlagUsages()) {
		text = strings.TrimSuffix(text, "\n")
		at := LastColumn(text)
		name := plainKind.ReplaceAllString(strings.TrimRight(text[:at], " "), " $1")
		lines = append(lines, line{name, text[at:]})
		if n := Columns(name); n <= flagRoom {
			column = max(column, n+3)
		}
	}
	var b strings.Builder
	for _, l := range lines {
		head := fmt.Sprintf("%-*s", column, l.name)
		if Columns(l.name) >= column {
			b.WriteString(l.name + "\n")
			head = strings.Repeat(" ", column)
		}
		b.WriteString(Hang(head+l.text, column, width) + "\n")
	}
	return b.String()
}

// plainKind is what the flag package calls the value of a flag that may be given more than once.
var plainKind = regexp.MustCompile(` (string|int)(s|Array)$`)

// FlagKind is what a flag takes, in the words of people who know no Go; empty if nothing.
func FlagKind(f *pflag.Flag) (kind, usage string) {
	kind, usage = pflag.UnquoteUsage(f)
	return strings.TrimSpace(plainKind.ReplaceAllString(" "+kind, " $1")), usage
}

// FilledFlags refuses flags that were given without saying anything.
func FilledFlags(of *pflag.FlagSet) (err error) {
	of.Visit(func(f *pflag.Flag) {
		text := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			text = strings.Join(list.GetSlice(), "")
		} else if f.Value.Type() != "string" {
			return
		}
		if strings.TrimSpace(text) == "" {
			err = errors.Join(err, fmt.Errorf("--%s is empty; give it a value, or leave it out", f.Name))
		}
	})
	return err
}

var (
	flagInUsage = regexp.MustCompile(`\[?--?[a-z]+ \S+`)
	nameInUsage = regexp.MustCompile(`\[?[A-Z|]+`)
)

// FilledArgs refuses an argument without text, as an unset variable of a shell makes it: a command that took it for one
// that was left out would do more than it was asked to, such as approve whatever is open. Names are those of a usage
// line, such as AGENT [DIGEST]; a TEXT may be empty.
func FilledArgs(usage string, args []string) error {
	names := strings.Fields(flagInUsage.ReplaceAllString(usage, ""))
	for i, arg := range args {
		if strings.TrimSpace(arg) != "" || len(names) == 0 {
			continue
		}
		name, optional := strings.CutPrefix(nameInUsage.FindString(names[min(i, len(names)-1)]), "[")
		name = strings.TrimSuffix(name, "|")
		switch {
		case name == "" || name == "TEXT":
		case optional:
			return fmt.Errorf("%s is empty; give it a value, or leave it out", name)
		default:
			return fmt.Errorf("%s is empty; give it a value", name)
		}
	}
	return nil
}

// Given counts the arguments of a command.
func Given(args []string) string {
	switch len(args) {
	case 0:
		return "no argument was given"
	case 1:
		return "one argument was given"
	}
	return fmt.Sprintf("%d arguments were given", len(args))
}
