package term

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

var goNumber = regexp.MustCompile(`strconv\.\w+: parsing "[^"]*": `)

// PlainFlag is what is wrong with a flag, in the words of people who know no Go.
func PlainFlag(err error) error {
	if text := goNumber.ReplaceAllString(err.Error(), ""); text != err.Error() {
		return errors.New(strings.Replace(text, "invalid syntax", "not a valid number", 1))
	}
	if text := err.Error(); strings.HasPrefix(text, "unknown shorthand flag") {
		return errors.New(text + "; put -- before arguments that begin with -")
	}
	return err
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
