package telemetry

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// family is a metric: what it is called for Prometheus and for OpenTelemetry, and its values by labels. No label holds
// what an agent or its owner chooses, such as a name: their number would grow without end, and scrapes are read by
// others.
type family struct {
	name, otlp string
	unit, help string
	labels     []label
	bounds     []float64 // of the buckets of a histogram; nil: a sum

	mu     sync.Mutex
	series map[string]*series
}

// label is what a label is called for both.
type label struct{ name, otlp string }

// series is the values of one set of labels.
type series struct {
	values []string
	sum    float64
	count  uint64
	counts []uint64 // by bucket, the last for what is above all bounds
}

const (
	// maxSeries bounds the sets of labels of a metric; what comes after them is counted under other.
	maxSeries = 1000
	otherName = "other"
)

// add counts a value: it is added to a sum, or falls into a bucket.
func (f *family) add(v float64, values ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := strings.Join(values, "\x00")
	s := f.series[key]
	if s == nil && len(f.series) >= maxSeries {
		for i := range values {
			values[i] = otherName
		}
		key = strings.Join(values, "\x00")
		s = f.series[key]
	}
	if s == nil {
		if f.series == nil {
			f.series = map[string]*series{}
		}
		s = &series{values: values, counts: make([]uint64, len(f.bounds)+1)}
		f.series[key] = s
	}
	s.sum, s.count = s.sum+v, s.count+1
	i, _ := slices.BinarySearch(f.bounds, v) // a bucket holds its upper bound
	s.counts[i]++
}

// snapshot is the series by their labels.
func (f *family) snapshot() []series {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]series, 0, len(f.series))
	for _, s := range f.series {
		c := *s
		c.counts = slices.Clone(s.counts)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b series) int { return slices.Compare(a.values, b.values) })
	return out
}

// Gauge is a value as it is now.
type Gauge struct {
	Name, Help string
	Value      float64
}

// write writes the metric in the text format of Prometheus.
func (f *family) write(w *strings.Builder) {
	kind, name := "counter", f.name
	if f.bounds != nil {
		kind = "histogram"
	}
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, f.help, name, kind)
	for _, s := range f.snapshot() {
		if f.bounds == nil {
			fmt.Fprintf(w, "%s%s %s\n", name, f.text(&s, ""), number(s.sum))
			continue
		}
		total := uint64(0)
		for i, bound := range append(slices.Clone(f.bounds), math.Inf(1)) {
			total += s.counts[i]
			fmt.Fprintf(w, "%s_bucket%s %d\n", name, f.text(&s, number(bound)), total)
		}
		fmt.Fprintf(w, "%s_sum%s %s\n%s_count%s %d\n", name, f.text(&s, ""), number(s.sum), name, f.text(&s, ""),
			s.count)
	}
}

// text is the labels of a series, and the bound of a bucket.
func (f *family) text(s *series, bound string) string {
	var parts []string
	for i, l := range f.labels {
		parts = append(parts, l.name+`="`+escapeLabel(s.values[i])+`"`)
	}
	if bound != "" {
		parts = append(parts, `le="`+bound+`"`)
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func escapeLabel(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\ufffd"))
}

func number(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// writeAll writes metrics and gauges.
func writeAll(out io.Writer, families []*family, gauges []Gauge) error {
	var b strings.Builder
	for _, f := range families {
		f.write(&b)
	}
	for _, g := range gauges {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n%s %s\n", g.Name, g.Help, g.Name, g.Name, number(g.Value))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
