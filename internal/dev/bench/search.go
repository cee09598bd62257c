package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workspace"
)

// Search are the settings of the search workload.
type Search struct {
	Documents int                          `json:"documents"` // in a workspace
	Turns     int                          `json:"turns"`     // of transcripts
	Questions int                          `json:"questions"`
	Dir       string                       `json:"-"`
	Done      func(what string, n, of int) `json:"-"`
}

// SearchResult is what searching costs beside the index of SQLite alone.
type SearchResult struct {
	Machine
	Search
	Filled   time.Duration `json:"filled"`   // how long it took to write everything
	Indexed  time.Duration `json:"indexed"`  // to derive the index from the store
	Opened   time.Duration `json:"opened"`   // to open a session
	First    time.Duration `json:"first"`    // to write one document more while there are a hundred, the median of some
	Written  time.Duration `json:"written"`  // the same when all are there
	Cold     time.Duration `json:"cold"`     // of the first search of a process, which has to find out whom to show
	Ours     Quantiles     `json:"ours"`     // of one search, once agents have been met
	Raw      Quantiles     `json:"raw"`      // of the same words put to FTS5 on the same data
	Ratio    float64       `json:"ratio"`    // of the medians
	CPU      Quantiles     `json:"cpu"`      // processor time of one search
	RawCPU   Quantiles     `json:"raw_cpu"`  // of FTS5 alone
	IndexMiB float64       `json:"indexMiB"` // the file
	StoreMiB float64       `json:"storeMiB"` // that of the store
	PeakMiB  float64       `json:"peakMiB"`  // of memory; zero: it is not known
}

// Quantiles are how long something takes.
type Quantiles struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
}

// Tables is the result for people.
func (r *SearchResult) Tables() []Table {
	t := Table{Title: fmt.Sprintf("search over %d documents and %d turns, %s", r.Documents, r.Turns,
		r.Machine.String()),
		Head: []string{"", "p50", "p99"}}
	row := func(name string, q Quantiles) {
		t.Rows = append(t.Rows, []string{name, q.P50.Round(10 * time.Microsecond).String(),
			q.P99.Round(10 * time.Microsecond).String()})
	}
	row("search", r.Ours)
	row("FTS5 alone", r.Raw)
	row("search, processor time", r.CPU)
	row("FTS5 alone, processor time", r.RawCPU)
	t.Notes = []string{
		fmt.Sprintf("%.2f times FTS5 at the median, %.2f times its processor time", r.Ratio,
			float64(r.CPU.P50)/float64(max(r.RawCPU.P50, 1))),
		fmt.Sprintf("written in %s (%.0f MiB), index derived in %s (%.0f MiB), %.0f MiB of memory at most",
			r.Filled.Round(time.Second), r.StoreMiB, r.Indexed.Round(time.Second), r.IndexMiB, r.PeakMiB),
		fmt.Sprintf("the first search takes %s, a session opens in %s", r.Cold.Round(100*time.Microsecond),
			r.Opened.Round(100*time.Microsecond)),
		fmt.Sprintf("one more document is written in %s, and in %s after the first %d",
			r.Written.Round(10*time.Microsecond), r.First.Round(10*time.Microsecond), min(few, r.Documents)),
	}
	return []Table{t}
}

// Run fills a store with documents and transcripts, derives the index, and asks both questions in turns.
func (s Search) Run(ctx context.Context) (r *SearchResult, err error) {
	if s.Dir == "" {
		if s.Dir, err = os.MkdirTemp("", "perdure-search-*"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(s.Dir) //nolint:errcheck // what is left is temporary
	}
	store, err := sqlite.Open(ctx, filepath.Join(s.Dir, "store.db"), sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // it was measured
	key, err := perdure.GenerateSigner("bench")
	if err != nil {
		return nil, err
	}
	trust := perdure.NewTrust(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	n := &perdure.Node{Store: store, Key: key, Trust: trust}
	file := filepath.Join(s.Dir, workspace.IndexFile)
	ix, err := workspace.OpenIndex(ctx, file)
	if err != nil {
		return nil, err
	}
	defer ix.Close() //nolint:errcheck // as above
	w := &workspace.Workspace{Store: store, Node: n, Index: ix,
		Allow: func(*perdure.Agent, workspace.Access) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}}
	r = &SearchResult{Machine: thisMachine(), Search: s}
	g := &writer{rand.New(rand.NewPCG(1, 2))}
	begun := time.Now()
	if err := s.fill(ctx, n, w, g, r); err != nil {
		return nil, err
	}
	r.Filled, begun = time.Since(begun), time.Now()
	if err := ix.Follow(ctx, store, func(done, total int64) { s.Done("index", int(done), int(total)) }); err != nil {
		return nil, err
	}
	r.Indexed = time.Since(begun)
	for path, to := range map[string]*float64{file: &r.IndexMiB, filepath.Join(s.Dir, "store.db"): &r.StoreMiB} {
		if info, err := os.Stat(path); err == nil {
			*to = float64(info.Size()) / (1 << 20)
		}
	}
	err = s.measure(ctx, w, g, r, file)
	r.PeakMiB = peakRSS()
	return r, err
}

const (
	// commits is how many drafts share a commit while the store is filled.
	commits = 500
	// few is how many documents there are when one more is first measured, and singles how many are written for that.
	few, singles = 100, 21
	// warm is how many questions are asked before it is measured.
	warm = 50
)

// fill writes documents into the workspace of a team, and turns into transcripts of a hundred agents.
func (s Search) fill(ctx context.Context, n *perdure.Node, w *workspace.Workspace, g *writer, r *SearchResult) error {
	first, err := w.Owner().Write(ctx, workspace.Draft{Path: "docs/first.md", Text: g.text(60)})
	if err != nil {
		return err
	}
	for at := 1; at < s.Documents; {
		var all []perdure.Writing
		to := min(at+commits, s.Documents)
		if at < few {
			to = min(few, s.Documents)
		}
		for i := at; i < to; i++ {
			body, err := perdure.DataOf(g.text(60))
			if err != nil {
				return err
			}
			all = append(all, perdure.Writing{Document: perdure.Document{Path: fmt.Sprintf("docs/%d.md", i),
				Kind: "note", Title: g.text(5), Body: body}})
		}
		if _, err := n.Write(ctx, first.Agent, nil, all...); err != nil {
			return err
		}
		if at = to; at == min(few, s.Documents) {
			if r.First, err = s.single(ctx, w.Owner(), g, "few"); err != nil {
				return err
			}
		}
		s.Done("documents", at, s.Documents)
	}
	const agents = 100
	for a := range agents {
		if err := s.talk(ctx, n, g, s.Turns/agents); err != nil {
			return err
		}
		s.Done("agents", a+1, agents)
	}
	return nil
}

// talk writes the transcript of one agent.
func (s Search) talk(ctx context.Context, n *perdure.Node, g *writer, turns int) error {
	a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: g.text(6)},
		Charter: perdure.Charter{Scope: workspace.DefaultScope}})
	if err != nil {
		return err
	}
	for at := 0; at < turns; at += commits {
		var drafts []perdure.Draft
		for range min(commits, turns-at) {
			data, err := perdure.DataOf(map[string]any{"say": g.text(24)})
			if err != nil {
				return err
			}
			drafts = append(drafts, perdure.Draft{Body: perdure.Event{Name: "said", By: "ann", Data: data}})
		}
		entries, next, err := n.Key.Commit(a, time.Now(), drafts...)
		if err == nil {
			err = n.Store.Put(ctx, a.ID(), entries...)
		}
		if err != nil {
			return err
		}
		if a, err = s.sum(ctx, n, next); err != nil {
			return err
		}
	}
	return nil
}

// sum writes a snapshot, as a node does that tells an agent so much.
func (s Search) sum(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Agent, error) {
	entries, next, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Snapshot{Fold: *a.Fold()}})
	if err != nil {
		return nil, err
	}
	return next, n.Store.Put(ctx, a.ID(), entries...)
}

// measure asks the questions.
func (s Search) measure(ctx context.Context, w *workspace.Workspace, g *writer, r *SearchResult, file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=cache_size(-32768)")
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it was only read
	reader, err := w.As(ctx, "bench")
	if err != nil {
		return err
	}
	var ours, raw, cpu, rawCPU []time.Duration
	lap := func(to, used *[]time.Duration, ask func() error) error {
		begun, before := time.Now(), CPUTime()
		err := ask()
		*to, *used = append(*to, time.Since(begun)), append(*used, CPUTime()-before)
		return err
	}
	begun := time.Now()
	for i := range warm {
		if _, err := reader.Find(ctx, workspace.Search{Text: strings.Join(g.question(), " ")}); err != nil {
			return err
		}
		if i == 0 {
			r.Cold = time.Since(begun)
		}
	}
	for i := range s.Questions {
		words := g.question()
		find := func() error {
			return lap(&ours, &cpu, func() error {
				_, err := reader.Find(ctx, workspace.Search{Text: strings.Join(words, " ")})
				return err
			})
		}
		alone := func() error { return lap(&raw, &rawCPU, func() error { return askRaw(ctx, db, words) }) }
		if i%2 == 1 { // whoever asks first has the words read from the disk
			find, alone = alone, find
		}
		if err := errors.Join(find(), alone()); err != nil {
			return err
		}
		s.Done("questions", i+1, s.Questions)
	}
	r.Ours, r.Raw, r.CPU, r.RawCPU = quantiles(ours), quantiles(raw), quantiles(cpu), quantiles(rawCPU)
	r.Ratio = float64(r.Ours.P50) / float64(r.Raw.P50)
	begun = time.Now()
	if _, err := reader.Open(ctx); err != nil {
		return err
	}
	r.Opened = time.Since(begun)
	r.Written, err = s.single(ctx, w.Owner(), g, "all")
	return err
}

// single is how long one document takes to be written, each in a commit of its own: the median of some.
func (s Search) single(ctx context.Context, r *workspace.Reader, g *writer, folder string) (time.Duration, error) {
	var laps []time.Duration
	for i := range singles {
		d := workspace.Draft{Path: fmt.Sprintf("%s/%d.md", folder, i), Text: g.text(60)}
		begun := time.Now()
		if _, err := r.Write(ctx, d); err != nil {
			return 0, err
		}
		laps = append(laps, time.Since(begun))
	}
	return quantiles(laps).P50, nil
}

// askRaw puts the words to FTS5, with what it would be shown with.
func askRaw(ctx context.Context, db *sql.DB, words []string) error {
	terms := make([]string, len(words))
	for i, w := range words {
		terms[i] = `"` + w + `"`
	}
	rows, err := db.QueryContext(ctx, "SELECT rowid, snippet(words, 2, '[', ']', '…', 32) FROM words WHERE words "+
		"MATCH ? ORDER BY rank LIMIT 10",
		strings.Join(terms, " OR "))
	if err != nil {
		return err
	}
	for rows.Next() {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

func quantiles(all []time.Duration) Quantiles {
	slices.Sort(all)
	return Quantiles{all[len(all)/2], all[min(len(all)*99/100, len(all)-1)]}
}

// writer makes up texts of words that are as frequent as words are: a few everywhere, most hardly ever.
type writer struct{ *rand.Rand }

// vocabulary is how many words there are.
const vocabulary = 60_000

// word is a word; the lower its number, the more frequent.
func (g *writer) word() string {
	n := int(float64(vocabulary) * g.zipf())
	return fmt.Sprintf("%s%s%s", syllables[n%len(syllables)], syllables[n/len(syllables)%len(syllables)],
		syllables[n/len(syllables)/len(syllables)])
}

// zipf is a number between 0 and 1, mostly near 0.
func (g *writer) zipf() float64 {
	x := g.Float64()
	return x * x * x * x
}

var syllables = []string{"ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su",
	"ta", "ve", "wi", "xo", "yu", "za", "bre", "cli", "dro",
	"flu", "gra", "ple", "pri", "sto", "tru", "sha", "che", "thi", "who", "spu", "sma", "ste", "ski", "glo", "pru"}

func (g *writer) text(words int) string {
	all := make([]string, words)
	for i := range all {
		all[i] = g.word()
	}
	return strings.Join(all, " ")
}

// question is three words, as they come in texts.
func (g *writer) question() []string {
	return []string{g.word(), g.word(), g.word()}
}
