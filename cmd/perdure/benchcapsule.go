package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func benchCapsuleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "capsule [flags]",
		Short: "Measure exporting, importing and verifying agents as files",
		Long: `Capsule makes an agent of many entries and one of large bodies, and then exports, imports and verifies each, in binary and in text form.
Each figure is a whole command in a process of its own, reading and writing real files and stores.

Rates are those of the agent's own bytes, its headers and bodies, whatever the length of the file. SHA-256 and zstd of those very bytes are
measured in the same run. Memory is the most a process held above what it held when it began.`,
		Example: `  perdure bench capsule
  perdure bench capsule --entries 0 --blobs 256MiB --store /srv
  perdure bench capsule --rounds 3 --json`,
		Args:        cobra.NoArgs,
		Annotations: benchExits,
	}
	p := benchFlags(c)
	entries := c.Flags().Int("entries", 100_000, "entries of 1 KiB of the first agent; 0 leaves it out")
	blobs := c.Flags().String("blobs", "1GiB", "bytes in bodies of 1 MiB of the second agent; 0 leaves it out")
	times := c.Flags().Int("rounds", 2, "how often each figure is taken; the fastest counts, and the most memory")
	child := c.Flags().StringArray("measure", nil, "measure this command, a word each")
	if err := c.Flags().MarkHidden("measure"); err != nil {
		panic(err) // the flag was added above
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if len(*child) > 0 {
			return measureCommand(c, *child)
		}
		size, err := parseBytes(*blobs)
		switch {
		case err != nil:
			return perdure.Invalid(fmt.Errorf("--blobs: %w", err))
		case *entries < 0:
			return perdure.Invalid(fmt.Errorf("--entries %d: want at least 0", *entries))
		case *entries == 0 && size == 0:
			return perdure.Invalid(errors.New("nothing is left to measure; name --entries or --blobs"))
		case p.inMemory():
			return perdure.Invalid(errors.New("commands are measured in processes of their own; name a folder with --store"))
		}
		if err := atLeastOne(c, "rounds", *times); err != nil {
			return err
		}
		r := capsuleResult{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
		for _, load := range []capsuleLoad{
			{Agent: "entries", Count: *entries, Each: 1 << 10},
			{Agent: "blobs", Count: int((size + blobSize - 1) / blobSize), Each: blobSize},
		} {
			if load.Count == 0 {
				continue
			}
			err := p.with(func() error {
				b := &capsuleBench{c: c, p: p, rounds: *times, capsuleLoad: load}
				err := b.run()
				r.Agents = append(r.Agents, b.capsuleLoad)
				return err
			})
			if err != nil {
				return err
			}
		}
		if jsonFlag(c) {
			return printJSON(c.OutOrStdout(), r)
		}
		return r.write(c.OutOrStdout())
	}
	return c
}

// blobSize is how large the bodies of the second agent are.
const blobSize = 1 << 20

// capsuleResult is a run of the benchmark and where it was made.
type capsuleResult struct {
	Go     string        `json:"go"`
	OS     string        `json:"os"`
	Arch   string        `json:"arch"`
	Agents []capsuleLoad `json:"agents"`
}

// capsuleLoad is an agent to be measured, and then what was measured with it.
type capsuleLoad struct {
	Agent  string        `json:"agent"`
	Count  int           `json:"entries"`       // besides genesis
	Each   int           `json:"bytes_each"`    // of their data
	Bytes  int64         `json:"bytes"`         // of headers and bodies: what rates are of
	Floors []capsuleRate `json:"floors"`        // of those very bytes
	Runs   []capsuleRun  `json:"runs"`          // each form after the other
	Text   []textRatio   `json:"text_ratios"`   // of the same operations
	Most   float64       `json:"peak_rss_mib"`  // above base, of all
	Limit  float64       `json:"limit_rss_mib"` // what it must stay below
}

type capsuleRate struct {
	Name string  `json:"name"`
	Rate float64 `json:"mb_per_second"`
}

// capsuleRun is one operation in one form.
type capsuleRun struct {
	Operation string  `json:"operation"`
	Form      string  `json:"form"`
	Seconds   float64 `json:"seconds"`
	Rate      float64 `json:"mb_per_second"`
	File      int64   `json:"file_bytes"`
	Peak      float64 `json:"peak_rss_mib"` // above base
}

// textRatio is how many times slower the text form is.
type textRatio struct {
	Operation string  `json:"operation"`
	Ratio     float64 `json:"ratio"`
}

// capsuleRSS is what exporting, importing and verifying may hold above base, in MiB, however large the agent.
const capsuleRSS = 64

// write prints a table for each agent.
func (r capsuleResult) write(w io.Writer) error {
	for i, a := range r.Agents {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		t := table{head: []string{strings.ToUpper(a.Agent), "FORM", "MB/s", "FILE MB", "PEAK MiB"}}
		for _, f := range a.Floors {
			t.add("floor", f.Name, number(f.Rate, 0), "", "")
		}
		for _, run := range a.Runs {
			t.add(run.Operation, run.Form, number(run.Rate, 0), number(float64(run.File)/1e6, 1), number(run.Peak, 1))
		}
		if err := t.write(w); err != nil {
			return err
		}
		ratios := make([]string, len(a.Text))
		for i, t := range a.Text {
			ratios[i] = fmt.Sprintf("%s %.2f", t.Operation, t.Ratio)
		}
		_, err := fmt.Fprintf(w, "%d entries, %.1f MB of headers and bodies; text takes so many times as long as binary: %s; at most %.1f MiB above base, want below %d\n",
			a.Count+1, float64(a.Bytes)/1e6, strings.Join(ratios, ", "), a.Most, capsuleRSS)
		if err != nil {
			return err
		}
	}
	return nil
}

// parseBytes reads a number of bytes: 4096, 64KiB, 10MiB, 1GiB.
func parseBytes(s string) (int64, error) {
	digits, unit := s, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if cut, ok := strings.CutSuffix(s, suffix); ok {
			digits, unit = cut, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > maxBench/unit {
		return 0, fmt.Errorf("%.20q: want a number of bytes such as 4096, 64MiB or 1GiB, at most 1024GiB", s)
	}
	return n * unit, nil
}

// maxBench is more than anybody waits for.
const maxBench = 1 << 40

// genesisOf is the beginning of an agent to be measured.
func genesisOf(name string) perdure.Genesis {
	return perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: "be carried away"}, Charter: perdure.Charter{Scope: "bench"}}
}
