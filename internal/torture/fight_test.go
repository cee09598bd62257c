//go:build unix

package torture

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

var (
	// fightLines is how many entries each of two processes is to have acknowledged before a fight is over.
	fightLines = amount{short: 50, usual: 300, long: 10_000}
	// fightKills is how many kills two processes suffer that use one store.
	fightKills = amount{short: 10, usual: 40, long: 1000}
)

// fightLimit is how long an entry may take in a fight: on a busy machine, not the average.
const fightLimit = time.Second

// lines is how many entries a child has acknowledged so far.
func (c child) lines() int {
	b, err := os.ReadFile(c.ledger())
	if err != nil {
		return 0
	}
	return bytes.Count(b, []byte{'\n'})
}

func TestTwoProcessesShareOneStore(t *testing.T) {
	t.Parallel()
	goal := fightLines.of(t)
	red := newChild(t, "red")
	red.Rivals = true
	blue := red
	blue.Name = "blue"
	a, err := red.start()
	if err != nil {
		t.Fatal(err)
	}
	b, err := blue.start()
	if err != nil {
		t.Fatal(errors.Join(err, a.kill()))
	}
	begun := time.Now()
	for red.lines() < goal || blue.lines() < goal {
		if took := time.Since(begun); took > time.Duration(goal)*fightLimit {
			t.Errorf("after %v red has %d entries acknowledged and blue %d, want %d each", took, red.lines(), blue.lines(), goal)
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	took := time.Since(begun)
	if err := errors.Join(a.kill(), b.kill()); err != nil {
		t.Fatal(err)
	}
	t.Logf("in %v red had %d entries acknowledged and blue %d", took.Round(time.Millisecond), red.lines(), blue.lines())
	red.conclude(t)
}

func TestTwoProcessesKilledAtRandomDoubleNothing(t *testing.T) {
	t.Parallel()
	kills := fightKills.of(t)
	c := newChild(t, "red")
	c.Rivals = true
	rng := rand.New(rand.NewPCG(seed(), 1<<32))
	others := []child{c, c}
	others[1].Name = "blue"
	done := make(chan error, len(others))
	for i := range others {
		rng := rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		go func() {
			for range kills / len(others) {
				if err := others[i].life(rng); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range others {
		if err := <-done; err != nil {
			t.Errorf("seed %d: %v", seed(), err)
		}
	}
	c.conclude(t)
}

// conclude lets the agents end and checks everything.
func (c child) conclude(t *testing.T) tally {
	t.Helper()
	if err := c.finish(); err != nil {
		t.Errorf("seed %d: %v", seed(), err)
	}
	sum, found := c.audit(t)
	for _, f := range found {
		t.Errorf("seed %d: %s", seed(), f)
	}
	t.Log(sum)
	return sum
}
