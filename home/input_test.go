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
		"y":                               {Yes: true},
		"YES":                             {Yes: true},
		"yes.":                            {Yes: true},
		" n too much ":                    {Note: "too much"},
		"no: too much":                    {Note: "too much"},
		"N too dear":                      {Note: "too dear"},
		"n not yet":                       {Note: "not yet"},
		"n, no idea what it is for":       {Note: "no idea what it is for"},
		"no!":                             {},
		"No, too dear: ask me on Monday.": {Note: "too dear: ask me on Monday."},
		"no because we have one":          {Note: "we have one"},
		"no -- too dear":                  {Note: "too dear"},
		"no - too dear":                   {Note: "too dear"},
	} {
		want.Digest = digest
		if got, ok := home.ParseVote(line, digest); !ok || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{"", "?", "maybe", "yesterday", "now", "what for, now?", "y?", "no?",
		"yes, but is it safe?", "too much money", "ok then yes", "Yes, go ahead",
		"yes but do NOT do it", "y - no, wait", "yes, no", "no idea", "No way to tell: ask bob", "not sure", "not yet",
		"no doubt", "no problem, go ahead", "n/a", "y because"} {
		if got, ok := home.ParseVote(line, digest); ok {
			t.Errorf("%q is taken for a vote: %+v", line, got)
		}
	}
}

func TestWhatHappenedIsReadAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	decision := perdure.Hash{1}
	for line, want := range map[string]home.Input{
		"happened":                           {Yes: true},
		"It happened: the bank shows it":     {Yes: true, Note: "the bank shows it"},
		"not":                                {},
		"did not happen, I asked the bank.":  {Note: "I asked the bank."},
		"H":                                  {Yes: true},
		"n":                                  {},
		"Not -- the account is unchanged":    {Note: "the account is unchanged"},
		"happened because the bank shows it": {Yes: true, Note: "the bank shows it"},
	} {
		want.Decision = decision
		if got, leave, ok := home.ParseSettle(line, decision); !ok || leave || got != want {
			t.Errorf("%q: got %+v, %v, %v; want %+v", line, got, leave, ok, want)
		}
	}
	for _, line := range []string{"", "leave", " Later. "} {
		if _, leave, ok := home.ParseSettle(line, decision); !ok || !leave {
			t.Errorf("%q does not leave it open", line)
		}
	}
	for _, line := range []string{"happened?", "y", "nothing", "what is it", "not sure", "not yet known",
		"not sure: ask the bank", "happened not", "happened I think", "no", "no idea", "n sure", "not-sure",
		"did not happen yet", "leave it to me, it happened"} {
		if got, leave, ok := home.ParseSettle(line, decision); ok {
			t.Errorf("%q is taken for an answer: %+v, %v", line, got, leave)
		}
	}
}

func TestRequestsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	digest := perdure.Hash{0xab, 0xcd, 0xef}
	rest := &home.Rest{Waits: []view.Wait{{Kind: view.WaitApproval, Digest: digest, Decision: perdure.Hash{0x12}},
		{Kind: view.WaitDoubt, Decision: perdure.Hash{0x12, 0x34}}, {Kind: view.WaitDoubt, Decision: perdure.Hash{0x12,
			0x34, 0x56}}}}
	for line, want := range map[string]*home.Input{
		`{"say":"hello"}`:                     {Say: "hello"},
		`{"go":true}`:                         {},
		`{"approve":"ABCD"}`:                  {Digest: digest, Yes: true},
		`{"deny":"abcdef","note":"x"}`:        {Digest: digest, Note: "x"},
		`{"happened":"12345","note":"x"}`:     {Decision: perdure.Hash{0x12, 0x34, 0x56}, Yes: true, Note: "x"},
		`{"failed":"12340"}`:                  {Decision: perdure.Hash{0x12, 0x34}},
		`{"failed":"1234"}`:                   nil,
		`{"approve":"abcd","deny":"abcd"}`:    nil,
		`{"approve":"abcd","deny":""}`:        nil,
		`{"approve":"abcd","say":"hello"}`:    nil,
		`{"approve":"abcd","interrupt":true}`: nil,
		`{"say":"hello","note":"x"}`:          nil,
		`{"note":"x"}`:                        nil,
		`{"go":false}`:                        nil,
		`{"say":"a"} {"say":"b"}`:             nil,
		`null`:                                nil,
		`{}`:                                  nil,
		`{"deny":"ab"}`:                       nil,
		`{"approve":"0000"}`:                  nil,
		`{"say":" "}`:                         nil,
		`{"sing":"hello"}`:                    nil,
		`hello`:                               nil,
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
