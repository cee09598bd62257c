package bench

import (
	"fmt"
	"slices"
)

// TalkWindow is how many turns are compared: the first ones, of which turn 10 is the middle, with the last ones.
const TalkWindow = 20

// TalkResult is what a conversation came to.
type TalkResult struct {
	Talk
	Entries   int        `json:"entries"`
	Summaries int        `json:"summaries"`
	Content   int64      `json:"content_bytes"` // said, called, returned and summarised
	Memory    int64      `json:"entry_bytes"`   // of all entries, with headers and signatures
	File      int64      `json:"file_bytes"`    // what the store's files grew by
	MemoryPer float64    `json:"entry_ratio"`
	FilePer   float64    `json:"file_ratio"`
	Costs     []TalkCost `json:"costs"`
	Seconds   float64    `json:"seconds"`
}

// TalkCost is what something costs in the middle of the first turns and of the last: medians.
type TalkCost struct {
	What  string  `json:"what"`
	Unit  string  `json:"unit"`
	Early float64 `json:"early"`
	Late  float64 `json:"late"`
	Ratio float64 `json:"ratio"`
}

// lap is what one turn cost, in all and while the model was asked.
type lap struct{ all, asking expense }

// costsOf compares the first turns with the last.
func costsOf(early, late []lap) []TalkCost {
	parts := []struct {
		name string
		of   func(l *lap) expense
	}{
		{"turn, without asking", func(l *lap) expense { return l.all.minus(l.asking) }},
		{"asking the model", func(l *lap) expense { return l.asking }},
	}
	kinds := []struct {
		unit string
		of   func(e expense) float64
	}{
		{"ms", func(e expense) float64 { return ms(e.wall) }},
		{"CPU ms", func(e expense) float64 { return ms(e.cpu) }},
		{"KiB allocated", func(e expense) float64 { return float64(e.bytes) / 1024 }},
		{"allocations", func(e expense) float64 { return float64(e.objects) }},
	}
	var out []TalkCost
	for _, part := range parts {
		for _, kind := range kinds {
			middle := func(laps []lap) float64 {
				var v []float64
				for i := range laps {
					v = append(v, kind.of(part.of(&laps[i])))
				}
				slices.Sort(v)
				return v[len(v)/2]
			}
			c := TalkCost{What: part.name, Unit: kind.unit, Early: middle(early), Late: middle(late)}
			if c.Early > 0 {
				c.Ratio = c.Late / c.Early
			}
			out = append(out, c)
		}
	}
	return out
}

// Tables is the result for people.
func (r *TalkResult) Tables() []Table {
	t := Table{Head: []string{"PER TURN", "", "TURN 10", fmt.Sprintf("TURN %d", r.Turns), "RATIO"}}
	for _, c := range r.Costs {
		t.add(c.What, c.Unit, number(c.Early, 2), number(c.Late, 2), number(c.Ratio, 2))
	}
	t.note("medians over %d turns of each; %d turns in %.1f s; %d summaries", TalkWindow, r.Turns-TalkWindow, r.Seconds,
		r.Summaries)
	t.note("content  %d bytes: what was said, called, returned and summarised, each once", r.Content)
	t.note("entries  %d bytes in %d entries, %.3f times the content", r.Memory, r.Entries, r.MemoryPer)
	t.note("file     %d bytes, %.3f times the content", r.File, r.FilePer)
	return []Table{t}
}
