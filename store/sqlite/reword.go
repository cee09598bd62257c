package sqlite

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/perdure/perdure"
)

// A word that is damaged or gone makes every row unreadable that names it. Nothing of it is lost: the name of an entry
// is a hash over its author and policy, so a row tells the right word from all others. The words that are tried are
// those that the index of the table still has, those the caller knows, every hash and key in the bodies of entries (an
// agent's first entry names its owner, a decision its policy), and what one damaged byte can have been.

const (
	maxTestimonies = 256     // rows that are kept to try words on
	maxOffers      = 1 << 20 // words that are tried
	maxPairs       = 1 << 22 // pairs of words that are tried where a row names two
)

// testimony is a row that says whether a word is right.
type testimony struct {
	id     perdure.AgentID
	before perdure.Hash
	*row
	words []int64
}

// rewording restores words.
type rewording struct {
	*conn
	values     map[int64]perdure.Hash   // as the table has them
	copies     map[int64][]perdure.Hash // what else is known to have stood under a number
	proven     map[int64]bool
	rows       []testimony // that are not what was written, by the words there are
	candidates []perdure.Hash
}

// reword restores words that rows prove wrong or missing. It returns how many, and whether every word that a row names
// is right now, as far as a row tells. Copies and known are words to try.
func reword(c *conn, copies map[int64][]perdure.Hash, known []perdure.Hash) (restored int, sound bool, err error) {
	w := &rewording{conn: c, copies: copies, proven: map[int64]bool{}, candidates: known}
	if err := w.load(); err != nil {
		return 0, false, err
	}
	if err := w.scan(true, w.hear); err != nil {
		return 0, false, err
	}
	missing := w.missing()
	if len(missing) == 0 {
		return 0, true, nil
	}
	if err := w.gather(); err != nil {
		return 0, false, err
	}
	found := w.solve(missing)
	if len(found) == 0 {
		return 0, false, nil
	}
	return len(found), len(found) == len(missing), w.write(found)
}

// load reads the words, and what the index of the table says they are.
func (w *rewording) load() error {
	w.values = map[int64]perdure.Hash{}
	if w.copies == nil {
		w.copies = map[int64][]perdure.Hash{}
	}
	read := func(text string, each func(number int64, value perdure.Hash)) error {
		return w.query(text, func(v []driver.Value) error {
			var h perdure.Hash
			if b, _ := v[1].([]byte); len(b) == len(h) {
				copy(h[:], b)
				each(integer(v[0]), h)
			}
			return nil
		})
	}
	err := read("SELECT number, value FROM words NOT INDEXED", func(n int64, h perdure.Hash) { w.values[n] = h })
	if err == nil {
		err = read("SELECT number, value FROM words INDEXED BY sqlite_autoindex_words_1",
			func(n int64, h perdure.Hash) {
				w.copies[n] = append(w.copies[n], h)
			})
	}
	return err
}

// scan calls f with every row of the log and the name of the entry of its agent before it, and then with the rows that
// lie aside, if these are asked for.
func (w *rewording) scan(aside bool, f func(t testimony, rid int64, pieces int64) error) error {
	ids := map[int64]perdure.AgentID{}
	err := w.query("SELECT key, id FROM agents", func(v []driver.Value) error {
		var id perdure.AgentID
		b, _ := v[1].([]byte)
		copy(id[:], b)
		ids[integer(v[0])] = id
		return nil
	})
	if err != nil {
		return err
	}
	last := map[int64]perdure.Hash{}
	var data []byte
	var agent, rid, pieces int64
	end := func() error {
		if len(data) == 0 {
			return nil
		}
		r, err := parseRow(bytes.Clone(data[1:]))
		if err != nil {
			delete(last, agent)
			return nil //nolint:nilerr // it is damaged itself, and says nothing about words
		}
		t := testimony{id: ids[agent], before: last[agent], row: r, words: r.named()}
		last[agent] = r.last(t.id)
		return f(t, rid, pieces)
	}
	err = w.query("SELECT rid, agent, data FROM log ORDER BY rid", func(v []driver.Value) error {
		piece, _ := v[2].([]byte)
		if v[1] == nil {
			data, pieces = append(data, piece...), pieces+1
			return nil
		}
		if err := end(); err != nil {
			return err
		}
		rid, agent, data, pieces = integer(v[0]), integer(v[1]), append(data[:0], piece...), 1
		return nil
	})
	if err == nil {
		err = end()
	}
	if _, there, _ := w.number("SELECT 1 FROM sqlite_schema WHERE name='orphans'"); err != nil || !aside || !there {
		return err
	}
	return w.query("SELECT o.data, o.id, a.key FROM orphans o LEFT JOIN agents a ON "+
		"substr(a.id,1,8)=substr(o.id,1,8) AND a.id=o.id "+
		"WHERE o.data IS NOT NULL AND length(o.id)=32 ORDER BY o.id, o.rid", func(v []driver.Value) error {
		b, _ := v[0].([]byte)
		id, _ := v[1].([]byte)
		key := integer(v[2])
		if key == 0 { // nothing else is left of it
			key = -int64(binary.BigEndian.Uint64(id) >> 1)
		}
		ids[key] = perdure.AgentID(id)
		rid, agent, data, pieces = 0, key, append(data[:0], b...), 1
		return end()
	})
}

// named are the words that a row names.
func (r *row) named() (out []int64) {
	for i := range r.parts {
		if p := &r.parts[i]; p.raw == nil {
			for _, n := range []int64{p.origin, p.policy} {
				if n != 0 && !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// holds reports whether the row is what was written if words are what word says.
func (t *testimony) holds(word func(int64) (perdure.Hash, bool)) bool {
	before := t.before
	var b []byte
	for i := range t.parts {
		p := &t.parts[i]
		if b = append(b[:0], p.raw...); p.raw == nil {
			origin, known := word(p.origin)
			var policy perdure.Hash
			if known && p.policy != 0 {
				policy, known = word(p.policy)
			}
			if !known {
				return false
			}
			b = p.header(b, t.id, before, origin, policy, p.hashAfter(before))
		}
		if before = perdure.HashOf(b); !p.isNamed(before, t.id) {
			return false
		}
	}
	return true
}

// hear keeps what a row says about words.
func (w *rewording) hear(t testimony, _, _ int64) error {
	if t.holds(func(n int64) (perdure.Hash, bool) { h, ok := w.values[n]; return h, ok }) {
		for _, n := range t.words {
			w.proven[n] = true
		}
		return nil
	}
	if len(w.rows) >= 2*maxTestimonies {
		w.settle()
	}
	w.rows = append(w.rows, t)
	return nil
}

// settle forgets rows that say nothing new: those all of whose words are proven, and the longest.
func (w *rewording) settle() {
	w.rows = slices.DeleteFunc(w.rows, func(t testimony) bool { return len(w.unproven(t)) == 0 })
	slices.SortStableFunc(w.rows, func(a, b testimony) int {
		return cmp.Or(cmp.Compare(len(w.unproven(a)), len(w.unproven(b))), cmp.Compare(len(a.parts), len(b.parts)))
	})
	kept := map[int64]int{} // by word: a few rows each are enough
	w.rows = slices.DeleteFunc(w.rows, func(t testimony) bool {
		few := false
		for _, n := range w.unproven(t) {
			kept[n]++
			few = few || kept[n] <= 8
		}
		return !few
	})
	w.rows = w.rows[:min(len(w.rows), maxTestimonies)]
}

func (w *rewording) unproven(t testimony) (out []int64) {
	for _, n := range t.words {
		if !w.proven[n] {
			out = append(out, n)
		}
	}
	return out
}

// missing are the words that no row proves right and some row names.
func (w *rewording) missing() []int64 {
	w.settle()
	out := map[int64]bool{}
	for _, t := range w.rows {
		for _, n := range w.unproven(t) {
			out[n] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// gather collects what may be a word: the hashes and keys in bodies and headers, which canonical bytes mark as 32 bytes
// long.
func (w *rewording) gather() error {
	seen := map[perdure.Hash]bool{}
	for _, h := range w.candidates {
		seen[h] = true
	}
	mark := []byte{0x58, byte(hashSize)}
	return w.scan(true, func(t testimony, _, _ int64) error {
		for i := range t.parts {
			for b := append(bytes.Clone(t.parts[i].raw), t.parts[i].body...); len(w.candidates) < maxOffers; {
				at := bytes.Index(b, mark)
				if at < 0 || len(b) < at+2+hashSize {
					break
				}
				var h perdure.Hash
				copy(h[:], b[at+2:])
				if b = b[at+1:]; !seen[h] {
					seen[h] = true
					w.candidates = append(w.candidates, h)
				}
			}
		}
		return nil
	})
}

// offers are the words to try for a number, the likeliest first.
func (w *rewording) offers(n int64) []perdure.Hash {
	out := slices.Concat(w.copies[n], w.candidates)
	if was, ok := w.values[n]; ok {
		for i := range was {
			for bits := 1; bits < 256; bits++ {
				h := was
				h[i] ^= byte(bits)
				out = append(out, h)
			}
		}
	}
	return out
}

// solve finds the words that rows prove.
func (w *rewording) solve(missing []int64) map[int64]perdure.Hash {
	found := map[int64]perdure.Hash{}
	for more := true; more; {
		more = false
		w.settle()
		for _, t := range w.rows {
			if w.try(t, w.unproven(t), found) {
				more = true
				break
			}
		}
	}
	return found
}

// try finds the one or two words of a row that are not known. The table's own value is tried beside another's.
func (w *rewording) try(t testimony, unknown []int64, found map[int64]perdure.Hash) bool {
	trial := map[int64]perdure.Hash{}
	word := func(n int64) (perdure.Hash, bool) {
		if h, ok := trial[n]; ok {
			return h, true
		}
		if h, ok := found[n]; ok {
			return h, true
		}
		h, ok := w.values[n]
		return h, ok
	}
	keep := func() bool {
		for n, h := range trial {
			w.proven[n] = true
			if w.values[n] != h {
				found[n] = h
			}
		}
		return true
	}
	for _, n := range unknown {
		clear(trial)
		for _, o := range unknown {
			if h, ok := w.values[o]; ok && o != n {
				trial[o] = h
			}
		}
		for _, h := range w.offers(n) {
			if trial[n] = h; t.holds(word) {
				return keep()
			}
		}
	}
	if len(unknown) != 2 {
		return false
	}
	first, second := slices.Concat(w.copies[unknown[0]], w.candidates),
		slices.Concat(w.copies[unknown[1]], w.candidates)
	if len(first)*len(second) > maxPairs {
		return false
	}
	for _, a := range first {
		for _, b := range second {
			if trial[unknown[0]], trial[unknown[1]] = a, b; t.holds(word) {
				return keep()
			}
		}
	}
	return false
}

// write puts words in their place. Where one got a second number meanwhile, because it was not found under its own,
// rows that name the second name the first again: a word has one number.
func (w *rewording) write(found map[int64]perdure.Hash) error {
	if err := w.exec("REINDEX words"); err != nil { // it may say otherwise than the table
		return err
	}
	renamed := map[int64]int64{}
	for n, h := range found {
		second, there, err := w.number("SELECT number FROM words WHERE value=?", h[:])
		if err == nil && there {
			renamed[second] = n
			err = w.exec("DELETE FROM words WHERE number=?", second)
		}
		if err == nil {
			err = w.exec("INSERT OR REPLACE INTO words VALUES(?,?)", n, h[:])
		}
		if err != nil {
			return err
		}
	}
	if len(renamed) == 0 {
		return nil
	}
	type change struct {
		row         *row
		rid, pieces int64
	}
	var changes []change
	err := w.scan(false, func(t testimony, rid, pieces int64) error {
		if !slices.ContainsFunc(t.words, func(n int64) bool { return renamed[n] != 0 }) {
			return nil
		}
		for i := range t.parts {
			p := &t.parts[i]
			p.origin, p.policy = cmp.Or(renamed[p.origin], p.origin), cmp.Or(renamed[p.policy], p.policy)
		}
		changes = append(changes, change{t.row, rid, pieces})
		return nil
	})
	for _, c := range changes {
		if err == nil {
			err = w.exec("UPDATE log SET data=? WHERE rid=?", c.row.append([]byte{0}), c.rid)
		}
		if err == nil {
			err = w.exec("DELETE FROM log WHERE rid>? AND rid<?", c.rid, c.rid+c.pieces)
		}
	}
	return err
}
