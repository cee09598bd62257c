package capsule

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"filippo.io/age"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// ReadOptions say how to read a capsule. The zero ReadOptions validate deeply and trust nothing.
type ReadOptions struct {
	Identities []age.Identity // to decrypt with
	Signatures io.Reader      // detached signatures
	Chunks     Chunks         // of the set the capsule belongs to
	Limits     perdure.Limits // of each entry

	// MaxBytes bounds the bytes of the capsule, decrypted, and the bytes it unpacks to. Zero: it may have
	// DefaultMaxBytes, and unpack to no more than DefaultUnpacked and DefaultRatio times the bytes read.
	MaxBytes int64
	before   *meter // what the capsules of the same set came to; not changed

	// Shallow checks that every entry is well-formed and leaves out links and signatures. It needs Local, or an
	// Attestation by a key that Trusted accepts: somebody has validated exactly this capsule deeply.
	Shallow     bool
	Local       bool // the capsule did not cross a trust boundary: this node wrote it, and nobody else could change it
	Attestation *Attestation
	Trusted     func(perdure.Key) bool
}

// Reader reads a capsule as it arrives. It refuses within a buffer of the first bad byte, or when the entry is whole
// that the byte is part of, and holds one entry, 8 MiB of chunks and some 40 bytes for each entry before.
type Reader struct {
	o         ReadOptions
	src       *source
	dec       decoder
	sum       *digest
	form      Form
	encrypted bool
	head      Head
	sigs      *signatureReader
	lineage   *lineage
	fits      fits
	chunks    window
	index     Index  // counted while reading
	end       *Index // as the capsule states it
	manifest  *Manifest
	started   bool
	held      *frame // read, but not looked at yet
	more      bool   // the last entry is not there without the next
	last      perdure.Position
	used      meter // but for what the decoder has read
}

// NewReader reads the head of a capsule in any form, encrypted or not.
func NewReader(r io.Reader, o ReadOptions) (*Reader, error) {
	c := &Reader{o: o, sum: &digest{h: sha256.New()}}
	if err := c.open(r); err != nil {
		return nil, fmt.Errorf("open capsule: %w", err)
	}
	return c, nil
}

// Head says what the capsule is. It is not to be believed before all entries have been read.
func (c *Reader) Head() Head { return c.head }

// Form is how the capsule is spelled.
func (c *Reader) Form() Form { return c.form }

// Encrypted reports whether the capsule was encrypted.
func (c *Reader) Encrypted() bool { return c.encrypted }

// Index is the index of the capsule, once all entries have been read without an error; nil before.
func (c *Reader) Index() *Index { return c.end }

// Manifest is the capsule's manifest, checked, once all entries have been read; nil if it has none.
func (c *Reader) Manifest() *Manifest { return c.manifest }

func (c *Reader) open(r io.Reader) error {
	most := c.maxBytes()
	raw := newSource(r, most+most/1000+bufferSize) // encryption adds a little
	plain, encrypted, err := decrypt(raw, c.o.Identities)
	if err != nil {
		return err
	}
	c.encrypted = encrypted
	c.src = raw
	if encrypted {
		c.src = newSource(plain, most)
	}
	if c.src.max = most; int64(c.src.n-c.src.i) > c.src.max {
		return reject(PredSize, c.src.max, "$", "more bytes", canon.Count(c.src.max, "bytes"))
	}
	start := bytes.Clone(c.src.peek(4 << 10))
	if c.src.err != nil && c.src.err != io.EOF {
		return fmt.Errorf("read capsule: %w", c.src.err)
	}
	if err := c.detect(start); err != nil {
		return err
	}
	f, err := c.dec.next()
	if v := announced(c.form, start); v > Version {
		return reject(PredVersion, 0, "$.version", fmt.Sprint(v), fmt.Sprint(Version))
	}
	if err != nil {
		return err
	}
	if f.letter != frameHead {
		return reject(PredMagic, 0, "$", "another frame", "a head")
	}
	if err := headCodec.Decode(f.record, &c.head, canon.Limits{}); err != nil {
		return moved(err, f.base)
	}
	if err := c.checkHead(); err != nil {
		return err
	}
	if c.held, err = c.dec.next(); err == io.EOF {
		return reject(PredComplete, c.index.Length, "$", "the end of the file", "entries")
	}
	if err == nil && c.held.letter == frameSchema {
		err = c.checkSchema(c.held)
		c.held = nil
	} else if err == nil && (c.form == Described && !c.head.grows() || !c.head.Schema.IsZero()) {
		err = reject(PredSchema, c.held.at, "$", "no schema", "the schema the head names")
	}
	return err
}

// maxBytes is how many bytes the capsule may have.
func (c *Reader) maxBytes() int64 {
	if c.o.MaxBytes > 0 {
		return min(c.o.MaxBytes, math.MaxInt64/2)
	}
	return DefaultMaxBytes
}

// GotStore is what a rejection says that it got where it was given the file of a store.
const GotStore = "a SQLite file"

// detect finds out the form.
func (c *Reader) detect(start []byte) error {
	switch {
	case looksLikeText(start):
		c.form, c.dec = Text, &textDecoder{source: c.src, sum: c.sum, lim: c.limits()}
	case bytes.HasPrefix(start, []byte("\x82\x61H")):
		c.form, c.dec = Binary, &binaryDecoder{source: c.src, sum: c.sum}
	case bytes.HasPrefix(start, []byte("\x82\x64head")):
		lim := c.limits()
		c.form, c.dec = Described, &describedDecoder{Reader: canon.NewReader(c.src, lim), sum: c.sum, lim: lim}
	case len(start) == 0:
		return reject(PredMagic, 0, "$", "an empty file", "a capsule")
	case bytes.HasPrefix(start, []byte("SQLite format 3\x00")):
		r := reject(PredMagic, 0, "$", GotStore, "a capsule")
		r.Hint = "if it is a store, such as a backup, name an agent in it: perdure verify --store FILE AGENT"
		return r
	default:
		return reject(PredMagic, 0, "$", fmt.Sprintf("a file that begins with %.12q", start), "a capsule")
	}
	return nil
}

// limits are those of one line or frame of the forms that hold an entry in one piece.
func (c *Reader) limits() perdure.Limits {
	lim := c.o.Limits
	if lim.Bytes <= 0 || lim.Bytes > maxLine {
		lim.Bytes = maxLine
	}
	return lim
}

// announced is the version that the beginning of a capsule states, however little of the rest can be read; 0 when it
// states none.
func announced(f Form, start []byte) int64 {
	switch f {
	case Text:
		line, _, _ := bytes.Cut(start, []byte("\n"))
		var v struct {
			Head struct{ Version int64 }
		}
		if json.Unmarshal(line, &v) == nil {
			return v.Head.Version
		}
	case Described:
		b, err := canon.NewReader(bytes.NewReader(start), canon.Limits{}).Next(canon.DataType)
		if err != nil {
			return 0
		}
		list, _ := canon.Data(b).Value().([]any)
		if len(list) == 2 {
			m, _ := list[1].(map[string]any)
			v, _ := m["version"].(int64)
			return v
		}
	case Binary:
		n, width, ok := bytesHead(start[3:])
		if !ok || uint64(len(start)-3-width) < n {
			return 0
		}
		rec := start[3+width:][:n]
		if canon.Check(canon.DataType, rec, canon.Limits{}) != nil || len(rec) == 0 || rec[0]>>5 != 5 {
			return 0
		}
		if v, ok := canon.Data(canon.Span(rec, 2)).Value().(int64); ok {
			return v
		}
	}
	return 0
}

// Grows reports whether the capsule is the file of a store.
func (h *Head) Grows() bool { return h.grows() }

// grows reports whether the capsule is the file of a store: the chunks of every body follow it, so that it can be read
// from anywhere.
func (h *Head) grows() bool {
	return h.Limits == FrameLimits{Inline: inlineBody, Chunk: chunk.MaxSize} && h.Binding == Inline && !h.Shared &&
		h.Schema.IsZero()
}

func (c *Reader) checkHead() error {
	h := &c.head
	switch {
	case h.Magic != Magic:
		return reject(PredMagic, 0, "$.magic", fmt.Sprintf("%.30q", h.Magic), fmt.Sprintf("%q", Magic))
	case h.Version != Version:
		return reject(PredVersion, 0, "$.version", fmt.Sprint(h.Version), fmt.Sprint(Version))
	case h.Unicode != canon.UnicodeVersion:
		return reject(PredUnicode, 0, "$.unicode", fmt.Sprintf("%.20q", h.Unicode), canon.UnicodeVersion)
	case h.Limits != FrameLimits{Inline: inlineBody, Chunk: chunk.MaxSize, Window: chunkWindow} && !h.grows():
		return reject(PredSize, 0, "$.limits", "other limits", "those of this version")
	case h.Anchor != nil && !h.Depth.IsLast():
		return reject(PredDepth, 0, "$.anchor", "an anchor", "none at depth "+h.Depth.String())
	case !h.Depth.Valid() || h.Depth == perdure.Last(0) && h.Anchor == nil:
		return reject(PredDepth, 0, "$.depth", h.Depth.String()+" without what it needs",
			"a depth this reader knows, with its anchor")
	case h.Shared && c.o.Chunks == nil:
		return reject(PredChunk, 0, "$.shared", "a capsule whose chunks are kept in its set", "the set it belongs to")
	case h.Binding == Detached && c.o.Signatures == nil:
		return reject(PredBinding, 0, "$.binding", "detached signatures", "the file of signatures beside it")
	case h.Binding != Detached && c.o.Signatures != nil:
		return reject(PredBinding, 0, "$.binding", h.Binding.String()+" signatures", "no file of signatures beside it")
	}
	if err := c.checkShallow(); err != nil {
		return err
	}
	c.lineage, c.fits, c.chunks.max = newLineage(h), newFits(h), h.Limits.Window
	if h.Binding != Detached {
		return nil
	}
	sigs, _, err := decrypt(newSource(c.o.Signatures, c.maxBytes()), c.o.Identities)
	if err != nil {
		return err
	}
	c.sigs, err = newSignatureReader(sigs, h.Agent)
	return err
}

// checkSchema takes the description of another version of this program, too, if it says nothing else of what both know.
func (c *Reader) checkSchema(f *frame) error {
	var s schemaRecord
	if err := schemaCodec.Decode(f.record, &s, canon.Limits{}); err != nil {
		return moved(err, f.base)
	}
	if id := perdure.HashOf(s.Entry); c.head.Schema != id {
		return reject(PredSchema, f.at, "$.schema", "schema "+id.Short(), c.head.Schema.Short())
	}
	tail, err := entrySchema()
	if err != nil {
		return err
	}
	if err := canon.Agrees(tail[len(schemaKey):], s.Entry); err != nil {
		return reject(PredSchema, f.at, "$.schema", "a schema of something else",
			"one that agrees with the schema of entries")
	}
	return nil
}

// errReadOnce says that a Reader was asked for its entries twice.
var errReadOnce = errors.New("read capsule: its entries were read before; open it again")

// Entries yields the entries as they arrive, parents before children. It can be called once. The sequence ends with an
// error unless the whole capsule was good: until it has ended without one, what it yielded is not to be acted on.
func (c *Reader) Entries() iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		if c.started {
			yield(nil, errReadOnce)
			return
		}
		c.started = true
		for {
			e, err := c.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("read capsule: %w", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// frame returns the next frame.
func (c *Reader) frame() (*frame, error) {
	if f := c.held; f != nil {
		c.held = nil
		return f, nil
	}
	return c.dec.next()
}

// next returns the next entry, io.EOF after a good end.
func (c *Reader) next() (*perdure.Entry, error) {
	f, err := c.frame()
	if err == io.EOF {
		r := reject(PredComplete, c.src.off, "$", "the end of the file", "an index")
		if c.head.grows() {
			r.Hint = "this is the file of a dir: store, which goes on being written and so has no end: make a " +
				"capsule of it with perdure export FILE NEW, and use that"
		}
		return nil, r
	}
	if err != nil {
		return nil, err
	}
	switch {
	case f.letter == frameEntry && c.manifest == nil:
		return c.entry(f)
	case f.letter == frameManifest && c.manifest == nil && c.head.Binding == WithManifest:
		c.manifest = new(Manifest)
		if err := manifestCodec.Decode(f.record, c.manifest, canon.Limits{}); err != nil {
			return nil, moved(err, f.base)
		}
		return c.next()
	case f.letter == frameIndex:
		if err := c.finish(f); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	name, _ := frameName(f.letter)
	return nil, reject(PredOrder, f.at, "$", "frame "+name, "the next entry, or the end")
}

// entry completes an entry and checks it.
func (c *Reader) entry(f *frame) (*perdure.Entry, error) {
	if c.index.Entries%indexEvery == 0 {
		c.index.Every = append(c.index.Every, f.at)
	}
	c.index.Entries++
	if err := c.charge(f); err != nil {
		return nil, err
	}
	e, err := assemble(f, c.o.Limits, c.chunk)
	if err != nil {
		return nil, err
	}
	if c.more = f.payload.More; c.more && !c.head.grows() {
		return nil, of(reject(PredOrder, f.at, "$.more", "a mark that only stores leave", "none"), e)
	}
	if c.sigs != nil {
		if e, err = c.attach(e, f); err != nil {
			return nil, err
		}
	}
	if e.BodyBytes() != nil {
		c.index.Bodies++
	}
	if c.o.Shallow && e.ID() != c.head.Agent {
		return nil, moved(e.Foreign(c.head.Agent), f.at)
	}
	if !c.o.Shallow {
		if err := c.lineage.add(e, f.at); err != nil {
			return nil, err
		}
	}
	if at := e.Position(); c.index.Entries > 1 && at.Compare(c.last) <= 0 && !c.head.grows() {
		return nil, of(reject(PredOrder, f.at, "$", "an entry that belongs before the last",
			"entries in fold order, each once"), e)
	}
	if err := c.fits.add(e, c.last, f.at); err != nil {
		return nil, err
	}
	c.last = e.Position()
	return e, nil
}

// attach gives an entry its detached signature.
func (c *Reader) attach(e *perdure.Entry, f *frame) (*perdure.Entry, error) {
	if e.Signature != nil {
		return nil, of(reject(PredBinding, f.at, "$.signature", "a signature in the entry", "only detached ones"), e)
	}
	sig, err := c.sigs.of(e.Name)
	if err != nil || sig == nil {
		return e, err
	}
	return perdure.NewEntry(e.HeaderBytes(), e.BodyBytes(), sig, c.o.Limits)
}

// located makes the offset of a refusal of the parts of an entry that of the whole input. A body in chunks has no place
// there: then it is where the frame begins.
func (f *frame) located(err error) error {
	r, ok := err.(*perdure.Rejection)
	switch {
	case !ok:
	case !strings.HasPrefix(r.Path, "$.body"):
		r.Offset += f.base
	case f.body == nil:
		r.Offset = f.at
	default:
		r.Offset += f.bodyBase
	}
	return err
}

// assemble makes the entry of a frame, getting the chunks of its body one by one.
func assemble(f *frame, lim perdure.Limits, fetch func(chunkRef) ([]byte, error)) (*perdure.Entry, error) {
	if len(f.payload.Chunks) == 0 {
		if len(f.body) > inlineBody {
			return nil, reject(PredFrame, f.at, "$.body", canon.Count(len(f.body), "bytes in one piece"),
				"chunks above "+canon.Count(inlineBody, "bytes"))
		}
		if f.entry != nil {
			return f.entry, nil
		}
		e, err := perdure.NewEntry(f.header, f.body, f.signature, lim)
		return e, f.located(err)
	}
	if f.body != nil {
		return nil, reject(PredFrame, f.at, "$.body", "a body and chunks", "one of them")
	}
	bare, err := perdure.NewEntry(f.header, nil, f.signature, lim)
	if err != nil {
		return nil, moved(err, f.base)
	}
	var total int64
	for _, ref := range f.payload.Chunks {
		if ref.Size < 1 || ref.Size > chunk.MaxSize {
			return nil, of(reject(PredChunk, f.at, "$.chunks", canon.Count(ref.Size, "bytes"),
				"1 to "+canon.Count(chunk.MaxSize, "bytes")), bare)
		}
		total += ref.Size
	}
	if total != bare.Size || total <= inlineBody {
		return nil, of(reject(PredChunk, f.at, "$.chunks", canon.Count(total, "bytes in all"),
			canon.Count(bare.Size, "bytes, and chunks only for large bodies")), bare)
	}
	var body []byte
	for _, ref := range f.payload.Chunks {
		b, err := fetch(ref)
		if err != nil {
			return nil, err
		}
		if body == nil && total <= 4<<20 {
			body = make([]byte, 0, total) // the first chunk is good: so much may be believed
		}
		body = append(body, b...)
	}
	e, err := perdure.NewEntry(f.header, body, f.signature, lim)
	if err != nil {
		return nil, f.located(err)
	}
	sizes, err := chunk.Cuts(body)
	if err == nil && !slices.EqualFunc(sizes, f.payload.Chunks, func(n int, ref chunkRef) bool {
		return int64(n) == ref.Size
	}) {
		err = of(reject(PredChunk, f.at, "$.chunks", "a body cut elsewhere", "the cuts FastCDC makes"), e)
	}
	return e, err
}

// chunk returns the next chunk of a body: out of the window, the set, or the next frame.
func (c *Reader) chunk(ref chunkRef) ([]byte, error) {
	if b, ok := c.chunks.held[ref.Name]; ok {
		return b, nil
	}
	var rec []byte
	var at int64
	if c.head.Shared {
		var err error
		if rec, err = c.o.Chunks.Chunk(ref.Name); err != nil {
			if errors.Is(err, perdure.ErrNotFound) {
				return nil, reject(PredChunk, 0, "$.chunks", "no chunk "+ref.Name.Short()+" in the set",
					"every chunk present")
			}
			return nil, err
		}
		c.fetched(ref.Name, rec)
	} else {
		f, err := c.dec.next()
		if err == io.EOF {
			err = reject(PredComplete, c.src.off, "$", "the end of the file inside a body", "its chunks")
		}
		if err != nil {
			return nil, err
		}
		if f.letter != frameChunk {
			return nil, reject(PredChunk, f.at, "$", "another frame", "chunk "+ref.Name.Short())
		}
		rec, at = f.record, f.base
		c.index.Chunks++
	}
	b, err := ref.unpacked(rec, at)
	if err == nil {
		c.chunks.add(ref, b)
	}
	return b, err
}

// finish holds the index against what came before it.
func (c *Reader) finish(f *frame) error {
	var x Index
	if err := indexCodec.Decode(f.record, &x, indexLimits(c.index.Entries)); err != nil {
		return moved(err, f.base)
	}
	c.index.Length, c.index.Digest = f.at, c.sum.before()
	differs := func(path, got, want string) error { return reject(PredIndex, f.at, "$."+path, got, want) }
	switch {
	case c.more:
		return reject(PredComplete, f.at, "$.more", "an entry without those added together with it", "all of them")
	case x.Entries != c.index.Entries || x.Entries == 0:
		return differs("entries", canon.Count(c.index.Entries, "entries"), fmt.Sprint(x.Entries))
	case x.Bodies != c.index.Bodies:
		return differs("bodies", canon.Count(c.index.Bodies, "bodies"), fmt.Sprint(x.Bodies))
	case x.Chunks != c.index.Chunks:
		return differs("chunks", canon.Count(c.index.Chunks, "chunks"), fmt.Sprint(x.Chunks))
	case x.Length != c.index.Length || !slices.Equal(x.Every, c.index.Every):
		return differs("length", canon.Count(c.index.Length, "bytes"), fmt.Sprint(x.Length))
	case x.Digest != c.index.Digest:
		return differs("digest", c.index.Digest.Short(), x.Digest.Short())
	}
	if !c.o.Shallow {
		if err := c.lineage.sealed(f.at); err != nil {
			// two files are replaced one after the other
			if r := (*perdure.Rejection)(nil); c.sigs != nil && errors.As(err, &r) {
				stale := reject(PredDetached, f.at, "$.signature", "none of this entry in the file of signatures",
					"the one that was written with this capsule, not an older or newer one")
				stale.Entry = r.Entry
				return stale
			}
			return err
		}
		if !slices.Equal(x.Heads, c.lineage.sortedHeads()) {
			return differs("heads", "other heads", "those of the entries")
		}
	}
	if err := c.fits.end(f.at); err != nil {
		return err
	}
	if c.sigs != nil {
		if err := c.sigs.end(); err != nil {
			return err
		}
	}
	if err := c.finishBound(&x); err != nil {
		return moved(err, f.at)
	}
	if _, err := c.dec.next(); err != io.EOF {
		return reject(PredIndex, c.src.off, "$", "more after the index", "the end of the file")
	}
	c.end = &x
	return nil
}

// finishBound checks what binds the capsule as a whole.
func (c *Reader) finishBound(x *Index) error {
	if c.head.Binding == WithManifest {
		if c.manifest == nil {
			return reject(PredBinding, 0, "$.binding", "no manifest", "the manifest the head announces")
		}
		if err := c.manifest.Check(Member{c.head.Agent, x.Heads}); err != nil {
			return err
		}
	}
	if a := c.o.Attestation; a != nil {
		return a.covers(&c.head, x)
	}
	return nil
}

// Read implements io.Reader for the forms that are read in values.
func (s *source) Read(p []byte) (int, error) {
	if err := s.fill(1); err != nil {
		return 0, err
	}
	n := copy(p, s.buf[s.i:s.n])
	s.skip(n)
	return n, nil
}
