package capsule

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"filippo.io/age"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// Options say how to export an agent. The zero Options export the whole memory, in binary form, signatures inline, not
// encrypted.
type Options struct {
	Form       Form
	Depth      Depth
	Binding    Binding
	Signatures io.Writer       // where detached signatures go
	Manifest   *Manifest       // of binding manifest: this capsule's part, from signMembers
	Schema     bool            // embed the schema of entries; the described form always does
	Recipients []age.Recipient // encrypt to these
	Chunks     Chunks          // keep chunks there instead of in the capsule
	Progress   func(entries, total int64)
}

// ErrNoSnapshot says that a memory has no snapshot that a capsule of the depth asked for could begin with.
var ErrNoSnapshot = errors.New(
	"the memory has no snapshot to begin with: let a node write one, or export at depth full")

// Partial says that a capsule was to reach further back than the store does.
type Partial struct{ Asked, Held Depth }

func (e *Partial) Error() string {
	return fmt.Sprintf("depth %v is more than this store holds, which is %v: export at that depth, or import the "+
		"whole memory first", e.Asked, e.Held)
}

// deeper reports whether a depth reaches further back than another.
func deeper(d, held Depth) bool {
	switch held {
	case perdure.Full:
		return false
	case perdure.Headers:
		return d == perdure.Full
	}
	return !d.IsLast() || d.N > held.N
}

// check refuses options that contradict each other.
func (o *Options) check() error {
	switch {
	case int(o.Form) >= len(formNames):
		return fmt.Errorf("%v is unknown: use binary, described or text", o.Form)
	case o.Binding == Detached && o.Signatures == nil:
		return errors.New("detached signatures need a place to go: set Signatures, or bind inline")
	case o.Binding != Detached && o.Signatures != nil:
		return fmt.Errorf("signatures are %v: only detached ones go to a file of their own", o.Binding)
	case o.Binding == WithManifest && o.Manifest == nil:
		return errors.New("a manifest is signed over all its capsules first: get one from signMembers")
	case o.Binding != WithManifest && o.Manifest != nil:
		return fmt.Errorf("signatures are %v: set the binding to manifest to write one", o.Binding)
	case !o.Depth.Valid():
		return fmt.Errorf("depth %v is unknown: use full, headers, or how many entries", o.Depth)
	}
	return nil
}

// Export writes an agent out of a store as a capsule and returns its index. The bytes depend on the entries and the
// options alone, not on the store nor on the order in which entries arrived there. After an error what was written is
// of no use.
func Export(ctx context.Context, w io.Writer, s perdure.Store, id perdure.AgentID, o Options) (*Index, error) {
	x, err := export(ctx, w, s, id, o)
	if err != nil {
		return nil, fmt.Errorf("export agent %s: %w", id.Short(), err)
	}
	return x, nil
}

func export(ctx context.Context, w io.Writer, s perdure.Store, id perdure.AgentID, o Options) (*Index, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	held, err := perdure.DepthOf(ctx, s, id)
	if err == nil && deeper(o.Depth, held) {
		err = &Partial{Asked: o.Depth, Held: held}
	}
	if err != nil {
		return nil, err
	}
	p, err := survey(ctx, s, id, o.Depth, held)
	if err != nil {
		return nil, err
	}
	out, sigs := w, o.Signatures
	var wraps []io.Closer
	if len(o.Recipients) > 0 {
		for _, dst := range []*io.Writer{&out, &sigs} {
			if *dst == nil {
				continue
			}
			enc, err := age.Encrypt(*dst, o.Recipients...)
			if err != nil {
				return nil, fmt.Errorf("encrypt: %w", err)
			}
			*dst, wraps = enc, append(wraps, enc)
		}
	}
	x, err := write(ctx, out, sigs, p, o)
	if err != nil {
		return nil, err
	}
	for _, enc := range wraps {
		if err := enc.Close(); err != nil {
			return nil, fmt.Errorf("encrypt: %w", err)
		}
	}
	return x, nil
}

// write writes the planned entries.
func write(ctx context.Context, out, sigs io.Writer, p *plan, o Options) (*Index, error) {
	c, err := newWriter(out, o.Form)
	if err != nil {
		return nil, err
	}
	c.chunks = o.Chunks
	head := p.head(o)
	if o.Schema || o.Form == Described {
		if err := c.describe(&head); err != nil {
			return nil, err
		}
	} else if err := c.head(&head); err != nil {
		return nil, err
	}
	var beside *signatureWriter
	if o.Binding == Detached {
		if beside, err = newSignatureWriter(sigs, p.id); err != nil {
			return nil, err
		}
	}
	for e, err := range p.entries(ctx) {
		if err != nil {
			return nil, err
		}
		if beside != nil && e.Signature != nil {
			if err := beside.add(e); err != nil {
				return nil, err
			}
			if e, err = perdure.NewEntry(e.HeaderBytes(), e.BodyBytes(), nil, perdure.Limits{}); err != nil {
				return nil, err
			}
		}
		if err := c.entry(e, false); err != nil {
			return nil, err
		}
		if o.Progress != nil && (c.index.Entries%256 == 0 || c.index.Entries == p.total()) {
			o.Progress(c.index.Entries, p.total())
		}
	}
	c.index.Heads = p.heads
	if o.Manifest != nil {
		if err := o.Manifest.Check(Member{p.id, p.heads}); err != nil {
			return nil, fmt.Errorf("the manifest was signed over other heads; sign it again: %w", err)
		}
		rec, err := manifestCodec.Append(nil, o.Manifest)
		if err != nil {
			return nil, err
		}
		if err := c.record(frameManifest, rec); err != nil {
			return nil, err
		}
	}
	return c.end()
}

// head is the head of the capsule.
func (p *plan) head(o Options) Head {
	h := newHead(p.id, chunkWindow)
	h.Depth, h.Binding, h.Shared, h.Anchor = o.Depth, o.Binding, o.Chunks != nil, p.anchor
	return h
}

// newHead is the head of a capsule with everything in it.
func newHead(id perdure.AgentID, window int64) Head {
	return Head{
		Magic: Magic, Version: Version, Agent: id, Unicode: canon.UnicodeVersion,
		Limits: FrameLimits{Inline: inlineBody, Chunk: chunk.MaxSize, Window: window},
	}
}

// writer writes frames and keeps their index.
type writer struct {
	w      io.Writer
	enc    encoder
	buf    []byte
	sum    hash.Hash
	index  Index
	seen   window
	chunks Chunks
}

func newWriter(w io.Writer, f Form) (*writer, error) {
	enc, err := encoderOf(f)
	return &writer{w: w, enc: enc, sum: sha256.New(), seen: window{max: chunkWindow}}, err
}

func encoderOf(f Form) (encoder, error) {
	switch f {
	case Binary:
		return new(binaryEncoder), nil
	case Described:
		return new(describedEncoder), nil
	case Text:
		return new(textEncoder), nil
	}
	return nil, fmt.Errorf("%v is unknown", f)
}

// flush writes what has been gathered when it is enough.
func (c *writer) flush(always bool) error {
	if len(c.buf) < bufferSize && !always {
		return nil
	}
	c.sum.Write(c.buf)
	c.index.Length += int64(len(c.buf))
	_, err := c.w.Write(c.buf)
	c.buf = c.buf[:0]
	if err != nil {
		return fmt.Errorf("write capsule: %w", err)
	}
	return nil
}

func (c *writer) record(letter byte, rec []byte) (err error) {
	if c.buf, err = c.enc.record(c.buf, letter, rec); err != nil {
		return err
	}
	return c.flush(false)
}

func (c *writer) head(h *Head) error {
	rec, err := headCodec.Append(nil, h)
	if err != nil {
		return err
	}
	return c.record(frameHead, rec)
}

// describe writes a head that names the schema, and the schema.
func (c *writer) describe(h *Head) error {
	rec, id, err := schemaOf()
	if err != nil {
		return err
	}
	h.Schema = id
	if err := c.head(h); err != nil {
		return err
	}
	return c.record(frameSchema, rec)
}

// entry writes an entry, its body, and the chunks of it that have not come by lately.
func (c *writer) entry(e *perdure.Entry, more bool) (err error) {
	if c.index.Entries%indexEvery == 0 {
		c.index.Every = append(c.index.Every, c.index.Length+int64(len(c.buf)))
	}
	c.index.Entries++
	body := e.BodyBytes()
	p := payload{More: more}
	if body != nil {
		c.index.Bodies++
	}
	if len(body) <= inlineBody {
		p.Body = body
	} else if p.Chunks, err = cut(body); err != nil {
		return err
	}
	if c.buf, err = c.enc.entry(c.buf, e, &p); err != nil {
		return err
	}
	for _, ref := range p.Chunks {
		if err := c.chunk(ref, body[:ref.Size]); err != nil {
			return err
		}
		body = body[ref.Size:]
	}
	return c.flush(false)
}

func (c *writer) chunk(ref chunkRef, b []byte) error {
	if _, lately := c.seen.held[ref.Name]; lately {
		return nil
	}
	rec, err := ref.packed(b)
	if err != nil {
		return err
	}
	c.seen.add(ref, nil)
	if c.chunks != nil {
		return c.chunks.PutChunk(ref.Name, rec)
	}
	c.index.Chunks++
	return c.record(frameChunk, rec)
}

// end writes the index.
func (c *writer) end() (*Index, error) {
	if err := c.flush(true); err != nil {
		return nil, err
	}
	x := c.index
	x.Digest = perdure.Hash(c.sum.Sum(nil))
	rec, err := indexCodec.Append(nil, &x)
	if err != nil {
		return nil, err
	}
	if err := c.record(frameIndex, rec); err != nil {
		return nil, err
	}
	return &x, c.flush(true)
}
