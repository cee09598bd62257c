package view

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/perdure/perdure"
)

// Limit is how many of something are wanted at most: at least 1. Zero, which nobody can say, is what was not said.
type Limit int

// errLimit is why a number is no Limit.
var errLimit = errors.New("want a whole number, at least 1")

// UnmarshalJSON reads what a program says.
func (l *Limit) UnmarshalJSON(text []byte) error {
	if string(text) == "null" { // it is not said
		return nil
	}
	if err := l.Set(string(text)); err != nil {
		return perdure.Invalid(fmt.Errorf("limit %s: %w", text, err))
	}
	return nil
}

// Set reads what a person says, as the value of a flag.
func (l *Limit) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errLimit
	}
	*l = Limit(n)
	return nil
}

func (l *Limit) String() string { return strconv.Itoa(int(*l)) }

// Type is what help calls the value of a flag.
func (*Limit) Type() string { return "int" }
