package bench

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Figures are what one run came to. Zero means not measured.
type Figures struct {
	Workload  string         `json:"workload"`
	Store     string         `json:"store"`
	Durable   string         `json:"durable"` // what an acknowledged step survives
	Settings  map[string]any `json:"settings"`
	Count     int            `json:"count"` // of units
	Unit      string         `json:"unit"`
	Seconds   float64        `json:"seconds"`
	PerSecond float64        `json:"per_second"`
	P50       float64        `json:"p50_ms,omitempty"`
	P99       float64        `json:"p99_ms,omitempty"`
	Bytes     float64        `json:"bytes_on_disk_per_unit,omitempty"`
	Syncs     float64        `json:"fsyncs_per_unit,omitempty"`
	CPU       float64        `json:"cpu_us_per_unit,omitempty"`
	RSS       float64        `json:"rss_mib,omitempty"`
	Floor     string         `json:"floor,omitempty"`            // what Ratio is to
	FloorRate float64        `json:"floor_per_second,omitempty"` // measured in the same run
	Ratio     float64        `json:"floor_ratio,omitempty"`      // how many times slower than the floor
	CPURatio  float64        `json:"floor_cpu_ratio,omitempty"`  // and how many times the processor time
	Others    []Other        `json:"others,omitempty"`           // that did about the same
	Rested    *Rested        `json:"rested,omitempty"`           // of dormant agents
	Note      string         `json:"note,omitempty"`
}

// Other is how fast something else was in the same run.
type Other struct {
	Label     string  `json:"label"`
	Name      string  `json:"name"`
	PerSecond float64 `json:"per_second"`
	Ratio     float64 `json:"ratio"` // how many times slower what was measured is
}

// Syncer is a store that counts its fsyncs.
type Syncer interface{ Syncs() int64 }

// meter measures a stretch of work.
type meter struct {
	start time.Time
	cpu   time.Duration
	syncs int64
	store any
}

func startMeter(store any) meter {
	m := meter{store: store, cpu: CPUTime()}
	if s, ok := store.(Syncer); ok {
		m.syncs = s.Syncs()
	}
	m.start = time.Now()
	return m
}

// stop fills in what the work since start cost per unit.
func (m meter) stop(f *Figures, units int) {
	took := time.Since(m.start)
	f.Count, f.Seconds, f.PerSecond = units, took.Seconds(), float64(units)/took.Seconds()
	f.CPU = float64((CPUTime() - m.cpu).Microseconds()) / float64(units)
	if s, ok := m.store.(Syncer); ok {
		f.Syncs = float64(s.Syncs()-m.syncs) / float64(units)
	}
	f.RSS = RSS()
}

// RSS is the resident memory of this process in MiB, or zero where the system does not tell.
func RSS() float64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseFloat(string(fields[1]), 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

// percentiles fills in the median and the 99th percentile of durations.
func (f *Figures) percentiles(d []time.Duration) {
	if len(d) == 0 {
		return
	}
	slices.Sort(d)
	ms := func(p float64) float64 {
		return float64(d[min(int(p*float64(len(d))), len(d)-1)]) / float64(time.Millisecond)
	}
	f.P50, f.P99 = ms(0.50), ms(0.99)
}

// DiskUse is the bytes of all files in a folder.
func DiskUse(dir string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return sum, nil
}
