package perdure

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seeds adds the binary vectors of a sort.
func seeds(f *testing.F, as string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.Join("spec", "vectors", "*", "*.json"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no vectors: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		var v struct{ As, Form, Hex string }
		if err := json.Unmarshal(text, &v); err != nil {
			f.Fatal(err)
		}
		b, err := hex.DecodeString(v.Hex)
		if err != nil {
			f.Fatal(err)
		}
		if v.As == as && v.Form == "binary" {
			f.Add(b)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	seeds(f, "entry")
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEntry(b, Limits{})
		if err != nil {
			if _, ok := err.(*Rejection); !ok || e != nil {
				t.Fatalf("got %v, %v; want a rejection and no entry", e, err)
			}
			return
		}
		again, err := e.MarshalBinary()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("accepted bytes are not written again: %v", err)
		}
		text, err := e.AppendText(nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := EntryFromText(text, Limits{})
		if err != nil || back.Name != e.Name {
			t.Fatalf("its text form does not come back: %v", err)
		}
		stored, err := NewEntry(e.header, e.body, e.Signature, Limits{})
		if err != nil || stored.Name != e.Name {
			t.Fatalf("its parts do not make the same entry: %v", err)
		}
	})
}

func FuzzReadMemory(f *testing.F) {
	seeds(f, "memory")
	f.Fuzz(func(t *testing.T, b []byte) {
		lim := Limits{Bytes: 1 << 20}
		v, err := Verify(ReadMemory(bytes.NewReader(b), lim), VerifyOptions{})
		a, foldErr := FoldEntries(ReadMemory(bytes.NewReader(b), lim))
		if err != nil {
			if _, ok := err.(*Rejection); !ok {
				t.Fatalf("got %v, want a rejection", err)
			}
			return
		}
		if foldErr != nil {
			t.Fatalf("verified, and cannot be folded: %v", foldErr)
		}
		hash, err := a.Fold().Hash()
		if err != nil || hash != v.Fold {
			t.Fatalf("verified as fold %s, folded to %s: %v", v.Fold.Short(), hash.Short(), err)
		}
		Plan(a, Capabilities{All: true}, epoch)
		var again bytes.Buffer
		if err := WriteMemory(&again, ReadMemory(bytes.NewReader(b), lim)); err != nil ||
			!bytes.Equal(again.Bytes(), b) {
			t.Fatalf("accepted bytes are not written again: %v", err)
		}
	})
}

func FuzzParseTrust(f *testing.F) {
	f.Add("# nobody\n")
	f.Add(people["ann"].VerifierKey() + " own acme # ann\n-" + people["bob"].key.String() + "\n")
	f.Add(people["ann"].key.String() + " author,approve *\n")
	f.Fuzz(func(t *testing.T, text string) {
		trust, err := ParseTrust(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := ParseTrust(strings.NewReader(trust.String()))
		if err != nil || again.String() != trust.String() {
			t.Fatalf("%q becomes %q, which is read as %v, %v", text, trust, again, err)
		}
	})
}
