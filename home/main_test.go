package home_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain gives the tests a user folder of their own: what homes remember of this machine stays out of the real one.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "perdure-home-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"} {
		if err := os.Setenv(name, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
