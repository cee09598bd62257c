package home

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// An agent is told something while it is passed to a peer: it is owed anew, and stays so when the pass is over.
func TestWhatIsOwedDuringAPassIsNotPaidWithIt(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"it is done": nil, "it failed": errors.New("no room")} {
		h := &Home{Dir: t.TempDir()}
		d, err := h.OpenDealings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		owe := func() {
			if err := d.owe(t.Context(), "peer", []perdure.AgentID{{1}}); err != nil {
				t.Fatal(err)
			}
		}
		owing := func() []Owed {
			all, err := d.Owing(t.Context(), "peer", time.Now(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		pass := func(during func()) {
			all := owing()
			if err := d.take(t.Context(), "peer", all); err != nil {
				t.Fatal(err)
			}
			during()
			if err := d.paid(t.Context(), "peer", &all[0], fault, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		owe()
		pass(owe)
		if n := len(owing()); n != 1 {
			t.Errorf("%s: %d are owed, want the one that was told something meanwhile", name, n)
		}
		pass(func() {})
		if n := len(owing()); n != 0 {
			t.Errorf("%s: %d are owed after a pass", name, n)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent that changes all the time and never passes is tried at once a few times, and then now and then: neither
// what happens to it during a pass nor what happens after has it tried at once. One that passes in the end is as new.
func TestAnAgentThatChangesAllTheTimeIsNotTriedAllTheTime(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	d, err := h.OpenDealings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	begun, fault, tried := time.Now(), errors.New("refused"), 0
	owing := func(in time.Duration) []Owed {
		t.Helper()
		all, err := d.Owing(t.Context(), "peer", begun.Add(in), 10)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	owe := func() { do(d.owe(t.Context(), "peer", []perdure.AgentID{{1}})) }
	pass := func(all []Owed) {
		t.Helper()
		do(d.take(t.Context(), "peer", all))
		owe()
		do(d.paid(t.Context(), "peer", &all[0], fault, begun.Add(time.Hour)))
		owe()
	}
	owe()
	for range 3 * patientTries {
		if all := owing(0); len(all) > 0 {
			tried++
			pass(all)
		}
	}
	if tried != patientTries {
		t.Errorf("it was tried %d times at once, want %d", tried, patientTries)
	}
	all := owing(time.Hour / 2) // long before its time
	if len(all) != 1 {
		t.Fatalf("%d are owed, want the one that changed", len(all))
	}
	do(d.take(t.Context(), "peer", all))
	owe()
	do(d.paid(t.Context(), "peer", &all[0], nil, begun))
	if all = owing(time.Hour / 2); len(all) != 1 { // what came meanwhile
		t.Fatalf("%d are owed after a pass, want the one that changed meanwhile", len(all))
	}
	do(d.take(t.Context(), "peer", all))
	do(d.paid(t.Context(), "peer", &all[0], nil, begun))
	owe()
	if all = owing(0); len(all) != 1 || all[0].Tries != 0 {
		t.Errorf("owed: %+v, want it as new", all)
	}
}

// A peer that names agents which never pass fills neither the file nor the memory of this home, and neither does what
// it says about them.
func TestWhatIsTriedAgainIsBounded(t *testing.T) {
	t.Parallel()
	h := &Home{Dir: t.TempDir()}
	d, err := h.OpenDealings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if _, err := d.db.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i < ?)
		INSERT INTO owed (peer, agent, why, tries, next) SELECT 'peer', printf('%064x', i), '', 1, 1 FROM n`,
		maxRefused); err != nil { // one fewer than there may be
		t.Fatal(err)
	}
	for i, want := range []int{maxRefused, maxRefused} {
		ids := []perdure.AgentID{{0xff, byte(i)}}
		if err := d.owe(t.Context(), "peer", ids); err != nil {
			t.Fatal(err)
		}
		all, err := d.Owing(t.Context(), "peer", time.UnixMilli(0), 10)
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v %v", all, err)
		}
		if n, err := d.untried(t.Context(), "peer", 10); n != 1 || err != nil {
			t.Errorf("%d were not tried yet (%v)", n, err)
		}
		long := errors.New(strings.Repeat("no", 1<<20))
		if err := errors.Join(d.take(t.Context(), "peer", all), d.paid(t.Context(), "peer", &all[0], long,
			time.Now().Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
		size := 0
		n, err := d.count(t.Context(), "peer", "tries > 0", 2*maxRefused)
		bad := d.db.QueryRowContext(t.Context(), "SELECT max(length(why)) FROM owed").Scan(&size)
		if err = errors.Join(err, bad); n != want || err != nil || size > maxWhy+30 {
			t.Errorf("%d are tried again, want %d; %d characters say why (%v)", n, want, size, err)
		}
	}
}

// TestAnAgentThatPassesIsAsNewThoughItChangesMeanwhile has one that failed pass, and change during each pass.
func TestAnAgentThatPassesIsAsNewThoughItChangesMeanwhile(t *testing.T) {
	t.Parallel()
	d, err := (&Home{Dir: t.TempDir()}).OpenDealings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	pass := func(fault error) {
		t.Helper()
		all, err := d.Owing(t.Context(), "peer", time.Now().Add(time.Hour), 10)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		err = errors.Join(d.take(t.Context(), "peer", all), d.owe(t.Context(), "peer", []perdure.AgentID{{1}}),
			d.paid(t.Context(), "peer", &all[0], fault, time.Now()))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := d.owe(t.Context(), "peer", []perdure.AgentID{{1}}); err != nil {
		t.Fatal(err)
	}
	for range patientTries {
		pass(errors.New("refused"))
	}
	pass(nil)
	all, err := d.Owing(t.Context(), "peer", time.Now(), 10)
	if err != nil || len(all) != 1 || all[0].Tries != 0 || all[0].Why != "" || all[0].Next != 0 {
		t.Errorf("%+v, %v; want one that is owed at once, as if it had never failed", all, err)
	}
}
