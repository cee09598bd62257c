package home_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

func TestVotesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	digest := perdure.Hash{1}
	for line, want := range map[string]home.Input{
		"y":              {Yes: true},
		"Yes, go ahead":  {Yes: true, Note: "go ahead"},
		" n too much ":   {Note: "too much"},
		"what for, now?": {Note: "what for, now?"},
	} {
		want.Digest = digest
		if got, ok := home.ParseVote(line, digest); !ok || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{"", "maybe", "yesterday"} {
		if got, ok := home.ParseVote(line, digest); ok {
			t.Errorf("%q is taken for a vote: %+v", line, got)
		}
	}
}

func TestRequestsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	digest := perdure.Hash{0xab, 0xcd, 0xef}
	rest := &home.Rest{Waits: []view.Wait{{Kind: view.WaitApproval, Digest: digest}}}
	for line, want := range map[string]*home.Input{
		`{"say":"hello"}`:              {Say: "hello"},
		`{"go":true}`:                  {},
		`{"approve":"ABCD"}`:           {Digest: digest, Yes: true},
		`{"deny":"abcdef","note":"x"}`: {Digest: digest, Note: "x"},
		`{"deny":"ab"}`:                nil,
		`{"approve":"0000"}`:           nil,
		`{"say":" "}`:                  nil,
		`{"sing":"hello"}`:             nil,
		`hello`:                        nil,
	} {
		var got home.Input
		r, err := home.ReadRequest([]byte(line))
		if err == nil {
			got, err = r.Input(rest)
		}
		if (err == nil) != (want != nil) || want != nil && got != *want {
			t.Errorf("%s: got %+v, %v; want %+v", line, got, err, want)
		}
	}
}
