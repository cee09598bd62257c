package canon

import (
	"bytes"
	"cmp"
	"flag"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Each law is held to this many random values, most of them with several random changes to their bytes. For a long run
// say -rapid.checks=1000000.
const lawChecks = "8000"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", lawChecks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func sortNames(n []Name) {
	slices.SortFunc(n, func(a, b Name) int { return cmp.Compare(a.Number, b.Number) })
}

func sortFields(f []Field) {
	slices.SortFunc(f, func(a, b Field) int { return cmp.Compare(a.ID, b.ID) })
}

// drawCase returns a random type, a value of it, and its bytes by the oracle.
func drawCase(t *rapid.T) (*Type, any, []byte) {
	n := drawType(t, 3, nil)
	if err := n.Valid(); err != nil {
		t.Skip(err) // a record that would have to contain itself
	}
	v := drawModel(t, n, 4)
	return n, v, encodeModel(t, v)
}

// formsAgree fails unless bin, which is canonical, goes through both other forms and comes back as it was.
func formsAgree(t rapid.TB, n *Type, bin []byte) (text, described []byte) {
	text, err := ToText(nil, n, bin)
	if err != nil {
		t.Fatalf("to text: %v", err)
	}
	if back, err := FromText(nil, n, text, Limits{}); err != nil || !bytes.Equal(back, bin) {
		t.Fatalf("%s\nfrom text: %x, %v, want %x", text, back, err, bin)
	}
	described, err = ToDescribed(nil, n, bin)
	if err != nil {
		t.Fatalf("to described: %v", err)
	}
	if back, err := FromDescribed(nil, n, described, Limits{}); err != nil || !bytes.Equal(back, bin) {
		t.Fatalf("%x\nfrom described: %x, %v, want %x", described, back, err, bin)
	}
	if n.Kind != Any && n.Kind != DataKind {
		if back, err := FromDescribed(nil, nil, described, Limits{}); err != nil || !bytes.Equal(back, bin) {
			t.Fatalf("%x\nfrom described alone: %x, %v, want %x", described, back, err, bin)
		}
	}
	return text, described
}

func TestOraclesAgreeOnEveryForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, v, bin := drawCase(t)
		if err := Check(n, bin, Limits{}); err != nil {
			t.Fatalf("%x: %v", bin, err)
		}
		text, described := formsAgree(t, n, bin)
		if want := canonicalJSON(t, textModel(n, v)); string(text) != want {
			t.Fatalf("text\n%s\nthe oracle says\n%s", text, want)
		}
		if n.Kind == Any || n.Kind == DataKind {
			return
		}
		value, schema := parts(described)
		if got, want := described[value:schema-1-len(describedSchema)],
			encodeModel(t, namedModel(n, v)); !bytes.Equal(got, want) {
			t.Fatalf("described value %x, the oracle says %x", got, want)
		}
	})
}

// mutate returns b with one to three random changes.
func mutate(t *rapid.T, b []byte) []byte {
	b = bytes.Clone(b)
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		if len(b) == 0 {
			return []byte{rapid.Byte().Draw(t, "byte")}
		}
		i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		switch rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			b[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case 1:
			b[i] = rapid.Byte().Draw(t, "byte")
		case 2:
			b = slices.Delete(b, i, i+1)
		case 3:
			b = slices.Insert(b, i, rapid.Byte().Draw(t, "byte"))
		case 4:
			j := rapid.IntRange(i, min(len(b), i+6)).Draw(t, "to")
			b = slices.Insert(b, i, bytes.Clone(b[i:j])...)
		case 5:
			j := rapid.IntRange(0, len(b)-1).Draw(t, "with")
			b[i], b[j] = b[j], b[i]
		}
	}
	return b
}

func TestChangedBytesAreRefusedOrAreTheOneSpelling(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		n, _, bin := drawCase(t)
		for range 8 {
			b := mutate(t, bin)
			if Check(n, b, Limits{}) != nil {
				continue
			}
			accepted++
			formsAgree(t, n, b)
			var v any
			if err := oracleReader.Unmarshal(b, &v); err != nil {
				t.Fatalf("%x is accepted here, the oracle says %v", b, err)
			}
			if again := encodeModel(t, v); !bytes.Equal(again, b) {
				t.Fatalf("%x is accepted here, the oracle writes %x", b, again)
			}
		}
	})
	if accepted == 0 {
		t.Error("no changed bytes were accepted: the changes are too rough to test anything")
	}
}

func TestChangedTextIsRefusedOrIsTheOneSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, _, bin := drawCase(t)
		text, described := formsAgree(t, n, bin)
		for range 4 {
			changed := mutate(t, text)
			if b, err := FromText(nil, n, changed, Limits{}); err == nil {
				if again, err := ToText(nil, n, b); err != nil || !bytes.Equal(again, changed) {
					t.Fatalf("%s is accepted, and written as %s, %v", changed, again, err)
				}
			}
			changed = mutate(t, described)
			if b, err := FromDescribed(nil, n, changed, Limits{}); err == nil {
				if again, err := ToDescribed(nil, n, b); err != nil || !bytes.Equal(again, changed) {
					t.Fatalf("%x is accepted, and written as %x, %v", changed, again, err)
				}
			}
		}
	})
}
