package view

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

// costly is data of very many keys, small as a file.
func costly(t *testing.T) perdure.Data {
	t.Helper()
	m := map[string]any{}
	for i := range 50_000 {
		m[fmt.Sprint(i)] = nil
	}
	d, err := perdure.DataOf(m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestALineOfMuchDataIsNotUnpacked: what a stranger sent is not turned into Go values to see whether it is a text.
func TestALineOfMuchDataIsNotUnpacked(t *testing.T) {
	d := costly(t)
	held, err := perdure.DataOf(map[string]any{"say": d.Value()})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []perdure.Data{d, held} {
		if got := testing.AllocsPerRun(1, func() { plainText(one) }); got > 10 {
			t.Errorf("%v allocations to find that %d bytes are no text", got, len(one))
		}
	}
}

// TestAScreenOfStateIsBounded: much data is left out of what people read, and nothing of what programs do.
func TestAScreenOfStateIsBounded(t *testing.T) {
	d := costly(t)
	f := &perdure.Fold{Vars: map[string]perdure.Data{"a": d, "b": data(t, `"short"`)}}
	if got := testing.AllocsPerRun(1, func() { ReadableBriefly(f) }); got > 2000 {
		t.Errorf("%v allocations for a screen", got)
	}
	vars, _ := ReadableBriefly(f).(object).get("vars").(object)
	if got, want := vars.get("a"), fmt.Sprintf("(%d bytes, left out here: -o yaml has it)", len(d)); got != want {
		t.Errorf("got %.80v, want %q", got, want)
	}
	if got := vars.get("b"); got != "short" {
		t.Errorf("got %v, want what is short", got)
	}
	if whole, _ := Readable(f).(object).get("vars").(object); len(whole.get("a").(map[string]any)) != 50_000 {
		t.Error("programs do not get all of it")
	}
}
