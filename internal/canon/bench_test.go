package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

// header and body have the shape of an entry of a memory: a small record of hashes and numbers, and about 1 KiB of
// text.
type header struct {
	Version int64      `canon:"1,version" cbor:"1,keyasint"`
	Agent   [16]byte   `canon:"2,agent" cbor:"2,keyasint"`
	Seq     int64      `canon:"3,seq" cbor:"3,keyasint"`
	Parents [][32]byte `canon:"4,parents" cbor:"4,keyasint"`
	Time    int64      `canon:"5,time" cbor:"5,keyasint"`
	Origin  [16]byte   `canon:"6,origin" cbor:"6,keyasint"`
	Kind    color      `canon:"7,kind" cbor:"7,keyasint"`
	Body    [32]byte   `canon:"8,body" cbor:"8,keyasint"`
	Size    int64      `canon:"9,size" cbor:"9,keyasint"`
	Policy  []byte     `canon:"10,policy,omitzero" cbor:"10,keyasint,omitempty"`
	Sealed  bool       `canon:"11,sealed" cbor:"11,keyasint"`
}

type body struct {
	Tool   string   `canon:"1,tool" cbor:"1,keyasint"`
	Args   Data     `canon:"2,args" cbor:"2,keyasint"`
	Output string   `canon:"3,output,verbatim" cbor:"3,keyasint"`
	Note   string   `canon:"4,note" cbor:"4,keyasint"`
	Tags   []string `canon:"5,tags" cbor:"5,keyasint"`
	Cost   float64  `canon:"6,cost" cbor:"6,keyasint"`
	Tokens int64    `canon:"7,tokens" cbor:"7,keyasint"`
	Ok     bool     `canon:"8,ok" cbor:"8,keyasint"`
}

var (
	headerCodec = For[header]("header")
	bodyCodec   = For[body]("body")
)

func benchValues(tb testing.TB) (h header, v body, hb, vb []byte) {
	args, err := DataOf(map[string]any{"path": "src/main.go", "line": 42, "options": []any{"a", true, 1.5}})
	if err != nil {
		tb.Fatal(err)
	}
	h = header{Version: 1, Seq: 1234, Parents: [][32]byte{{1}}, Time: 1_800_000_000_000, Kind: 2, Size: 1024,
		Policy: make([]byte, 16), Sealed: true}
	v = body{Tool: "read_file", Args: args, Output: strings.Repeat("package main // the output of a tool\n", 22),
		Note: "Read the file that was named.",
		Tags: []string{"code", "go"}, Cost: 0.0125, Tokens: 1812, Ok: true}
	if hb, err = headerCodec.Append(nil, &h); err != nil {
		tb.Fatal(err)
	}
	if vb, err = bodyCodec.Append(nil, &v); err != nil {
		tb.Fatal(err)
	}
	return h, v, hb, vb
}

func BenchmarkEntry(b *testing.B) {
	h, v, hb, vb := benchValues(b)
	size := int64(len(hb) + len(vb))
	dst := make([]byte, 0, 4096)
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(size)
			for b.Loop() {
				f()
			}
		})
	}
	ht, vt := headerCodec.Type(), bodyCodec.Type()
	run("check", func() {
		if Check(ht, hb, Limits{}) != nil || Check(vt, vb, Limits{}) != nil {
			b.Fatal("refused")
		}
	})
	var h2 header
	var v2 body
	run("decode", func() {
		if headerCodec.Decode(hb, &h2, Limits{}) != nil || bodyCodec.Decode(vb, &v2, Limits{}) != nil {
			b.Fatal("refused")
		}
	})
	run("encode", func() {
		d, err := headerCodec.Append(dst, &h)
		if err == nil {
			_, err = bodyCodec.Append(d, &v)
		}
		if err != nil {
			b.Fatal(err)
		}
	})
	run("encode+sha256", func() {
		d, _ := headerCodec.Append(dst, &h)
		e, _ := bodyCodec.Append(d, &v)
		_, _ = sha256.Sum256(e[:len(d)]), sha256.Sum256(e[len(d):])
	})
	run("decode+sha256", func() {
		_ = headerCodec.Decode(hb, &h2, Limits{})
		_ = bodyCodec.Decode(vb, &v2, Limits{})
		_, _ = sha256.Sum256(hb), sha256.Sum256(vb)
	})
	run("reference/memcpy", func() { dst = append(append(dst[:0], hb...), vb...) })
	run("reference/sha256", func() { _, _ = sha256.Sum256(hb), sha256.Sum256(vb) })
	run("reference/fxamacker-encode", func() {
		_, _ = oracle.Marshal(&h)
		_, _ = oracle.Marshal(&v)
	})
	run("reference/fxamacker-decode", func() {
		_ = cbor.Unmarshal(hb, &h2)
		_ = cbor.Unmarshal(vb, &v2)
	})
	hj, _ := json.Marshal(&h)
	vj, _ := json.Marshal(&v)
	run("reference/json-encode", func() {
		_, _ = json.Marshal(&h)
		_, _ = json.Marshal(&v)
	})
	run("reference/json-decode", func() {
		_ = json.Unmarshal(hj, &h2)
		_ = json.Unmarshal(vj, &v2)
	})
	run("reference/protowire-encode", func() { dst = protoEntry(dst[:0], &h, &v) })
}

// protoEntry writes the same fields as protobuf would.
func protoEntry(d []byte, h *header, v *body) []byte {
	num := func(id protowire.Number, n uint64) {
		d = protowire.AppendVarint(protowire.AppendTag(d, id, protowire.VarintType), n)
	}
	str := func(id protowire.Number, s []byte) {
		d = protowire.AppendBytes(protowire.AppendTag(d, id, protowire.BytesType), s)
	}
	num(1, uint64(h.Version))
	str(2, h.Agent[:])
	num(3, uint64(h.Seq))
	str(4, h.Parents[0][:])
	num(5, uint64(h.Time))
	str(6, h.Origin[:])
	num(7, uint64(h.Kind))
	str(8, h.Body[:])
	num(9, uint64(h.Size))
	str(10, h.Policy)
	num(11, 1)
	str(1, []byte(v.Tool))
	str(2, v.Args)
	str(3, []byte(v.Output))
	str(4, []byte(v.Note))
	for _, t := range v.Tags {
		str(5, []byte(t))
	}
	num(7, uint64(v.Tokens))
	num(8, 1)
	return d
}

func BenchmarkLargeBodies(b *testing.B) {
	ascii := strings.Repeat("the output of a tool, which goes on and on. ", 1<<15)
	mixed := strings.Repeat("Größe über 東京 und naïve Ω… plain words in between, mostly ascii. ", 1<<14)
	for _, bench := range []struct {
		name string
		n    *Type
		in   []byte
	}{
		{"bytes", &Type{Kind: Bytes}, AppendBytes(nil, []byte(ascii))},
		{"verbatim/ascii", &Type{Kind: Verbatim}, AppendText(nil, ascii)},
		{"verbatim/mixed", &Type{Kind: Verbatim}, AppendText(nil, mixed)},
		{"text/ascii", &Type{Kind: Text}, AppendText(nil, ascii)},
		{"text/mixed", &Type{Kind: Text}, AppendText(nil, mixed)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.in)))
			for b.Loop() {
				if err := Check(bench.n, bench.in, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("reader/"+bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.in)))
			for b.Loop() {
				if _, err := NewReader(bytes.NewReader(bench.in), Limits{}).Next(bench.n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkForms(b *testing.B) {
	_, _, _, vb := benchValues(b)
	n := bodyCodec.Type()
	text, err := ToText(nil, n, vb)
	if err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.Run("to-text", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(vb)))
		for b.Loop() {
			dst, _ = ToText(dst[:0], n, vb)
		}
	})
	b.Run("from-text", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(vb)))
		for b.Loop() {
			dst, _ = FromText(dst[:0], n, text, Limits{})
		}
	})
}
