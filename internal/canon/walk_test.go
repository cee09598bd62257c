package canon

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestFaultsAreNamedWhereTheyAre(t *testing.T) {
	tiny := &Type{Kind: Record, Schema: &Schema{Name: "tiny", Fields: []Field{
		{ID: 1, Name: "n", Type: &Type{Kind: Int}},
		{ID: 2, Name: "tags", Type: &Type{Kind: List, Elem: &Type{Kind: Text}}, Presence: Optional},
		{ID: 3, Name: "of", Type: &Type{Kind: Map, Elem: &Type{Kind: Bytes, Len: 2}}, Presence: OmitZero},
		{ID: 4, Name: "color", Type: &Type{Kind: Enum, Names: []Name{{1, "red"}, {3, "blue"}}}, Presence: Optional},
		{ID: 5, Name: "one", Type: &Type{Kind: Union, Schema: &Schema{Name: "u",
			Fields: []Field{{ID: 1, Name: "a", Type: &Type{Kind: Bool}}}}}, Presence: Optional},
		{ID: 6, Name: "free", Type: AnyType, Presence: Optional},
		{ID: 7, Name: "f", Type: &Type{Kind: Float}, Presence: OmitZero},
	}}}
	for _, tc := range []struct{ hex, pred, path string }{
		{"", PredTruncated, "$"},
		{"a1", PredTruncated, "$"},
		{"a1011a0001", PredTruncated, "$.n"},
		{"a1010000", PredTrailing, "$"},
		{"a0", PredMissing, "$.n"},
		{"a10200", PredMissing, "$.n"},
		{"a1011801", PredShortestInt, "$.n"},
		{"a1011b0020000000000000", PredIntSafe, "$.n"},
		{"a1013b001fffffffffffff", PredIntSafe, "$.n"},
		{"a1013bffffffffffffffff", PredIntSafe, "$.n"},
		{"a101f6", PredNull, "$.n"},
		{"a101f7", PredSimple, "$.n"},
		{"a101c100", PredTag, "$.n"},
		{"a1016161", PredType, "$.n"},
		{"a1011c", PredReserved, "$.n"},
		{"a1011f", PredReserved, "$.n"},
		{"bf0100ff", PredIndefinite, "$"},
		{"a20100029f", PredIndefinite, "$.tags"},
		{"a20100028263e284b561ff", PredUTF8, "$.tags[1]"},
		{"a20100028163e284ab", PredNFC, "$.tags[0]"},
		{"a20100028163efb790", PredUnassigned, "$.tags[0]"},
		{"a2010003a0", PredEmpty, "$.of"},
		{"a2010003a1616143000000", PredLength, "$.of.a"},
		{"a2010003a1622f2f43000000", PredLength, `$.of["//"]`},
		{"a2010003a2616242000061614200", PredKeyOrder, "$.of"},
		{"a2010003a2616142000061614200", PredKeyDuplicate, "$.of"},
		{"a2010003a100420000", PredKeyType, "$.of"},
		{"a201000402", PredEnum, "$.color"},
		{"a2010005a0", PredUnion, "$.one"},
		{"a2010005a101f4", "ok", ""},
		{"a2010005a102f4", PredUnion, "$.one"},
		{"a2010005a201f402f4", PredUnion, "$.one"},
		{"a2010006a20100616100", PredKeyType, "$.free"},
		{"a2010006a1206161", PredKeyType, "$.free"},
		{"a2010006a11a0001000000", PredKeyType, "$.free"},
		{"a20100063b8000000000000000", PredIntRange, "$.free"},
		{"a2010006a101f97e01", PredNaN, "$.free.$1"},
		{"a2010007f90000", PredEmpty, "$.f"},
		{"a2010007f98000", "ok", ""},
		{"a201000800", PredCritical, "$.$8"},
		{"a20100183f00", PredCritical, "$.$63"},
		{"a201001840a16365cc8100", "ok", ""},
		{"a20100184081180a", PredShortestInt, "$.$64[0]"},
		{"a2010018ff00", PredIDRange, "$"},
		{"a201000100", PredKeyDuplicate, "$"},
		{"a201000000", PredKeyOrder, "$"},
		{"a201002000", PredKeyType, "$"},
		{"a20100616100", PredKeyType, "$"},
	} {
		b := unhex(t, tc.hex)
		err := Check(tiny, b, Limits{})
		if tc.pred == "ok" {
			if err != nil {
				t.Errorf("%s: %v", tc.hex, err)
			}
			continue
		}
		var r *Rejection
		if !errors.As(err, &r) || r.Predicate != tc.pred || r.Path != tc.path {
			t.Errorf("%s: got %v, want %s at %s", tc.hex, err, tc.pred, tc.path)
			continue
		}
		if r.Hint == "" || r.Phase == "" || r.Offset < 0 || r.Offset > int64(len(b)) {
			t.Errorf("%s: %+v is incomplete", tc.hex, r)
		}
	}
}

func TestLimitsHoldBeforeAllocation(t *testing.T) {
	deep := func(n int) []byte { return append(bytes.Repeat([]byte{0x81}, n), 0) }
	for _, tc := range []struct {
		name string
		b    []byte
		lim  Limits
		want string
	}{
		{"4 GiB of bytes", unhex(t, "5affffffff"), Limits{}, PredTruncated},
		{"4 GiB of text", unhex(t, "7affffffff"), Limits{}, PredTruncated},
		{"2^64 bytes", unhex(t, "5bffffffffffffffff"), Limits{}, PredTruncated},
		{"4 Gi elements", unhex(t, "9affffffff"), Limits{}, PredItems},
		{"2^64 pairs", unhex(t, "bbffffffffffffffff"), Limits{}, PredItems},
		{"a million elements in no bytes", unhex(t, "9a00100000"), Limits{}, PredTruncated},
		{"65 levels", deep(65), Limits{}, PredDepth},
		{"a million levels", deep(1 << 20), Limits{}, PredDepth},
		{"past the highest depth", deep(1 << 20), Limits{Depth: 1 << 30}, PredDepth},
		{"bytes", deep(10), Limits{Bytes: 5}, PredBytes},
		{"items", unhex(t, "820000"), Limits{Items: 1}, PredItems},
		{"items in all", unhex(t, "82810081820000"), Limits{Items: 4}, PredItems},
	} {
		for kind, n := range map[string]*Type{"any": AnyType, "data": DataType} {
			err := Check(n, tc.b, tc.lim)
			wantPredicate(t, err, tc.want)
			if got := testing.AllocsPerRun(5, func() { _ = Check(n, tc.b, tc.lim) }); got > 200 && tc.lim.Depth == 0 {
				t.Errorf("%s as %s: %v allocations", tc.name, kind, got)
			}
		}
	}
	if err := Check(AnyType, deep(64), Limits{}); err != nil {
		t.Errorf("64 levels: %v", err)
	}
	var v struct {
		Parts []part `canon:"1,parts"`
	}
	c := For[struct {
		Parts []part `canon:"1,parts"`
	}]("parts")
	// a million parts, the first one bad
	claim := append(unhex(t, "a1019a000fffff"), bytes.Repeat([]byte{0xa0}, 1<<20)...)
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Parts = nil
			_ = c.Decode(claim, &v, Limits{})
		}
	}).AllocedBytesPerOp()
	if got > 16<<10 {
		t.Errorf("a claim of a million parts cost %d bytes", got)
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	v := full()
	v.Output = strings.Repeat("é€가", 50)
	b, err := wholeCodec.Append(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	n := wholeCodec.Type()
	if got := testing.AllocsPerRun(100, func() {
		if Check(n, b, Limits{}) != nil || Check(DataType, b[:1], Limits{}) == nil {
			t.Fatal("wrong verdict")
		}
	}); got > 8 { // the refusal's
		t.Errorf("%v allocations", got)
	}
	if got := testing.AllocsPerRun(100, func() { _ = Check(n, b, Limits{}) }); got != 0 {
		t.Errorf("Check: %v allocations, want 0", got)
	}
	if got := testing.AllocsPerRun(100, func() { _ = Check(DataType, b, Limits{}) }); got != 0 {
		t.Errorf("Check as Data: %v allocations, want 0", got)
	}
}

func TestDecodeSharesMemoryAndReusesSlices(t *testing.T) {
	c := For[part]("part")
	b, err := c.Append(nil, &part{Name: "name", Body: []byte("body"), Tags: []string{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	var v part
	if err := c.Decode(b, &v, Limits{}); err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(100, func() { _ = c.Decode(b, &v, Limits{}) }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	at := bytes.Index(b, []byte("body"))
	b[at] = 'B'
	if string(v.Body) != "Body" {
		t.Errorf("got %s: the bytes were copied", v.Body)
	}
}

func TestSpanFindsAFieldInPlace(t *testing.T) {
	v := full()
	b, err := wholeCodec.Append(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	main, err := For[part]("part").Append(nil, &v.Main)
	if err != nil {
		t.Fatal(err)
	}
	if got := Span(b, 10); !bytes.Equal(got, main) {
		t.Errorf("got %x, want %x", got, main)
	}
	if got := Span(b, 17); got != nil {
		t.Errorf("an absent field has span %x", got)
	}
	if got := Span(b, 80); !bytes.Equal(got, []byte{0x80}) {
		t.Errorf("a reserved field has span %x", got)
	}
}
