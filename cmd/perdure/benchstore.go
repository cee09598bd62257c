package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bench"
	"github.com/perdure/perdure/store/sqlite"
)

// benchPlace is where a benchmark keeps its store: a new folder that is removed afterwards, never a store people use.
type benchPlace struct {
	c      *cobra.Command
	folder *string
	sync   *choice // nil: full
	dir    string  // the new folder; "" for a store in memory
}

// benchFlags adds --store to a benchmark.
func benchFlags(c *cobra.Command) *benchPlace {
	p := &benchPlace{c: c}
	p.folder = c.Flags().String("store", "", "make the store in a new folder below this one, or mem: (default: the folder for temporary files)")
	return p
}

// syncFlag adds --sync to a benchmark.
func (p *benchPlace) syncFlag() *benchPlace {
	p.sync = &choice{sqlite.Full.String(), []string{sqlite.Full.String(), sqlite.Normal.String()}}
	choiceFlag(p.c, p.sync, "sync", "what an acknowledged write survives: full also a power cut, normal only kill -9")
	return p
}

// level is what an acknowledged write survives.
func (p *benchPlace) level() sqlite.Sync {
	if p.sync == nil {
		return sqlite.Full
	}
	level, _ := sqlite.ParseSync(p.sync.value) // the flag takes no other
	return level
}

// inMemory reports whether the store under test is in memory.
func (p *benchPlace) inMemory() bool { return *p.folder == "mem:" }

// with makes the folder, calls f and removes the folder.
func (p *benchPlace) with(f func() error) error {
	if p.inMemory() {
		return f()
	}
	under := *p.folder
	if under == "" {
		under = os.TempDir()
	}
	if strings.Contains(under, ":") {
		return misuse(p.c, fmt.Errorf("--store %s: want mem: or a folder", under))
	}
	dir, err := os.MkdirTemp(under, "perdure-bench-")
	if err != nil {
		return err
	}
	p.dir = dir
	return errors.Join(f(), os.RemoveAll(dir))
}

// open opens the store under test.
func (p *benchPlace) open(ctx context.Context) (perdure.Store, error) {
	if p.inMemory() {
		return new(perdure.MemStore), nil
	}
	return sqlite.Open(ctx, filepath.Join(p.dir, storeFile), sqlite.Options{Sync: p.level()})
}

// label fills in what was measured, and what is durable.
func (p *benchPlace) label(f *bench.Figures) {
	if p.inMemory() {
		f.Store, f.Durable = "mem", "nothing: the store is in memory"
		return
	}
	f.Store, f.Durable = "sqlite", durability(p.level())
	if inMemory(p.dir) {
		f.Durable = "nothing: " + filepath.Dir(p.dir) + " is a file system in memory (tmpfs), where a sync costs nothing; name a folder on a disk with --store"
	}
}

// durability says what an acknowledged step survives.
func durability(level sqlite.Sync) string {
	if level == sqlite.Normal {
		return "an acknowledged step is in SQLite's log, which is not synced (WAL, synchronous=NORMAL): it survives " + level.Survives()
	}
	return "every acknowledged step is synced to the disk (SQLite in WAL mode, synchronous=FULL): it survives kill -9 and a power cut"
}

// report prints the figures of a benchmark: a table and what is durable, or JSON.
func (p *benchPlace) report(figures ...*bench.Figures) error {
	w := p.c.OutOrStdout()
	for _, f := range figures {
		p.label(f)
	}
	if jsonFlag(p.c) {
		return printJSON(w, figures)
	}
	return writeFigures(w, figures)
}

// writeFigures prints figures as a table. What was not measured is left out.
func writeFigures(w io.Writer, figures []*bench.Figures) error {
	columns := []struct {
		head string
		cell func(f *bench.Figures) string
	}{
		{"WORKLOAD", func(f *bench.Figures) string { return f.Workload + " " + settings(f.Settings) }},
		{"PER SECOND", func(f *bench.Figures) string { return number(f.PerSecond, 0) }},
		{"P50 ms", func(f *bench.Figures) string { return number(f.P50, 3) }},
		{"P99 ms", func(f *bench.Figures) string { return number(f.P99, 3) }},
		{"BYTES", func(f *bench.Figures) string { return number(f.Bytes, 0) }},
		{"FSYNCS", func(f *bench.Figures) string { return number(f.Syncs, 3) }},
		{"CPU µs", func(f *bench.Figures) string { return number(f.CPU, 1) }},
		{"RSS MiB", func(f *bench.Figures) string { return number(f.RSS, 1) }},
		{"FLOOR/s", func(f *bench.Figures) string { return number(f.FloorRate, 0) }},
		{"RATIO", func(f *bench.Figures) string { return number(f.Ratio, 2) }},
		{"CPU RATIO", func(f *bench.Figures) string { return number(f.CPURatio, 2) }},
	}
	var t table
	rows := make([][]string, len(figures))
	for _, col := range columns {
		cells, some := make([]string, len(figures)), false
		for i, f := range figures {
			cells[i] = col.cell(f)
			some = some || cells[i] != "-"
		}
		if !some {
			continue
		}
		t.head = append(t.head, col.head)
		for i := range rows {
			rows[i] = append(rows[i], cells[i])
		}
	}
	t.rows = rows
	if err := t.write(w); err != nil {
		return err
	}
	first := figures[0]
	var notes strings.Builder
	fmt.Fprintf(&notes, "\nper %s; durable: %s\n", first.Unit, first.Durable)
	said := []string{first.Durable}
	for _, f := range figures {
		if !slices.Contains(said, f.Durable) {
			said = append(said, f.Durable)
			fmt.Fprintf(&notes, "%s %s: %s\n", f.Workload, settings(f.Settings), f.Durable)
		}
	}
	if first.Floor != "" {
		fmt.Fprintf(&notes, "floor: %s, measured in the same run; a ratio of 1.3 is 1.3 times as slow\n", first.Floor)
	}
	for _, f := range figures {
		if f.Note != "" {
			fmt.Fprintf(&notes, "%s %s: %s\n", f.Workload, settings(f.Settings), f.Note)
		}
	}
	_, err := io.WriteString(w, notes.String())
	return err
}

// settings are the settings of a run as one word each, in a fixed order.
func settings(m map[string]any) string {
	var words []string
	for _, k := range []string{"agents", "steps", "history", "writers", "each", "payload", "effect", "sync"} {
		if v, ok := m[k]; ok {
			words = append(words, fmt.Sprintf("%s=%v", k, v))
		}
	}
	return strings.Join(words, " ")
}

// number is a figure, or a dash when it was not measured.
func number(v float64, digits int) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, v)
}
