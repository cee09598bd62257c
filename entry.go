package perdure

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/trace"
)

// Header is what of an entry is hashed and signed. It commits to the body by hash, so the body can be dropped while
// every link and signature still verifies.
type Header struct {
	Version  int64          `canon:"1,version"`
	Agent    AgentID        `canon:"2,agent,omitzero"`   // absent in genesis, whose name it is
	Parents  []Hash         `canon:"3,parents,omitzero"` // the heads the author saw, ascending; absent in genesis
	Seq      int64          `canon:"4,seq"`              // 1 + the highest seq of the parents; 0 for genesis
	Time     Time           `canon:"5,time"`             // the author's clock; never used to order
	Due      Time           `canon:"6,due,omitzero"`     // when a node should look next; absent: only on an event
	Origin   Key            `canon:"7,origin"`           // the author's public key
	Trace    trace.ID       `canon:"8,trace,omitzero"`   // W3C trace id of what caused it
	Policy   Hash           `canon:"9,policy,omitzero"`  // the policy set in force
	Kind     Kind           `canon:"10,kind"`
	Body     Hash           `canon:"11,body"`            // SHA-256 of the body's canonical bytes
	Size     int64          `canon:"12,size"`            // their number
	TTL      int64          `canon:"13,ttl_ms,omitzero"` // how long the body is kept; absent: as the intent says
	Reserved canon.Reserved `canon:",reserved"`
}

// Entry is one thing that happened to an agent: a header, its body unless that was dropped, and on the last entry of a
// commit the signature that covers the commit. Entries are immutable.
type Entry struct {
	Header
	Name      Hash   // SHA-256 of the canonical header
	Signature []byte // Ed25519 over Name by Origin; nil inside a commit

	header   []byte // canonical bytes of Header
	body     []byte // canonical bytes of the body; nil when dropped
	content  Body   // decoded body; nil when dropped
	verified uint32 // atomic: 1 when the signature is known to verify
}

// ID is the agent the entry belongs to: for a genesis, its own name.
func (e *Entry) ID() AgentID {
	if e.Kind == KindGenesis {
		return AgentID(e.Name)
	}
	return e.Agent
}

// Position is where the entry stands in the fold order.
func (e *Entry) Position() Position { return Position{e.Seq, e.Name} }

// Content is the decoded body, or nil when the body was dropped.
func (e *Entry) Content() Body { return e.content }

// HeaderBytes are the canonical bytes that Name is the hash of. They must not be changed.
func (e *Entry) HeaderBytes() []byte { return e.header }

// BodyBytes are the canonical bytes that the header commits to, or nil when the body was dropped. They must not be
// changed.
func (e *Entry) BodyBytes() []byte { return e.body }

// Drop returns the entry without its body. Everything about it still verifies.
func (e *Entry) Drop() *Entry {
	return &Entry{Header: e.Header, Name: e.Name, Signature: e.Signature, header: e.header,
		verified: atomic.LoadUint32(&e.verified)}
}

// AppendBinary appends the canonical bytes of the entry.
func (e *Entry) AppendBinary(dst []byte) ([]byte, error) {
	n := 1
	if e.body != nil {
		n++
	}
	if e.Signature != nil {
		n++
	}
	dst = canon.AppendMap(dst, n)
	dst = append(canon.AppendUint(dst, 1), e.header...)
	if e.body != nil {
		dst = append(canon.AppendUint(dst, 2), e.body...)
	}
	if e.Signature != nil {
		dst = canon.AppendBytes(canon.AppendUint(dst, 3), e.Signature)
	}
	return dst, nil
}

// MarshalBinary returns the canonical bytes of the entry.
func (e *Entry) MarshalBinary() ([]byte, error) {
	return e.AppendBinary(make([]byte, 0, len(e.header)+len(e.body)+80))
}

// DecodeEntry reads the canonical bytes of one entry and checks everything that can be checked of it alone: form,
// fields, the body against the header's commitment. It keeps b, which must not change afterwards. Links and signatures
// need the rest of the memory: see Agent.Apply.
func DecodeEntry(b []byte, lim Limits) (*Entry, error) {
	rec := records.Get().(*entryRecord)
	err := entryCodec.Decode(b, rec, lim)
	e, body, signed := &Entry{Header: rec.Header}, rec.Body, rec.Signature != [signatureSize]byte{}
	rec.Header.Parents, rec.Header.Reserved, rec.Body = nil, nil, nil // they are the entry's now
	records.Put(rec)
	if err != nil || e.Version != FormatVersion {
		if later, ok, wrong := decodeLater(b, lim); ok {
			return later, wrong
		}
	}
	if err != nil {
		return nil, err
	}
	e.header = canon.Span(b, 1)
	rest := b[2+len(e.header):] // after the head of the map, the key 1 and the header
	if signed {
		cut := len(rest) - signatureSize
		e.Signature, rest = rest[cut:], rest[:cut-3] // before it stand the key 3 and a head of two bytes
	}
	if body != nil {
		e.body = rest[1:len(rest):len(rest)]
	}
	return e.checked(body)
}

// records are what DecodeEntry decodes into: an Entry holds the parts.
var records = sync.Pool{New: func() any { return new(entryRecord) }}

// NewEntry builds an entry from its canonical parts, as a store keeps them: body is nil when dropped, signature nil
// inside a commit. It checks what DecodeEntry checks and keeps the slices, which must not change afterwards.
func NewEntry(header, body, signature []byte, lim Limits) (*Entry, error) {
	e := &Entry{Signature: signature, header: header, body: body}
	if err := headerCodec.Decode(header, &e.Header, lim); err != nil {
		return nil, under(err, "$.header")
	}
	var rec *saltedBody
	if body != nil && reads(e.Version) { // else its header says why it cannot be read
		var err error
		if rec, err = decodeBody(e.Version, body, lim); err != nil {
			return nil, err
		}
	}
	return e.checked(rec)
}

// checked is e, if it passes.
func (e *Entry) checked(body *saltedBody) (*Entry, error) {
	if err := e.check(body); err != nil {
		return nil, err
	}
	return e, nil
}

// joined is e with what another copy of the same entry has and it lacks: its body, its signature.
func (e *Entry) joined(o *Entry) *Entry {
	if o == nil || (o.content == nil || e.content != nil) && (o.Signature == nil || e.Signature != nil) {
		return e
	}
	c := *o
	if c.content == nil {
		c.body, c.content = e.body, e.content
	}
	if c.Signature == nil {
		c.Signature, c.verified = e.Signature, atomic.LoadUint32(&e.verified)
	}
	return &c
}

// check names the entry, and holds its header and its body, if it has one, against each other.
func (e *Entry) check(body *saltedBody) error {
	e.Name = HashOf(e.header)
	if err := e.checkHeader(); err != nil {
		return err
	}
	if body == nil {
		return nil
	}
	if got := int64(len(e.body)); got != e.Size {
		return reject(predBodySize, e, "$.header.size", canon.Count(got, "bytes"), fmt.Sprint(e.Size),
			"the body is not the one the header commits to")
	}
	if got := HashOf(e.body); got != e.Body {
		return reject(predBodyHash, e, "$.header.body", got.Short(), e.Body.Short(),
			"the body was changed after it was signed; get the entry from another copy")
	}
	if body.Content.kind() != e.Kind {
		return reject(predBodyKind, e, "$.body.content", body.Content.kind().String(), e.Kind.String(),
			"the body is of another kind than the header says")
	}
	e.content = body.Content
	return checkBody(e)
}

// checkHeader holds the fields of a header against each other.
func (e *Entry) checkHeader() error {
	h := &e.Header
	switch {
	case !reads(h.Version):
		return reject(predVersion, e, "$.header.version", fmt.Sprint(h.Version), fmt.Sprint(FormatVersion),
			"written by a newer version: upgrade to read it")
	case h.Kind == KindGenesis && (len(h.Parents) > 0 || h.Seq != 0 || !h.Agent.IsZero()):
		return reject(predGenesisFirst, e, "$.header", "genesis with parents, seq or agent", "none of them",
			"a genesis entry is the first of its memory")
	case h.Kind != KindGenesis && h.Agent.IsZero():
		return reject(predAgent, e, "$.header.agent", "absent", "the agent's id", "only a genesis entry has no agent")
	case h.Kind != KindGenesis && len(h.Parents) == 0:
		return reject(predLinked, e, "$.header.parents", "none", "at least one",
			"every entry but genesis names the heads its author saw")
	case h.Kind != KindGenesis && h.Seq < 1:
		return reject(predSeq, e, "$.header.seq", fmt.Sprint(h.Seq), "at least 1", "")
	case len(h.Parents) > MaxParents:
		return reject(predParents, e, "$.header.parents", fmt.Sprint(len(h.Parents)),
			fmt.Sprint("at most ", MaxParents), "join the heads by several entries")
	case len(e.header) > MaxHeader:
		return reject(predHeaderSize, e, "$.header", fmt.Sprint(len(e.header), " bytes"),
			fmt.Sprint("at most ", MaxHeader), "the header is not from this format")
	case h.Size < 1 || h.Size > MaxBody:
		return reject(predBodySize, e, "$.header.size", fmt.Sprint(h.Size), fmt.Sprint("1 to ", MaxBody),
			"keep large things outside, by hash")
	case h.Time < 0 || h.Due < 0 || h.TTL < 0:
		return reject(predTime, e, "$.header.time", h.Time.String(), "a time since 1970", "")
	case unsound((*[32]byte)(&h.Origin)) != "":
		return h.Origin.check(e, "$.header.origin")
	case e.Signature != nil && len(e.Signature) != signatureSize:
		return reject(predSignature, e, "$.signature", fmt.Sprint(len(e.Signature), " bytes"),
			fmt.Sprint(signatureSize), "")
	}
	for i := 1; i < len(h.Parents); i++ {
		if h.Parents[i-1].Compare(h.Parents[i]) >= 0 {
			return reject(predParents, e, fmt.Sprintf("$.header.parents[%d]", i), h.Parents[i].Short(),
				"ascending and distinct", "sort the parents")
		}
	}
	return nil
}

// Signed reports whether the entry carries a valid signature of its origin.
func (e *Entry) Signed() bool {
	return e.Signature != nil && e.Origin.Verify(e.Name, e.Signature) == nil
}

// seals reports whether a signature on e also covers p: p is of the same author and e links to it.
func (e *Entry) seals(p *Entry) bool {
	return e.Origin == p.Origin && slices.Contains(e.Parents, p.Name)
}

// under puts a rejection's path under the record it was found in.
func under(err error, prefix string) error {
	if r, ok := err.(*Rejection); ok && len(r.Path) > 0 {
		r.Path = prefix + r.Path[1:]
	}
	return err
}
