package main

import (
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// prose is of the length that makes an entry 1 KiB.
var prose = strings.Repeat("The door to the store room was opened at nine and closed at ten. ", 13)[:807]

// sampleAdvice is the content of entries of 1 KiB.
func sampleAdvice() perdure.Advice {
	return perdure.Advice{Advisor: "measured", Model: "none", Text: prose, Usage: &perdure.Usage{In: 1200, Out: 180}}
}

// sampleMemory is a genesis entry and two advices after it, under one signature, in binary form.
func sampleMemory(now time.Time) ([][]byte, error) {
	s, err := perdure.GenerateSigner("bench")
	if err != nil {
		return nil, err
	}
	intent, charter := perdure.Intent{Goal: "be measured"}, perdure.Charter{Scope: "bench"}
	g, err := s.Genesis(perdure.Genesis{Intent: intent, Charter: charter}, now)
	if err != nil {
		return nil, err
	}
	a, err := perdure.Begin(g)
	if err != nil {
		return nil, err
	}
	more, _, err := s.Commit(a, now, perdure.Draft{Body: sampleAdvice()}, perdure.Draft{Body: sampleAdvice()})
	if err != nil {
		return nil, err
	}
	var memory [][]byte
	for _, e := range append([]*perdure.Entry{g}, more...) {
		b, err := e.MarshalBinary()
		if err != nil {
			return nil, err
		}
		memory = append(memory, b)
	}
	return memory, nil
}
