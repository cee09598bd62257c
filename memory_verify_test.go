package perdure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/perdure/perdure/internal/canon"
)

func TestVerifyReportsWhatItFound(t *testing.T) {
	d := lineage(t, `
G -> A -> B -> S
     | -> C
S,C -> D
`, by("ann", "B"), by("bob", "C"), saysOf("S", snapshotOf("B")))
	var progress []int64
	v, err := Verify(seq(d.all()), VerifyOptions{Heads: []Hash{d.name("D")}, Progress: func(n int64) {
		progress = append(progress, n)
	}})
	if err != nil {
		t.Fatal(err)
	}
	fold, err := d.agent().fold.Hash()
	if err != nil {
		t.Fatal(err)
	}
	origins := []Origin{{people["owner"].key, 4}, {people["ann"].key, 1}, {people["bob"].key, 1}}
	slices.SortFunc(origins, func(a, b Origin) int { return Hash(a.Key).Compare(Hash(b.Key)) })
	want := &Verified{Agent: d.entries["G"].ID(), Entries: 6, Bodies: 6, Signatures: 6, Snapshots: 1, Origins: origins,
		Heads: []Hash{d.name("D")}, Fold: fold}
	if diff := cmp.Diff(want, v, cmpopts.IgnoreUnexported(Verified{})); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if !slices.Equal(progress, []int64{6}) {
		t.Errorf("got progress %v", progress)
	}
	shallow, err := Verify(seq(d.all()[:3]), VerifyOptions{Shallow: true})
	if err != nil || shallow.Entries != 3 || shallow.Signatures != 0 || !shallow.Fold.IsZero() {
		t.Errorf("got %+v, %v", shallow, err)
	}
}

// snapshotOf is the snapshot of the past of an entry.
func snapshotOf(name string) func(d *dag) Body {
	return func(d *dag) Body {
		a, err := AgentAt(seq(d.all()), d.name(name))
		if err != nil {
			d.t.Fatal(err)
		}
		return Snapshot{Fold: *a.fold}
	}
}

func TestSnapshotThatIsNotItsPastIsRejected(t *testing.T) {
	forged := func(d *dag) Body {
		s := snapshotOf("B")(d).(Snapshot)
		s.Fold.Granted.Cost = 1_000_000
		return s
	}
	for name, drawing := range map[string]string{
		"on top of everything": "G -> A -> B -> S -> C",
		"on a branch":          "G -> A -> B -> S\n     | -> C -> D",
		"beside a branch":      "G -> A -> B\n     | -> C -> D\nB -> S",
	} {
		good := lineage(t, drawing, saysOf("S", snapshotOf("B")))
		if v, err := Verify(seq(good.all()), VerifyOptions{}); err != nil || v.Snapshots != 1 {
			t.Errorf("%s: got %+v, %v", name, v, err)
		}
		_, err := Verify(seq(lineage(t, drawing, saysOf("S", forged)).all()), VerifyOptions{})
		if r := rejected(t, err, "snapshot.fold"); !strings.HasSuffix(r.Path, ".fold.granted") {
			t.Errorf("%s: got path %s, want the field that differs", name, r.Path)
		}
	}
}

// farApart is a memory with a branch that begins before the window of the other.
func farApart(t *testing.T) []*Entry {
	t.Helper()
	entries := chain(t, 1500, 400)
	d := &dag{t: t, names: []string{"G"}, entries: map[string]*Entry{"G": entries[0]}, parents: map[string][]string{},
		by: map[string]string{}, body: map[string]func(*dag) Body{}}
	return append(entries, d.add("late", "G"), d.add("later", "late"))
}

func TestBranchesFarApartAreVerifiedInASecondPass(t *testing.T) {
	entries := farApart(t)
	raw := memoryBytes(t, entries)
	v, err := Verify(ReadMemory(bytes.NewReader(raw), Limits{}), VerifyOptions{})
	if err != nil || v.Entries != 1502 || v.Snapshots != 3 || len(v.Heads) != 2 {
		t.Fatalf("got %+v, %v", v, err)
	}
	_, err = Verify(ReadMemory(io.MultiReader(bytes.NewReader(raw)), Limits{}), VerifyOptions{})
	if err == nil || !strings.Contains(err.Error(), "cannot seek") {
		t.Errorf("got %v, want to be told to put it in a file", err)
	}
	_, err = Verify(seq(slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool {
		return e.Seq == 700
	})), VerifyOptions{})
	rejected(t, err, "entry.linked")
}

func TestVerifyTakesASnapshotWhereBodiesAreGone(t *testing.T) {
	entries := chain(t, 100, 30)
	want, err := Verify(seq(entries), VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		entries[i] = entries[i].Drop()
	}
	got, err := Verify(seq(entries), VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Fold != want.Fold || got.Taken != 1 || got.Snapshots != 1 || got.Dropped != 50 {
		t.Errorf("got %+v, want fold %s", got, want.Fold)
	}
	entries[95] = entries[95].Drop()
	_, err = Verify(seq(entries), VerifyOptions{})
	rejected(t, err, "body.present")
	far := farApart(t)
	for i := range 900 {
		far[i] = far[i].Drop()
	}
	// what came late belongs before every snapshot that has seen the entries without bodies
	_, err = Verify(seq(far), VerifyOptions{})
	rejected(t, err, "body.present")
}

func TestVerifyRefusesWhatIsMissing(t *testing.T) {
	d := lineage(t, "G -> A -> B")
	_, err := Verify(seq(nil), VerifyOptions{})
	rejected(t, err, "entry.genesis")
	_, err = Verify(seq(d.all()[1:]), VerifyOptions{})
	rejected(t, err, "entry.linked")
	_, err = Verify(seq(d.all()[:2]), VerifyOptions{Heads: []Hash{d.name("B")}})
	rejected(t, err, "memory.heads")
	unsigned := *d.entries["B"]
	unsigned.Signature = nil
	_, err = Verify(seq([]*Entry{d.entries["G"], d.entries["A"], &unsigned}), VerifyOptions{})
	rejected(t, err, "entry.sealed")
	other := lineage(t, "G -> A", begins(Genesis{Intent: Intent{Goal: "other"}, Charter: Charter{Scope: "acme"}}))
	_, err = Verify(seq(append(d.all(), other.all()...)), VerifyOptions{})
	rejected(t, err, "entry.genesis")
	stop := errors.New("stop")
	_, err = Verify(func(yield func(*Entry, error) bool) { yield(nil, stop) }, VerifyOptions{})
	if err != stop {
		t.Errorf("got %v, want what ended the entries", err)
	}
	for _, twice := range [][]*Entry{append(d.all(), d.all()...), append(d.all(), d.entries["G"]),
		append(d.all(), d.entries["B"].Drop())} {
		_, err = Verify(seq(twice), VerifyOptions{})
		rejected(t, err, "memory.once")
		_, err = FoldEntries(seq(twice))
		rejected(t, err, "memory.once")
	}
	far := farApart(t)
	_, err = Verify(seq(append(far, far[1])), VerifyOptions{}) // long out of sight
	rejected(t, err, "memory.once")
}

func TestSealsFindEntriesNoSignatureCovers(t *testing.T) {
	d := lineage(t, `
G -> A -> B -> C
     | -> X -> Y
B,Y -> Z
`, by("bob", "X", "Y"))
	strip := func(names ...string) []*Entry {
		out := d.all()
		for i, n := range d.names {
			if slices.Contains(names, n) {
				e := *d.entries[n]
				e.Signature = nil
				out[i] = &e
			}
		}
		return out
	}
	for _, c := range []struct {
		unsigned string
		ok       bool
	}{{"A", true}, {"A B", true}, {"X", true}, {"Y", false}, {"X Y", false}, {"B C", false}, {"C", false}, {"Z", false},
		{"A B X", true}, {"B C Z", false}} {
		entries := strip(strings.Fields(c.unsigned)...)
		_, err := Verify(seq(entries), VerifyOptions{})
		if (err == nil) != c.ok {
			t.Errorf("without signatures on %s: got %v", c.unsigned, err)
		}
		_, foldErr := FoldEntries(seq(entries))
		if (foldErr == nil) != c.ok {
			t.Errorf("fold without signatures on %s: got %v", c.unsigned, foldErr)
		}
		if !c.ok {
			rejected(t, err, "entry.sealed")
			rejected(t, foldErr, "entry.sealed")
		}
	}
}

func TestMemoryComesBackAsItWasWritten(t *testing.T) {
	entries := chain(t, 300, 100)
	large, err := DataOf(strings.Repeat("x", 700<<10))
	if err != nil {
		t.Fatal(err)
	}
	a, err := FoldEntries(seq(entries))
	if err != nil {
		t.Fatal(err)
	}
	more, a, err := people["owner"].Commit(a, epoch, Draft{Body: Event{Name: "large", Data: large}},
		Draft{Body: Event{Name: "small"}})
	if err != nil {
		t.Fatal(err)
	}
	entries = append(entries, more...)
	raw := memoryBytes(t, entries)
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(raw),
		"half by half": iotest.HalfReader(bytes.NewReader(raw)),
		"with its end": iotest.DataErrReader(bytes.NewReader(raw))} {
		got, err := FoldEntries(ReadMemory(r, Limits{}))
		if err != nil || !bytes.Equal(foldBytes(t, got), foldBytes(t, a)) {
			t.Errorf("%s: got %v, or another fold", name, err)
		}
	}
	broken := errors.New("broken")
	_, err = FoldEntries(ReadMemory(io.MultiReader(bytes.NewReader(raw[:1000]), iotest.ErrReader(broken)), Limits{}))
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the reader's own error", err)
	}
	bad := bytes.Clone(raw)
	last, err := entries[len(entries)-1].MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	at := len(raw) - len(last)
	bad[at+1] = 0xff
	_, err = FoldEntries(ReadMemory(bytes.NewReader(bad), Limits{}))
	var r *Rejection
	if !errors.As(err, &r) || r.Offset != int64(at+1) {
		t.Errorf("got %v, want an offset in the stream", err)
	}
}

func TestBadInputIsRefusedWithinItsLimits(t *testing.T) {
	d := lineage(t, "G -> A")
	good := memoryBytes(t, d.all())
	deep := canon.AppendMap(nil, 1)
	deep = append(canon.AppendUint(deep, 1), bytes.Repeat([]byte{0x81}, 1<<20)...)
	huge := canon.AppendUint(canon.AppendMap(nil, 2), 1)
	huge = append(huge, d.entries["G"].header...)
	huge = append(canon.AppendUint(huge, 2), 0xa2, 1, 0x50)
	// a text of 2^38 bytes
	huge = append(append(huge, make([]byte, 16)...), 2, 0xa1, 5, 0xa2, 1, 0x7b, 0, 0, 0, 0x40, 0, 0, 0, 0)
	many := canon.AppendUint(canon.AppendMap(nil, 1), 1)
	many = append(many, 0xab, 1, 1, 3, 0x9b, 0, 0, 0, 0x40, 0, 0, 0, 0) // 2^38 parents
	for name, c := range map[string]struct {
		in        io.Reader
		predicate string
	}{
		"cut off":        {bytes.NewReader(good[:len(good)-1]), "canon.truncated"},
		"too deep":       {bytes.NewReader(append(bytes.Clone(good), deep...)), "field.type"},
		"a long text":    {io.MultiReader(bytes.NewReader(huge), zeros{}), "canon.bytes"},
		"many parents":   {io.MultiReader(bytes.NewReader(many), zeros{}), "canon.items"},
		"endless zeros":  {zeros{}, "field.type"},
		"larger than it": {io.MultiReader(bytes.NewReader(memoryBytes(t, chain(t, 2, 9))), zeros{}), "field.type"},
	} {
		lim := Limits{Bytes: 1 << 20}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Verify(ReadMemory(c.in, lim), VerifyOptions{})
		runtime.ReadMemStats(&after)
		r := rejected(t, err, c.predicate)
		if r.Hint == "" {
			t.Errorf("%s: %v says not what to do", name, r)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 4*uint64(lim.Bytes) {
			t.Errorf("%s: %d bytes were allocated under a limit of %d", name, got, lim.Bytes)
		}
	}
	large, err := DataOf(strings.Repeat("x", 3<<20))
	if err != nil {
		t.Fatal(err)
	}
	over := lineage(t, "G -> A", says("A", Event{Name: "x", Data: large}))
	_, err = Verify(ReadMemory(bytes.NewReader(memoryBytes(t, over.all())), Limits{Bytes: 1 << 20}), VerifyOptions{})
	rejected(t, err, "canon.bytes")
}

// zeros is an endless input.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

const foldFileEnv = "PERDURE_TEST_FOLD"

func TestTwoProcessesFoldTheSameBytes(t *testing.T) {
	if path := os.Getenv(foldFileEnv); path != "" {
		printFold(t, path)
		return
	}
	w := lineage(t, `
G -> A -> B -> S -> T
     | -> C -> D
`, by("ann", "C", "D"), says("A", Event{Name: "x", Set: map[string]Data{"z": {1}, "a": {2}, "é": {3}, "Z": {4}}}),
		says("B", allowed(Mutate{Labels: map[string]string{"ß": "1", "b": "2", "a": "3"}})),
		saysOf("S", snapshotOf("B")),
		says("C", Advice{Advisor: "m", Actions: []Action{Sleep{Trigger: After{Millis: 86_400_000}}}}),
		says("T", allowed(Sleep{Trigger: When{Condition: "now > timestamp('2026-01-01T00:00:00Z')"}})))
	path := filepath.Join(t.TempDir(), "memory")
	if err := os.WriteFile(path, memoryBytes(t, w.all()), 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := w.agent().fold.Hash()
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{
		{"TZ=UTC", "LANG=C", "GOMAXPROCS=1"},
		{"TZ=Pacific/Kiritimati", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "GOMAXPROCS=4", foldFileEnv + "_LATER=1"},
	} {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestTwoProcessesFoldTheSameBytes$", "-test.v")
		cmd.Env = append(append(os.Environ(), foldFileEnv+"="+path), env...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", env, err, out)
		}
		if line := fmt.Sprintf("fold %s\n", want); !bytes.Contains(out, []byte(line)) {
			t.Errorf("%v: got\n%s\nwant %s", env, out, line)
		}
	}
}

// printFold is what the other process does: on another day, if it is told to.
func printFold(t *testing.T, path string) {
	fold := func(t *testing.T) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		v, err := Verify(ReadMemory(f, Limits{}), VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("on %s\nfold %s\n", time.Now().Format(time.RFC3339), v.Fold)
	}
	if os.Getenv(foldFileEnv+"_LATER") == "" {
		fold(t)
		return
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(40 * 365 * 24 * time.Hour) // the clock of the bubble, which begins in 2000
		fold(t)
	})
}
