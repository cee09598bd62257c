package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// A key that was taken back must not come back because two people wrote the trust file at once.
func TestTrustingAtOnceLosesNobody(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	must(t, exitOK, "key", "new", "--store", home)
	var all []*exec.Cmd
	const people = 12
	for range people {
		key, err := perdure.GenerateSigner("friend")
		if err != nil {
			t.Fatal(err)
		}
		cmd, _, _, _ := startPerdure(t, "key", "trust", key.VerifierKey(), "--jq", "0", "--store", home)
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if code := exitOf(t, cmd.Wait()); code != exitOK {
			t.Errorf("exit %d", code)
		}
	}
	if got := strings.Count(must(t, exitOK, "key", "trust", "--store", home), "friend"); got != people {
		t.Errorf("the trust file names %d of %d", got, people)
	}
}
