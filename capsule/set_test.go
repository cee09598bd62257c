package capsule

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
)

// TestChunksNobodyRefersToAreCollected exports two agents that share one body and have one each, and takes one of them
// away.
func TestChunksNobodyRefersToAreCollected(t *testing.T) {
	w := newAuthor()
	store := new(perdure.MemStore)
	var ids []perdure.AgentID
	for i := range uint64(2) {
		g, a := w.genesis("agent")
		es, _ := w.commit(a, event("shared", 300_000, 7), event("own", 200_000, 100+i))
		if err := store.Put(t.Context(), g.ID(), append([]*perdure.Entry{g}, es...)...); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, g.ID())
	}
	dir := t.TempDir()
	set := must(OpenSet(dir))
	defer set.Close()
	names, err := set.Export(t.Context(), store, SetOptions{}, ids...)
	if err != nil {
		t.Fatal(err)
	}
	all := must(set.Verify(t.Context()))
	gone := filepath.Join(dir, names[1])
	kept := must(os.ReadFile(gone))
	if err := os.WriteFile(gone, kept[:len(kept)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = set.Collect(t.Context(), false)
	refused(t, "a capsule that cannot be read", err, PredComplete)
	if left := must(set.Verify(t.Context())); left != all {
		t.Fatalf("%d of %d chunks are left, though nobody knows what is needed", left, all)
	}
	left := filepath.Join(dir, chunkDir, "00", ".unfinished.1.tmp")
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	would := must(set.Collect(t.Context(), true))
	if would.Chunks == 0 || would.Kept == 0 || would.Chunks+would.Kept != all || would.Bytes == 0 {
		t.Fatalf("of %d chunks %+v would go", all, would)
	}
	if left := must(set.Verify(t.Context())); left != all {
		t.Fatalf("%d of %d chunks are left after nothing but counting", left, all)
	}
	if did := must(set.Collect(t.Context(), false)); did != would {
		t.Fatalf("%+v went, want %+v", did, would)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a writer left unfinished is still there")
	}
	to := new(perdure.MemStore)
	if _, err := set.Import(t.Context(), to, names[0], ImportOptions{Anyone: true}); err != nil ||
		foldHash(t, to, ids[0]) != foldHash(t, store, ids[0]) {
		t.Fatalf("the capsule that is left: %v", err)
	}
}
