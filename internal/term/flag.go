package term

import (
	"errors"
	"regexp"
	"strings"
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
