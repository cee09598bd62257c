package script_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/script"
)

// TestAScriptNamesWhatToLookAtAgain: what is decided late is not done once it has changed.
func TestAScriptNamesWhatToLookAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, err := script.Load(strings.NewReader(`
turns:
  - execute: {tool: echo, args: {n: 1}}
  - do:
      - sleep: {after: 1h}
      - execute: {tool: echo, args: {n: 2}}
    recheck: [{tool: echo, args: {n: 1}}]
    stale: 10m
  - execute: {tool: echo, args: {n: 3}}
    recheck: [{tool: echo, args: {n: 9}}]
`))
		if err != nil {
			t.Fatal(err)
		}
		tool := new(echo)
		n := newNode(t, new(perdure.MemStore), said, tool)
		id := create(t, n, nil)
		for range 3 {
			if _, err := n.RunAgent(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Hour)
		}
		want := `{"n":1} {"n":1} {"n":2} {"n":3}` // the second is the look before the third
		if got := strings.Join(tool.calls, " "); got != want {
			t.Errorf("got calls %s, want %s", got, want)
		}
	})
}
