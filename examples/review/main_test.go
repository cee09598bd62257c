package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

func TestEachRuleHearsEnough(t *testing.T) {
	for rule, want := range map[string]string{
		"all":           "style tests security speed docs|4 approved, 1 refused, 0 not waited for|",
		"any":           "style|1 approved, 0 refused, 4 not waited for|tests security speed docs",
		"quorum:3":      "style tests security speed|3 approved, 1 refused, 1 not waited for|docs",
		"first-failure": "style tests security|2 approved, 1 refused, 2 not waited for|speed docs",
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				if err := run(t.Context(), new(perdure.MemStore), &out, rule, time.Minute); err != nil {
					t.Fatal(err)
				}
				var heard, stopped []string
				var note string
				for line := range strings.Lines(out.String()) {
					name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
					switch {
					case strings.HasPrefix(line, rule+": "):
						note = strings.TrimSpace(strings.TrimPrefix(line, rule+": "))
					case strings.Contains(line, "told to stop: its parent has ended"):
						stopped = append(stopped, name)
					default:
						heard = append(heard, name)
					}
				}
				if diff := cmp.Diff(want, strings.Join(heard, " ")+"|"+note+"|"+
					strings.Join(stopped, " ")); diff != "" {
					t.Errorf("%s\n%s", diff, out.String())
				}
			})
		})
	}
}

func TestARuleThatDoesNotExistIsRefused(t *testing.T) {
	if err := run(t.Context(), new(perdure.MemStore), new(bytes.Buffer), "most", time.Minute); err == nil ||
		!strings.Contains(err.Error(), "first-failure") {
		t.Errorf("got %v, want the rules there are", err)
	}
}
