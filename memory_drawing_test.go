package perdure

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// people are signers by name, the same in every run.
var people = func() map[string]*Signer {
	m := map[string]*Signer{}
	for i, name := range []string{"owner", "heir", "thief", "ann", "bob", "cy", "dee", "eve"} {
		s, err := NewSigner(name, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, ed25519.SeedSize)))
		if err != nil {
			panic(err)
		}
		m[name] = s
	}
	return m
}()

// epoch is when the agents of these tests begin.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// dag is a memory drawn as lineage.
type dag struct {
	t       testing.TB
	names   []string // in the order drawn
	entries map[string]*Entry
	parents map[string][]string
	by      map[string]string
	body    map[string]func(d *dag) Body
	genesis Genesis
}

// lineage reads a drawing of a memory: chains `G -> A -> B`, branches `| -> C` that leave the entry above the bar, and
// joins `B,C -> D`. Who wrote an entry and what it says is given by name; else it is an event of the owner. Each entry
// is a commit of its own.
func lineage(t testing.TB, drawing string, parts ...func(*dag)) *dag {
	t.Helper()
	d := &dag{t: t, entries: map[string]*Entry{}, parents: map[string][]string{}, by: map[string]string{},
		body:    map[string]func(*dag) Body{},
		genesis: Genesis{Intent: Intent{Name: "a", Goal: "g"}, Charter: Charter{Scope: "acme"}}}
	for _, p := range parts {
		p(d)
	}
	columns := map[int]string{} // where an entry is drawn
	for _, line := range strings.Split(drawing, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var from []string
		at := 0
		for i, link := range strings.Split(line, "->") {
			name := strings.TrimSpace(link)
			column := at + strings.Index(link, name)
			at += len(link) + 2
			switch {
			case name == "|":
				above := -1
				for c := range columns {
					if c <= column && c > above {
						above = c
					}
				}
				from = []string{columns[above]}
				continue
			case i == 0 && (len(d.names) > 0):
				from = strings.Split(name, ",")
				continue
			}
			columns[column] = name
			d.add(name, from...)
			from = []string{name}
		}
	}
	return d
}

func by(who string, names ...string) func(*dag) {
	return func(d *dag) {
		for _, n := range names {
			d.by[n] = who
		}
	}
}

func says(name string, b Body) func(*dag) {
	return func(d *dag) { d.body[name] = func(*dag) Body { return b } }
}

func saysOf(name string, b func(d *dag) Body) func(*dag) { return func(d *dag) { d.body[name] = b } }

func begins(g Genesis) func(*dag) { return func(d *dag) { d.genesis = g } }

// add writes an entry on top of others.
func (d *dag) add(name string, from ...string) *Entry {
	d.t.Helper()
	s := people["owner"]
	if who := d.by[name]; who != "" {
		s = people[who]
	}
	h := Header{Time: TimeOf(epoch) + Time(len(d.names))}
	rec := saltedBody{Content: Event{Name: name}}
	copy(rec.Salt[:], "salt of "+name)
	if b := d.body[name]; b != nil {
		rec.Content = b(d)
	}
	if len(d.names) == 0 {
		g := d.genesis
		if g.Charter.Owner.IsZero() {
			g.Charter.Owner = s.key
		}
		rec.Content = g
	} else {
		h.Agent = d.entries[d.names[0]].ID()
		for _, p := range from {
			e := d.entries[strings.TrimSpace(p)]
			if e == nil {
				d.t.Fatalf("%s is drawn on %q, which is not there", name, p)
			}
			h.Parents = append(h.Parents, e.Name)
			h.Seq = max(h.Seq, e.Seq+1)
		}
		slices.SortFunc(h.Parents, Hash.Compare)
	}
	e, err := newEntry(h, &rec, s.key)
	if err == nil {
		err = s.seal(e)
	}
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	d.names, d.parents[name], d.entries[name] = append(d.names, name), from, e
	return e
}

// newEntry encodes an entry with a header and body of the test's own.
func newEntry(h Header, rec *saltedBody, origin Key) (*Entry, error) {
	h.Origin = origin
	e := &Entry{Header: h, content: rec.Content}
	return e, e.encode(rec)
}

// name is the hash of an entry.
func (d *dag) name(n string) Hash { return d.entries[n].Name }

// all is every entry, as drawn.
func (d *dag) all() []*Entry {
	var out []*Entry
	for _, n := range d.names {
		out = append(out, d.entries[n])
	}
	return out
}

// agent folds the memory, as drawn and in other orders of arrival, and holds the results against each other.
func (d *dag) agent() *Agent {
	d.t.Helper()
	a, err := FoldEntries(seq(d.all()))
	if err != nil {
		d.t.Fatal(err)
	}
	want := foldBytes(d.t, a)
	for i := range 6 {
		entries := d.all()
		r := rand.New(rand.NewPCG(uint64(i), 1))
		r.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		other, err := arrive(entries, func() bool { return r.IntN(2) == 0 })
		if err != nil {
			d.t.Fatalf("in another order: %v", err)
		}
		if got := foldBytes(d.t, other); !bytes.Equal(got, want) {
			d.t.Fatalf("another order of arrival gives another fold:\n%s\n%s", describe(other), describe(a))
		}
	}
	return a
}

// arrive applies entries one after the other, or several at once where more says so.
func arrive(entries []*Entry, more func() bool) (*Agent, error) {
	a := new(Agent)
	var batch []*Entry
	for i, e := range entries {
		batch = append(batch, e)
		if i+1 < len(entries) && more() {
			continue
		}
		next, err := a.Apply(batch...)
		if err != nil {
			return nil, err
		}
		a, batch = next, nil
	}
	return a.complete()
}

func foldBytes(t testing.TB, a *Agent) []byte {
	t.Helper()
	b, err := a.fold.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func describe(a *Agent) string {
	return fmt.Sprintf("%+v", *a.fold)
}

// rejected holds an error against the predicate it should name.
func rejected(t testing.TB, err error, predicate string) *Rejection {
	t.Helper()
	r, ok := err.(*Rejection)
	if !ok || r.Predicate != predicate {
		t.Fatalf("got %v, want a rejection by %s", err, predicate)
	}
	return r
}

func TestDrawingBecomesLineage(t *testing.T) {
	d := lineage(t, `
G -> A -> B
     | -> C -> D
B,D -> E
`)
	a := d.agent()
	if got, want := a.Heads(), []Hash{d.name("E")}; !slices.Equal(got, want) {
		t.Errorf("got heads %v, want %v", got, want)
	}
	for n, want := range map[string]int64{"G": 0, "A": 1, "B": 2, "C": 2, "D": 3, "E": 4} {
		if got := d.entries[n].Seq; got != want {
			t.Errorf("%s: got seq %d, want %d", n, got, want)
		}
	}
	if got, want := d.parents["C"], []string{"A"}; !slices.Equal(got, want) {
		t.Errorf("got C on %v, want %v", got, want)
	}
}
