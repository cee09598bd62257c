package dir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/capsule"
)

// TestASecondLookReadsNoLongFileAgain: who only looks keeps aside where the entries of long files lie, and nothing in
// the folder; also of capsules that were exported and dropped in. It decides nothing: what is wrong is not used.
func TestASecondLookReadsNoLongFileAgain(t *testing.T) {
	for name, form := range map[string]capsule.Form{"a store's file": 0, "text": capsule.Text,
		"binary": capsule.Binary} {
		t.Run(name, func(t *testing.T) {
			l := newLong(t, false)
			if form != 0 {
				l.export(form)
			} else if err := os.RemoveAll(filepath.Join(l.folder, indexDir)); err != nil {
				t.Fatal(err)
			}
			o := Options{Look: true, Aside: filepath.Join(t.TempDir(), "home", "looks"), Secret: []byte("of the home")}
			// read looks, and reports whether the file was read for that: then what is kept is kept anew.
			read := func() bool {
				t.Helper()
				before := l.kept(o.Aside)
				s := l.open(o)
				l.all(s)
				n := l.scanned(s)
				l.close(s)
				return n > 0 || l.kept(o.Aside) != before
			}
			if !read() {
				t.Error("the first look kept nothing")
			}
			if read() {
				t.Error("the second look read the file again")
			}
			if _, err := os.Stat(filepath.Join(l.folder, indexDir)); err == nil {
				t.Error("looking made an index in the folder")
			}
			files, _ := filepath.Glob(filepath.Join(o.Aside, "rows", "*"))
			for _, path := range files {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", path, info.Mode(), err)
				}
				if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if len(files) != 2 || !read() {
				t.Errorf("%d files are kept, and damaged ones were used", len(files))
			}
			if o.Secret = []byte("of another"); !read() {
				t.Error("what somebody else kept was used")
			}
			if o.Aside = filepath.Join(l.file("*.agent"), "cannot", "be"); !read() {
				t.Error("where nothing can be kept, nothing was read")
			}
		})
	}
}

// kept is what is kept of the file.
func (l *long) kept(aside string) string {
	b, err := os.ReadFile(filepath.Join(aside, "rows", filepath.Base(l.file("*.agent"))+".tip"))
	if err != nil {
		return ""
	}
	return string(b)
}

// export puts an exported capsule in the place of the agent's file and its index.
func (l *long) export(form capsule.Form) {
	l.t.Helper()
	s := l.open(Options{})
	f, err := os.Create(filepath.Join(l.t.TempDir(), "long.agent"))
	if err == nil {
		_, err = capsule.Export(l.t.Context(), f, s, l.a.ID(), capsule.Options{Form: form})
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.close(s)
	l.folder = filepath.Dir(f.Name())
}
