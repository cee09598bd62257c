package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

const (
	// MinEntries is the shortest memory that says something.
	MinEntries = 200
	earlyEntry = 1_000 // the cost of adding an entry is compared here and at the end
)

// wireBody and wireEntry are an entry as package perdure writes it; a test holds them to that.
type wireBody struct {
	Salt     [16]byte       `canon:"1,salt"`
	Content  perdure.Body   `canon:"2,content"`
	Reserved canon.Reserved `canon:",reserved"`
}

type wireEntry struct {
	Header    perdure.Header `canon:"1,header"`
	Body      *wireBody      `canon:"2,body,optional"`
	Signature [64]byte       `canon:"3,signature,omitzero"`
}

var (
	wireHeaderCodec = canon.For[perdure.Header]("header")
	wireBodyCodec   = canon.For[wireBody]("body")
	wireEntryCodec  = canon.For[wireEntry]("entry")
)

// Codec are the settings of the codec workload, which runs on one core.
type Codec struct {
	Entries int           // of the memories verified and folded
	Each    time.Duration // how long each figure of a single entry is measured
}

// CodecResult is what the codec costs.
type CodecResult struct {
	Machine
	EntryBytes int      `json:"entry_bytes"`
	Entries    int      `json:"entries"`
	Figures    []Figure `json:"figures"`
}

// Tables is the result for people.
func (r *CodecResult) Tables() []Table {
	t := figureTable(r.Figures)
	t.Title = fmt.Sprintf("one core, entries of %d bytes, %s", r.EntryBytes, r.Machine)
	return []Table{t}
}

// Run measures.
func (c Codec) Run(ctx context.Context) (*CodecResult, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b, err := newCodecBench(c.Entries, c.Each)
	if err != nil {
		return nil, err
	}
	return b.run(ctx)
}

// codecBench measures the codec on a sample entry and on memories of them.
type codecBench struct {
	entries int
	each    time.Duration
	peers   []peer
	plain   *peerEntry // the sample as peers are given it

	entry  []byte // the sample in binary form
	wire   wireEntry
	sample *perdure.Entry
	parent perdure.Hash

	err error // the first thing that went wrong while measuring
}

func newCodecBench(entries int, each time.Duration) (*codecBench, error) {
	memory, err := adviceMemory(3, 2)
	if err != nil {
		return nil, err
	}
	b := &codecBench{entries: entries, each: each, entry: memory[1]}
	if b.peers, err = newPeers(); err != nil {
		return nil, err
	}
	if b.sample, err = perdure.DecodeEntry(b.entry, perdure.Limits{}); err != nil {
		return nil, err
	}
	b.parent = b.sample.Parents[0]
	if err := wireEntryCodec.Decode(b.entry, &b.wire, perdure.Limits{}); err != nil {
		return nil, err
	}
	b.plain = newPeerEntry(b.sample, b.wire.Body.Salt, sampleAdvice())
	return b, nil
}

func (b *codecBench) run(ctx context.Context) (*CodecResult, error) {
	r := &CodecResult{Machine: thisMachine(), EntryBytes: len(b.entry), Entries: b.entries}
	for _, part := range []func(context.Context) ([]Figure, error){b.encode, b.decode, b.verify, b.shallow, b.flip,
		b.fold} {
		figures, err := part(ctx)
		if err = errors.Join(err, b.err); err != nil {
			return nil, err
		}
		r.Figures = append(r.Figures, figures...)
	}
	return r, nil
}

// fail keeps the first error of what is being measured.
func (b *codecBench) fail(err error) {
	if err != nil && b.err == nil {
		b.err = err
	}
}

// floors are SHA-256 and a copy of what the sample hashes: its header and its body.
func (b *codecBench) floors() (names []string, fs []func()) {
	header, body := b.sample.HeaderBytes(), b.sample.BodyBytes()
	to := make([]byte, len(b.entry))
	return []string{"SHA-256 alone", "memcpy"}, []func(){
		func() { sha256.Sum256(body); sha256.Sum256(header) },
		func() { copy(to, b.entry) },
	}
}

func (b *codecBench) encode(ctx context.Context) ([]Figure, error) {
	names, floors := b.floors()
	var body, header []byte
	fs := append([]func(){func() {
		var err error
		h := b.wire.Header
		body, err = wireBodyCodec.Append(body[:0], b.wire.Body)
		b.fail(err)
		h.Body, h.Size = sha256.Sum256(body), int64(len(body))
		header, err = wireHeaderCodec.Append(header[:0], &h)
		b.fail(err)
		if perdure.Hash(sha256.Sum256(header)) != b.sample.Name {
			b.fail(errors.New("an entry was encoded otherwise than it was"))
		}
	}}, floors...)
	for _, p := range b.peers {
		var buf []byte
		names = append(names, p.name)
		fs = append(fs, func() {
			var err error
			buf, err = p.encode(buf[:0], b.plain)
			b.fail(err)
			sha256.Sum256(buf)
		})
	}
	samples, err := measure(ctx, b.each, fs...)
	if err != nil {
		return nil, err
	}
	return []Figure{timing("encode + hash",
		"body and header to canonical bytes and SHA-256 of both, into reused memory; peers encode the same fields "+
			"and hash the result",
		"<= 1.6 µs, <= 1 alloc", samples, names...)}, nil
}

func (b *codecBench) decode(ctx context.Context) ([]Figure, error) {
	names, floors := b.floors()
	fs := append([]func(){func() {
		e, err := perdure.DecodeEntry(b.entry, perdure.Limits{})
		b.fail(err)
		if err == nil && e.Parents[0] != b.parent {
			b.fail(errors.New("a link leads elsewhere"))
		}
	}}, floors...)
	for _, p := range b.peers {
		encoded, err := p.encode(nil, b.plain)
		if err != nil {
			return nil, err
		}
		var into peerEntry
		names = append(names, p.name)
		fs = append(fs, func() {
			sha256.Sum256(encoded)
			b.fail(p.decode(encoded, &into))
		})
	}
	samples, err := measure(ctx, b.each, fs...)
	if err != nil {
		return nil, err
	}
	return []Figure{timing("strict decode + link check",
		"canonical bytes to an Entry: form, fields, SHA-256 of body and header, and the link to its parent; peers "+
			"hash and decode the same fields",
		"<= 1.7 µs, 0 allocs", samples, names...)}, nil
}

func (b *codecBench) verify(ctx context.Context) ([]Figure, error) {
	var figures []Figure
	for _, c := range []struct {
		what   string
		run    int
		target string
	}{
		{"one signer, one signature", b.entries, "<= 0.20 s for 100,000"},
		{"a signature every 64", 64, "<= 0.30 s for 100,000"},
	} {
		memory, err := adviceMemory(b.entries, c.run)
		if err != nil {
			return nil, err
		}
		whole := bytes.Join(memory, nil)
		verify := func() {
			_, err := perdure.Verify(perdure.ReadMemory(bytes.NewReader(whole), perdure.Limits{}),
				perdure.VerifyOptions{})
			b.fail(err)
		}
		samples, err := measure(ctx, b.each, verify, func() {
			for _, e := range memory {
				sha256.Sum256(e)
			}
		})
		if err != nil {
			return nil, err
		}
		figures = append(figures, timing(fmt.Sprintf("verify %d, %s", b.entries, c.what),
			"from a stream of bytes: form, hashes, every link, every signature, and the fold", c.target, samples,
			"SHA-256 alone"))
	}
	return figures, nil
}

// shallow measures well-typedness alone.
func (b *codecBench) shallow(ctx context.Context) ([]Figure, error) {
	to := make([]byte, len(b.entry))
	entry := wireEntryCodec.Type()
	samples, err := measure(ctx, b.each,
		func() { b.fail(canon.Check(entry, b.entry, canon.Limits{})) },
		func() { copy(to, b.entry) })
	if err != nil {
		return nil, err
	}
	f := timing("shallow validation", "canonical form and types of an entry, without any hash", ">= 1.5 GB/s", samples,
		"memcpy")
	rate := func(ns float64) float64 { return float64(len(b.entry)) / ns }
	f.Unit, f.Value, f.Floors[0].Value = "GB/s", rate(f.Value), rate(f.Floors[0].Value)
	return []Figure{f}, nil
}

// flip measures how much is read after a changed bit before it is noticed.
func (b *codecBench) flip(ctx context.Context) ([]Figure, error) {
	memory, err := adviceMemory(MinEntries, 64)
	if err != nil {
		return nil, err
	}
	whole := bytes.Join(memory, nil)
	worst := int64(0)
	// 97 goes into no field's length, so every part of an entry gets its turn
	for at := 0; at < len(whole)/2; at += 97 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		whole[at] ^= 1 << (at % 8)
		r := &readCounter{Reader: bytes.NewReader(whole)}
		if !noticed(r) {
			return nil, fmt.Errorf("a flipped bit at byte %d went unnoticed", at)
		}
		worst = max(worst, r.n-int64(at))
		whole[at] ^= 1 << (at % 8)
	}
	return []Figure{{Operation: "flipped bit noticed within", Value: float64(worst), Unit: "bytes",
		Target: "one read buffer of it",
		Measures: fmt.Sprintf("the most that was read past a flipped bit before it was refused, over %d flips in a "+
			"memory of %d bytes", (len(whole)/2+96)/97, len(whole))}}, nil
}

// readCounter counts what was read.
type readCounter struct {
	io.Reader
	n int64
}

func (r *readCounter) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}

// noticed reads a memory whose entries follow each other and reports whether something was wrong with it.
func noticed(r *readCounter) bool {
	var last perdure.Hash
	for e, err := range perdure.ReadMemory(r, perdure.Limits{}) {
		if err != nil || e.CheckSignature() != nil || len(e.Parents) > 0 && e.Parents[0] != last {
			return true
		}
		last = e.Name
	}
	return false
}

func (b *codecBench) fold(ctx context.Context) ([]Figure, error) {
	early := min(earlyEntry, b.entries/2)
	entries, at, err := cycleMemory(b.entries, early)
	if err != nil {
		return nil, err
	}
	samples, err := measure(ctx, b.each, func() {
		_, err := perdure.FoldEntries(listed(entries[:b.entries]))
		b.fail(err)
	}, func() {
		for _, e := range entries[:b.entries] {
			sha256.Sum256(e.BodyBytes())
		}
	})
	if err != nil {
		return nil, err
	}
	add := func(n int) func() {
		return func() {
			_, err := at[n].Apply(entries[n])
			b.fail(err)
		}
	}
	added, err := measure(ctx, b.each, add(b.entries), add(early))
	if err != nil {
		return nil, err
	}
	return []Figure{
		timing(fmt.Sprintf("fold %d", b.entries),
			"advice, decision and outcome in turn, already decoded and their signatures known, to the state they "+
				"come to", "", samples, "SHA-256 alone"),
		timing(fmt.Sprintf("add entry %d", b.entries+1), "one entry folded into an agent that holds all before it",
			"as entry 1,001", added, fmt.Sprintf("add entry %d", early+1)),
	}, nil
}
