package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// A row holds the entries that one call added, or a part of them, without what can be derived: the agent, the name of
// the entry before, also where the body says it, hash and size of a body that is there. What is left out is put back
// byte for byte when the row is read, and the names, which are hashes over all of it, are compared with the ones kept.
// Layout, numbers as varints:
//
//	count<<1 | forked
//	forked: number of heads after this row, each name and due; none: their number and the sum of their names, see heads.go.
//	Else the last entry is the only head
//	count times: what is left of the header, signature, size of the body, its hash if it is elsewhere, where a name was
//	left out of it, name unless the next entry commits to it
//	the bodies that are here, one after the other
type row struct {
	forked bool
	heads  []head // when forked
	wide   bool   // when forked: the heads are in their table
	count  int64  // when wide
	sum    perdure.Hash
	parts  []part
}

// head is an entry without a child, and when it is due.
type head struct {
	name perdure.Hash
	due  perdure.Time
}

// part is one entry of a row.
type part struct {
	kind      perdure.Kind
	linked    bool           // its one parent is the entry before it
	parents   []perdure.Hash // when not linked
	seq       int64
	time, due perdure.Time
	origin    int64 // interned
	trace     [16]byte
	policy    int64  // interned; zero: none
	raw       []byte // the whole header, when the fields above do not give it back
	signature []byte
	place     bodyPlace
	size      int64
	hash      perdure.Hash // of a body that is not here
	says      bool         // the name of the entry before, which is in the row, is left out of the body
	at        int64        // where
	body      []byte       // with the name when the part is new, without it as it was read
	named     bool         // the name is kept
	name      perdure.Hash
}

// bodyPlace is where a body is. Do NOT reorder.
type bodyPlace byte

const (
	bodyHere    bodyPlace = iota // in the row
	bodyBlob                     // in a file of its own
	bodyDropped                  // nowhere any more
	bodySays                     // in the row, without a name; only as it is written
)

const (
	flagSigned     = 1 << 3
	flagLinked     = 1 << 4
	flagDue        = 1 << 5
	shiftPlace     = 6
	flagSameOrigin = 1 << 0
	flagTrace      = 1 << 1
	flagSameTrace  = 1 << 2
	flagPolicy     = 1 << 3
	flagSamePolicy = 1 << 4
	flagSameTime   = 1 << 5
	flagRaw        = 1 << 6
	flagNamed      = 1 << 7
)

// errRow says that the bytes of a row are not what this package wrote.
var errRow = errors.New("a row is damaged")

// after are the heads of the memory once this row has arrived, ascending by name, unless it is wide.
func (r *row) after(id perdure.AgentID) []head {
	if r.forked {
		return r.heads
	}
	return []head{{r.last(id), r.parts[len(r.parts)-1].due}}
}

// last is the name of the last entry of the row.
func (r *row) last(id perdure.AgentID) perdure.Hash {
	p := &r.parts[len(r.parts)-1]
	if p.kind == perdure.KindGenesis {
		return perdure.Hash(id)
	}
	return p.name
}

// append adds the bytes of the row to b.
func (r *row) append(b []byte) []byte {
	n := uint64(len(r.parts)) << 1
	if r.forked {
		n |= 1
	}
	b = binary.AppendUvarint(b, n)
	if r.wide {
		b = binary.AppendUvarint(append(b, 0), uint64(r.count))
		b = append(b, r.sum[:]...)
	} else if r.forked {
		b = binary.AppendUvarint(b, uint64(len(r.heads)))
		for _, h := range r.heads {
			b = append(b, h.name[:]...)
			b = binary.AppendUvarint(b, uint64(h.due))
		}
	}
	var before part
	for i := range r.parts {
		b = r.parts[i].append(b, &before, i == 0)
		before = r.parts[i].shared()
	}
	for i := range r.parts {
		b = r.parts[i].appendBody(b)
	}
	return b
}

// shared is what the part after p may leave out because p has it.
func (p *part) shared() part {
	if p.raw != nil {
		return part{time: p.time, seq: p.seq}
	}
	return part{time: p.time, seq: p.seq, origin: p.origin, trace: p.trace, policy: p.policy}
}

func (p *part) append(b []byte, before *part, first bool) []byte {
	place := p.place
	if p.says {
		place = bodySays
	}
	one := byte(p.kind) | byte(place)<<shiftPlace
	if p.signature != nil {
		one |= flagSigned
	}
	if p.linked {
		one |= flagLinked
	}
	if p.due != 0 {
		one |= flagDue
	}
	two := flag(flagRaw, p.raw != nil) | flag(flagNamed, p.named) | flag(flagSameOrigin, !first &&
		p.origin == before.origin) |
		flag(flagTrace, p.trace != [16]byte{}) | flag(flagSameTrace, p.trace == before.trace) |
		flag(flagPolicy, p.policy != 0) | flag(flagSamePolicy, p.policy == before.policy) | flag(flagSameTime, !first &&
		p.time == before.time)
	b = append(b, one, two)
	if two&flagSameTime == 0 {
		b = binary.AppendUvarint(b, uint64(p.time))
	}
	if p.due != 0 {
		b = binary.AppendVarint(b, int64(p.due-p.time))
	}
	if p.raw != nil {
		b = binary.AppendUvarint(b, uint64(p.seq))
		b = binary.AppendUvarint(b, uint64(len(p.raw)))
		b = append(b, p.raw...)
	} else {
		b = p.appendHeader(b, two, first)
	}
	b = append(b, p.signature...)
	b = binary.AppendUvarint(b, uint64(p.size))
	if p.place != bodyHere {
		b = append(b, p.hash[:]...)
	}
	if p.says {
		b = binary.AppendUvarint(b, uint64(p.at))
	}
	if p.named {
		b = append(b, p.name[:]...)
	}
	return b
}

// saidWithin is how far into a body the name of the entry before is looked for: bodies that say it begin with it.
const saidWithin = 128

// leaveOut leaves the name of the entry before out of the body, if it is there.
func (p *part) leaveOut(before perdure.Hash) {
	if p.place != bodyHere {
		return
	}
	at := bytes.Index(p.body[:min(len(p.body), saidWithin)], before[:])
	p.says, p.at = at >= 0, int64(max(at, 0))
}

// appendBody adds what the row keeps of the body.
func (p *part) appendBody(b []byte) []byte {
	if p.says && int64(len(p.body)) == p.size {
		return append(append(b, p.body[:p.at]...), p.body[p.at+int64(hashSize):]...)
	}
	return append(b, p.body...)
}

// bodyAfter is the body of an entry that arrived after the one named before.
func (p *part) bodyAfter(before perdure.Hash) []byte {
	if p.says && int64(len(p.body)) < p.size {
		return slices.Concat(p.body[:p.at], before[:], p.body[p.at:])
	}
	return p.body
}

// hashAfter is the hash of that body.
func (p *part) hashAfter(before perdure.Hash) perdure.Hash {
	if p.place == bodyHere {
		return perdure.HashOf(p.bodyAfter(before))
	}
	return p.hash
}

func (p *part) appendHeader(b []byte, two byte, first bool) []byte {
	if first || !p.linked {
		b = binary.AppendUvarint(b, uint64(p.seq))
	}
	if !p.linked {
		b = binary.AppendUvarint(b, uint64(len(p.parents)))
		for _, h := range p.parents {
			b = append(b, h[:]...)
		}
	}
	if two&flagSameOrigin == 0 {
		b = binary.AppendUvarint(b, uint64(p.origin))
	}
	if two&(flagTrace|flagSameTrace) == flagTrace {
		b = append(b, p.trace[:]...)
	}
	if two&(flagPolicy|flagSamePolicy) == flagPolicy {
		b = binary.AppendUvarint(b, uint64(p.policy))
	}
	return b
}

func flag(bit byte, on bool) byte {
	if on {
		return bit
	}
	return 0
}

// rowReader takes bytes off the front of a row. After the first that are missing it is bad and returns zeros.
type rowReader struct {
	b   []byte
	bad bool
}

func (r *rowReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *rowReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *rowReader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *rowReader) hash() (h perdure.Hash) {
	copy(h[:], r.take(uint64(len(h))))
	return h
}

// parseRow reads a row. The result keeps b.
func parseRow(b []byte) (*row, error) {
	r := &rowReader{b: b}
	out := r.row()
	for i := range out.parts {
		p := &out.parts[i]
		if size := p.size; p.place == bodyHere {
			if p.says {
				size -= int64(hashSize)
			}
			p.body = r.take(uint64(size))
		}
	}
	if r.bad || len(r.b) != 0 {
		return nil, errRow
	}
	return out, nil
}

// row reads all that comes before the bodies.
func (r *rowReader) row() *row {
	n := r.uvarint()
	out := &row{forked: n&1 != 0}
	if out.forked {
		inside := r.uvarint()
		for range min(inside, uint64(len(r.b)/32)) {
			out.heads = append(out.heads, head{r.hash(), perdure.Time(r.uvarint())})
		}
		if out.wide = inside == 0; out.wide {
			out.count, out.sum = int64(r.uvarint()), r.hash()
		}
	}
	if n >>= 1; n == 0 || n > maxRowEntries || r.bad {
		r.bad = true
		return out
	}
	out.parts = make([]part, n)
	var before part
	for i := range out.parts {
		out.parts[i].parse(r, &before, i == 0)
		before = out.parts[i].shared()
	}
	return out
}

func (p *part) parse(r *rowReader, before *part, first bool) {
	flags := r.take(2)
	if r.bad {
		return
	}
	one, two := flags[0], flags[1]
	p.kind, p.linked, p.place, p.named = perdure.Kind(one&7), one&flagLinked != 0, bodyPlace(one>>shiftPlace),
		two&flagNamed != 0
	if p.time = before.time; two&flagSameTime == 0 {
		p.time = perdure.Time(r.uvarint())
	}
	if one&flagDue != 0 {
		p.due = p.time + perdure.Time(r.varint())
	}
	if two&flagRaw != 0 {
		p.seq = int64(r.uvarint())
		p.raw = r.take(r.uvarint())
	} else {
		p.parseHeader(r, before, two, first)
	}
	if one&flagSigned != 0 {
		p.signature = r.take(64)
	}
	p.size = int64(r.uvarint())
	if p.says = p.place == bodySays; p.says {
		p.place, p.at = bodyHere, int64(r.uvarint())
		r.bad = r.bad || first || !p.linked || p.at < 0 || p.at > p.size-int64(hashSize)
	}
	if p.place != bodyHere {
		p.hash = r.hash()
	}
	if p.named {
		p.name = r.hash()
	}
}

func (p *part) parseHeader(r *rowReader, before *part, two byte, first bool) {
	if p.seq = before.seq + 1; first || !p.linked {
		p.seq = int64(r.uvarint())
	}
	if !p.linked {
		n := r.uvarint()
		if n > perdure.MaxParents {
			r.bad = true
			return
		}
		p.parents = make([]perdure.Hash, n)
		for i := range p.parents {
			p.parents[i] = r.hash()
		}
	}
	if p.origin = before.origin; two&flagSameOrigin == 0 {
		p.origin = int64(r.uvarint())
	}
	if two&flagTrace != 0 {
		if p.trace = before.trace; two&flagSameTrace == 0 {
			copy(p.trace[:], r.take(16))
		}
	}
	if two&flagPolicy != 0 {
		if p.policy = before.policy; two&flagSamePolicy == 0 {
			p.policy = int64(r.uvarint())
		}
	}
}

// newPart is the part of a row that stands for e, which arrived after the entry named before. Number gives
// the numbers of words.
func newPart(e *perdure.Entry, before perdure.Hash, number func(perdure.Hash) (int64, error)) (part, error) {
	p := part{
		kind: e.Kind, parents: e.Parents, seq: e.Seq, time: e.Time, due: e.Due, trace: e.Trace, signature: e.Signature,
		size: e.Size, hash: e.Body, name: e.Name, body: e.BodyBytes(),
	}
	if len(p.parents) == 1 && p.parents[0] == before {
		p.linked, p.parents = true, nil
	}
	switch {
	case p.body == nil:
		p.place = bodyDropped
	case len(p.body) > perdure.InlineBody:
		p.place, p.body = bodyBlob, nil
	}
	var err error
	if p.origin, err = number(perdure.Hash(e.Origin)); err != nil {
		return p, err
	}
	if !e.Policy.IsZero() {
		if p.policy, err = number(e.Policy); err != nil {
			return p, err
		}
	}
	var buf [512]byte
	if !bytes.Equal(p.header(buf[:0], e.ID(), before, perdure.Hash(e.Origin), e.Policy, e.Body), e.HeaderBytes()) {
		p.raw, p.linked, p.parents = e.HeaderBytes(), false, nil
	}
	return p, nil
}

// header appends the canonical header that the part stands for.
func (p *part) header(b []byte, id perdure.AgentID, before, origin, policy, body perdure.Hash) []byte {
	genesis := p.kind == perdure.KindGenesis
	n := 7 // version, seq, time, origin, kind, body, size
	for _, present := range []bool{!genesis, p.linked || len(p.parents) > 0, p.due != 0, p.trace != [16]byte{},
		p.policy != 0} {
		if present {
			n++
		}
	}
	b = canon.AppendMap(b, n)
	b = append(b, 1, perdure.FormatVersion)
	if !genesis {
		b = canon.AppendBytes(append(b, 2), id[:])
	}
	if p.linked {
		b = canon.AppendBytes(canon.AppendArray(append(b, 3), 1), before[:])
	} else if len(p.parents) > 0 {
		b = canon.AppendArray(append(b, 3), len(p.parents))
		for i := range p.parents {
			b = canon.AppendBytes(b, p.parents[i][:])
		}
	}
	b = canon.AppendInt(append(b, 4), p.seq)
	b = canon.AppendInt(append(b, 5), int64(p.time))
	if p.due != 0 {
		b = canon.AppendInt(append(b, 6), int64(p.due))
	}
	b = canon.AppendBytes(append(b, 7), origin[:])
	if p.trace != [16]byte{} {
		b = canon.AppendBytes(append(b, 8), p.trace[:])
	}
	if p.policy != 0 {
		b = canon.AppendBytes(append(b, 9), policy[:])
	}
	b = append(b, 10, byte(p.kind))
	b = canon.AppendBytes(append(b, 11), body[:])
	return canon.AppendInt(append(b, 12), p.size)
}
