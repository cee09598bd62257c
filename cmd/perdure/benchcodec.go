package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func benchCodecCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "codec [flags]",
		Short: "Measure encoding, decoding, verifying and folding entries of 1 KiB",
		Long: `Codec measures, on one core and with entries of 1 KiB, what it costs to write, read, verify and fold a memory.

Each figure stands beside the floors it is judged by, measured in turns with it: SHA-256 alone over the same bytes, a copy of
them in memory, and the same fields through fxamacker/cbor, encoding/json and the protobuf wire format. A ratio of 1.5 means
that the operation takes one and a half times as long as that floor.`,
		Example: `  perdure bench codec
  perdure bench codec --json --entries 10000`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitInterrupted),
	}
	entries := c.Flags().Int("entries", 100_000, "the length of the memories verified and folded")
	each := c.Flags().Duration("time", time.Second/2, "how long to measure each figure of a single entry")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *entries < minEntries {
			return perdure.Invalid(fmt.Errorf("--entries %d: want at least %d", *entries, minEntries))
		}
		if *each <= 0 {
			return perdure.Invalid(errors.New("--time: want more than zero"))
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		b, err := newCodecBench(*entries, *each)
		if err != nil {
			return err
		}
		result, err := b.run(c.Context())
		if err != nil {
			return err
		}
		if jsonFlag(c) {
			return printJSON(c.OutOrStdout(), result)
		}
		return result.write(c.OutOrStdout())
	}
	return c
}

// benchResult is a run of figures and where it was made.
type benchResult struct {
	Go         string   `json:"go"`
	OS         string   `json:"os"`
	Arch       string   `json:"arch"`
	EntryBytes int      `json:"entry_bytes"`
	Entries    int      `json:"entries"`
	Figures    []figure `json:"figures"`
}

// figure is one thing measured, and the floors beside it.
type figure struct {
	Operation string   `json:"operation"`
	Measures  string   `json:"measures"` // what is and is not included
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"` // ns, GB/s or bytes
	Allocs    *float64 `json:"allocs,omitempty"`
	Target    string   `json:"target,omitempty"`
	Floors    []floor  `json:"floors,omitempty"`
}

// floor is something a figure is judged by.
type floor struct {
	Name   string   `json:"name"`
	Value  float64  `json:"value"`
	Allocs *float64 `json:"allocs,omitempty"`
	Ratio  float64  `json:"ratio"` // how many times as costly the figure is
}

// timing makes a figure of samples: the operation's own and then those of its floors, by name.
func timing(operation, measures, target string, samples []sample, floors ...string) figure {
	f := figure{Operation: operation, Measures: measures, Value: samples[0].ns, Unit: "ns", Allocs: &samples[0].allocs, Target: target}
	for i, name := range floors {
		s := samples[i+1]
		f.Floors = append(f.Floors, floor{Name: name, Value: s.ns, Allocs: &s.allocs, Ratio: samples[0].ns / s.ns})
	}
	return f
}

// write prints the run as a table and then what each line of it includes.
func (r benchResult) write(w io.Writer) error {
	var table, notes strings.Builder
	fmt.Fprintf(&table, "one core, entries of %d bytes, %s %s/%s\n\n", r.EntryBytes, r.Go, r.OS, r.Arch)
	table.WriteString("operation\tmeasured\tallocs\tratio\ttarget\n")
	for _, f := range r.Figures {
		fmt.Fprintf(&table, "%s\t%s\t%s\t\t%s\n", f.Operation, amount(f.Value, f.Unit), count(f.Allocs), f.Target)
		for _, l := range f.Floors {
			fmt.Fprintf(&table, "  %s\t%s\t%s\t%.2f\t\n", l.Name, amount(l.Value, f.Unit), count(l.Allocs), l.Ratio)
		}
		fmt.Fprintf(&notes, "%s: %s.\n", f.Operation, f.Measures)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(t, table.String()+"\n"+notes.String()); err != nil {
		return err
	}
	return t.Flush()
}

// amount is a value in the unit people read it in.
func amount(v float64, unit string) string {
	switch {
	case unit == "GB/s":
		return fmt.Sprintf("%.2f GB/s", v)
	case unit == "bytes":
		return fmt.Sprintf("%.0f bytes", v)
	case v < 1e3:
		return fmt.Sprintf("%.0f ns", v)
	case v < 1e6:
		return fmt.Sprintf("%.2f µs", v/1e3)
	case v < 1e9:
		return fmt.Sprintf("%.1f ms", v/1e6)
	}
	return fmt.Sprintf("%.2f s", v/1e9)
}

// count is a number of allocations, rounded: the runtime itself makes a few now and then.
func count(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', 0, 64)
}
