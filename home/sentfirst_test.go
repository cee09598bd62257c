package home_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
)

// Whoever sends an owner's agent first, with a stranger's entry on top, does not keep the owner's copy out: it takes
// the place of theirs, and is admitted as one that is new here.
func TestTheOwnersCopyReplacesOneThatAStrangerSentFirst(t *testing.T) {
	t.Parallel()
	there, tn := openDesk(t)
	id := newAgent(t, there, 3)
	clean := fileOf(t, there.Desk.Store, id)
	evil, err := perdure.GenerateSigner("mallory")
	if err != nil {
		t.Fatal(err)
	}
	a, err := tn.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	more, _, err := evil.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	s, all := new(perdure.MemStore), []*perdure.Entry{}
	for e, err := range perdure.Memory(t.Context(), there.Desk.Store, id) {
		if all = append(all, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Put(t.Context(), id, append(all, more...)...); err != nil {
		t.Fatal(err)
	}
	spoilt := fileOf(t, s, id)
	for _, welcome := range []bool{false, true} {
		here, _ := openDesk(t)
		h := here.Desk.Home
		got, err := h.Import(t.Context(), here.Desk.Store, bytes.NewReader(spoilt), home.Intake{})
		if err != nil || !got.Held || !got.Paused {
			t.Fatalf("%+v %v, want it held", got, err)
		}
		if welcome {
			trusts(t, here, tn)
		} else if err := h.TrustKey(perdure.Trustee{Key: tn.Key.Key(), Rights: perdure.MayOwn,
			Scope: perdure.AnyScope}); err != nil {
			t.Fatal(err)
		}
		_, err = h.Import(t.Context(), here.Desk.Store, bytes.NewReader(clean), home.Intake{})
		if hint := new(perdure.Hint); !errors.As(err, &hint) || !strings.Contains(hint.Do, "--drop-unknown") {
			t.Errorf("%v, want it said that the owner's copy can take its place", err)
		}
		drop := home.Intake{ImportOptions: capsule.ImportOptions{Drop: true}}
		got, err = h.Import(t.Context(), here.Desk.Store, bytes.NewReader(clean), drop)
		if err != nil || got.Relation != "restored" || got.Held || got.Paused == welcome {
			t.Errorf("welcome %t: %+v %v, want the owner's copy in its place, as policy says", welcome, got, err)
		}
		now, err := here.Desk.Load(t.Context(), id)
		if err != nil || !welcome && now.Fold().Count != a.Fold().Count+1 {
			t.Errorf("welcome %t: %v, want nothing of the stranger's left", welcome, err)
		}
		if welcome {
			continue
		}
		if _, err := here.Desk.Resume(t.Context(), here.Visitor, id.String(), ""); err != nil {
			t.Error(err)
		}
		if got, err = h.Import(t.Context(), here.Desk.Store, bytes.NewReader(clean), drop); err != nil || got.Paused {
			t.Errorf("%+v %v, want what the owner of this home said kept", got, err)
		}
	}
}

// fileOf is an agent as a capsule.
func fileOf(t *testing.T, s perdure.Store, id perdure.AgentID) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := capsule.Export(t.Context(), &b, s, id, capsule.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
