package schema_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/schema"
)

const keptSchema = `{"name":"Kept","version":1,"fields":[
	{"id":1,"name":"agentName","type":"string","required":true},
	{"id":2,"name":"timestamp","type":"timestamp","required":true},
	{"id":3,"name":"ttl","type":"int"}]}`

func TestAFileIsDescribedReadAndRetired(t *testing.T) {
	s, err := schema.Parse([]byte(keptSchema), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := schema.Compile(s, []byte(`{"agentName":"ann","timestamp":1000,"ttl":60}`), schema.Options{Embed: true})
	if err != nil {
		t.Fatal(err)
	}
	f, reg, over := schema.File{Name: "a.vein", Bytes: b}, new(schema.Registry), time.UnixMilli(61_000)
	d, err := f.Describe(reg)
	if err != nil || d.Schema != "Kept v1" || d.Bytes != len(b) || d.Expires == nil || !d.Expires.Equal(over) {
		t.Fatalf("described as %+v, %v", d, err)
	}
	for as, ok := range map[string]bool{"": true, "latest": true, "1": true, "2": false, "x": false} {
		text, err := reg.JSON(b, d.Fingerprint, as)
		if (err == nil) != ok || ok && !strings.Contains(string(text), `"ann"`) {
			t.Errorf("as %q: got %s, %v", as, text, err)
		}
	}
	if _, err := reg.JSON(b, schema.Hash{1}, "latest"); !errors.Is(err, perdure.ErrRejected) {
		t.Errorf("another fingerprint: got %v, want a rejection", err)
	}
	ann, bob := "ann", "bob"
	if last, err := schema.Last([]schema.File{f}, &ann, reg, schema.ChainOptions{}); err != nil || last.Name != f.Name {
		t.Errorf("the last of ann is %+v, %v", last, err)
	}
	if _, err := schema.Last([]schema.File{f}, &bob, reg, schema.ChainOptions{}); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("the last of bob: got %v, want not found", err)
	}
	if d, left, err := f.Retire(reg, over.Add(-time.Second)); d != nil || left != nil || err != nil {
		t.Errorf("retired before its time: %+v, %v", d, err)
	}
	d, left, err := f.Retire(reg, over)
	if err != nil || d == nil || !schema.IsGone(left) {
		t.Fatalf("retired: %+v, %v", d, err)
	}
	gone := schema.File{Name: f.Name, Bytes: left}
	if d, left, err := gone.Retire(reg, over); d != nil || left != nil || err != nil {
		t.Errorf("retired twice: %+v, %v", d, err)
	}
	if _, err := schema.Last([]schema.File{gone}, nil, reg, schema.ChainOptions{}); !errors.Is(err,
		perdure.ErrNotFound) {
		t.Errorf("the last is gone: got %v, want not found", err)
	}
}
