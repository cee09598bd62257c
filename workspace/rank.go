package workspace

import (
	"math"
	"time"
)

// boost favours what is newer, and documents over what was once said. It changes little: what fits better stays before.
func (f *finder) boost(c *Found) float64 {
	age := max(float64(f.now-c.Time)/float64(24*time.Hour/time.Millisecond), 0)
	boost := 1 + 0.1*math.Exp(-age/30)
	if c.once() {
		boost *= 1.15
	}
	return boost
}

const (
	// FTS5 weighs the length of a text as is good for pages. Among turns, that has the shortest win that name a word of
	// a question, "Carol who?", before those that say something about it.
	pageLength, pageFrequent = 0.75, 1.2
	turnLength, turnFrequent = 0.4, 0.9
	// longest is how many times the usual length counts: it is as if each word stood in a text once, and in long ones
	// they often stand again.
	longest = 4
)

// evened is by how much the rank of a text changes where its length counts as it should: size is what the index notes
// of the lengths of its columns, all how many texts there are and how long the columns of all are together.
func evened(size, all []byte) float64 {
	texts, all := numberIn(all)
	words := sumOf(all)
	if texts == 0 || words == 0 {
		return 1
	}
	length := min(sumOf(size)*texts/words, longest)
	return (1 + pageFrequent*(1-pageLength+pageLength*length)) / (1 + turnFrequent*(1-turnLength+turnLength*length))
}

// sumOf is the sum of numbers as SQLite packs them.
func sumOf(packed []byte) (sum float64) {
	for len(packed) > 0 {
		var n float64
		n, packed = numberIn(packed)
		sum += n
	}
	return sum
}

// numberIn is the first of such numbers, seven bits in each byte, the highest first, and what follows it.
func numberIn(packed []byte) (n float64, rest []byte) {
	for i, b := range packed {
		if n = n*128 + float64(b&0x7f); b < 0x80 {
			return n, packed[i+1:]
		}
	}
	return n, nil
}

// nextTo is how much of the score of a turn counts for the one before it and the one after: what is asked for is often
// said in answer to words that name it.
const nextTo = 0.15

// row is a candidate of a search.
type row struct {
	Found
	agent, expires int64
	rank           float64
}

// score scores candidates.
func (f *finder) score(all []*row) {
	turns := map[int64]*row{}
	for _, c := range all {
		c.Score = -c.rank * f.boost(&c.Found)
		if !c.once() {
			turns[c.item] = c
		}
	}
	more := map[int64]float64{}
	for item, c := range turns {
		for _, beside := range []int64{item - 1, item + 1} {
			if n := turns[beside]; n != nil && n.agent == c.agent && n.version == c.version {
				more[item] += nextTo * n.Score
			}
		}
	}
	for item, add := range more {
		turns[item].Score += add
	}
}
