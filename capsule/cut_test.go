package capsule

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestACutCapsuleIsKeptAsItWas opens an exported capsule whose end is missing: who looks is told, and who goes on with
// it finds it beside the file, whatever comes of that.
func TestACutCapsuleIsKeptAsItWas(t *testing.T) {
	t.Parallel()
	from, id := withBlobs(t)
	for _, form := range forms {
		path := filepath.Join(t.TempDir(), "a.agent")
		b := exported(t, from, id, Options{Form: form})
		open := func(open func(string) (*Store, error), content []byte) *Store {
			t.Helper()
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := open(path)
			if err != nil {
				t.Fatalf("%v: %v", form, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return s
		}
		for _, how := range []func(string) (*Store, error){LookStore, OpenStore} {
			if s := open(how, b); s.Torn() || s.Aside() != "" {
				t.Errorf("%v: a whole one: torn %t, aside %q", form, s.Torn(), s.Aside())
			}
		}
		cut := b[:len(b)*2/3]
		if s := open(LookStore, cut); !s.Torn() || s.Aside() != "" {
			t.Errorf("%v, to look at: torn %t, aside %q", form, s.Torn(), s.Aside())
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, cut) {
			t.Errorf("%v: a look changed the file, %v", form, err)
		}
		s := open(OpenStore, cut)
		kept, err := os.ReadFile(s.Aside())
		if !s.Torn() || err != nil || !bytes.Equal(kept, cut) {
			t.Errorf("%v: torn %t, %d bytes are kept of %d, %v", form, s.Torn(), len(kept), len(cut), err)
		}
	}
}
