package bench

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// benchText is prose of the length that makes an entry 1 KiB.
var benchText = strings.Repeat("The door to the store room was opened at nine and closed at ten. ", 13)[:807]

// benchAdvice is the content of the entries measured.
func sampleAdvice() perdure.Advice {
	return perdure.Advice{Advisor: "measured", Model: "none", Text: benchText,
		Usage: &perdure.Usage{In: 1200, Out: 180}}
}

// begin returns an author and an agent that has only begun.
func begin(now time.Time) (*perdure.Signer, *perdure.Entry, *perdure.Agent, error) {
	s, err := perdure.GenerateSigner("bench")
	if err != nil {
		return nil, nil, nil, err
	}
	g, err := s.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be measured"},
		Charter: perdure.Charter{Scope: "bench"}}, now)
	if err != nil {
		return nil, nil, nil, err
	}
	a, err := perdure.Begin(g)
	return s, g, a, err
}

// adviceMemory is a memory of one genesis and n-1 advices by one author, with a signature after every run of so many.
func adviceMemory(n, run int) ([][]byte, error) {
	now := time.Now()
	s, g, a, err := begin(now)
	if err != nil {
		return nil, err
	}
	memory, err := appendEntries(nil, g)
	for err == nil && len(memory) < n {
		drafts := make([]perdure.Draft, min(run, n-len(memory)))
		for i := range drafts {
			drafts[i].Body = sampleAdvice()
		}
		var entries []*perdure.Entry
		if entries, a, err = s.Commit(a, now, drafts...); err == nil {
			memory, err = appendEntries(memory, entries...)
		}
	}
	return memory, err
}

// cycleMemory is a memory of n entries, and one more, of an agent at work: advice, decision, outcome and again. It also
// returns the agent as it was after the first early entries and after n.
func cycleMemory(n, early int) (entries []*perdure.Entry, at map[int]*perdure.Agent, err error) {
	now := time.Now()
	s, g, a, err := begin(now)
	if err != nil {
		return nil, nil, err
	}
	entries, at = []*perdure.Entry{g}, map[int]*perdure.Agent{}
	result, err := perdure.DataOf(map[string]any{"output": benchText})
	if err != nil {
		return nil, nil, err
	}
	act := perdure.Execute{Tool: "look"}
	for len(entries) <= n {
		if len(entries) == early || len(entries) == n {
			at[len(entries)] = a
		}
		last := entries[len(entries)-1]
		var body perdure.Body
		switch last.Kind {
		case perdure.KindAdvice:
			body = perdure.Decision{Advice: last.Name, Verdict: perdure.Verdict{Answer: perdure.Allow,
				Reason: benchText}, Effect: perdure.Read}
		case perdure.KindDecision:
			body = perdure.Outcome{Decision: last.Name, Signal: perdure.OK, Result: result}
		default:
			advice := sampleAdvice()
			advice.Actions = []perdure.Action{act}
			body = advice
		}
		more, next, err := s.Commit(a, now, perdure.Draft{Body: body})
		if err != nil {
			return nil, nil, fmt.Errorf("write entry %d: %w", len(entries), err)
		}
		entries, a = append(entries, more...), next
	}
	return entries, at, nil
}

// appendEntries appends the binary form of entries.
func appendEntries(memory [][]byte, entries ...*perdure.Entry) ([][]byte, error) {
	for _, e := range entries {
		b, err := e.MarshalBinary()
		if err != nil {
			return nil, err
		}
		memory = append(memory, b)
	}
	return memory, nil
}

// listed yields entries in hand.
func listed(entries []*perdure.Entry) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}
