package torture

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

const (
	// sector is the smallest write a disk tears at.
	sector = 512
	// singly is up to how many loose writes each of them is dropped alone and kept alone at every cut. With more, as in
	// a checkpoint, a random few are: the cuts around them cover the rest.
	singly = 24
	// random is how many random choices of loose writes are tried at every cut besides.
	random = 2
)

// Crash is one state a disk can be in after the power went.
type Crash struct {
	Cut   int    // how many operations had been done
	Marks int    // the last mark before
	Why   string // what of the rest reached the disk
	Files map[string][]byte
}

// WriteTo writes the state to a folder that is there and empty.
func (c Crash) WriteTo(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(c.Files)) { // folders come before what is in them
		path, b := filepath.Join(dir, name), c.Files[name]
		if b == nil {
			if err := os.Mkdir(path, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Crashes yields states the disk can be in had the power gone after each operation of the trace: a random share of
// them, all with a share of 1.
func (t Trace) Crashes(rng *rand.Rand, share float64) iter.Seq[Crash] {
	return func(yield func(Crash) bool) {
		v, mark := newVolume(), 0
		for cut := 0; cut <= len(t); cut++ {
			for why, files := range v.states(rng, share) {
				if !yield(Crash{Cut: cut, Marks: mark, Why: why, Files: files}) {
					return
				}
			}
			if cut == len(t) {
				return
			}
			if o := t[cut]; o.Kind == Mark {
				mark = int(o.Off)
			}
			v.play(t[cut])
		}
	}
}

// states yields a share of what the disk can hold if the power goes now.
func (v *volume) states(rng *rand.Rand, share float64) iter.Seq2[string, map[string][]byte] {
	return func(yield func(string, map[string][]byte) bool) {
		all := v.loose
		try := func(why string, writes, moves []Op) bool {
			return rng.Float64() >= share || yield(why, v.crash(writes, moves))
		}
		if !try("nothing unsynced", nil, nil) || !try("everything", all, v.moves) {
			return
		}
		for i := 1; i <= len(v.moves); i++ {
			if !try(fmt.Sprintf("%d of %d names", i, len(v.moves)), nil, v.moves[:i]) ||
				!try(fmt.Sprintf("all writes, %d of %d names", i-1, len(v.moves)), all, v.moves[:i-1]) {
				return
			}
		}
		if len(all) == 0 {
			return
		}
		for _, i := range chosen(rng, len(all)) {
			if !try(fmt.Sprintf("all but %v", all[i]), slices.Concat(all[:i], all[i+1:]), v.moves) ||
				!try(fmt.Sprintf("only %v", all[i]), all[i:i+1], v.moves) {
				return
			}
		}
		rest, end := all[:len(all)-1], all[len(all)-1]
		for why, torn := range end.torn(rng) {
			if !try(why, append(slices.Clone(rest), torn...), v.moves) {
				return
			}
		}
		for range random {
			some := slices.DeleteFunc(slices.Clone(all), func(Op) bool { return rng.IntN(2) == 0 })
			if !try(fmt.Sprintf("a random %d of %d writes", len(some), len(all)), some, v.moves) {
				return
			}
		}
	}
}

// chosen are the loose writes that are dropped and kept alone.
func chosen(rng *rand.Rand, n int) []int {
	if n <= singly {
		is := make([]int, n)
		for i := range is {
			is[i] = i
		}
		return is
	}
	return append(rng.Perm(n - 1)[:singly/2-1], n-1)
}

// torn yields the write as it is found when the power went in the middle of it.
func (o Op) torn(rng *rand.Rand) iter.Seq2[string, []Op] {
	return func(yield func(string, []Op) bool) {
		if o.Kind != Write || len(o.Data) < 2 {
			return
		}
		part := func(from, to int) Op {
			p := o
			p.Off, p.Data = o.Off+int64(from), o.Data[from:to]
			return p
		}
		half := len(o.Data) / 2
		if !yield(fmt.Sprintf("first half of %v", o), []Op{part(0, half)}) ||
			!yield(fmt.Sprintf("second half of %v", o), []Op{part(half, len(o.Data))}) {
			return
		}
		if edge := sector - int(o.Off%sector); edge < len(o.Data) {
			if !yield(fmt.Sprintf("first sector of %v", o), []Op{part(0, edge)}) ||
				!yield(fmt.Sprintf("all but the first sector of %v", o), []Op{part(edge, len(o.Data))}) {
				return
			}
		}
		if edge := int((o.Off+int64(len(o.Data)))/sector*sector - o.Off); edge > 0 && edge < len(o.Data) {
			if !yield(fmt.Sprintf("all but the last sector of %v", o), []Op{part(0, edge)}) {
				return
			}
		}
		garbage := o
		garbage.Data = bytes.Clone(o.Data)
		for i := half; i < len(garbage.Data); i++ {
			garbage.Data[i] = byte(rng.Uint32())
		}
		yield(fmt.Sprintf("garbage at the end of %v", o), []Op{garbage})
	}
}
