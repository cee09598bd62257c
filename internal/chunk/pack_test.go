package chunk

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/perdure/perdure/internal/canon"
)

// wantPredicate fails unless err is a rejection by one of the predicates.
func wantPredicate(t *testing.T, err error, want ...string) {
	t.Helper()
	var r *canon.Rejection
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
	for _, b := range [][]byte{{}, []byte("one"), bytes.Repeat([]byte("words and more words. "), 3000),
		make([]byte, 300<<10)} {
		name, packed := sha256.Sum256(b), Pack(b)
		got, err := Unpack(packed, name, int64(len(b)), canon.DefaultBytes)
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		_, err = Unpack(append(packed[:len(packed):len(packed)], 0), name, int64(len(b)), canon.DefaultBytes)
		wantPredicate(t, err, PredZstd)
		_, err = Unpack(append(packed[:len(packed):len(packed)], packed...), name, int64(len(b)), canon.DefaultBytes)
		wantPredicate(t, err, PredZstd)
		_, err = Unpack(packed[:len(packed)-1], name, int64(len(b)), canon.DefaultBytes)
		wantPredicate(t, err, PredZstd, PredRatio)
		_, err = Unpack(packed, name, int64(len(b))+1, canon.DefaultBytes)
		wantPredicate(t, err, PredSize, PredRatio)
		_, err = Unpack(packed, [32]byte{1}, int64(len(b)), canon.DefaultBytes)
		wantPredicate(t, err, PredName)
	}
}

func TestBombIsRefusedBeforeItUnpacks(t *testing.T) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 32<<20)
	name, bomb := sha256.Sum256(b), w.EncodeAll(b, nil)
	_, err = Unpack(bomb, name, int64(len(b)), canon.DefaultBytes)
	wantPredicate(t, err, PredRatio)
	_, err = Unpack(bomb, name, 1<<40, canon.DefaultBytes)
	wantPredicate(t, err, PredSize)
	small := int64(len(bomb)) // a lie about the size
	_, err = Unpack(bomb, name, small, canon.DefaultBytes)
	wantPredicate(t, err, PredSize)
	if got := testing.AllocsPerRun(3, func() {
		_, _ = Unpack(bomb, name, int64(len(b)), canon.DefaultBytes)
	}); got > 20 {
		t.Errorf("refusing a bomb took %v allocations", got)
	}
}
