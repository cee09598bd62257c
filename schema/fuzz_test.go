package schema

import (
	"bytes"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(ticket))
	f.Add([]byte(note))
	for _, name := range []string{"memory-snapshot-v1.lode", "memory-snapshot-v2.lode"} {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := Parse(src, even)
		if err != nil {
			if s != nil {
				t.Errorf("a schema besides the error %v", err)
			}
			return
		}
		again, err := Parse(s.JSON(), even)
		if err != nil || again.ID() != s.ID() {
			t.Fatalf("written and read again: %v\n%s", err, s.JSON())
		}
		embedded, err := FromCanonical(s.Canonical(), even)
		if err != nil || embedded.ID() != s.ID() {
			t.Fatalf("embedded and read again: %v\n%s", err, s.JSON())
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, src := range []string{ticket, note, string(read(f, "memory-snapshot-v2.lode"))} {
		f.Add(mustParse(f, src).Canonical())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := FromCanonical(b, even)
		if err != nil {
			return
		}
		if !bytes.Equal(s.Canonical(), b) {
			t.Fatalf("two spellings of one schema: %x and %x", b, s.Canonical())
		}
		if again, err := Parse(s.JSON(), even); err != nil || again.ID() != s.ID() {
			t.Fatalf("as a file: %v\n%s", err, s.JSON())
		}
	})
}

func FuzzOpen(f *testing.F) {
	s := mustParse(f, note)
	var reg Registry
	if err := reg.Add(s); err != nil {
		f.Fatal(err)
	}
	for _, o := range []Options{{}, {Embed: true}, {Parent: Hash{1}}} {
		b, err := Compile(s, []byte(`{"text": "a"}`), o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		v, err := Open(file, &reg)
		if err != nil {
			return
		}
		again, err := Pack(v.Schema, v.Value, Options{Embed: v.Embedded, Parent: v.parent})
		if err != nil || !bytes.Equal(again, file) {
			t.Fatalf("packed again: got %x, %v, want %x", again, err, file)
		}
	})
}

func FuzzFromJSON(f *testing.F) {
	s := mustParse(f, ticket)
	f.Add([]byte(`{"title": "a", "state": "open", "points": 3, "steps": [{"what": "x", "cost": 1.5}], "ratio": "NaN", "key": "AAAAAA", "big": 7, "$99": {"$1": "$int:9007199254740993"}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := s.FromJSON(src)
		if err != nil {
			return
		}
		text, err := s.ToJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.FromJSON(text); err != nil || !bytes.Equal(again, v) {
			t.Fatalf("written and read again: got %x, %v, want %x", again, err, v)
		}
	})
}

// Whatever a downgraded value says it kept, what comes out of its upgrade is a value of the schema, and survives the
// way back.
func FuzzUpgrade(f *testing.F) {
	s := mustParse(f, ticket)
	for _, src := range []string{`{"title": "a", "state": "open", "points": 3, "due": 5}`,
		`{"title": "a", "state": "open", "points": -1}`} {
		v, err := s.Downgrade(1, fromJSON(f, s, src))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		v, err := s.Upgrade(1, old)
		if err != nil {
			return
		}
		if err := s.Check(v); err != nil {
			t.Fatal(err)
		}
		down, err := s.Downgrade(1, v)
		if err != nil {
			t.Fatal(err)
		}
		if up, err := s.Upgrade(1, down); err != nil || !bytes.Equal(up, v) {
			t.Fatalf("down and up: got %x, %v, want %x", up, err, v)
		}
	})
}
