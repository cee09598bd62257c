package bench

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/dev/self"
)

// Capsules are the settings of the capsule workload.
type Capsules struct {
	Entries int   // of 1 KiB, of the first agent; 0: it is left out
	Blobs   int64 // bytes in bodies of BlobSize, of the second agent; 0: it is left out
	Rounds  int   // how often each figure is taken

	Done func(what string, n, of int)
}

// Run measures each agent in a folder of its own.
func (s Capsules) Run(ctx context.Context, p *Place) (*CapsuleResult, error) {
	r := &CapsuleResult{Machine: thisMachine()}
	for _, load := range []capsuleLoad{
		{Agent: "entries", Count: s.Entries, Each: 1 << 10},
		{Agent: "blobs", Count: int((s.Blobs + BlobSize - 1) / BlobSize), Each: BlobSize},
	} {
		if load.Count == 0 {
			continue
		}
		err := p.With(func() error {
			b := &capsuleBench{p: p, rounds: s.Rounds, done: s.Done, capsuleLoad: load}
			err := b.run(ctx)
			r.Agents = append(r.Agents, b.capsuleLoad)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// capsuleBench measures one agent.
type capsuleBench struct {
	p      *Place
	rounds int
	done   func(what string, n, of int)
	capsuleLoad
}

func (b *capsuleBench) run(ctx context.Context) error {
	if err := b.build(ctx); err != nil {
		return err
	}
	if err := b.floors(ctx); err != nil {
		return err
	}
	store := []string{"--store", b.p.Dir}
	for _, form := range []string{"binary", "text"} {
		file := filepath.Join(b.p.Dir, form+".agent")
		err := b.measure(ctx, "export", form, file, slices.Concat(
			[]string{"export", b.Agent, file, "--force", "--form", form}, store))
		if err == nil {
			err = b.measure(ctx, "import", form, file, []string{"import", file})
		}
		if err == nil {
			err = b.measure(ctx, "verify", form, file, slices.Concat([]string{"verify", file}, store))
		}
		if err != nil {
			return err
		}
	}
	b.Limit = capsuleRSS
	for _, r := range b.Runs {
		b.Most = max(b.Most, r.Peak)
		for _, t := range b.Runs {
			if r.Form == "binary" && t.Form == "text" && r.Operation == t.Operation {
				b.Text = append(b.Text, textRatio{r.Operation, t.Seconds / r.Seconds})
			}
		}
	}
	return nil
}

// rawFile is the agent's own bytes, for the floors.
func (b *capsuleBench) rawFile() string { return filepath.Join(b.p.Dir, "memory") }

// build makes the agent in a store, and the file of its bytes.
func (b *capsuleBench) build(ctx context.Context) error {
	s, err := b.p.Open(ctx)
	if err != nil {
		return err
	}
	id, err := b.fill(ctx, s)
	if err == nil {
		err = b.writeRaw(ctx, s, id)
	}
	return errors.Join(err, s.Close())
}

// snapshotEvery is how many entries lie between snapshots, as a node writes them.
const snapshotEvery = 256

// fill writes the entries, signed by 64 where they are small.
func (b *capsuleBench) fill(ctx context.Context, s perdure.Store) (perdure.AgentID, error) {
	key, err := perdure.GenerateSigner("bench")
	if err != nil {
		return perdure.AgentID{}, err
	}
	g, err := key.Genesis(genesisOf(b.Agent), time.Now())
	if err != nil {
		return perdure.AgentID{}, err
	}
	a, err := perdure.Begin(g)
	if err != nil {
		return perdure.AgentID{}, err
	}
	if err := s.Append(ctx, g.ID(), nil, g); err != nil {
		return perdure.AgentID{}, err
	}
	random := rand.New(rand.NewPCG(1, uint64(b.Each)))
	for done := 0; done < b.Count; {
		drafts := make([]perdure.Draft, min(64, max(1, BlobSize/b.Each), b.Count-done))
		for i := range drafts {
			drafts[i].Body = perdure.Advice{Advisor: "measured", Text: loadText(random, b.Each)}
		}
		if f := a.Fold(); f.Count-f.Snapshot > snapshotEvery {
			drafts = []perdure.Draft{{Body: perdure.Snapshot{Fold: *f}}}
		}
		entries, next, err := key.Commit(a, time.Now(), drafts...)
		if err != nil {
			return perdure.AgentID{}, err
		}
		if err := s.Append(ctx, a.ID(), a.Heads(), entries...); err != nil {
			return perdure.AgentID{}, err
		}
		a, done = next, done+len(entries)
		b.done(b.Agent, done, b.Count)
	}
	if lister, ok := s.(perdure.Lister); ok {
		return g.ID(), lister.Index(ctx, a.Heads(), a.Listing(time.Now()))
	}
	return g.ID(), nil
}

// loadText is text of which zstd makes about half.
func loadText(r *rand.Rand, n int) string {
	b := make([]byte, 0, n+64)
	for len(b) < n {
		from := r.IntN(len(benchText) - 16)
		b = append(b, benchText[from:from+16]...)
		b = strconv.AppendUint(b, r.Uint64(), 36)
		b = append(b, '\n')
	}
	return string(b[:n])
}

func (b *capsuleBench) writeRaw(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	f, err := os.Create(b.rawFile())
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = perdure.WriteMemory(w, perdure.Memory(ctx, s, id))
	if err = errors.Join(err, w.Flush()); err == nil {
		b.Bytes, err = f.Seek(0, io.SeekEnd)
	}
	return errors.Join(err, f.Close())
}

// floors measures what hashing and packing the same bytes costs, in this process and with the programs people have.
func (b *capsuleBench) floors(ctx context.Context) error {
	type floor struct {
		name string
		run  func() error
	}
	floors := []floor{
		{"SHA-256 in Go", func() error { return b.read(sha256.New()) }},
		{"zstd in Go", func() error {
			w, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1))
			if err != nil {
				return err
			}
			return errors.Join(b.read(w), w.Close())
		}},
	}
	for _, program := range [][]string{{"sha256sum", b.rawFile()}, {"zstd", "-q", "-c", b.rawFile()}} {
		if path, err := exec.LookPath(program[0]); err == nil {
			floors = append(floors, floor{program[0], func() error {
				return exec.CommandContext(ctx, path, program[1:]...).Run()
			}})
		}
	}
	for _, f := range floors {
		best := time.Duration(0)
		for range b.rounds {
			began := time.Now()
			if err := f.run(); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if took := time.Since(began); best == 0 || took < best {
				best = took
			}
		}
		b.Floors = append(b.Floors, capsuleRate{f.name, float64(b.Bytes) / 1e6 / best.Seconds()})
	}
	return ctx.Err()
}

// read copies the agent's bytes to w.
func (b *capsuleBench) read(w io.Writer) error {
	f, err := os.Open(b.rawFile())
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{f}, make([]byte, 1<<20))
	return errors.Join(err, f.Close())
}

// measured is what a process that performed a command says of itself.
type measured struct {
	Seconds float64 `json:"seconds"`
	Base    float64 `json:"base_mib"`
	Peak    float64 `json:"peak_mib"`
}

// measure performs a command in processes of their own. What is imported goes to a new store each time.
func (b *capsuleBench) measure(ctx context.Context, operation, form, file string, command []string) error {
	run := capsuleRun{Operation: operation, Form: form}
	for range b.rounds {
		words := command
		var dir string
		if operation == "import" {
			var err error
			if dir, err = os.MkdirTemp(b.p.Dir, "import-"); err != nil {
				return err
			}
			words = append(slices.Clip(command), "--store", dir)
		}
		args := []string{"bench", "capsule"}
		for _, word := range words {
			args = append(args, "--measure="+word)
		}
		out, err := self.Command(ctx, args...).Output()
		if dir != "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if err != nil {
			return self.Error(operation, errors.Join(err, ctx.Err()))
		}
		var m measured
		if err := json.Unmarshal(out, &m); err != nil {
			return fmt.Errorf("%s: %w", operation, err)
		}
		if run.Seconds == 0 || m.Seconds < run.Seconds {
			run.Seconds = m.Seconds
		}
		run.Peak = max(run.Peak, m.Peak-m.Base)
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	run.File, run.Rate = info.Size(), float64(b.Bytes)/1e6/run.Seconds
	b.Runs = append(b.Runs, run)
	return nil
}

// Measure performs work in this process, which was started for it, and says on w what it took.
func Measure(w io.Writer, work func() error) error {
	base := peakRSS()
	began := time.Now()
	if err := work(); err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(measured{time.Since(began).Seconds(), base, peakRSS()})
}

// peakRSS is the most memory this process has had, in MiB; zero where the system does not tell.
func peakRSS() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib / 1024
		}
	}
	return 0
}
