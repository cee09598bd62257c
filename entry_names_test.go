package perdure

import (
	"encoding"
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/phase"
)

// TestEnumsMarshalAsTheirNames holds every wire number with names against its JSON: the name, and back.
func TestEnumsMarshalAsTheirNames(t *testing.T) {
	testNames[Kind](t)
	testNames[phase.State](t)
	testNames[Signal](t)
	testNames[Effect](t)
	testNames[Answer](t)
	testNames[Relation](t)
	testNames[depthKind](t)
}

func testNames[T canon.WireName, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T) {
	names := T(0).CanonNames()
	for i, name := range names {
		b, err := json.Marshal(map[string]T{"is": T(i)})
		if want := `{"is":"` + name + `"}`; err != nil || string(b) != want {
			t.Errorf("%T %d is %s, %v, want %s", T(0), i, b, err, want)
		}
		var back map[string]T
		if err := json.Unmarshal(b, &back); err != nil || back["is"] != T(i) {
			t.Errorf("%s comes back as %v, %v", b, back, err)
		}
	}
	if b, err := json.Marshal(T(len(names))); err == nil {
		t.Errorf("%T %d is %s, want an error", T(0), len(names), b)
	}
	v := T(1)
	err := P(&v).UnmarshalText([]byte("no such name"))
	if err == nil || v != 1 {
		t.Fatalf("%T takes a name it does not have: %v, %v", T(0), v, err)
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v: does not list %s", err, name)
		}
	}
}

func TestRightsAndDepthsMarshalAsTheirNames(t *testing.T) {
	type record struct {
		Right Right
		Depth Depth
	}
	for want, r := range map[string]record{
		`{"Right":"author,approve","Depth":"full"}`: {Right: MayAuthor | MayApprove},
		`{"Right":"own","Depth":"headers"}`:         {MayOwn, Headers},
		`{"Right":"","Depth":"7"}`:                  {0, Last(7)},
	} {
		b, err := json.Marshal(r)
		var back record
		if err != nil || string(b) != want {
			t.Errorf("%+v is %s, %v, want %s", r, b, err, want)
		} else if err := json.Unmarshal(b, &back); err != nil || back != r {
			t.Errorf("%s comes back as %+v, %v", b, back, err)
		}
	}
	for _, bad := range []string{`{"Right":"rule"}`, `{"Depth":"some"}`, `{"Depth":"-1"}`} {
		if err := json.Unmarshal([]byte(bad), new(record)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
