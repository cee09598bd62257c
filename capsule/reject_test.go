package capsule

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// counting counts how many bytes have been read.
type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// withBlobs is an agent with small and with large bodies.
func withBlobs(t testing.TB) (*perdure.MemStore, perdure.AgentID) {
	w := newAuthor()
	g, a := w.genesis("blobs")
	all := []*perdure.Entry{g}
	for i := range 6 {
		es, next := w.commit(a, event("small", 300, 1), event("large", 90_000*(i%3), uint64(i/2)), event("last", 10, 2))
		all, a = append(all, es...), next
	}
	return put(t, all...)
}

func TestEveryFlippedBitIsNoticedInTime(t *testing.T) {
	s, id := withBlobs(t)
	for _, form := range forms {
		t.Run(form.String(), func(t *testing.T) {
			t.Parallel()
			good := exported(t, s, id, Options{Form: form})
			r := rand.New(rand.NewPCG(1, 2))
			most := 0
			for i := 0; i < len(good); i += 1 + r.IntN(len(good)/150) {
				in := &counting{r: bytes.NewReader(flip(good, i))}
				err := drain(in)
				if !errors.Is(err, perdure.ErrRejected) {
					t.Fatalf("byte %d of %d flipped: got %v, want a rejection", i, len(good), err)
				}
				most = max(most, in.n-i)
			}
			// The buffer that is being read, and what the frame that holds the byte takes up.
			if limit := 2*bufferSize + 2*chunk.MaxSize; most > limit {
				t.Errorf("a flipped bit was noticed %d bytes after it, want at most %d", most, limit)
			}
		})
	}
}

func drain(in io.Reader) error {
	r, err := NewReader(in, ReadOptions{})
	if err != nil {
		return err
	}
	for _, err := range r.Entries() {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestEveryTruncationIsNoticed(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("short")
	es, _ := w.commit(a, event("x", 10, 1), event("large", inlineBody+1, 2))
	s, id := put(t, g, es[0], es[1])
	for _, form := range forms {
		good := exported(t, s, id, Options{Form: form})
		for i := 0; i < len(good); i++ {
			if i > 1000 && i < len(good)-700 && i%997 != 0 {
				continue
			}
			err := drain(bytes.NewReader(good[:i]))
			if !errors.Is(err, perdure.ErrRejected) {
				t.Fatalf("%v cut at byte %d of %d: got %v, want a rejection", form, i, len(good), err)
			}
		}
		if err := drain(bytes.NewReader(append(bytes.Clone(good), good[:4]...))); !errors.Is(err, perdure.ErrRejected) {
			t.Fatalf("%v with more after its end: got %v, want a rejection", form, err)
		}
		if err := drain(io.MultiReader(bytes.NewReader(good[:100]), &failing{})); err == nil ||
			errors.Is(err, perdure.ErrRejected) {
			t.Fatalf("%v from a disk that fails: got %v, want the error of the disk", form, err)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

// framed is a capsule made of frames by hand, in binary form.
func framed(head Head, frames ...[]byte) []byte {
	rec := must(headCodec.Append(nil, &head))
	return bytes.Join(append([][]byte{must(new(binaryEncoder).record(nil, frameHead, rec))}, frames...), nil)
}

func TestBadFilesAreRefusedByName(t *testing.T) {
	s, id := simple(t, 10)
	good := exported(t, s, id, Options{})
	_, r, err := read(good, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	head := r.Head()
	with := func(change func(*Head)) []byte {
		h := head
		change(&h)
		return framed(h, good[headLen(good):])
	}
	newer := must(headCodec.Append(nil, &head))
	newer = append([]byte{newer[0] + 1}, newer[1:]...)
	newer = append(newer, 20, 1) // a critical field of the future
	newer[bytes.Index(newer, append([]byte(Magic), 2, 1))+len(Magic)+1] = 9
	text := exported(t, s, id, Options{Form: Text})
	described := exported(t, s, id, Options{Form: Described})
	for name, c := range map[string]struct {
		file []byte
		pred string
	}{
		"an empty file":                {nil, PredMagic},
		"a picture":                    {[]byte("\x89PNG\r\n\x1a\n 0000"), PredMagic},
		"a memory without a capsule":   {[]byte{0xa1, 1}, PredMagic},
		"another magic":                {with(func(h *Head) { h.Magic = "perdure capsulf" }), PredMagic},
		"a newer version":              {with(func(h *Head) { h.Version = 2 }), PredVersion},
		"a newer version and its head": {must(new(binaryEncoder).record(nil, frameHead, newer)), PredVersion},
		"a newer version in text": {bytes.Replace(text, []byte(`"version":1}`),
			[]byte(`"tomorrow":"x","version":7}`), 1), PredVersion},
		"a newer version described": {bytes.Replace(described, []byte("version\x01"), []byte("version\x05"), 1),
			PredVersion},
		"another Unicode":           {with(func(h *Head) { h.Unicode = "99.0.0" }), PredUnicode},
		"other limits":              {with(func(h *Head) { h.Limits.Window = 1 << 40 }), PredSize},
		"an anchor at depth full":   {with(func(h *Head) { h.Anchor = &Anchor{} }), PredDepth},
		"depth 0 without an anchor": {with(func(h *Head) { h.Depth = perdure.Last(0) }), PredDepth},
		"an anchor of something else": {with(func(h *Head) {
			h.Depth, h.Anchor = perdure.Last(0), &Anchor{Heads: []perdure.Hash{{1}}}
		}), PredAnchor},
		"another agent":              {with(func(h *Head) { h.Agent[0] ^= 1 }), "entry.agent"},
		"chunks elsewhere":           {with(func(h *Head) { h.Shared = true }), PredChunk},
		"signatures elsewhere":       {with(func(h *Head) { h.Binding = Detached }), PredBinding},
		"a manifest that is missing": {with(func(h *Head) { h.Binding = WithManifest }), PredIndex},
		"a schema that is missing":   {with(func(h *Head) { h.Schema = perdure.Hash{1} }), PredSchema},
		"a head only":                {framed(head), PredComplete},
		"a head twice":               {framed(head, good), PredOrder},
		"no entries": {framed(head, must(new(binaryEncoder).
			record(nil, frameIndex, must(indexCodec.Append(nil, new(Index)))))), PredIndex},
		"an unknown frame":           {framed(head, []byte("\x82\x61X\x40")), PredFrame},
		"a frame too large":          {framed(head, []byte("\x82\x61E\x5a\xff\xff\xff\xff")), PredFrame},
		"a length of too many bytes": {framed(head, []byte("\x82\x61E\x58\x01\x00")), PredFrame},
		"a body first":               {framed(head, []byte("\x82\x61P\x41\xa0")), PredOrder},
		"an entry without its body":  {framed(head, []byte("\x82\x61E\x44\xa1\x01\xa1\x01")), PredComplete},
		"a line too long": {append([]byte(`{"head":"`), bytes.Repeat([]byte("x"), maxLine+1)...),
			PredFrame},
		"a line of something": {append(bytes.Clone(text[:bytes.IndexByte(text, '\n')+1]), "{\"what\":1}\n"...),
			PredFrame},
	} {
		err := drain(bytes.NewReader(c.file))
		refused(t, name, err, c.pred)
	}
	_, err = NewReader(bytes.NewReader(good), ReadOptions{MaxBytes: 1000})
	if err == nil {
		_, _, err = read(good, ReadOptions{MaxBytes: 1000})
	}
	refused(t, "a file over the limit", err, PredSize)
}

// headLen is the length of the first frame of a capsule in binary form.
func headLen(b []byte) int {
	n, width, _ := bytesHead(b[3:])
	return 3 + width + int(n)
}

func TestHugeClaimsAllocateNothing(t *testing.T) {
	s, id := simple(t, 1)
	_, r, _ := read(exported(t, s, id, Options{}), ReadOptions{})
	bad := framed(r.Head(), []byte("\x82\x61E\x5a\x00\x0f\xff\xff")) // a megabyte announced, none there
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if drain(bytes.NewReader(bad)) == nil {
				b.Fatal("accepted")
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 4*bufferSize {
		t.Errorf("%d bytes allocated for a frame that is not there, want at most %d", allocated, 4*bufferSize)
	}
}

func TestEntriesAreHeldToTheirLineage(t *testing.T) {
	w, other := newAuthor(), newAuthor()
	g, a := w.genesis("a")
	es, a1 := w.commit(a, event("x", 10, 1), event("y", 10, 1))
	next, _ := w.commit(a1, event("z", 10, 1))
	h, _ := other.genesis("b")
	forged := must(perdure.NewEntry(next[0].HeaderBytes(), next[0].BodyBytes(), bytes.Repeat([]byte{7}, 64),
		perdure.Limits{}))
	bare := must(perdure.NewEntry(next[0].HeaderBytes(), next[0].BodyBytes(), nil, perdure.Limits{}))
	for name, c := range map[string]struct {
		entries []*perdure.Entry
		pred    string
	}{
		"a missing parent":         {[]*perdure.Entry{g, es[0], next[0]}, "entry.linked"},
		"a child first":            {[]*perdure.Entry{g, es[1], es[0]}, "entry.linked"},
		"no genesis":               {[]*perdure.Entry{es[0], es[1]}, PredAnchor},
		"the same again":           {[]*perdure.Entry{g, es[0], es[1], es[1]}, PredOrder},
		"another agent":            {[]*perdure.Entry{g, h}, "entry.agent"},
		"a forged signature":       {[]*perdure.Entry{g, es[0], es[1], forged}, "entry.signed"},
		"an end without signature": {[]*perdure.Entry{g, es[0], es[1], bare}, "entry.sealed"},
		"half a commit":            {[]*perdure.Entry{g, es[0]}, "entry.sealed"},
		"an index of other heads":  {[]*perdure.Entry{g, es[0], es[1], next[0]}, PredIndex},
	} {
		var b bytes.Buffer
		c2 := must(newWriter(&b, Binary))
		p := plan{id: g.ID()}
		head := p.head(Options{})
		if err := c2.head(&head); err != nil {
			t.Fatal(err)
		}
		for _, e := range c.entries {
			if err := c2.entry(e, false); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c2.end(); err != nil {
			t.Fatal(err)
		}
		refused(t, name, drain(&b), c.pred)
	}
}

func TestEveryPredicateHasAMeaning(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Predicates {
		if seen[p.Name] || p.Meaning == "" || p.Hint == "" || p.Phase == "" {
			t.Errorf("predicate %+v is listed twice or says too little", p)
		}
		seen[p.Name] = true
	}
}

func TestChunksAreHeldToTheirNames(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("a")
	es, _ := w.commit(a, event("large", 200_000, 1))
	s, id := put(t, g, es[0])
	good := exported(t, s, id, Options{})
	at := bytes.Index(good, []byte("\x82\x61K"))
	rest := good[at:]
	n, width, _ := bytesHead(rest[3:])
	end := at + 3 + width + int(n)
	swap := func(b []byte) []byte { return append(append(bytes.Clone(good[:at]), b...), good[end:]...) }
	var k chunkRecord
	if err := chunkCodec.Decode(good[at+3+width:end], &k, canon.Limits{}); err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*chunkRecord)) []byte {
		c := k
		change(&c)
		return must(new(binaryEncoder).record(nil, frameChunk, must(chunkCodec.Append(nil, &c))))
	}
	for name, c := range map[string]struct {
		file []byte
		pred string
	}{
		"another chunk": {swap(changed(func(c *chunkRecord) { c.Name[0] ^= 1 })), PredChunk},
		"another size":  {swap(changed(func(c *chunkRecord) { c.Size++ })), PredChunk},
		"other bytes": {swap(changed(func(c *chunkRecord) {
			c.Data = chunk.Pack(make([]byte, c.Size))
		})), chunk.PredName},
		"no chunk":           {swap(nil), PredChunk},
		"a chunk twice":      {swap(append(changed(func(*chunkRecord) {}), good[at:end]...)), PredChunk},
		"the end of a chunk": {good[:end-10], PredComplete},
	} {
		refused(t, name, drain(bytes.NewReader(c.file)), c.pred)
	}
}

func TestContradictingOptionsAreRefused(t *testing.T) {
	s, id := simple(t, 3)
	for _, o := range []Options{
		{Binding: Detached}, {Signatures: io.Discard}, {Binding: WithManifest}, {Manifest: new(Manifest)}, {Form: 9},
		{Depth: Depth{Kind: 7}}, {Depth: Depth{N: 3}},
	} {
		var b bytes.Buffer
		if _, err := Export(t.Context(), &b, s, id, o); err == nil || b.Len() > 0 {
			t.Errorf("%+v: error %v after %d bytes, want an error and nothing written", o, err, b.Len())
		}
	}
	var b bytes.Buffer
	_, err := Export(t.Context(), &b, s, perdure.AgentID{1}, Options{})
	if !errors.Is(err, perdure.ErrNotFound) || b.Len() > 0 {
		t.Errorf("an agent that is not there: %v after %d bytes", err, b.Len())
	}
}
