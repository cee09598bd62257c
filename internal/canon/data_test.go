package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestDataHoldsWhatToolsSay(t *testing.T) {
	v := map[string]any{
		"null": nil, "yes": true, "n": int64(-5), "big": uint64(math.MaxUint64), "f": 1.5, "one": 1.0, "s": "e\u0301",
		"b":    []byte{1, 2},
		"list": []any{int64(1), "two", []any{}}, "map": map[string]any{"": "empty key"},
	}
	d, err := DataOf(v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(v), d.Value()); diff != "" {
		t.Error(diff)
	}
	want := `{"b":"AQI=","big":18446744073709551615,"f":1.5,"list":[1,"two",[]],"map":{"":"empty key"},"n":-5,"null":null,"one":1,"s":"` + "e\u0301" + `","yes":true}`
	if got := string(d.JSON()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d, err := DataOf("text"); err != nil || d.Text() != "text" {
		t.Errorf("got %q, %v", d.Text(), err)
	}
	if d, err := DataOf([]any{json.Number("12"), json.Number("1e3"), Data{0xf6}, int32(7),
		[]string{"a"}}); err != nil || string(d.JSON()) != `[12,1000,null,7,["a"]]` {
		t.Errorf("got %s, %v", d.JSON(), err)
	}
}

func TestDataRefusesWhatHasNoCanonicalForm(t *testing.T) {
	for _, v := range []any{make(chan int), "\xff", json.Number("x"), json.Number("true"), Data{}, Data{0x18, 1},
		map[string]any{"\xff": 1}, []any{make(chan int)}} {
		if d, err := DataOf(v); !errors.Is(err, ErrRejected) {
			t.Errorf("%#v: got %x, %v, want a rejection", v, []byte(d), err)
		}
	}
	for text, want := range map[string]string{
		`{"a":1,"a":2}`: PredTextDuplicate, `"\ud800"`: PredTextSurrogate, `1e999`: PredTextNumber, `[1`: PredTextJSON,
		``:         PredTextJSON,
		"\"\xff\"": PredUTF8, `1 2`: PredTrailing, `NaN`: PredTextJSON,
	} {
		_, err := DataFromJSON([]byte(text))
		wantPredicate(t, err, want)
	}
	for _, d := range []Data{nil, {}, {0x18, 1}, {0xff}} {
		if string(d.JSON()) != "null" || d.Value() != nil || d.Text() != "" {
			t.Errorf("%x: got %s, %v, %q", []byte(d), d.JSON(), d.Value(), d.Text())
		}
	}
}

func TestDataReadsEveryJSON(t *testing.T) {
	d, err := DataFromJSON([]byte(" [ 1 , -0 , 1.0 , 1E2, 9223372036854775808, -9223372036854775810e0 ]\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ToText(nil, DataType, d)
	if want := `[1,0,"$float:1","$float:100","$int:9223372036854775808","$float:-9223372036854776000"]`; err != nil ||
		string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := drawFree(t, 3, anyText)
		d := Data(encodeModel(t, v))
		var fromStd, fromData any
		if err := json.Unmarshal(d.JSON(), &fromStd); err != nil {
			t.Fatalf("%s: %v", d.JSON(), err)
		}
		again, err := DataFromJSON(d.JSON())
		if err != nil {
			t.Fatalf("%s: %v", d.JSON(), err)
		}
		b, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &fromData); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fromStd, fromData); diff != "" {
			t.Fatal(diff)
		}
		back, err := DataOf(again.Value())
		if err != nil || string(back) != string(again) {
			t.Fatalf("%x comes back as %x, %v", []byte(again), []byte(back), err)
		}
	})
}

func TestDataIsJSONInsideStructs(t *testing.T) {
	var v struct{ Args Data }
	if err := json.Unmarshal([]byte(`{"Args":{"b":[1,2.5],"a":"x"}}`), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil || string(b) != `{"Args":{"a":"x","b":[1,2.5]}}` {
		t.Errorf("got %s, %v", b, err)
	}
}

// An integer that no 64-bit float holds is refused: rounded, it would be another one. What a float is written as stays.
func TestAnIntegerIsNeverRounded(t *testing.T) {
	for _, text := range []string{"18446744073709551617", "-9223372036854775809", "12345678901234567890123",
		`{"a":[{"id":36893488147419103233}]}`} {
		_, err := DataFromJSON([]byte(text))
		wantPredicate(t, err, PredTextNumber)
	}
	if _, err := DataOf(json.Number("18446744073709551617")); !errors.Is(err, ErrRejected) {
		t.Errorf("a json.Number is rounded: %v", err)
	}
	for _, text := range []string{"18446744073709551616", "18446744073709552000", "-9223372036854775808",
		"1000000000000000000000000", "1180591620717411303424", "1.2345678901234567890", "1e22"} {
		d, err := DataFromJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if again, err := DataFromJSON(d.JSON()); err != nil || !bytes.Equal(again, d) {
			t.Errorf("%s: %s became %s, %v", text, d.JSON(), again.JSON(), err)
		}
	}
}
