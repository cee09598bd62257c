package bench

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

func TestBenchEncodesWhatEntriesAre(t *testing.T) {
	b, err := newCodecBench(MinEntries, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wireEntryCodec.Append(nil, &b.wire)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.entry) {
		t.Errorf("got %x, want %x", got, b.entry)
	}
	if len(b.entry) != 1024 {
		t.Errorf("the sample has %d bytes, want 1024", len(b.entry))
	}
}

func TestPeersCarryTheSameFields(t *testing.T) {
	b, err := newCodecBench(MinEntries, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.peers {
		encoded, err := p.encode(nil, b.plain)
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		var back peerEntry
		if err := p.decode(encoded, &back); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		if diff := cmp.Diff(*b.plain, back); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.name, diff)
		}
		if err := p.decode(encoded[:len(encoded)-1], &back); err == nil {
			t.Errorf("%s reads a value that was cut short", p.name)
		}
	}
}

func TestCycleMemoryIsAnAgentAtWork(t *testing.T) {
	entries, at, err := cycleMemory(31, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 32 || at[10].Fold().Count != 10 || at[31].Fold().Count != 31 {
		t.Errorf("got %d entries and agents of %d and %d, want 32, 10 and 31", len(entries), at[10].Fold().Count,
			at[31].Fold().Count)
	}
	a, err := perdure.FoldEntries(listed(entries))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Fold().Turns; got != 11 {
		t.Errorf("turns: got %d, want 11", got)
	}
	if c := a.Fold().Conflicts; len(c) > 0 {
		t.Errorf("conflicts: %v", c)
	}
}

func TestBenchStopsWhenInterrupted(t *testing.T) {
	b, err := newCodecBench(MinEntries, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
