package schema

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestDownThenUpIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		v := drawBytes(t, s)
		to := rapid.IntRange(1, s.Version()).Draw(t, "to")
		down, err := s.Downgrade(to, v)
		if err != nil {
			t.Fatalf("downgrade to %d: %v\n%s", to, err, s.JSON())
		}
		old, err := s.At(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := old.Check(down); err != nil {
			t.Fatalf("the downgraded value is no value of version %d: %v", to, err)
		}
		// It survives a trip through the text of the older version, whose readers know nothing of the complement.
		text, err := old.ToJSON(down)
		if err != nil {
			t.Fatal(err)
		}
		back, err := old.FromJSON(text)
		if err != nil || !bytes.Equal(back, down) {
			t.Fatalf("through text: got %x, %v, want %x", back, err, down)
		}
		up, err := s.Upgrade(to, back)
		if err != nil {
			t.Fatalf("upgrade from %d: %v\n%s", to, err, s.JSON())
		}
		if !bytes.Equal(up, v) {
			t.Fatalf("down to %d and up: got %x, want %x\n%s", to, up, v, s.JSON())
		}
	})
}

func TestSchemaIDIsThatOfItsContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		for name, again := range map[string]func() (*Schema, error){
			"another order": func() (*Schema, error) { return Parse(shuffled(t, s.JSON()), nil) },
			"binary form":   func() (*Schema, error) { return FromCanonical(s.Canonical(), nil) },
		} {
			o, err := again()
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, s.JSON())
			}
			if o.ID() != s.ID() || !bytes.Equal(o.Canonical(), s.Canonical()) {
				t.Fatalf("%s: got id %s, want %s", name, o.ID(), s.ID())
			}
		}
	})
}

func TestEarlierVersionsKeepTheirID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		for k := 1; k <= s.Version(); k++ {
			old, err := s.At(k)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := Parse(old.JSON(), nil)
			if err != nil {
				t.Fatalf("version %d by itself: %v\n%s", k, err, old.JSON())
			}
			if alone.ID() != old.ID() {
				t.Fatalf("version %d by itself has id %s, want %s", k, alone.ID(), old.ID())
			}
			if k < s.Version() {
				if err := s.Succeeds(alone); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestJSONAndBinaryAreOneValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		v := drawBytes(t, s)
		text, err := s.ToJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := s.FromJSON(shuffled(t, text))
		if err != nil || !bytes.Equal(back, v) {
			t.Fatalf("got %x, %v, want %x from %s", back, err, v, text)
		}
		if again := encode(nil, s.typ, decode(s.typ, v)); !bytes.Equal(again, v) {
			t.Fatalf("taken apart and put together: got %x, want %x", again, v)
		}
	})
}

func TestFileHoldsItsValueAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		v := drawBytes(t, s)
		var reg Registry
		if err := reg.Add(s); err != nil {
			t.Fatal(err)
		}
		var prints []Hash
		for _, embed := range []bool{false, true} {
			file, err := Pack(s, v, Options{Embed: embed, Parent: Hash{1}})
			if err != nil {
				t.Fatal(err)
			}
			known := &reg
			if embed {
				known = nil
			}
			got, err := Open(file, known)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Value, v) || got.Schema.ID() != s.ID() || got.Embedded != embed {
				t.Fatalf("got %x of %s, want %x of %s", got.Value, got.Schema.ID(), v, s.ID())
			}
			if p, err := got.Parent(); err != nil || p != (Hash{1}) {
				t.Fatalf("got parent %s, %v", p, err)
			}
			prints = append(prints, got.Fingerprint)
			// One changed bit is another file, or none.
			at := rapid.IntRange(0, 8*len(file)-1).Draw(t, "bit")
			bad := bytes.Clone(file)
			bad[at/8] ^= 1 << (at % 8)
			if o, err := Open(bad, known); err == nil && o.Fingerprint == got.Fingerprint {
				t.Fatalf("bit %d changed and nobody noticed", at)
			}
		}
		if prints[0] != prints[1] {
			t.Fatalf("embedding the schema changed the fingerprint from %s to %s", prints[0], prints[1])
		}
	})
}

func TestOrderOfListsMattersToFingerprints(t *testing.T) {
	s := mustParse(t, `{"name": "L", "version": 1, "fields": [{"id": 1, "name": "l", "type": "string[]"}, {"id": 2, "name": "m", "type": "map<string,string>"}]}`)
	print := func(src string) Hash {
		t.Helper()
		file, err := Compile(s, []byte(src), Options{})
		if err != nil {
			t.Fatal(err)
		}
		h, err := Fingerprint(file)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if print(`{"l": ["a", "b"]}`) == print(`{"l": ["b", "a"]}`) {
		t.Error("two different lists have one fingerprint")
	}
	if print(`{"l": ["a"], "m": {"x": "1", "y": "2"}}`) != print(`{"m": {"y": "2", "x": "1"}, "l": ["a"]}`) {
		t.Error("the order of members changed the fingerprint")
	}
	if print(`{}`) == print(`{"l": []}`) {
		t.Error("absent and empty have one fingerprint")
	}
}

func TestSpellingsOfOneValueAreOneValue(t *testing.T) {
	s := mustParse(t, `{"name": "N", "version": 1, "fields": [{"id": 1, "name": "f", "type": "number"}, {"id": 2, "name": "u", "type": "u64"},
		{"id": 3, "name": "s", "type": "string"}, {"id": 4, "name": "l", "type": "int64[]"}]}`)
	for _, c := range [][2]string{
		{`{"f": 0}`, `{"f": -0}`}, {`{"f": 0}`, `{"f": 0.0}`}, {`{"f": 1000}`, `{"f": 1e3}`},
		{`{"u": 7}`, `{"u": "7"}`},
		{`{"s": "é"}`, `{"s": "\u00e9"}`}, {`{"s": null, "l": [1]}`, `{"l":[1]}`},
	} {
		if a, b := fromJSON(t, s, c[0]), fromJSON(t, s, c[1]); !bytes.Equal(a, b) {
			t.Errorf("%s is %x, %s is %x", c[0], a, c[1], b)
		}
	}
	if a, b := fromJSON(t, s, `{"f": 0}`), fromJSON(t, s, `{"f": "-0"}`); bytes.Equal(a, b) {
		t.Error("0 and -0 are one value, want two")
	}
}
