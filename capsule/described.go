package capsule

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// In the described form of a value the schema stands beside it, which is more than most entries hold themselves. A
// capsule has one frame for the schema of entries, and the frames of entries hold the value alone.
const describedHead = "\xa2\x65value" // a map of "value" and "schema"

// entrySchema is what follows the value in the described form of an entry: the same bytes for every entry.
var entrySchema = sync.OnceValues(func() ([]byte, error) {
	s, err := perdure.GenerateSigner("schema")
	if err != nil {
		return nil, err
	}
	sample, err := s.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "schema"},
		Charter: perdure.Charter{Scope: "schema"}}, time.Unix(1, 0))
	if err != nil {
		return nil, err
	}
	b, err := sample.Described()
	if err != nil {
		return nil, err
	}
	value, err := describedValue(b)
	if err != nil {
		return nil, err
	}
	return b[len(describedHead)+len(value):], nil
})

const (
	schemaKey      = "\x66schema"
	describedIndex = "\x82\x65index" // how an index begins
)

// schemaOf is the record of the frame that embeds the schema of entries, and the hash of that schema.
func schemaOf() (rec []byte, id perdure.Hash, err error) {
	tail, err := entrySchema()
	if err != nil {
		return nil, id, fmt.Errorf("describe the schema of entries: %w", err)
	}
	schema := tail[len(schemaKey):]
	rec, err = schemaCodec.Append(nil, &schemaRecord{Entry: schema})
	return rec, perdure.HashOf(schema), err
}

// describedValue is the value out of the described form of something.
func describedValue(b []byte) ([]byte, error) {
	return canon.NewReader(bytes.NewReader(b[len(describedHead):]),
		canon.Limits{Bytes: int64(len(b)), Items: int64(len(b))}).Next(canon.DataType)
}

// describedEncoder writes lists of a name and a value with names in place of numbers. An entry whose body is in chunks,
// or that is not without the next one, has its payload in front of it.
type describedEncoder struct{ bin []byte }

func (w *describedEncoder) record(dst []byte, letter byte, rec []byte) ([]byte, error) {
	name, t := frameName(letter)
	b, err := canon.ToDescribed(nil, t, rec)
	if err != nil {
		return dst, err
	}
	value, err := describedValue(b)
	if err != nil {
		return dst, err
	}
	return append(canon.AppendText(canon.AppendArray(dst, 2), name), value...), nil
}

func (w *describedEncoder) entry(dst []byte, e *perdure.Entry, p *payload) ([]byte, error) {
	if len(p.Chunks) > 0 || p.More {
		var err error
		if w.bin, err = payloadCodec.Append(w.bin[:0], &payload{Chunks: p.Chunks, More: p.More}); err != nil {
			return dst, err
		}
		if dst, err = w.record(dst, framePayload, w.bin); err != nil {
			return dst, err
		}
	}
	tail, err := entrySchema()
	if err != nil {
		return dst, err
	}
	b, err := carried(e, p).Described()
	if err != nil {
		return dst, err
	}
	dst = canon.AppendText(canon.AppendArray(dst, 2), "entry")
	return append(dst, b[len(describedHead):len(b)-len(tail)]...), nil
}

// describedDecoder reads the described form.
type describedDecoder struct {
	*canon.Reader
	sum  *digest
	lim  perdure.Limits
	base int64 // where in the file the reader began

	entries int64 // before the next frame
}

// offset is where the next frame begins.
func (d *describedDecoder) offset() int64 { return d.base + d.Offset() }

func (d *describedDecoder) next() (*frame, error) {
	d.sum.next()
	f, err := d.one()
	if err != nil || f.letter != framePayload {
		return f, err
	}
	d.sum.next() // a payload is never the index
	e, err := d.one()
	if err == nil && e.letter != frameEntry {
		err = reject(PredOrder, e.at, "$", "something else", "the entry of the payload before it")
	}
	if err == io.EOF {
		err = reject(PredComplete, d.offset(), "$", "the end of the file after a payload", "its entry")
	}
	if err != nil {
		return nil, err
	}
	if err := payloadCodec.Decode(f.record, &e.payload, canon.Limits{}); err != nil {
		return nil, moved(err, f.base)
	}
	if e.payload.Body != nil || len(e.payload.Chunks) == 0 && !e.payload.More {
		return nil, reject(PredFrame, f.at, "$.payload", "a payload that says nothing or holds the body",
			"chunks or more")
	}
	e.at = f.at
	return e, nil
}

// one reads one list of a name and a value.
func (d *describedDecoder) one() (*frame, error) {
	at, lim := d.offset(), d.lim
	if string(d.Peek(len(describedIndex))) == describedIndex {
		lim = indexLimits(d.entries)
	}
	d.Limit(lim)
	b, err := d.Next(canon.DataType) // what is in it is looked at by name
	if r, ok := err.(*perdure.Rejection); ok && r.Predicate == canon.PredTruncated {
		return nil, reject(PredComplete, d.base+r.Offset, "$", "the end of the file inside a frame", "a whole frame")
	}
	if err != nil {
		return nil, moved(err, d.base)
	}
	d.sum.add(b)
	if len(b) < 3 || b[0] != 0x82 || b[1]>>5 != 3 || b[1]&31 > 23 || len(b) < 2+int(b[1]&31) {
		return nil, reject(PredFrame, at, "$", "something else", "a list of a name and a value")
	}
	n := 2 + int(b[1]&31)
	name, value := string(b[2:n]), b[n:]
	base := at + int64(n)
	if name == "entry" {
		return d.entry(at, base, value)
	}
	for i := range named {
		if named[i].name != name {
			continue
		}
		rec, err := undescribe(named[i].typ(), value, lim)
		if err != nil {
			return nil, moved(err, base-int64(len(describedHead)))
		}
		return &frame{letter: named[i].letter, at: at, base: base, record: rec}, nil
	}
	return nil, reject(PredFrame, at, "$", fmt.Sprintf("frame %q", name), "a known name")
}

func (d *describedDecoder) entry(at, base int64, value []byte) (*frame, error) {
	tail, err := entrySchema()
	if err != nil {
		return nil, err
	}
	b := append(append([]byte(describedHead), value...), tail...)
	e, err := perdure.EntryFromDescribed(b, d.lim)
	if err != nil {
		return nil, moved(err, base-int64(len(describedHead)))
	}
	d.entries++
	return (&frame{letter: frameEntry, at: at}).whole(e)
}

// undescribe is the binary form of a value written with names.
func undescribe(t *canon.Type, value []byte, lim perdure.Limits) ([]byte, error) {
	tail, err := tailOf(t)
	if err != nil {
		return nil, err
	}
	return canon.FromDescribed(nil, t, append(append([]byte(describedHead), value...), tail...), lim)
}

// tails are what follows the value in the described form, by type.
var tails sync.Map

// tailOf finds it out by describing any value of the type: for each there is an empty frame to try.
func tailOf(t *canon.Type) ([]byte, error) {
	if b, ok := tails.Load(t); ok {
		return b.([]byte), nil
	}
	for _, sample := range samples() {
		b, err := canon.ToDescribed(nil, t, sample)
		if err != nil {
			continue
		}
		value, err := describedValue(b)
		if err != nil {
			return nil, err
		}
		tail := b[len(describedHead)+len(value):]
		tails.Store(t, tail)
		return tail, nil
	}
	return nil, fmt.Errorf("describe frames: no sample of %s", t.Schema.Name)
}

// samples are the binary forms of empty frames.
func samples() [][]byte {
	var out [][]byte
	add := func(b []byte, err error) {
		if err == nil {
			out = append(out, b)
		}
	}
	add(headCodec.Append(nil, new(Head)))
	add(schemaCodec.Append(nil, &schemaRecord{Entry: canon.AppendNull(nil)}))
	add(payloadCodec.Append(nil, new(payload)))
	add(chunkCodec.Append(nil, new(chunkRecord)))
	add(manifestCodec.Append(nil, new(Manifest)))
	add(indexCodec.Append(nil, new(Index)))
	return out
}
