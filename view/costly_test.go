package view

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

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

// TestYAMLOfBytesIsBase64: as in JSON, not a line for each byte.
func TestYAMLOfBytesIsBase64(t *testing.T) {
	b := bytes.Repeat([]byte{200}, 1<<10)
	got, err := yaml.Marshal(Readable(struct{ Child []byte }{b}))
	if want := "child: " + base64.StdEncoding.EncodeToString(b) + "\n"; err != nil || string(got) != want {
		t.Errorf("got %.80q and %v, want %.80q", got, err, want)
	}
}

// TestYAMLCostsWhatItHolds: records within records are written once, however deep they are, and a record costs no
// buffer of its own.
func TestYAMLCostsWhatItHolds(t *testing.T) {
	for name, v := range map[string]any{"many": many(4000), "deep": deep(200)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := yaml.Marshal(v)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if got, most := int(after.TotalAlloc-before.TotalAlloc), 500*len(b)+(4<<20); got > most {
			t.Errorf("%s: %d bytes for %d of YAML, want %d at most", name, got, len(b), most)
		}
	}
}

// many is a list of n small records.
func many(n int) object {
	list := make([]any, n)
	for i := range list {
		list[i] = object{{"name", fmt.Sprint("n", i)}, {"of", object{{"on", "yes"}, {"text", "a\nb"}}}}
	}
	return object{{"list", list}}
}

// deep are n records, each in the one before.
func deep(n int) object {
	o := object{{"text", strings.Repeat("x", 10_000)}}
	for range n {
		o = object{{"in", o}}
	}
	return o
}
