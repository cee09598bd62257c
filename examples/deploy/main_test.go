package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/store/sqlite"
)

func TestNothingIsDeployedBeforeAPersonSaysSo(t *testing.T) {
	const asked = `  build v2
the node has nothing to do: a person must act is true
ada is asked: may it deploy {"image":"shop:v2"}? because it changes something outside the agent
`
	for approve, want := range map[bool]string{
		true:  asked + "  deploy shop:v2\nit has ended, ok: deployed\n",
		false: asked + "it has ended, denied: nobody let it\n",
	} {
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "agents.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		var out bytes.Buffer
		if err := run(t.Context(), store, &out, approve); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("approve %t: %s", approve, diff)
		}
	}
}
