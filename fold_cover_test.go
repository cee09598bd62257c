package perdure

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawMemory draws a memory of headers: a random DAG of snapshots and events, some without their body.
func drawMemory(t *rapid.T) []*Entry {
	var all []*Entry
	for i := range rapid.IntRange(1, 24).Draw(t, "entries") {
		e := &Entry{Header: Header{Kind: KindEvent, Time: Time(rapid.IntRange(0, 9).Draw(t, "time"))}}
		e.Name = HashOf(binary.BigEndian.AppendUint32(nil, uint32(i)))
		if i > 0 {
			for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 1, 3, rapid.ID).Draw(t, "parents") {
				e.Parents = append(e.Parents, all[p].Name)
				e.Seq = max(e.Seq, all[p].Seq+1)
			}
		}
		if rapid.Bool().Draw(t, "snapshot") {
			e.Kind, e.content = KindSnapshot, Snapshot{}
		} else if rapid.IntRange(0, 3).Draw(t, "body") > 0 {
			e.content = Event{}
		}
		all = append(all, e)
	}
	return sorted(all)
}

// TestWhatCanBeResumedFromIsFoundInPasses: the passes find what looking at the past of each entry finds.
func TestWhatCanBeResumedFromIsFoundInPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := drawMemory(t)
		m := byName(all)
		whole, missing, last := complete(all), uncovering(all), latest(all, math.MaxInt64)
		for i, e := range all {
			past := m.past(e.Parents...)
			late, unseen, time := false, false, Time(0)
			for _, p := range past {
				time = max(time, p.Time)
			}
			for _, o := range all {
				in := slices.Contains(past, o)
				late = late || o.Seq < e.Seq && !in
				unseen = unseen || bodiless(o) && o != e && !in
			}
			if whole[i] == late || missing[i] != unseen || last[i] != time {
				t.Fatalf("entry %d: complete %v, missing %v, latest %d; want %v, %v, %d",
					i, whole[i], missing[i], last[i], !late, unseen, time)
			}
		}
	})
}

// TestNoSnapshotIsTriedInVain: behind a lost body at the tip, or beside one that came late, however many snapshots
// there are, none is tried.
func TestNoSnapshotIsTriedInVain(t *testing.T) {
	t.Parallel()
	var all []*Entry
	for i := range 4000 {
		e := &Entry{Header: Header{Kind: KindSnapshot, Seq: int64(i)}, content: Snapshot{}}
		e.Name = HashOf(binary.BigEndian.AppendUint32(nil, uint32(i)))
		if i > 0 {
			e.Parents = []Hash{all[i-1].Name}
		}
		all = append(all, e)
	}
	lost := func(on *Entry) *Entry {
		return &Entry{Header: Header{Kind: KindEvent, Seq: on.Seq + 1, Parents: []Hash{on.Name}},
			Name: HashOf([]byte("lost"))}
	}
	if n := len(resumable(sorted(all))); n != len(all) {
		t.Errorf("%d snapshots can be resumed from, want all %d", n, len(all))
	}
	for name, on := range map[string]*Entry{"tip": all[len(all)-1], "late": all[0]} {
		if n := len(resumable(sorted(append(slices.Clone(all), lost(on))))); n > 0 {
			t.Errorf("%s: %d snapshots are tried, want none", name, n)
		}
	}
}
