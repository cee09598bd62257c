package canon

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

type base struct {
	ID   int64 `json:"id"`
	Gone int   `json:"-"`
}

type order struct {
	base
	*Extra
	Name   string            `json:"name"`
	Price  float64           `json:"price,omitempty"`
	Tags   []string          `json:"tags"`
	By     map[string]order2 `json:"by,omitempty"`
	At     time.Time         `json:"at,omitzero"`
	Raw    []byte            `json:"raw,omitempty"`
	Any    any               `json:"any,omitempty"`
	Kept   Data              `json:"kept,omitempty"`
	Two    [2]uint8          `json:"two"`
	Maybe  *bool             `json:"maybe"`
	hidden int
}

type order2 struct{ N uint16 }

type Extra struct{ Note string }

func TestGoValuesComeBack(t *testing.T) {
	yes := true
	for name, v := range map[string]order{
		"zero": {Tags: []string{}},
		"full": {
			base: base{ID: math.MaxInt64}, Extra: &Extra{"n"}, Name: "Zürich", Price: 1.5, Tags: []string{"a", "b"},
			By: map[string]order2{"x": {7}},
			At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Raw: []byte{0, 255}, Any: []any{int64(1), "x", nil},
			Kept: Data{0xf6},
			Two:  [2]uint8{1, 2}, Maybe: &yes,
		},
	} {
		d, err := DataOf(v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var back order
		if err := d.Decode(&back); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%s comes back as %+v, %v, want %+v", name, back, err, v)
		}
		std, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs any
		if err := json.Unmarshal(d.JSON(), &ours); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(std, &theirs); err != nil || !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: encoding/json has %s, %v, got %s", name, std, err, d)
		}
		fromJSON, err := DataFromJSON(std)
		if err != nil {
			t.Fatal(err)
		}
		back = order{}
		if err := fromJSON.Decode(&back); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%s through JSON comes back as %+v, %v, want %+v", name, back, err, v)
		}
	}
}

func TestDecodeNamesThePlace(t *testing.T) {
	d, err := DataOf(map[string]any{"items": []any{map[string]any{"n": 1, "s": "x"}, map[string]any{"n": "many"}},
		"big": 300, "neg": -1, "f": 1.5})
	if err != nil {
		t.Fatal(err)
	}
	for want, v := range map[string]any{
		`$.items[1].n: got the text "many", want int`: new(struct {
			Items []struct {
				N int `json:"n"`
			} `json:"items"`
		}),
		`$.items: got a list of 2, want string`: new(struct {
			Items string `json:"items"`
		}),
		`$.items[0].s: got the text "x", want int`: new(struct {
			Items []map[string]int `json:"items"`
		}),
		`$.big: got 300, want uint8`: new(struct {
			Big uint8 `json:"big"`
		}),
		`$.neg: got -1, want uint`: new(struct {
			Neg uint `json:"neg"`
		}),
		`$.f: got 1.5, want int`: new(struct {
			F int `json:"f"`
		}),
		`$: got a map, want []string`: new([]string),
		`$.items: got a list of 2, want [3]map[string]any`: new(struct {
			Items [3]map[string]any `json:"items"`
		}),
		`$.big: got 300, want time.Time`: new(struct {
			Big chan int `json:"big"`
		}),
		`want a pointer`: order{},
	} {
		err := d.Decode(v)
		want = strings.Replace(strings.Replace(want, "map[string]any", "map[string]interface {}", 1), "time.Time",
			"chan int", 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := Data(nil).Decode(new(any)); err == nil {
		t.Error("no value was decoded")
	}
	if err := (Data{0xff}).Decode(new(any)); err == nil {
		t.Error("bytes that are no value were decoded")
	}
}

func TestDataOfRefusesWhatJSONCouldNotHold(t *testing.T) {
	type loop struct{ Next *loop }
	round := &loop{}
	round.Next = round
	for name, v := range map[string]any{
		"a channel": struct{ C chan int }{make(chan int)}, "a map of fractions": map[float64]string{1: "x"},
		"a circle": round,
		"bad text": struct{ S string }{"\xff"}, "a function": func() {},
	} {
		if d, err := DataOf(v); err == nil {
			t.Errorf("%s became %s", name, d)
		}
	}
}
