package perdure_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
)

// pair is two homes of one owner that have an agent each.
type pair struct {
	t      *testing.T
	nodes  [2]*perdure.Node
	stores [2]*perdure.MemStore
	trust  *perdure.Trust
	id     perdure.AgentID
	said   int
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, stores: [2]*perdure.MemStore{new(perdure.MemStore), new(perdure.MemStore)}}
	p.nodes[0] = newNode(t, p.stores[0], nil)
	p.nodes[1] = newNode(t, p.stores[1], nil)
	p.nodes[1].Key = p.nodes[0].Key
	p.trust = perdure.NewTrust(perdure.Trustee{Key: p.nodes[0].Key.Key(), Rights: perdure.MayOwn,
		Scope: perdure.AnyScope})
	p.id = create(t, p.nodes[0], perdure.Genesis{Intent: perdure.Intent{Goal: "g", TTL: time.Hour.Milliseconds()},
		Charter: perdure.Charter{Scope: "acme"}})
	all := perdure.Memory(t.Context(), p.stores[0], p.id)
	if err := perdure.PutAll(t.Context(), p.stores[1], p.id, all); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) tell(at int) error {
	p.said++
	_, err := p.nodes[at].Tell(p.t.Context(), p.id, perdure.Event{Name: "said"})
	return err
}

// pass joins what one has to the other.
func (p *pair) pass(from, to int, by *perdure.Signer) error {
	all := perdure.Memory(p.t.Context(), p.stores[from], p.id)
	_, _, err := p.trust.Join(p.t.Context(), p.stores[to], p.id, all, by)
	return err
}

// meet makes one of the two, whichever way that goes.
func (p *pair) meet(to int) error {
	by := p.nodes[0].Key
	err := p.pass(1-to, to, by)
	if errors.Is(err, perdure.ErrRejected) {
		if err := p.pass(to, 1-to, by); err != nil {
			return err
		}
		err = p.pass(1-to, to, by)
	}
	if err == nil {
		err = p.pass(to, 1-to, by)
	}
	return err
}

// same says why the two are not one that was told everything.
func (p *pair) same() error {
	var folds [2]perdure.Hash
	for i, s := range p.stores {
		a, err := perdure.Load(p.t.Context(), s, p.id)
		if err != nil {
			return err
		}
		if got := len(a.Fold().Inbox); got != p.said {
			return errors.New("something that was said is lost")
		}
		if _, err := perdure.Verify(perdure.Memory(p.t.Context(), s, p.id), perdure.VerifyOptions{}); err != nil {
			return err
		}
		if folds[i], err = a.Fold().Hash(); err != nil {
			return err
		}
	}
	if folds[0] != folds[1] {
		return errors.New("the two come to different folds")
	}
	return nil
}

// step does one thing. Only the first of the two collects.
func (p *pair) step(op string) (dropped int64, err error) {
	switch op {
	case "here":
		err = p.tell(0)
	case "there":
		err = p.tell(1)
	case "wait":
		time.Sleep(2 * time.Hour)
	case "snapshot":
		_, err = p.nodes[1].Snapshot(p.t.Context(), p.id)
	case "collect":
		var c perdure.Collected
		c, err = p.nodes[0].Collect(p.t.Context(), p.id)
		dropped = c.Entries
	case "meet here", "meet there":
		if err = p.meet(map[string]int{"meet here": 0, "meet there": 1}[op]); err == nil {
			err = p.same()
		}
	}
	return dropped, err
}

// However the two part and meet, both come to the same, and nothing that was said is lost.
func TestACollectedCopyAndAnotherBecomeOne(t *testing.T) {
	total := int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.SampledFrom([]string{"here", "there", "wait", "collect", "snapshot", "meet here",
			"meet there"}), 5, 40).Draw(rt, "ops")
		at, failed := "", error(nil)
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t)
			for _, at = range ops {
				dropped, err := p.step(at)
				total += dropped
				if failed = err; err != nil {
					return
				}
			}
		})
		if failed != nil {
			rt.Fatalf("%s: %v", at, failed)
		}
	})
	if total == 0 {
		t.Error("nothing was dropped: the test tried nothing")
	}
}

// The snapshots that two copies wrote apart may all be passed over for one from before what was collected.
func TestSnapshotsOfACopyDoNotHideTheOneThatCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		for _, op := range []string{"here", "wait", "collect", "snapshot", "meet here", "here", "there", "snapshot",
			"snapshot", "meet here"} {
			if _, err := p.step(op); err != nil {
				t.Fatalf("%s: %v", op, err)
			}
		}
	})
}

// Who is not the owner cannot say what the two come to, and stores nothing.
func TestOnlyTheOwnerUnitesCollectedCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		for _, at := range []int{0, 1, 0} {
			if err := p.tell(at); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour)
		if c, err := p.nodes[0].Collect(t.Context(), p.id); err != nil || c.Entries == 0 {
			t.Fatalf("collected %d bodies: %v", c.Entries, err)
		}
		before := load(t, p.stores[1], p.id).Count
		somebody, err := perdure.GenerateSigner("somebody")
		if err != nil {
			t.Fatal(err)
		}
		for _, by := range []*perdure.Signer{nil, somebody} {
			if err := p.pass(0, 1, by); !errors.Is(err, perdure.ErrRejected) {
				t.Errorf("got %v, want it refused", err)
			}
			if got := load(t, p.stores[1], p.id).Count; got != before {
				t.Errorf("%d entries after the refusal, want %d as before", got, before)
			}
		}
	})
}
