package capsule

import (
	"bytes"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// textEncoder writes one line for each frame: {"name":record}. An entry is a line with its body in it,
//
//	{"entry":{…}}
//	{"chunks":[…],"entry":{…}}            the body is in the chunks on the lines that follow
//	{"entry":{…},"more":true}             not without the line of the next entry
type textEncoder struct{ bin []byte }

func (w *textEncoder) record(dst []byte, letter byte, rec []byte) ([]byte, error) {
	name, t := frameName(letter)
	dst = append(append(append(dst, `{"`...), name...), `":`...)
	dst, err := canon.ToText(dst, t, rec)
	return append(dst, "}\n"...), err
}

func (w *textEncoder) entry(dst []byte, e *perdure.Entry, p *payload) ([]byte, error) {
	var err error
	dst = append(dst, '{')
	if len(p.Chunks) > 0 {
		if w.bin, err = payloadCodec.Append(w.bin[:0], &payload{Chunks: p.Chunks}); err != nil {
			return dst, err
		}
		chunks, err := canon.ToText(nil, payloadCodec.Type(), w.bin)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, chunks[1:len(chunks)-1]...), ',')
	}
	if dst, err = carried(e, p).AppendText(append(dst, entryText...)); err != nil {
		return dst, err
	}
	if p.More {
		dst = append(dst, moreText...)
	}
	return append(dst, "}\n"...), nil
}

const (
	moreText  = `,"more":true`
	entryText = `"entry":`
)

// carried is the entry with its body only if that is carried along with it.
func carried(e *perdure.Entry, p *payload) *perdure.Entry {
	if p.Body == nil && e.BodyBytes() != nil {
		return e.Drop()
	}
	return e
}

// textDecoder reads the text form.
type textDecoder struct {
	*source
	sum   *digest
	lim   perdure.Limits
	loose bool // lines that a merge left are no frames, but no fault either
	messy bool // there were some

	entries int64 // before the next frame
}

// offset is where the next frame begins.
func (s *source) offset() int64 { return s.off }

var lineEnd = []byte("\n")

func (d *textDecoder) next() (*frame, error) {
	d.sum.next()
	at := d.off
	line, err := d.line(indexRoom * d.entries)
	if err != nil {
		return nil, err
	}
	d.sum.add(line)
	d.sum.add(lineEnd)
	if d.loose && mergeMark(line) {
		d.messy = true
		return d.next()
	}
	bad := func(got string) error {
		return reject(PredFrame, at, "$", got, `a line {"name":record} with a known name`)
	}
	if len(line) < 4 || line[0] != '{' || line[len(line)-1] != '}' {
		return nil, bad("a line that is no object")
	}
	inner := line[1 : len(line)-1]
	if bytes.HasPrefix(inner, []byte(entryText)) || bytes.HasPrefix(inner, []byte(`"chunks":`)) {
		return d.entry(at, inner)
	}
	for i := range named {
		n := &named[i]
		prefix := `"` + n.name + `":`
		if n.letter == framePayload || !bytes.HasPrefix(inner, []byte(prefix)) {
			continue
		}
		base := at + 1 + int64(len(prefix))
		lim := d.lim
		if n.letter == frameIndex {
			lim = indexLimits(d.entries)
		}
		rec, err := canon.FromText(nil, n.typ(), inner[len(prefix):], lim)
		if err != nil {
			return nil, moved(err, base)
		}
		return &frame{letter: n.letter, at: at, base: base, record: rec}, nil
	}
	return nil, bad("another object")
}

// entry reads the inside of an entry's line.
func (d *textDecoder) entry(at int64, inner []byte) (*frame, error) {
	f := &frame{letter: frameEntry, at: at}
	base := at + 1
	if rest, ok := bytes.CutSuffix(inner, []byte("}"+moreText)); ok {
		f.payload.More = true
		inner = inner[:len(rest)+1]
	}
	if !bytes.HasPrefix(inner, []byte(entryText)) {
		chunks, _, ok := bytes.Cut(inner, []byte(`],`+entryText))
		if !ok {
			return nil, reject(PredFrame, at, "$", "chunks without an entry", "an entry")
		}
		text := []byte("{" + string(chunks) + "]}")
		bin, err := canon.FromText(nil, payloadCodec.Type(), text, d.lim)
		if err != nil {
			return nil, moved(err, at)
		}
		more := f.payload.More
		if err := payloadCodec.Decode(bin, &f.payload, canon.Limits{}); err != nil {
			return nil, moved(err, at)
		}
		f.payload.More = more
		base += int64(len(chunks)) + 2
		inner = inner[len(chunks)+2:]
	}
	e, err := perdure.EntryFromText(inner[len(entryText):], d.lim)
	if err != nil {
		return nil, moved(err, base+int64(len(entryText)))
	}
	d.entries++
	return f.whole(e)
}

// whole makes f the frame of an entry that came in one piece.
func (f *frame) whole(e *perdure.Entry) (*frame, error) {
	f.entry, f.header, f.signature, f.body = e, e.HeaderBytes(), e.Signature, e.BodyBytes()
	f.base = f.at
	return f, nil
}

// looksLikeText reports whether a capsule that begins with b is in text form.
func looksLikeText(b []byte) bool { return strings.HasPrefix(string(b), `{"head":`) }

// mergeMark reports whether a line is one that version control puts into a file it could not merge.
func mergeMark(line []byte) bool {
	for _, mark := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if bytes.HasPrefix(line, []byte(mark)) {
			return true
		}
	}
	return len(line) == 0
}
