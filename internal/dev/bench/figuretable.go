package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Run is the figures of one run, a line each.
type Run []*Figures

// Tables is the run for people. What was not measured is left out.
func (r Run) Tables() []Table {
	type column struct {
		head string
		cell func(f *Figures) string
	}
	columns := []column{
		{"WORKLOAD", func(f *Figures) string { return f.Workload + " " + settings(f.Settings) }},
		{"PER SECOND", func(f *Figures) string { return number(f.PerSecond, 0) }},
		{"P50 ms", func(f *Figures) string { return number(f.P50, 3) }},
		{"P99 ms", func(f *Figures) string { return number(f.P99, 3) }},
		{"BYTES", func(f *Figures) string { return number(f.Bytes, 0) }},
		{"FSYNCS", func(f *Figures) string { return number(f.Syncs, 3) }},
		{"CPU µs", func(f *Figures) string { return number(f.CPU, 1) }},
		{"RSS MiB", func(f *Figures) string { return number(f.RSS, 1) }},
		{"FLOOR/s", func(f *Figures) string { return number(f.FloorRate, 0) }},
		{"RATIO", func(f *Figures) string { return number(f.Ratio, 2) }},
		{"CPU RATIO", func(f *Figures) string { return number(f.CPURatio, 2) }},
	}
	for _, o := range r.others() {
		columns = append(columns,
			column{strings.ToUpper(o.Label) + "/s",
				func(f *Figures) string { return number(f.other(o.Label).PerSecond, 0) }},
			column{"RATIO", func(f *Figures) string { return number(f.other(o.Label).Ratio, 2) }})
	}
	t := Table{Rows: make([][]string, len(r))}
	for _, col := range columns {
		cells, some := make([]string, len(r)), false
		for i, f := range r {
			cells[i] = col.cell(f)
			some = some || cells[i] != "-"
		}
		if !some {
			continue
		}
		t.Head = append(t.Head, col.head)
		for i := range cells {
			t.Rows[i] = append(t.Rows[i], cells[i])
		}
	}
	r.notes(&t)
	return []Table{t}
}

// others are what was measured beside lines of the run, once each.
func (r Run) others() (all []Other) {
	for _, f := range r {
		for _, o := range f.Others {
			if !slices.ContainsFunc(all, func(was Other) bool { return was.Label == o.Label }) {
				all = append(all, o)
			}
		}
	}
	return all
}

// other is what had a label, zero if nothing had it.
func (f *Figures) other(label string) Other {
	i := slices.IndexFunc(f.Others, func(o Other) bool { return o.Label == label })
	if i < 0 {
		return Other{}
	}
	return f.Others[i]
}

// notes says what is durable, what the floor is, and what else was found.
func (r Run) notes(t *Table) {
	first := r[0]
	t.note("per %s; durable: %s", first.Unit, first.Durable)
	said := []string{first.Durable}
	for _, f := range r {
		if !slices.Contains(said, f.Durable) {
			said = append(said, f.Durable)
			t.note("%s %s: %s", f.Workload, settings(f.Settings), f.Durable)
		}
	}
	floors := []string(nil)
	for _, f := range r {
		if f.Floor != "" && !slices.Contains(floors, f.Floor) {
			floors = append(floors, f.Floor)
		}
	}
	if len(floors) > 0 {
		t.note("floor: %s, measured in the same run; a ratio of 1.3 is 1.3 times as slow", strings.Join(floors, "; "))
	}
	for _, o := range r.others() {
		t.note("%s: %s, measured in the same run", o.Label, o.Name)
	}
	for _, f := range r {
		if f.Note != "" {
			t.note("%s %s: %s", f.Workload, settings(f.Settings), f.Note)
		}
	}
}

// settings are the settings of a run as one word each, in a fixed order.
func settings(m map[string]any) string {
	var words []string
	for _, k := range []string{"store", "agents", "steps", "nodes", "history", "writers", "each", "payload", "effect",
		"sync"} {
		if v, ok := m[k]; ok {
			words = append(words, fmt.Sprintf("%s=%v", k, v))
		}
	}
	return strings.Join(words, " ")
}
