package workspace

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Search selects what to find. Zero fields select everything the reader may see.
type Search struct {
	Text       string
	Kinds      []string // of documents; KindTurn and KindResult of transcripts
	Agent      string   // only the memory of this agent, by its name or id
	Visibility *Visibility
	Since      time.Time
	Before     time.Time
	Limit      int // zero: 10
	// Note is told what was not searched, and why; nil: nobody is.
	Note func(text string)
}

// Found is something that was found.
type Found struct {
	Path       string          `json:"path,omitempty"` // of a document
	Title      string          `json:"title,omitempty"`
	Kind       string          `json:"kind"`
	Visibility *Visibility     `json:"visibility,omitempty"` // of a document
	Agent      perdure.AgentID `json:"agent"`
	Called     string          `json:"called,omitempty"` // the agent's name
	Entry      perdure.Hash    `json:"entry"`
	Seq        int64           `json:"seq"`           // of the entry: NAME@SEQ is the agent at it
	Time       perdure.Time    `json:"time,omitzero"` // none: what begins the memory of a role has none
	Snippet    string          `json:"snippet"`       // with what was found in [brackets]
	Score      float64         `json:"score"`

	item, version int64
}

const (
	defaultFound = 10
	// maxFound bounds how much one search finds.
	maxFound = 200
	// fewest is how many candidates are looked at first: enough that boosts and what the reader may not see leave a
	// page.
	fewest = 64
	// mostCandidates is where looking further ends.
	mostCandidates = 1 << 17
	// largeIndex is how many texts there are before a word that very many of them have only adds to what rarer ones
	// find.
	largeIndex = 10_000
	// broadWord is how many texts are ranked by all that is said about words in them: each costs a look at its length.
	broadWord = 4_000
	// mostFrequent is how many words may only add.
	mostFrequent = 4
)

// Find finds texts by their words, best first. A document is found once, by its best passage; of a transcript, each
// turn is found. What the reader may not see, what has expired and what was erased is not found.
func (r *Reader) Find(ctx context.Context, s Search) ([]*Found, error) {
	to, err := r.Index.follow(ctx, r.Store, nil)
	if err != nil {
		return nil, err
	}
	if s.Limit <= 0 {
		s.Limit = defaultFound
	}
	if s.Limit > maxFound {
		return nil, perdure.Invalid(fmt.Errorf("at most %d are found at once, not %d", maxFound, s.Limit))
	}
	q := ask(s.Text)
	if len(q.terms) == 0 {
		return nil, perdure.Invalid(errors.New("say what to look for: there is no word in it"))
	}
	f, err := r.newFinder(ctx, &s)
	if err != nil {
		return nil, err
	}
	p, err := f.plan(ctx, q.terms, to.items)
	if err != nil {
		return nil, err
	}
	best, err := f.byWords(ctx, p)
	if err != nil {
		return nil, err
	}
	if r.Embed != nil {
		if best, err = f.fused(ctx, best); err != nil {
			return nil, err
		}
	}
	best = best[:min(len(best), s.Limit)]
	return best, f.quote(ctx, best, q.words())
}

// finder is one search.
type finder struct {
	*Reader
	s       *Search
	shelves map[int64]*shelf   // that the reader sees, by their rows
	agents  map[int64]*heard   // whose transcripts were asked about
	rows    map[int64]*speaker // what the index has of them
	docs    map[int64]*version // of candidates, by their rows
	only    int64              // the row of the one agent to look at; zero: all
	now     perdure.Time
}

// speaker is what the index has of an agent.
type speaker struct {
	id     perdure.AgentID
	called string
	keeps  bool // it has notes of its own
	moved  int64
}

// heard is an agent, and whether the reader may read its transcript.
type heard struct {
	id     perdure.AgentID
	called string
	may    bool
}

func (r *Reader) newFinder(ctx context.Context, s *Search) (*finder, error) {
	shelves, err := r.shelves(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.checkKinds(ctx, s.Kinds); err != nil {
		return nil, err
	}
	if r, err = r.once(ctx); err != nil {
		return nil, err
	}
	f := &finder{Reader: r, docs: map[int64]*version{}, s: s, shelves: map[int64]*shelf{}, agents: map[int64]*heard{},
		rows: map[int64]*speaker{}, now: perdure.TimeOf(time.Now())}
	for i := range shelves {
		f.shelves[shelves[i].row] = &shelves[i]
	}
	if s.Agent == "" {
		return f, nil
	}
	f.only, err = r.rowOf(ctx, s.Agent)
	return f, err
}

// nothing is the row of an agent of which the index has nothing.
const nothing = -1

// rowOf is the row of an agent that the reader names. One it knows nothing of is as one that is not there.
func (r *Reader) rowOf(ctx context.Context, arg string) (row int64, err error) {
	if r.Resolve == nil {
		return 0, errors.New("agents are not known by their names here")
	}
	var shows func(perdure.AgentID) bool
	if !r.agent.IsZero() {
		shows = func(id perdure.AgentID) bool {
			a, err := r.Node.Load(ctx, id)
			return err == nil && !r.Hides(a)
		}
	}
	id, err := r.Resolve(ctx, arg, shows)
	if errors.Is(err, perdure.ErrNotFound) && r.unborn != nil && arg == r.role {
		return nothing, nil
	}
	if err != nil {
		return 0, err
	}
	err = r.Index.row(ctx, "SELECT id FROM agent WHERE name=?", []any{id[:]}, &row)
	if errors.Is(err, sql.ErrNoRows) {
		return nothing, nil
	}
	return row, err
}

// byWords is what fits best by its words.
func (f *finder) byWords(ctx context.Context, p *searching) (best []*Found, err error) {
	for ; p != nil && len(best) < f.s.Limit; p = p.wider() {
		found, err := f.among(ctx, p)
		if err != nil {
			return nil, err
		}
		best = joinedWith(best, found)
	}
	return best[:min(len(best), f.wanted())], nil
}

// among is the best of what a search finds. It looks at more of it until the reader may see enough.
func (f *finder) among(ctx context.Context, p *searching) ([]*Found, error) {
	for k := max(fewest, 4*f.s.Limit); ; k *= 8 {
		found, seen, err := f.candidates(ctx, p, k)
		if err != nil || len(found) >= f.s.Limit || seen < k || k > mostCandidates {
			return found, err
		}
	}
}

// joinedWith is what was found before and what was found by more words, once each, best first.
func joinedWith(before, found []*Found) []*Found {
	for _, c := range before {
		if !slices.ContainsFunc(found, func(o *Found) bool {
			return o.item == c.item || c.once() && o.version == c.version
		}) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b *Found) int { return cmp.Compare(b.Score, a.Score) })
	return found
}

// wanted is how many are looked for by words: more than are shown, if they are fused with others.
func (f *finder) wanted() int {
	if f.Embed != nil {
		return max(fewest, f.s.Limit)
	}
	return f.s.Limit
}

// candidates are the best of so many that the reader may see, and how many there were.
func (f *finder) candidates(ctx context.Context, p *searching, k int) (found []*Found, seen int, err error) {
	// Ordered by the column rank, the index would sort all that match, and compute the rank of the best again. The
	// weights are those of the schema.
	score, args := "score", []any{}
	for _, t := range p.adds[:min(len(p.adds), mostFrequent)] {
		score += " - ? * (id IN (SELECT rowid FROM words WHERE words MATCH ? AND rowid>=?))"
		which := t.term
		if !p.whole {
			which = "(" + match(p.terms) + ") AND " + which
		}
		args = append(args, t.weight, which, p.since)
	}
	rows, err := f.Index.query(ctx, "SELECT i.id, i.agent, coalesce(i.version, 0), i.at, "+
		"i.kind, i.expires, w.score, z.sz, (SELECT block FROM words_data WHERE id=1) FROM (SELECT id, "+score+
		" AS score FROM (SELECT rowid AS id, bm25(words, 3.0, 2.0, 1.0) AS score FROM words WHERE words MATCH ? AND "+
		"rowid>=?) ORDER BY 2 LIMIT ?) w CROSS JOIN item i ON w.id=i.id CROSS JOIN words_docsize z ON w.id=z.id",
		append(args, match(p.terms), p.since, k)...)
	if err != nil {
		return nil, 0, err
	}
	var all []*row
	for rows.Next() {
		c := &row{}
		var at int64
		var size, total sql.RawBytes
		err := rows.Scan(&c.item, &c.agent, &c.version, &at, &c.Kind, &c.expires, &c.rank, &size, &total)
		if err != nil {
			return nil, 0, errors.Join(err, rows.Close())
		}
		c.Time, c.rank = perdure.Time(at), c.rank*evened(size, total)
		all = append(all, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, 0, err
	}
	f.score(all)
	slices.SortStableFunc(all, func(a, b *row) int { return cmp.Compare(b.Score, a.Score) })
	var first, agents []int64
	for _, c := range all[:min(len(all), f.wanted()+f.wanted()/2)] {
		switch {
		case c.version != 0 && f.docs[c.version] == nil:
			first = append(first, c.version)
		case c.version == 0 && f.rows[c.agent] == nil && !slices.Contains(agents, c.agent):
			agents = append(agents, c.agent)
		}
	}
	if err := errors.Join(f.prefetch(ctx, first), f.speakers(ctx, agents)); err != nil {
		return nil, 0, err
	}
	docs := map[int64]bool{}
	for _, c := range all {
		if len(found) == f.wanted() {
			break
		}
		if c.once() && docs[c.version] || c.expires > 0 && c.expires <= int64(f.now) || !f.fits(&c.Found) {
			continue
		}
		ok, err := f.show(ctx, &c.Found, c.agent)
		if err != nil {
			return nil, 0, err
		}
		if docs[c.version] = true; ok {
			found = append(found, &c.Found)
		}
	}
	return found, len(all), nil
}

// once reports whether something is found once, by its best passage: a document, but not what was said elsewhere, whose
// turns are found each.
func (c *Found) once() bool { return c.version != 0 && c.Kind != KindTranscript }

// fits reports whether a candidate is one that was asked for.
func (f *finder) fits(c *Found) bool {
	return (len(f.s.Kinds) == 0 || slices.Contains(f.s.Kinds, c.Kind)) &&
		(f.s.Since.IsZero() || c.Time >= perdure.TimeOf(f.s.Since)) &&
		(f.s.Before.IsZero() || c.Time < perdure.TimeOf(f.s.Before)) && (f.s.Visibility == nil || c.version != 0)
}

// show fills in what the reader is shown of a candidate, and reports whether they may see it.
func (f *finder) show(ctx context.Context, c *Found, agent int64) (bool, error) {
	if f.only != 0 && agent != f.only {
		return false, nil
	}
	if c.version == 0 {
		h, err := f.hears(ctx, agent)
		if err != nil || !h.may {
			return false, err
		}
		c.Agent, c.Called = h.id, h.called
		return true, nil
	}
	s := f.shelves[agent]
	if s == nil || f.s.Visibility != nil && (s.Tier != f.s.Visibility.Tier || f.s.Visibility.Scope != "" &&
		s.Scope != f.s.Visibility.Scope) {
		return false, nil
	}
	v, err := f.version(ctx, s, c.version)
	if err != nil || v == nil || !v.current || v.gone {
		return false, err
	}
	if f.may(ctx, s, v.path, v.kind, false) != nil {
		return false, nil
	}
	c.Path, c.Title, c.Visibility, c.Agent, c.Called = v.path, v.title, &s.Visibility, s.agent, s.role
	return true, nil
}

// version is a version of a document on a shelf; nil: there is none.
func (f *finder) version(ctx context.Context, s *shelf, id int64) (*version, error) {
	if v := f.docs[id]; v != nil {
		return v, nil
	}
	found, err := f.Index.versions(ctx, []shelf{*s}, "v.id=?", id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	f.docs[id] = found[0]
	return found[0], nil
}

// prefetch reads the versions of the first candidates at once.
func (f *finder) prefetch(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	var shelves []shelf
	for _, s := range f.shelves {
		shelves = append(shelves, *s)
	}
	marks, args := marksFor(ids)
	found, err := f.Index.numbered(ctx, shelves, "v.id IN ("+marks+")", args...)
	for _, v := range found {
		f.docs[v.id] = v
	}
	return err
}

// speakers reads what the index has of agents, at once.
func (f *finder) speakers(ctx context.Context, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	marks, args := marksFor(rows)
	found, err := f.Index.query(ctx, "SELECT id, name, called, keeps, moved FROM agent WHERE id IN ("+marks+")",
		args...)
	if err != nil {
		return err
	}
	for found.Next() {
		s, row, name := &speaker{}, int64(0), []byte(nil)
		if err := found.Scan(&row, &name, &s.called, &s.keeps, &s.moved); err != nil {
			return errors.Join(err, found.Close())
		}
		s.id = perdure.AgentID(hashOf(name))
		f.rows[row] = s
	}
	return errors.Join(found.Err(), found.Close())
}

// marksFor are the places of numbers in a statement, and the numbers.
func marksFor(ids []int64) (marks string, args []any) {
	const step = 16 // so that there are few statements: nothing has the number zero
	for i := 0; i < len(ids) || i%step != 0; i++ {
		if i < len(ids) {
			args = append(args, ids[i])
		} else {
			args = append(args, 0)
		}
	}
	return strings.TrimSuffix(strings.Repeat("?,", len(args)), ","), args
}

// hears is whether the reader may read the transcript of an agent: the owner all that count here; a role its own, and
// those of agents in whose scope it is and that are no roles themselves. An agent with notes of its own is one.
func (f *finder) hears(ctx context.Context, row int64) (*heard, error) {
	if h := f.agents[row]; h != nil {
		return h, nil
	}
	if f.rows[row] == nil {
		if err := f.speakers(ctx, []int64{row}); err != nil {
			return nil, err
		}
	}
	s := f.rows[row]
	if s == nil {
		return nil, fmt.Errorf("the search index knows no agent %d: %w", row, sql.ErrNoRows)
	}
	h := &heard{id: s.id, called: s.called}
	f.agents[row] = h
	now, err := f.stands(ctx, h.id, s.moved)
	if err != nil || !now.counts {
		return h, err
	}
	if f.agent.IsZero() || h.id == f.agent {
		h.may = true
		return h, nil
	}
	h.may = !Keeps(now.kind) && !s.keeps && f.in(now.scope) && f.may(ctx,
		&shelf{agent: h.id, Visibility: Visibility{Team, now.scope}}, "transcripts/"+h.called, KindTurn, false) == nil
	return h, nil
}

// quote fills in which entries were found, and the places in their texts where the words are.
func (f *finder) quote(ctx context.Context, found []*Found, words []string) error {
	if len(found) == 0 {
		return nil
	}
	ids := make([]int64, len(found))
	for i, c := range found {
		ids[i] = c.item
	}
	marks, args := marksFor(ids)
	rows, err := f.Index.query(ctx, "SELECT i.id, i.entry, i.seq, w.c2 FROM item i JOIN words_content w ON w.id=i.id "+
		"WHERE i.id IN ("+marks+")", args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		var id, seq int64
		var entry sql.RawBytes
		var text string
		if err := rows.Scan(&id, &entry, &seq, &text); err != nil {
			return errors.Join(err, rows.Close())
		}
		if at := slices.Index(ids, id); at >= 0 {
			found[at].Entry, found[at].Seq = hashOf(entry), seq
			found[at].Snippet = snippet(joined(text), words)
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// Rebuild derives the search index anew from the store, and shows how far it is.
func (r *Reader) Rebuild(ctx context.Context, progress func(what string, done, total int64)) error {
	bar := func(what string) func(done, total int64) {
		return func(done, total int64) { progress(what, done, total) }
	}
	if err := r.Index.Rebuild(ctx, r.Store, bar("index")); err != nil {
		return err
	}
	if err := r.EmbedAll(ctx, bar("embeddings")); err != nil {
		return fmt.Errorf("the index was derived anew, but not all that is searched by meaning: %w", err)
	}
	return nil
}
