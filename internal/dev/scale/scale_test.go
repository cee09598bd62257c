package main

import (
	"reflect"
	"testing"
	"time"
)

// small is a fleet that takes no time to simulate.
func small() Params {
	return Params{Agents: 200_000, Nodes: 60, Engines: 3, Period: 4 * time.Hour, Storm: 0.01, Steps: 2, Width: 8,
		Look: time.Millisecond, Claim: time.Millisecond, Commit: 2 * time.Millisecond, CPU: time.Millisecond,
		Tool: time.Second, Cores: 2, Slots: 32, Page: 64, Lease: 10 * time.Second,
		Failover: 20 * time.Second, Spread: true, Seed: 7}
}

func TestEveryAgentThatWakesIsDone(t *testing.T) {
	p := small()
	for _, run := range []func() Result{p.steady, p.storm, p.region} {
		r := run()
		if r.Woken == 0 || r.Done != r.Woken {
			t.Errorf("%s: %d woke, %d are done", r.Name, r.Woken, r.Done)
		}
		if again := run(); !reflect.DeepEqual(r, again) {
			t.Errorf("%s: the same seed came to something else", r.Name)
		}
		if r.Name == "region lost" && r.Resumed == 0 {
			t.Error("no agent was interrupted when a region was lost")
		}
	}
}

func TestNodesThatGiveWayClaimLess(t *testing.T) {
	p := small()
	with := p.storm()
	p.Spread = false
	without := p.storm()
	if with.Claims > 4 || without.Claims < 1.5*with.Claims {
		t.Errorf("%.1f claims per wake, %.1f if nodes do not give way", with.Claims, without.Claims)
	}
}

func TestAnEngineServesInTurn(t *testing.T) {
	p := small()
	p.Width = 2
	c := new(clock)
	e := &engine{c: c, p: &p}
	var at []float64
	for range 4 {
		e.ask(1, func() { at = append(at, c.now) })
	}
	c.until(10)
	if want := []float64{1, 1, 2, 2}; !reflect.DeepEqual(at, want) {
		t.Errorf("served at %v, want %v", at, want)
	}
}
