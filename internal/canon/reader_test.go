package canon

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// cutReader returns its input in two reads.
func cutReader(b []byte, cut int) io.Reader {
	return io.MultiReader(bytes.NewReader(b[:cut]), bytes.NewReader(b[cut:]))
}

func TestReaderAgreesWithCheckOnEverySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, _, bin := drawCase(t)
		if rapid.Bool().Draw(t, "change") {
			bin = mutate(t, bin)
		}
		err := Check(n, bin, Limits{})
		var r *Rejection
		if errors.As(err, &r) && r.Predicate == PredTrailing {
			bin = bin[:r.Offset]
			err = nil
		}
		step := 1 + len(bin)/40
		for cut := 0; cut <= len(bin); cut += step {
			rd := NewReader(cutReader(bin, cut), Limits{})
			got, rerr := rd.Next(n)
			if len(bin) == 0 {
				if rerr != io.EOF {
					t.Fatalf("empty input: %v", rerr)
				}
				continue
			}
			if (rerr == nil) != (err == nil) || err == nil && !bytes.Equal(got, bin) {
				t.Fatalf("%x cut at %d: reader %x, %v; check %v", bin, cut, got, rerr, err)
			}
			if err != nil {
				continue
			}
			if _, rerr = rd.Next(n); rerr != io.EOF || rd.Offset() != int64(len(bin)) {
				t.Fatalf("%x: after the end %v at %d", bin, rerr, rd.Offset())
			}
		}
	})
}

func TestReaderReadsASequence(t *testing.T) {
	texts := []string{"", "one", strings.Repeat("é", 40<<10), strings.Repeat("long ascii ", 9000), "e"}
	var all []byte
	for _, s := range texts {
		all = AppendText(all, s)
	}
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(all),
		"bytes":        iotest.OneByteReader(bytes.NewReader(all)),
		"data and EOF": iotest.DataErrReader(bytes.NewReader(all))} {
		rd := NewReader(r, Limits{})
		off := int64(0)
		for _, want := range texts {
			if rd.Offset() != off {
				t.Fatalf("%s: offset %d, want %d", name, rd.Offset(), off)
			}
			b, err := rd.Next(&Type{Kind: Text})
			if err != nil || string(b) != string(AppendText(nil, want)) {
				t.Fatalf("%s: got %d bytes, %v, want %d", name, len(b), err, len(want))
			}
			off += int64(len(b))
		}
		for range 2 {
			if _, err := rd.Next(&Type{Kind: Text}); err != io.EOF {
				t.Errorf("%s: at the end: %v", name, err)
			}
		}
	}
}

// countReader counts what was read of an input that never ends.
type countReader struct {
	head []byte
	fill byte
	n    int
}

func (c *countReader) Read(p []byte) (int, error) {
	for i := range p {
		if c.n+i < len(c.head) {
			p[i] = c.head[c.n+i]
		} else {
			p[i] = c.fill
		}
	}
	c.n += len(p)
	return len(p), nil
}

func TestReaderRefusesWithinOneBufferOfTheFault(t *testing.T) {
	const size = 8 << 20
	bad := func(head []byte, at int, b byte) []byte {
		out := append(head, bytes.Repeat([]byte("a"), at)...)
		return append(out, b)
	}
	for _, at := range []int{0, 1, 100, 32<<10 - 1, 32 << 10, 100_000, 3 << 20} {
		for _, tc := range []struct {
			n    *Type
			head []byte
			want string
		}{
			{&Type{Kind: Text}, appendHead(nil, majorText, size), PredUTF8},
			{&Type{Kind: Verbatim}, appendHead(nil, majorText, size), PredUTF8},
			{AnyType, append(appendHead(nil, majorMap, 1), append(AppendText(nil, "k"),
				appendHead(nil, majorText, size)...)...), PredUTF8},
		} {
			in := &countReader{head: bad(tc.head, at, 0xff), fill: 'a'}
			_, err := NewReader(in, Limits{}).Next(tc.n)
			wantPredicate(t, err, tc.want)
			if past := in.n - len(in.head); past > readSize {
				t.Errorf("fault at %d: read %d bytes past it", at, past)
			}
			var r *Rejection
			if errors.As(err, &r); r.Offset != int64(len(in.head)-1) {
				t.Errorf("fault at %d: offset %d, want %d", at, r.Offset, len(in.head)-1)
			}
		}
	}
	// A list of a million integers, one of them spelled long.
	list := append(appendHead(nil, majorList, 1<<20), make([]byte, 50_000)...)
	in := &countReader{head: append(list, 0x18, 1), fill: 1}
	_, err := NewReader(in, Limits{}).Next(&Type{Kind: List, Elem: AnyType})
	wantPredicate(t, err, PredShortestInt)
	if past := in.n - len(in.head); past > readSize {
		t.Errorf("read %d bytes past the fault", past)
	}
}

func TestReaderKeepsToItsLimits(t *testing.T) {
	claim := appendHead(nil, majorBytes, 60<<20) // within the limit, but only 10 bytes come
	claim = append(claim, make([]byte, 10)...)
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = NewReader(bytes.NewReader(claim), Limits{}).Next(AnyType)
		}
	})
	if n := got.AllocedBytesPerOp(); n > 16<<10 {
		t.Errorf("a claim of 60 MiB cost %d bytes", n)
	}
	_, err := NewReader(bytes.NewReader(appendHead(nil, majorText, 1<<40)), Limits{}).Next(AnyType)
	wantPredicate(t, err, PredBytes)
	_, err = NewReader(bytes.NewReader(AppendBytes(nil, make([]byte, 2000))), Limits{Bytes: 1000}).Next(AnyType)
	wantPredicate(t, err, PredBytes)
	_, err = NewReader(bytes.NewReader(append(AppendArray(nil, 30), make([]byte, 30)...)), Limits{Bytes: 20}).
		Next(AnyType)
	wantPredicate(t, err, PredBytes)
	_, err = NewReader(bytes.NewReader(claim), Limits{}).Next(AnyType)
	wantPredicate(t, err, PredTruncated)
	boom := errors.New("boom")
	_, err = NewReader(io.MultiReader(bytes.NewReader(claim), iotest.ErrReader(boom)), Limits{}).Next(AnyType)
	if !errors.Is(err, boom) {
		t.Errorf("got %v, want the error of the reader", err)
	}
}
