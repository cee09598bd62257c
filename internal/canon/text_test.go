package canon

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestTextFormOfAStruct(t *testing.T) {
	v := full()
	b, err := wholeCodec.Append(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ToText(nil, wholeCodec.Type(), b)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"$64":1,"$80":[],"args":{"k":1},"color":"blue","colors":["red","green"],"count":3,"hash":"AQIDBA","later":"l","limit":-7,` +
		`"main":{"name":"m"},"maybe":{"name":"x"},"ok":true,"output":"` + "e\u0301" +
		`","parts":[{"name":"a"},{"body":"AQ","name":"b","tags":[]}],` +
		`"rate":1.5,"raw":"","scores":{"a":2,"aa":3,"b":1},"seq":-5,"size":"9223372036854775808","title":"Zürich é",` +
		`"wake":{"all":{"of":[{"at":{"time":9}},{"ref":{"next":{"time":3}}},{"ref":{}},{"never":{}},{"all":{"of":[]}}]}}}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	formsAgree(t, wholeCodec.Type(), b)
}

func TestSchemalessValuesAreToldApartInText(t *testing.T) {
	for text, want := range map[string]string{
		`1`: "01", `"$float:1"`: "f93c00", `"1"`: "6131", `"$bytes:MQ"`: "4131", `"$$int:1"`: "6624696e743a31",
		`"$$"`:                        "6124",
		`"$int:18446744073709551615"`: "1bffffffffffffffff", `"$int:-9223372036854775808"`: "3b7fffffffffffffff",
		`"$int:9007199254740992"`: "1b0020000000000000", `9007199254740991`: "1b001fffffffffffff",
		`"$int:-9007199254740992"`: "3b001fffffffffffff", `-9007199254740991`: "3b001ffffffffffffe",
		`"$float:NaN"`: "f97e00", `"$float:-0"`: "f98000", `"$float:-Infinity"`: "f9fc00", `1.5`: "f93e00",
		`1e+300`:          "fb7e37e43c8800759c",
		`{"$1":2,"$3":4}`: "a201020304", `{"$$1":2}`: "a162243102", `{"1":2}`: "a1613102", `null`: "f6", `[]`: "80",
		`{}`: "a0",
	} {
		got, err := FromText(nil, AnyType, []byte(text), Limits{})
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: got %x, %v, want %s", text, got, err, want)
		}
	}
}

func TestOtherSpellingsOfTextAreRefused(t *testing.T) {
	text, float := &Type{Kind: Text}, &Type{Kind: Float}
	for _, tc := range []struct {
		n          *Type
		text, pred string
	}{
		{AnyType, ``, PredTextJSON},
		{AnyType, ` 1`, PredTextCanonical},
		{AnyType, `[1, 2]`, PredTextCanonical},
		{AnyType, `1 `, PredTextCanonical},
		{AnyType, `1 2`, PredTrailing},
		{AnyType, `[1,]`, PredTextJSON},
		{AnyType, `{"b":1,"a":2}`, PredTextCanonical},
		{AnyType, `{"a":1,"a":2}`, PredTextDuplicate},
		{AnyType, `{"a":1,"\u0061":2}`, PredTextDuplicate},
		{AnyType, `{"$1":1,"a":2}`, PredKeyType},
		{AnyType, `{"$x":1}`, PredTextEscape},
		{AnyType, `{"$65536":1}`, PredTextEscape},
		{AnyType, `{"$01":1}`, PredTextEscape},
		{AnyType, `"$x"`, PredTextEscape},
		{AnyType, `"$"`, PredTextEscape},
		{AnyType, `"$int:1"`, PredTextCanonical},
		{AnyType, `"$int:18446744073709551616"`, PredTextNumber},
		{AnyType, `"$float:1.5"`, PredTextCanonical},
		{AnyType, `"$float:1.0"`, PredTextCanonical},
		{AnyType, `"$float:nan"`, PredTextNumber},
		{AnyType, `"$bytes:A"`, PredTextCanonical},
		{AnyType, `"$bytes:AB"`, PredTextCanonical},
		{AnyType, `"$bytes:AA=="`, PredTextCanonical},
		{AnyType, `"$bytes:A\nA"`, PredTextCanonical},
		{AnyType, `1.0`, PredTextNumber},
		{AnyType, `1e2`, PredTextNumber},
		{AnyType, `1E400`, PredTextNumber},
		{AnyType, `01`, PredTextJSON},
		{AnyType, `-0`, PredTextNumber},
		{AnyType, `9007199254740992`, PredTextNumber},
		{AnyType, `nul`, PredTextJSON},
		{text, `"\u0061"`, PredTextCanonical},
		{text, `"\/"`, PredTextCanonical},
		{text, `"\u000A"`, PredTextCanonical},
		{text, `"\ud83d\ude00"`, PredTextCanonical},
		{text, `"\ud83d"`, PredTextSurrogate},
		{text, `"\ude00\ud83d"`, PredTextSurrogate},
		{text, `"\x"`, PredTextJSON},
		{text, "\"\n\"", PredTextJSON},
		{text, "\"\xff\"", PredUTF8},
		{text, "\"e\u0301\"", PredNFC},
		{text, `"` + "\ufdd0" + `"`, PredUnassigned},
		{text, `1`, PredType},
		{text, `null`, PredNull},
		{text, `"a`, PredTextJSON},
		{float, `"nan"`, PredTextNumber},
		{float, `"1"`, PredTextNumber},
		{float, `-0`, PredTextNumber},
		{&Type{Kind: Int}, `1.5`, PredTextNumber},
		{&Type{Kind: Int}, `-0`, PredTextNumber},
		{&Type{Kind: Int}, `9007199254740992`, PredIntSafe},
		{&Type{Kind: Uint}, `1`, PredType},
		{&Type{Kind: Uint}, `"01"`, PredTextCanonical},
		{&Type{Kind: Uint}, `"-1"`, PredTextNumber},
		{&Type{Kind: Bytes, Len: 2}, `"AA"`, PredLength},
		{wholeCodec.Type(), `{"ok":true,"seq":1}`, PredMissing},
		{wholeCodec.Type(), `{"ok":true,"seq":1,"size":"0","title":""}`, PredEmpty},
		{wholeCodec.Type(), `{"ok":true,"seq":1,"title":"","what":1}`, PredCritical},
		{wholeCodec.Type(), `{"$63":1,"ok":true,"seq":1,"title":""}`, PredCritical},
		{wholeCodec.Type(), `{"$128":1,"ok":true,"seq":1,"title":""}`, PredIDRange},
		{wholeCodec.Type(), `{"$70":1,"ok":true,"seq":1,"title":""}`, PredTextCanonical},
		{wholeCodec.Type(), `{"color":"pink","ok":true,"seq":1,"title":""}`, PredEnum},
		{wholeCodec.Type(), `{"ok":true,"seq":1,"title":"","wake":{}}`, PredUnion},
		{wholeCodec.Type(), `{"ok":true,"seq":1,"title":"","wake":{"when":{}}}`, PredUnion},
		{AnyType, strings.Repeat("[", 65) + strings.Repeat("]", 65), PredDepth},
		{AnyType, strings.Repeat("[", 1<<20), PredDepth},
	} {
		_, err := FromText(nil, tc.n, []byte(tc.text), Limits{})
		var r *Rejection
		if !errors.As(err, &r) || r.Predicate != tc.pred {
			t.Errorf("%.60q: got %v, want %s", tc.text, err, tc.pred)
		}
	}
	_, err := FromText(nil, AnyType, []byte("[0,0,0]"), Limits{Items: 2})
	wantPredicate(t, err, PredItems)
	_, err = FromText(nil, AnyType, []byte("[0,0,0]"), Limits{Bytes: 6})
	wantPredicate(t, err, PredBytes)
}

func TestTextRejectionsSayWhere(t *testing.T) {
	_, err := FromText(nil, wholeCodec.Type(),
		[]byte(`{"ok":true,"parts":[{"name":"a"},{"name":7}],"seq":1,"title":""}`), Limits{})
	var r *Rejection
	if !errors.As(err, &r) || r.Path != "$.parts[1].name" || r.Offset != 41 || r.Predicate != PredType {
		t.Errorf("got %+v", err)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// A value that another version of the program described is read if it says nothing else of what both know.
func TestDescribedFormOfAnotherVersion(t *testing.T) {
	type earlier struct {
		Name string `canon:"1,name"`
	}
	type renamed struct {
		Name string `canon:"1,title"`
	}
	type moved struct {
		Name string `canon:"4,name"`
	}
	type lax struct {
		Name string `canon:"1,name,omitzero"`
	}
	type other struct {
		Name int64 `canon:"1,name"`
	}
	now, was := For[part]("part").Type(), For[earlier]("part").Type()
	old, err := ToDescribed(nil, was, must(For[earlier]("part").Append(nil, &earlier{Name: "x"})))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := FromDescribed(nil, now, old, Limits{}); err != nil ||
		!bytes.Equal(got, must(For[part]("part").Append(nil, &part{Name: "x"}))) {
		t.Errorf("got %x, %v", got, err)
	}
	if err := Agrees(AppendSchema(nil, now), AppendSchema(nil, was)); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		body []byte
		want string
	}{{nil, ""}, {[]byte{1}, PredCritical}} { // of what only the later one has, it is what is there that counts
		d, err := ToDescribed(nil, now, must(For[part]("part").Append(nil, &part{Name: "x", Body: c.body})))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = FromDescribed(nil, was, d, Limits{}); c.want != "" {
			wantPredicate(t, err, c.want)
		} else if err != nil {
			t.Error(err)
		}
	}
	for name, bad := range map[string]*Type{"renamed": For[renamed]("part").Type(), "moved": For[moved]("part").Type(),
		"lax": For[lax]("part").Type(), "of another kind": For[other]("part").Type(),
		"called otherwise": For[earlier]("piece").Type()} {
		t.Run(name, func(t *testing.T) {
			wantPredicate(t, Agrees(AppendSchema(nil, bad), AppendSchema(nil, now)), PredDescribedSchema)
			_, err := FromDescribed(nil, bad, old, Limits{})
			wantPredicate(t, err, PredDescribedSchema)
		})
	}
	wantPredicate(t, Agrees(AppendSchema(nil, now), []byte{0}), PredDescribedSchema)
}

func TestDescribedFormRefusesAnotherSchema(t *testing.T) {
	b, err := For[part]("part").Append(nil, &part{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := ToDescribed(nil, For[part]("part").Type(), b)
	if err != nil {
		t.Fatal(err)
	}
	_, err = FromDescribed(nil, For[part]("piece").Type(), d, Limits{})
	wantPredicate(t, err, PredDescribedSchema)
	_, err = FromDescribed(nil, nil, b, Limits{})
	wantPredicate(t, err, PredDescribedSchema)
	text, err := ToText(nil, DataType, d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":{"defs":[{"fields":[[1,"name","text"],[2,"body","bytes","omitzero"],[3,"tags",{"list":"text"},"optional"]],"record":"part"}],"type":0},"value":{"name":"x"}}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	for _, bad := range []string{
		strings.Replace(want, `"type":0`, `"type":1`, 1),
		strings.Replace(want, `"bytes"`, `"byte"`, 1),
		strings.Replace(want, `[2,`, `[1,`, 1),
		strings.Replace(want, `"name","text"`, `"body","text"`, 1),
		strings.Replace(want, `"omitzero"`, `"required"`, 1),
		strings.Replace(want, `"text"]`, `0]`, 1),
		strings.Replace(want, `{"name":"x"}`, `{"body":"x"}`, 1),
		strings.Replace(want, `"part"}]`, `"part"},{"enum":[[1,"unused"]]}]`, 1),
	} {
		b, err := FromText(nil, DataType, []byte(bad), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FromDescribed(nil, nil, b, Limits{}); !errors.Is(err, ErrRejected) {
			t.Errorf("%s: got %v, want a rejection", bad, err)
		}
	}
}

// nested is a record within a record, and so on.
func nested(deep int, inner *Type) *Type {
	for range deep {
		inner = &Type{Kind: Record, Schema: &Schema{Name: "x", Fields: []Field{{ID: 1,
			Name: "aaaaaaaaaaaaaaaaaaaaa", Type: inner}}}}
	}
	return inner
}

// What is done for a stranger's description grows as the description does.
func TestDescriptionThatNestsCostsWhatItIsLong(t *testing.T) {
	deep := AppendSchema(nil, nested(8000, &Type{Kind: Record, Schema: &Schema{Name: "x"}}))
	bad := AppendSchema(nil, nested(8000, &Type{Kind: Record, Schema: &Schema{Name: "x", Fields: []Field{{ID: 1,
		Name: "$", Type: AnyType}}}}))
	own := For[part]("part").Type()
	value := must(For[part]("part").Append(nil, &part{Name: "x"}))
	described := must(ToDescribed(nil, own, value))
	described = described[:len(described)-len(AppendSchema(nil, own))]
	agrees := func(known []byte) func(b []byte) error { return func(b []byte) error { return Agrees(known, b) } }
	for name, read := range map[string]func(b []byte) error{
		"of something else": agrees(AppendSchema(nil, own)),
		"as long as ours":   agrees(AppendSchema(nil, nested(4000, AnyType))),
		"beside a value": func(b []byte) error {
			_, err := FromDescribed(nil, own, append(bytes.Clone(described), b...), Limits{})
			return err
		},
		"that a value is read by": func(b []byte) error {
			_, err := FromDescribed(nil, nil, append(bytes.Clone(described), b...), Limits{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range [][]byte{deep, bad} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := read(b)
				runtime.ReadMemStats(&after)
				if got := after.TotalAlloc - before.TotalAlloc; got > 40*uint64(len(b)) {
					t.Errorf("%d KiB were allocated for %d KiB", got>>10, len(b)>>10)
				}
				if r := (*Rejection)(nil); !errors.As(err, &r) || len(r.Got) > 1<<10 {
					t.Errorf("got %v, want a short refusal", err)
				}
			}
		})
	}
}

// One large enum, met in each of many records, is compared once.
func TestEnumThatIsMetOftenIsComparedOnce(t *testing.T) {
	enum := func(names int) *Type {
		e := &Type{Kind: Enum}
		for i := range names {
			e.Names = append(e.Names, Name{uint64(i), fmt.Sprint("n", i)})
		}
		return e
	}
	few, many := enum(100), enum(4000)
	own := &Type{Kind: Record}
	own.Schema = &Schema{Name: "x", Fields: []Field{{ID: 1, Name: "e", Type: few},
		{ID: 2, Name: "in", Type: own, Presence: Optional}}}
	other := &Type{Kind: Record, Schema: &Schema{Name: "x"}}
	for range 1000 {
		other = &Type{Kind: Record, Schema: &Schema{Name: "x", Fields: []Field{{ID: 1, Name: "e", Type: many},
			{ID: 2, Name: "in", Type: other, Presence: Optional}}}}
	}
	met := map[[2]*Type]bool{}
	if !agree(own, other, met) || len(met) != 1002 {
		t.Errorf("%d definitions were compared, want each of 1001 records and the enum once", len(met))
	}
	for range 1 << 12 {
		other = &Type{Kind: Record, Schema: &Schema{Name: "x", Fields: []Field{{ID: 2, Name: "in", Type: other,
			Presence: Optional}}}}
	}
	if agree(own, other, map[[2]*Type]bool{}) {
		t.Error("more records than are compared agree")
	}
}

func TestEnumOfManyNamesIsReadBothWays(t *testing.T) {
	e := &Type{Kind: Enum}
	for i := range 300 {
		e.Names = append(e.Names, Name{uint64(i * i), fmt.Sprint("n", i)})
	}
	for i := range 300 {
		bin := AppendUint(nil, uint64(i*i))
		d := must(ToDescribed(nil, e, bin))
		if got, err := FromDescribed(nil, e, d, Limits{}); err != nil || !bytes.Equal(got, bin) {
			t.Fatalf("got %x, %v, want %x", got, err, bin)
		}
	}
	if _, err := ToDescribed(nil, e, AppendUint(nil, 5)); err == nil {
		t.Error("a number between two of the enum was taken")
	}
}
