package canon

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// loud marshals itself only where its address is known, as encoding/json does.
type loud struct{ S string }

func (l *loud) MarshalJSON() ([]byte, error) { return json.Marshal(strings.ToUpper(l.S)) }
func (l *loud) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &l.S) }

type spoken struct{ S string }

func (l *spoken) MarshalText() ([]byte, error) { return []byte("spoken " + l.S), nil }
func (l *spoken) UnmarshalText(b []byte) error {
	l.S = strings.TrimPrefix(string(b), "spoken ")
	return nil
}

type word string

func (w word) MarshalText() ([]byte, error) { return []byte("word:" + string(w)), nil }
func (w *word) UnmarshalText(b []byte) error {
	*w = word(strings.TrimPrefix(string(b), "word:"))
	return nil
}

type sevenIsNone struct{ N int }

func (n sevenIsNone) IsZero() bool { return n.N == 7 }

type inner struct {
	A int
	B string `json:"b"`
}

type Shown struct {
	A    int `json:"a"`
	Same int
}

type Twin struct {
	Same int
	Only int
}

type Tagged struct {
	X int `json:"Y"`
}

type Untagged struct{ Y int }

type Words string

type Deep struct{ Level3 }
type Level3 struct{ Z int }
type Shallow struct{ Z string }

type self struct {
	*self
	N int
}

func TestGoValuesAreWhatJSONMakesOfThem(t *testing.T) {
	yes, five := true, 5
	for name, v := range map[string]any{
		"a value with pointer methods": struct{ L loud }{loud{"x"}}, "a pointer to it": &struct{ L loud }{loud{"x"}},
		"a list of them": []loud{{"x"}}, "a pointer to an array of them": &[1]loud{{"x"}},
		"an array of them": [1]loud{{"x"}},
		"a map of them":    map[string]loud{"k": {"x"}}, "of pointers": map[string]*loud{"k": {"x"}, "n": nil},
		"text by pointer": []spoken{{"x"}}, "text by value": struct{ S spoken }{spoken{"x"}},
		"in an any": []any{loud{"x"}, &loud{"y"}},
		"numbers as strings": struct {
			I  int         `json:",string"`
			U  uint8       `json:"u,string"`
			F  float64     `json:"f,string,omitempty"`
			B  bool        `json:"b,string"`
			S  string      `json:"s,string"`
			P  *int        `json:"p,string"`
			N  *int        `json:"n,string"`
			L  []int       `json:"l,string"`
			M  inner       `json:"m,string"`
			Nu json.Number `json:"nu,string"`
		}{1, 2, 2.5, true, `q"q`, &five, nil, []int{1}, inner{1, "x"}, "12"},
		"embedded":              struct{ inner }{inner{1, "x"}},
		"embedded and exported": struct{ Shown }{Shown{1, 2}},
		"embedded twice": struct {
			Shown
			Twin
		}{Shown{1, 2}, Twin{3, 4}},
		"embedded with options": struct {
			Shown `json:",omitempty"`
		}{Shown{1, 2}},
		"embedded under a name": struct {
			Shown `json:"shown"`
		}{Shown{1, 2}},
		"embedded and left out": struct {
			Shown `json:"-"`
		}{Shown{1, 2}},
		"named dash": struct {
			A int `json:"-,"`
		}{1},
		"a tag beats a name": struct {
			Tagged
			Untagged
		}{Tagged{1}, Untagged{2}},
		"the nearer wins": struct {
			Deep
			Shallow
		}{Deep{Level3{3}}, Shallow{"s"}},
		"embedded text": struct{ Words }{"x"},
		"an embedded nil": struct {
			*Shown
			N int
		}{nil, 1},
		"an embedded pointer": struct {
			*Shown
			N int
		}{&Shown{1, 2}, 1},
		"embedded in itself": self{N: 1},
		"an embedded interface": struct {
			error
			N int
		}{nil, 1},
		"a name that is no name": struct {
			A int `json:"a,b\"c"`
			B int `json:"x y\\z"`
		}{1, 2},
		"omit what is zero": struct {
			T time.Time   `json:",omitzero"`
			N sevenIsNone `json:",omitzero"`
			O sevenIsNone `json:",omitzero"`
		}{time.Time{}, sevenIsNone{7}, sevenIsNone{0}},
		"omit what is empty": struct {
			M map[string]int `json:",omitempty"`
			P *bool          `json:",omitempty"`
			A [0]int         `json:",omitempty"`
			S inner          `json:",omitempty"`
		}{nil, nil, [0]int{}, inner{}},
		"keys of whole numbers":     map[int16]string{-1: "a", 20: "b", 3: "c"},
		"keys of other numbers":     map[uint64]bool{1 << 63: yes},
		"keys that say their text":  map[word]int{"b": 1, "a": 2},
		"keys by text alone":        map[key2]int{{1}: 1},
		"an empty number":           struct{ N json.Number }{""},
		"raw":                       struct{ R json.RawMessage }{json.RawMessage(`{"a": [1, null]}`)},
		"no raw":                    struct{ R json.RawMessage }{nil},
		"no data":                   struct{ D Data }{nil},
		"bytes in an array":         [3]byte{1, 2, 3},
		"a named list of bytes":     named8{1, 2},
		"bytes that say their text": []byteText{1, 2},
	} {
		std, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := DataOf(v)
		if err != nil {
			t.Errorf("%s: %v, encoding/json has %s", name, err, std)
			continue
		}
		var ours, theirs any
		if json.Unmarshal(d.JSON(), &ours) != nil || json.Unmarshal(std, &theirs) != nil ||
			!reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: got %s, encoding/json has %s", name, d, std)
		}
		fresh, again := reflect.New(reflect.TypeOf(v)), reflect.New(reflect.TypeOf(v))
		theirErr := json.Unmarshal(std, fresh.Interface())
		ourErr := d.Decode(again.Interface())
		if (theirErr == nil) != (ourErr == nil) {
			t.Errorf("%s: comes back with %v, encoding/json with %v", name, ourErr, theirErr)
		} else if a, b := again.Elem().Interface(), fresh.Elem().Interface(); theirErr == nil &&
			name != "in an any" && name != "no raw" &&
			!reflect.DeepEqual(a, b) {
			t.Errorf("%s: comes back as %+v, with encoding/json %+v", name, a, b)
		}
	}
}

type key2 struct{ N int }

func (k key2) MarshalText() ([]byte, error) { return []byte{'k', byte('0' + k.N)}, nil }
func (k *key2) UnmarshalText(b []byte) error {
	k.N = int(b[1] - '0')
	return nil
}

type named8 []byte

type byteText byte

func (b byteText) MarshalText() ([]byte, error) { return []byte{'b', byte(b) + '0'}, nil }
func (b *byteText) UnmarshalText(t []byte) error {
	*b = byteText(t[1] - '0')
	return nil
}

// What JSON says is read as encoding/json reads it.
func TestDecodeReadsAsJSONDoes(t *testing.T) {
	type target struct {
		Name   string `json:"name"`
		Total  int    `json:"TOTAL"`
		Plain  int
		Quoted int   `json:"quoted,string"`
		Flag   *bool `json:"flag,string"`
		Number json.Number
		inner
	}
	for _, text := range []string{
		`{"NAME":"x","total":3,"plain":4,"pLaIn":4}`, `{"ſame":1}`,
		`{"Quoted":"12"}`, `{"quoted":12}`, `{"quoted":"x"}`, `{"quoted":null}`, `{"quoted":""}`, `{"flag":"true"}`,
		`{"flag":true}`, `{"flag":null}`, `{"Number":12}`, `{"Number":"12"}`, `{"Number":"x"}`, `{"Number":1.5}`,
		`{"a":1,"B":"x"}`, `{"A":1,"b":"x"}`, `{"hidden":1}`, `{"unknown":[]}`,
	} {
		d, err := DataFromJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs target
		theirErr, ourErr := json.Unmarshal([]byte(text), &theirs), d.Decode(&ours)
		if (theirErr == nil) != (ourErr == nil) || theirErr == nil && !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: got %+v, %v, encoding/json has %+v, %v", text, ours, ourErr, theirs, theirErr)
		}
	}
}

// Data has no order of keys, so that of two for one field the one that is its name counts.
func TestTheNameOfAFieldComesBeforeOneLikeIt(t *testing.T) {
	var v struct {
		Name string `json:"name"`
	}
	d, err := DataFromJSON([]byte(`{"name":"exact","Name":"x","NAME":"y"}`))
	if err == nil {
		err = d.Decode(&v)
	}
	if err != nil || v.Name != "exact" {
		t.Errorf("got %q, %v, want what is under its name", v.Name, err)
	}
}

// A value that leads back to itself is refused, not followed for ever.
func TestGoValuesThatGoRoundAreRefused(t *testing.T) {
	type ring *ring
	var r ring
	r = &r
	var a any
	a = &a
	m := map[string]any{}
	m["m"] = m
	for name, v := range map[string]any{"pointers": r, "an any": a, "a map": m} {
		if _, err := DataOf(v); err == nil {
			t.Errorf("%s that go round are taken", name)
		}
	}
}
