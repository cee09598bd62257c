package canon

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type color uint8

func (color) CanonNames() []string { return []string{"", "red", "green", "", "blue"} }

type trigger interface{ isTrigger() }

type at struct {
	Time int64 `canon:"1,time"`
}

type all struct {
	Of []trigger `canon:"1,of"`
}

type byRef struct {
	Next *at `canon:"1,next,optional"`
}

type never struct{}

func (at) isTrigger()    {}
func (all) isTrigger()   {}
func (byRef) isTrigger() {}
func (never) isTrigger() {}

func init() {
	RegisterUnion("trigger",
		Case[trigger](1, "at", at{}), Case[trigger](2, "all", all{}),
		Case[trigger](3, "ref", byRef{}), Case[trigger](4, "never", never{}))
}

type part struct {
	Name string   `canon:"1,name"`
	Body []byte   `canon:"2,body,omitzero"`
	Tags []string `canon:"3,tags,optional"`
}

type whole struct {
	Ok       bool               `canon:"0,ok"`
	Seq      int64              `canon:"1,seq"`
	Size     uint64             `canon:"2,size,omitzero"`
	Rate     float64            `canon:"3,rate,omitzero"`
	Hash     [4]byte            `canon:"4,hash,omitzero"`
	Raw      []byte             `canon:"5,raw,optional"`
	Title    string             `canon:"6,title"`
	Output   string             `canon:"7,output,omitzero,verbatim"`
	Parts    []part             `canon:"8,parts,omitzero"`
	Scores   map[string]float64 `canon:"9,scores,optional"`
	Main     part               `canon:"10,main,omitzero"`
	Maybe    *part              `canon:"11,maybe,optional"`
	Color    color              `canon:"12,color,omitzero"`
	Wake     trigger            `canon:"13,wake,optional"`
	Args     Data               `canon:"14,args,omitzero"`
	Count    int                `canon:"15,count,omitzero"`
	Colors   []color            `canon:"16,colors,omitzero"`
	Limit    *int64             `canon:"30,limit,optional"`
	Later    string             `canon:"70,later,omitzero"`
	Reserved Reserved           `canon:",reserved"`
}

var wholeCodec = For[whole]("whole")

func full() whole {
	limit := int64(-7)
	return whole{
		Ok: true, Seq: -5, Size: 1 << 63, Rate: 1.5, Hash: [4]byte{1, 2, 3, 4}, Raw: []byte{}, Title: "Zürich é",
		Output: "e\u0301", Parts: []part{{Name: "a"}, {Name: "b", Body: []byte{1}, Tags: []string{}}},
		Scores: map[string]float64{"b": 1, "a": 2, "aa": 3}, Main: part{Name: "m"}, Maybe: &part{Name: "x"}, Color: 4,
		Wake: all{Of: []trigger{at{Time: 9}, byRef{Next: &at{Time: 3}}, byRef{}, never{}, all{Of: []trigger{}}}},
		Args: Data{0xa1, 0x61, 'k', 0x01}, Count: 3, Colors: []color{1, 2}, Limit: &limit, Later: "l",
		Reserved: Reserved{0x18, 0x40, 0x01, 0x18, 0x50, 0x80},
	}
}

func TestEveryGoTypeComesBackAsItWas(t *testing.T) {
	for name, v := range map[string]whole{"full": full(), "zero": {}} {
		b, err := wholeCodec.Append(nil, &v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Check(wholeCodec.Type(), b, Limits{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := full() // leftovers must not survive
		if err := wholeCodec.Decode(b, &got, Limits{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(v, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		again, err := wholeCodec.Append(nil, &got)
		if err != nil || string(again) != string(b) {
			t.Errorf("%s: encoded again: %x, %v, want %x", name, again, err, b)
		}
	}
}

func TestRejectionNamesPathAndOffset(t *testing.T) {
	v := full()
	v.Parts[1].Name = "e\u0301"
	_, err := wholeCodec.Append(nil, &v)
	var r *Rejection
	if !errors.As(err, &r) || !errors.Is(err, ErrRejected) {
		t.Fatalf("got %v, want a rejection", err)
	}
	if r.Path != "$.parts[1].name" || r.Predicate != PredNFC || r.Phase != PhaseStructure {
		t.Errorf("got %+v", r)
	}
	b, _ := hex.DecodeString("a300f4011801066161")
	err = wholeCodec.Decode(b, &v, Limits{})
	if !errors.As(err, &r) || r.Path != "$.seq" || r.Predicate != PredShortestInt || r.Offset != 4 {
		t.Errorf("got %+v", err)
	}
}

func TestAppendRefusesWhatNobodyWouldAccept(t *testing.T) {
	type node struct {
		Next *node `canon:"1,next,optional"`
	}
	loop := &node{}
	loop.Next = loop
	_, err := For[node]("node").Append(nil, loop)
	wantPredicate(t, err, PredDepth)
	for name, tc := range map[string]struct {
		change func(v *whole)
		pred   string
	}{
		"int above 2^53-1":       {func(v *whole) { v.Seq = maxSafe + 1 }, PredIntSafe},
		"int below -(2^53-1)":    {func(v *whole) { v.Seq = -maxSafe - 1 }, PredIntSafe},
		"text not UTF-8":         {func(v *whole) { v.Title = "\xff" }, PredUTF8},
		"text not NFC":           {func(v *whole) { v.Title = "e\u0301" }, PredNFC},
		"text not assigned":      {func(v *whole) { v.Title = "\u0378" }, PredUnassigned},
		"verbatim not UTF-8":     {func(v *whole) { v.Output = "\xff" }, PredUTF8},
		"key not NFC":            {func(v *whole) { v.Scores = map[string]float64{"e\u0301": 1} }, PredNFC},
		"enum without a name":    {func(v *whole) { v.Color = 3 }, PredEnum},
		"enum zero in a list":    {func(v *whole) { v.Colors = []color{0} }, PredEnum},
		"nil in a list of cases": {func(v *whole) { v.Wake = all{Of: []trigger{nil}} }, PredMissing},
		"pointer to a case":      {func(v *whole) { v.Wake = &at{} }, PredUnion},
		"data not canonical":     {func(v *whole) { v.Args = Data{0x18, 1} }, PredShortestInt},
		"data with more":         {func(v *whole) { v.Args = Data{1, 1} }, PredTrailing},
		"reserved critical":      {func(v *whole) { v.Reserved = Reserved{20, 1} }, PredKeyOrder},
		"reserved known":         {func(v *whole) { v.Reserved = Reserved{0x18, 70, 1} }, PredKeyDuplicate},
		"reserved cut":           {func(v *whole) { v.Reserved = Reserved{0x18, 64} }, PredTruncated},
		"reserved out of order":  {func(v *whole) { v.Reserved = Reserved{0x18, 65, 1, 0x18, 64, 1} }, PredKeyOrder},
		"reserved out of range":  {func(v *whole) { v.Reserved = Reserved{0x18, 128, 1} }, PredIDRange},
	} {
		t.Run(name, func(t *testing.T) {
			v := full()
			tc.change(&v)
			dst := []byte("kept")
			got, err := wholeCodec.Append(dst, &v)
			wantPredicate(t, err, tc.pred)
			if string(got) != "kept" {
				t.Errorf("got %q: a refused value left bytes behind", got)
			}
		})
	}
}

func TestReservedFieldsAreRefusedWithoutAPlaceForThem(t *testing.T) {
	b := []byte{0xa2, 1, 0x61, 'n', 0x18, 64, 1}
	c := For[part]("part")
	if err := Check(c.Type(), b, Limits{}); err != nil {
		t.Errorf("check: %v", err)
	}
	wantPredicate(t, c.Decode(b, new(part), Limits{}), PredReservedUnkept)
}
