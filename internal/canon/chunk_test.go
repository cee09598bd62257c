package canon

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// wantPredicate fails unless err is a rejection by one of the predicates.
func wantPredicate(t *testing.T, err error, want ...string) {
	t.Helper()
	var r *Rejection
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a rejection by %v", err, want)
	}
	for _, w := range want {
		if r.Predicate == w {
			return
		}
	}
	t.Fatalf("got %v, want a rejection by %v", r, want)
}

func TestChunksComeBackAndOthersAreRefused(t *testing.T) {
	for _, b := range [][]byte{{}, []byte("one"), bytes.Repeat([]byte("words and more words. "), 3000), make([]byte, 300<<10)} {
		name, packed := sha256.Sum256(b), PackChunk(b)
		got, err := UnpackChunk(packed, name, int64(len(b)), Limits{})
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		_, err = UnpackChunk(append(packed[:len(packed):len(packed)], 0), name, int64(len(b)), Limits{})
		wantPredicate(t, err, PredChunkZstd)
		_, err = UnpackChunk(append(packed[:len(packed):len(packed)], packed...), name, int64(len(b)), Limits{})
		wantPredicate(t, err, PredChunkZstd)
		_, err = UnpackChunk(packed[:len(packed)-1], name, int64(len(b)), Limits{})
		wantPredicate(t, err, PredChunkZstd, PredChunkRatio)
		_, err = UnpackChunk(packed, name, int64(len(b))+1, Limits{})
		wantPredicate(t, err, PredChunkSize, PredChunkRatio)
		_, err = UnpackChunk(packed, [32]byte{1}, int64(len(b)), Limits{})
		wantPredicate(t, err, PredChunkName)
	}
}

func TestBombIsRefusedBeforeItUnpacks(t *testing.T) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 32<<20)
	name, bomb := sha256.Sum256(b), w.EncodeAll(b, nil)
	_, err = UnpackChunk(bomb, name, int64(len(b)), Limits{})
	wantPredicate(t, err, PredChunkRatio)
	_, err = UnpackChunk(bomb, name, 1<<40, Limits{})
	wantPredicate(t, err, PredChunkSize)
	small := int64(len(bomb)) // a lie about the size
	_, err = UnpackChunk(bomb, name, small, Limits{})
	wantPredicate(t, err, PredChunkSize)
	if got := testing.AllocsPerRun(3, func() { _, _ = UnpackChunk(bomb, name, int64(len(b)), Limits{}) }); got > 20 {
		t.Errorf("refusing a bomb took %v allocations", got)
	}
}
