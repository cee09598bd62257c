package schema

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/canon"
)

const note = `{"name": "Note", "version": 1, "fields": [{"id": 1, "name": "text", "type": "text", "required": true}]}`

func TestFilesThatAreNotWhatTheySayAreRefused(t *testing.T) {
	s := mustParse(t, note)
	snapshots, err := Parse(read(t, "memory-snapshot-v1.lode"), nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := Compile(s, []byte(`{"text": "a"}`), Options{Embed: true})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := Compile(s, []byte(`{"text": "a"}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	pack := func(c container) []byte {
		b, err := containers.Append(nil, &c)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	value := fromJSON(t, snapshots, string(read(t, "snapshot-001.json")))
	for name, c := range map[string]struct {
		file            []byte
		predicate, want string
	}{
		"empty": {nil, "schema.vein", "lode compile"},
		"text":  {[]byte(`{"text": "a"}`), "schema.vein", "another file"},
		"newer": {bytes.Replace(file, []byte("vein/1"), []byte("vein/2"), 1), "schema.vein",
			"another format version"},
		"cut short":      {file[:len(file)-1], "canon.truncated", ""},
		"longer":         {append(bytes.Clone(file), 0), "canon.trailing", ""},
		"unknown schema": {bare, "schema.known", s.ID().String()},
		"another schema": {pack(container{Magic: magic, Schema: s.ID(), Value: canon.Data{0xa0},
			Embedded: snapshots.Canonical()}), "schema.embedded", s.ID().String()},
		"no schema": {pack(container{Magic: magic, Schema: sha256.Sum256([]byte{1}), Value: canon.Data{0xa0},
			Embedded: canon.Data{1}}), "field.type", ""},
		"bad value": {pack(container{Magic: magic, Schema: s.ID(), Value: canon.Data{0xa0},
			Embedded: s.Canonical()}), "field.missing", "text"},
		"value not NFC": {pack(container{Magic: magic, Schema: s.ID(),
			Value: append([]byte{0xa1, 1, 0x63}, "e\u0301"...), Embedded: s.Canonical()}), "canon.nfc", ""},
		"a second parent": {pack(container{Magic: magic, Schema: snapshots.ID(), Value: value, Parent: Hash{1},
			Embedded: snapshots.Canonical()}), "schema.parent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Open(c.file, nil)
			refusedBy(t, err, c.predicate, c.want)
			if v != nil {
				t.Errorf("got %v besides the error", v)
			}
		})
	}
	_, err = Pack(snapshots, value, Options{Parent: Hash{1}})
	refusedBy(t, err, "schema.parent", "parentHash")
	_, err = Pack(s, []byte{0xa0}, Options{})
	refusedBy(t, err, "field.missing", "")
}

func TestEmbeddedSchemasHaveOneSpelling(t *testing.T) {
	s := mustParse(t, `{"name": "Two", "version": 1, "fields": [{"id": 1, "name": "a", "type": "int"}, {"id": 2, "name": "b", "type": "int"}]}`)
	spelled := func(change func(d *document)) []byte {
		d := *s.doc
		d.Fields = slices.Clone(d.Fields)
		change(&d)
		b, err := documents.Append(nil, &d)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if _, err := FromCanonical(spelled(func(*document) {}), nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change    func(d *document)
		predicate string
	}{
		"another order":   {func(d *document) { slices.Reverse(d.Fields) }, "schema.canonical"},
		"another name":    {func(d *document) { d.Fields[0].Type = "int64" }, "schema.type"},
		"since version 1": {func(d *document) { d.Fields[0].Since = 1 }, "schema.version"},
		"unused type": {func(d *document) {
			d.Types = typeList{{Name: "T", Enum: []string{"a"}}}
		}, "schema.canonical"},
		"two types": {func(d *document) {
			d.Types = typeList{{Name: "T", Enum: []string{"a"}}, {Name: "T", Enum: []string{"a"}}}
		}, "schema.name"},
		"odd default": {func(d *document) {
			d.Version, d.Fields[1].Since = 2, 2
			d.Changes = []change{{To: 2, Upgrade: []rule{{Default: "b", Value: canon.Data{0xf9, 0x3c, 0x00}}}}}
		}, "schema.canonical"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FromCanonical(spelled(c.change), nil)
			refusedBy(t, err, c.predicate, "")
		})
	}
}

func TestRestoreGivesTheExpectedValueOrNone(t *testing.T) {
	s := mustParse(t, note)
	file, err := Compile(s, []byte(`{"text": "a"}`), Options{Embed: true})
	if err != nil {
		t.Fatal(err)
	}
	h, err := Fingerprint(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Restore(file, h, nil); err != nil || string(got) != `{"text":"a"}` {
		t.Errorf("got %s, %v", got, err)
	}
	got, err := Restore(file, Hash{1}, nil)
	refusedBy(t, err, "schema.fingerprint", h.String())
	if got != nil {
		t.Errorf("got %s besides the error", got)
	}
	_, err = ParseHash(strings.ToUpper(h.String()))
	refusedBy(t, err, "schema.parent", "lower case")
}

// A schema that comes with a file is held to the predicates this reader has.
func TestEmbeddedSchemasUseTheReadersLibrary(t *testing.T) {
	s, err := Parse([]byte(ticket), even)
	if err != nil {
		t.Fatal(err)
	}
	file, err := Compile(s, []byte(`{"title": "a", "state": "open", "points": 3, "n": 2}`), Options{Embed: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(file, nil)
	refusedBy(t, err, "schema.library", "@even")
	v, err := Open(file, &Registry{Library: even})
	if err != nil {
		t.Fatal(err)
	}
	old, err := v.As(at(t, s, 1))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := toJSON(t, at(t, s, 1), old), `{"n":2,"size":"3","state":"open","title":"a"}`; got != want {
		t.Errorf("as version 1: got %s, want %s", got, want)
	}
	if got, err := Decode(file, &Registry{Library: even}); err != nil ||
		string(got) != `{"n":2,"points":3,"state":"open","title":"a"}` {
		t.Errorf("got %s, %v", got, err)
	}
}

// files builds the files of a lineage: "a b:a c:b" is a chain of three.
func files(t *testing.T, lineage string) []File {
	t.Helper()
	s := mustParse(t, note)
	prints := map[string]Hash{"?": {9}}
	var all []File
	for name := range strings.FieldsSeq(lineage) {
		name, parent, _ := strings.Cut(name, ":")
		b, err := Compile(s, fmt.Appendf(nil, `{"text": %q}`, name), Options{Embed: true, Parent: prints[parent]})
		if err != nil {
			t.Fatal(err)
		}
		if prints[name], err = Fingerprint(b); err != nil {
			t.Fatal(err)
		}
		all = append(all, File{name, b})
	}
	return all
}

func TestChainsAreVerifiedInAnyOrder(t *testing.T) {
	for lineage, want := range map[string][]string{
		"a":                   nil,
		"a b:a c:b d:c e:d":   nil,
		"a b:a b:a":           nil, // the same file twice
		"b:?":                 {"schema.chain-missing b"},
		"a b:a d:?":           {"schema.chain-missing d"},
		"a b:a c:a":           {"schema.chain-fork"},
		"a b:a c:a d:a":       {"schema.chain-fork"},
		"a b":                 {"schema.chain-break"},
		"a b c:b d:c":         {"schema.chain-break"},
		"a b:a c:a d:? e:d f": {"schema.chain-break", "schema.chain-missing d", "schema.chain-fork"},
	} {
		all := files(t, lineage)
		for range 5 {
			rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			c, err := VerifyChain(all, nil)
			var got []string
			for _, p := range c.Problems {
				s := p.Predicate
				saw(s)
				if s == predMissing.Name {
					s += " " + p.Path
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want == nil) {
				t.Errorf("%s: %v (-want +got):\n%s", lineage, err, diff)
			}
			if (c.Head() == Hash{}) != (want != nil) {
				t.Errorf("%s: head %s", lineage, c.Head())
			}
			seen := map[Hash]bool{{}: true, {9}: true}
			for _, l := range c.Links {
				if !seen[l.Parent] {
					t.Errorf("%s: %s comes before its parent", lineage, l.Name)
				}
				seen[l.Fingerprint] = true
			}
		}
	}
	_, err := VerifyChain(nil, nil)
	refusedBy(t, err, "schema.limit", "give the files")
}

func TestChangedFileBreaksItsChain(t *testing.T) {
	all := files(t, "a b:a c:b")
	all[1].Bytes = files(t, "a x:a")[1].Bytes
	_, err := VerifyChain(all, nil)
	refusedBy(t, err, "schema.chain-missing", "look at b, which nothing follows")
	all[1].Bytes = all[1].Bytes[:20]
	_, err = VerifyChain(all, nil)
	refusedBy(t, err, "schema.chain-break", "canon.truncated")
}

func TestParentHashOfTheValueLinksIt(t *testing.T) {
	s, err := Parse(read(t, "memory-snapshot-v1.lode"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Compile(s, bytes.Replace(read(t, "snapshot-001.json"), []byte("null"), []byte(`"not a hash"`), 1),
		Options{Embed: true})
	refusedBy(t, err, "schema.parent", "64 hex digits")
	// A file somebody else wrote may say it all the same.
	value, err := s.FromJSON(bytes.Replace(read(t, "snapshot-001.json"), []byte("null"), []byte(`"not a hash"`), 1))
	if err != nil {
		t.Fatal(err)
	}
	b, err := containers.Append(nil, &container{Magic: magic, Schema: s.id, Value: value, Embedded: s.canonical})
	if err != nil {
		t.Fatal(err)
	}
	_, err = VerifyChain([]File{{"s.vein", b}}, nil)
	refusedBy(t, err, "schema.chain-break", "64 hex digits")
	raw := mustParse(t, `{"name": "B", "version": 1, "fields": [{"id": 1, "name": "parentHash", "type": "bytes"}]}`)
	some, zero := strings.Repeat("B", 42)+"A", strings.Repeat("A", 43)
	for value, ok := range map[string]bool{`{}`: true, `{"parentHash": "` + some + `"}`: true,
		`{"parentHash": "` + zero + `"}`: false, `{"parentHash": "AAAA"}`: false} {
		if _, err := Compile(raw, []byte(value), Options{}); (err == nil) != ok {
			t.Errorf("%s: got %v", value, err)
		}
	}
}

func TestRetiredValueKeepsItsPlace(t *testing.T) {
	all := files(t, "a b:a c:b")
	v, err := Open(all[1].Bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	stub, err := Retire(v, len(all[1].Bytes), time.UnixMilli(1))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := VerifyChain(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := VerifyPart([]File{all[0], {"b", stub}, all[2]}, nil, ChainOptions{Head: whole.Head()})
	if err != nil || len(got.Links) != 3 || !got.Links[1].Gone {
		t.Fatalf("got %v, %+v, want three links, the second gone", err, got.Links)
	}
	if got, err := VerifyChain(append(all, File{"again", stub}), nil); err != nil || got.Links[1].Gone {
		t.Errorf("got %v: beside the file itself what is left of it adds nothing", err)
	}
	lie, err := gones.Append(nil, &gone{Magic: goneMagic, Schema: v.Schema.id, Fingerprint: v.Fingerprint,
		Parent: Hash{1}, Size: 1, At: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = VerifyChain(append(all, File{"lie", lie}), nil)
	refusedBy(t, err, "schema.chain-break", "another parent")
	_, err = Open(stub, nil)
	refusedBy(t, err, "schema.vein", "whose time was over")
	_, _, err = readGone(stub[:len(stub)-1])
	refusedBy(t, err, "canon.truncated", "")
}

func TestTimeOfAValueIsOver(t *testing.T) {
	for _, c := range []struct{ stamp, ttl, time, kept, want string }{
		{"int", "int", "1000", "60", "1970-01-01T00:01:01Z"},
		{"text", "text", `"2026-11-02T08:15:00Z"`, `"30d"`, "2026-12-02T08:15:00Z"},
		{"int", "text", "0", `"90s"`, "1970-01-01T00:01:30Z"},
		{"int", "int", "0", "-1", ""}, {"int", "text", "0", `"+1s"`, ""}, {"int", "text", "0", `"1w"`, ""},
		{"text", "int", `"now"`, "1", ""},
	} {
		s := mustParse(t, `{"name":"T","version":1,"fields":[{"id":1,"name":"timestamp","type":"`+c.stamp+
			`"},{"id":2,"name":"ttl","type":"`+c.ttl+`"}]}`)
		value, err := s.FromJSON([]byte(`{"timestamp":` + c.time + `,"ttl":` + c.kept + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got, ever, err := (&Vein{Schema: s, Value: value}).Expires()
		if c.want == "" && err == nil || c.want != "" && (!ever || got.UTC().Format(time.RFC3339) != c.want) {
			t.Errorf("%+v: got %v, %v, %v", c, got, ever, err)
		}
		if _, err := Pack(s, value, Options{}); (err == nil) != (c.want != "") {
			t.Errorf("%+v: a file of it is made: %v", c, err)
		}
	}
}

// Files cannot form a cycle unless SHA-256 is broken, so the links are made by hand.
func TestCyclesAreFoundAndEnd(t *testing.T) {
	h := func(i byte) Hash { return Hash{i} }
	c := new(Chain)
	c.connect([]Link{{Name: "a", Fingerprint: h(1), Parent: h(3)}, {Name: "b", Fingerprint: h(2), Parent: h(1)},
		{Name: "c", Fingerprint: h(3), Parent: h(2)}, {Name: "d", Fingerprint: h(4), Parent: h(2)},
		{Name: "e", Fingerprint: h(5), Parent: h(5)}})
	var got []string
	for _, p := range c.Problems {
		saw(p.Predicate)
		got = append(got, p.Predicate)
	}
	if diff := cmp.Diff([]string{"schema.chain-fork", "schema.chain-cycle", "schema.chain-cycle"}, got); diff != "" ||
		len(c.Links) != 5 {
		t.Errorf("%d links (-want +got):\n%s", len(c.Links), diff)
	}
}
