package workspace_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/workspace"
)

// Mallory, whom nobody trusts, has a copy of the workspace of bob, whom ann trusts to own. She writes into it and sends
// it to ann: it arrives held, as a stranger's agent does, and ann's own memory goes on.
func TestAStrangersCopyOfAFriendsWorkspaceStopsNoMemory(t *testing.T) {
	w := newWorld(t, new(perdure.MemStore))
	bob := worldOf(t, new(perdure.MemStore), signer(t, "bob"), "")
	owns := func(k perdure.Key, name string) perdure.Trustee {
		return perdure.Trustee{Key: k, Name: name, Rights: perdure.MayOwn, Scope: perdure.AnyScope}
	}
	trust := perdure.NewTrust(owns(w.key.Key(), "ann"), owns(bob.key.Key(), "bob"))
	w.Node.Trust = trust
	r := w.as("coder")
	w.write(r, workspace.Draft{Path: "plans/mine.md", Text: "ann's own\n"})
	bob.write(bob.as("coder"), workspace.Draft{Path: "plans/x.md", Text: "bob's\n"})
	doc := bob.read(bob.as("coder"), "plans/x.md")
	id := doc.Agent
	mallory := signer(t, "mallory")
	a, err := perdure.Load(t.Context(), bob.store, id)
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := mallory.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := bob.store.Put(t.Context(), id, e...); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := capsule.Export(t.Context(), &b, bob.store, id, capsule.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := capsule.Import(t.Context(), w.store, bytes.NewReader(b.Bytes()),
		capsule.ImportOptions{Trust: trust, Key: w.key}); err != nil {
		t.Fatal(err)
	}
	if docs, err := r.List(t.Context(), workspace.Listed{Prefix: "plans/"}); err != nil || len(docs) != 1 {
		t.Errorf("list: %d documents, %v", len(docs), err)
	}
	if _, err := r.Read(t.Context(), "plans/mine.md", nil); err != nil {
		t.Errorf("read: %v", err)
	}
	if _, err := r.Write(t.Context(), workspace.Draft{Path: "plans/new.md", Text: "x\n"}); err != nil {
		t.Errorf("write: %v", err)
	}
}
