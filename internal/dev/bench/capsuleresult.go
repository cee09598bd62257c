package bench

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure"
)

// BlobSize is how large the bodies of the second agent are.
const BlobSize = 1 << 20

// CapsuleResult is a run of the benchmark and where it was made.
type CapsuleResult struct {
	Machine
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

// Tables is a table for each agent.
func (r *CapsuleResult) Tables() []Table {
	var tables []Table
	for _, a := range r.Agents {
		t := Table{Head: []string{strings.ToUpper(a.Agent), "FORM", "MB/s", "FILE MB", "PEAK MiB"}}
		for _, f := range a.Floors {
			t.add("floor", f.Name, number(f.Rate, 0), "", "")
		}
		for _, run := range a.Runs {
			t.add(run.Operation, run.Form, number(run.Rate, 0), number(float64(run.File)/1e6, 1), number(run.Peak, 1))
		}
		ratios := make([]string, len(a.Text))
		for i, t := range a.Text {
			ratios[i] = fmt.Sprintf("%s %.2f", t.Operation, t.Ratio)
		}
		t.note("%d entries, %.1f MB of headers and bodies; text takes so many times as long as binary: %s; "+
			"at most %.1f MiB above base, want below %d", a.Count+1, float64(a.Bytes)/1e6, strings.Join(ratios, ", "),
			a.Most, capsuleRSS)
		tables = append(tables, t)
	}
	return tables
}

// genesisOf is the beginning of an agent to be measured.
func genesisOf(name string) perdure.Genesis {
	return perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: "be carried away"},
		Charter: perdure.Charter{Scope: "bench"}}
}
