package canon

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
)

// fuzzTypes are what fuzzed bytes are read as.
func fuzzTypes() []*Type {
	return []*Type{AnyType, DataType, wholeCodec.Type(), {Kind: List, Elem: &Type{Kind: Text}}, {Kind: Float},
		{Kind: Map, Elem: &Type{Kind: Uint}}}
}

// seeds returns canonical bytes to start from.
func seeds(f *testing.F) [][]byte {
	out := [][]byte{{0}, {0x80}, {0xf9, 0x3c, 0}, AppendText(nil, "é\u0301"), {0xa2, 1, 2, 3, 4},
		{0x82, 0x61, 'a', 0x60}}
	for _, v := range []whole{{}, full()} {
		b, err := wholeCodec.Append(nil, &v)
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func FuzzCheck(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, n := range fuzzTypes() {
			if Check(n, b, Limits{}) == nil {
				formsAgree(t, n, b)
			}
		}
		if Check(AnyType, b, Limits{}) == nil {
			var v any
			if err := oracleReader.Unmarshal(b, &v); err != nil {
				t.Fatalf("accepted, but the oracle says %v", err)
			}
			if again := encodeModel(t, v); !bytes.Equal(again, b) {
				t.Fatalf("accepted, but the oracle writes %x", again)
			}
		}
		var v whole
		err := wholeCodec.Decode(b, &v, Limits{})
		if check := Check(wholeCodec.Type(), b, Limits{}); (err == nil) != (check == nil) {
			t.Fatalf("decode says %v, check %v", err, check)
		}
		if err == nil {
			if again, err := wholeCodec.Append(nil, &v); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("comes back as %x, %v", again, err)
			}
		}
	})
}

func FuzzFromText(f *testing.F) {
	for _, b := range seeds(f) {
		for _, n := range fuzzTypes() {
			if text, err := ToText(nil, n, b); err == nil {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, n := range fuzzTypes() {
			b, err := FromText(nil, n, text, Limits{})
			if err != nil {
				continue
			}
			if again, _ := formsAgree(t, n, b); !bytes.Equal(again, text) {
				t.Fatalf("accepted, and written as %s", again)
			}
		}
	})
}

func FuzzFromDescribed(f *testing.F) {
	for _, b := range seeds(f) {
		for _, n := range fuzzTypes() {
			if d, err := ToDescribed(nil, n, b); err == nil {
				f.Add(d)
			}
		}
	}
	f.Fuzz(func(t *testing.T, d []byte) {
		for _, n := range append(fuzzTypes(), nil) {
			b, err := FromDescribed(nil, n, d, Limits{})
			if err != nil {
				continue
			}
			if n == nil {
				_, at := parts(d)
				if n, _ = typeOf(d[at:]); n == nil {
					t.Fatal("accepted, but the schema is not")
				}
			}
			if _, again := formsAgree(t, n, b); !bytes.Equal(again, d) {
				t.Fatalf("accepted, and written as %x", again)
			}
		}
	})
}

func FuzzDataFromJSON(f *testing.F) {
	for _, s := range []string{`null`, ` {"a" : [1, -2.5e3, "\u00e9\ud83d\ude00"]}`, `[18446744073709551615, true]`,
		`"$x"`, `-0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := DataFromJSON(b)
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatal("accepted, but not JSON")
		}
		formsAgree(t, DataType, d)
		again, err := DataFromJSON(d.JSON())
		if err != nil {
			t.Fatalf("%s: %v", d.JSON(), err)
		}
		if !bytes.Equal(again.JSON(), d.JSON()) {
			t.Fatalf("%s is then %s", d.JSON(), again.JSON())
		}
	})
}

func FuzzReader(f *testing.F) {
	var all []byte
	for _, b := range seeds(f) {
		all = append(all, b...)
		f.Add(all, 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		cut = max(0, min(cut, len(b)))
		rd := NewReader(cutReader(b, cut), Limits{})
		rest := b
		for {
			v, err := rd.Next(DataType)
			if err == io.EOF {
				if len(rest) != 0 {
					t.Fatalf("ended with %d bytes left", len(rest))
				}
				return
			}
			if err != nil {
				if Check(DataType, rest, Limits{}) == nil {
					t.Fatalf("%x is refused: %v", rest, err)
				}
				return
			}
			if !bytes.HasPrefix(rest, v) || Check(DataType, v, Limits{}) != nil {
				t.Fatalf("got %x of %x", v, rest)
			}
			rest = rest[len(v):]
		}
	})
}
