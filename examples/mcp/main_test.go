package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

func TestTheAgentUsesTheToolsOfTheServer(t *testing.T) {
	const want = `words.count (read): counts words
words.longest (read): finds the longest word
it has ended, ok: {"longest":"recorded","words":7}; what the server said is marked as not trusted: true
`
	var out bytes.Buffer
	if err := run(t.Context(), new(perdure.MemStore), &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
