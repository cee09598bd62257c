package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/workspace"
)

// world is a store that people and agents share.
type world struct {
	t     testing.TB
	store perdure.Store
	trust *perdure.Trust
	keys  []*perdure.Signer
	agent *perdure.Agent // of the role
}

// person is somebody with a key of their own, and a folder.
type person struct {
	*Folder
	w *world
}

func newWorld(t testing.TB, names ...string) *world {
	t.Helper()
	return newWorldOn(t, new(perdure.MemStore), names...)
}

func newWorldOn(t testing.TB, s perdure.Store, names ...string) *world {
	t.Helper()
	w := &world{t: t, store: s, trust: perdure.NewTrust()}
	for _, name := range names {
		k, err := perdure.GenerateSigner(name)
		if err != nil {
			t.Fatal(err)
		}
		w.keys = append(w.keys, k)
		w.trust = w.trust.With(perdure.Trustee{Key: k.Key(), Name: name, Rights: perdure.MayOwn,
			Scope: perdure.AnyScope})
	}
	a, err := w.open(0).Node.CreateAsleep(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "coder",
		Kind: "role", Goal: "x"}, Charter: perdure.Charter{Scope: "home"}})
	if err != nil {
		t.Fatal(err)
	}
	w.agent = a
	return w
}

// open is the documents, as the n-th key has them.
func (w *world) open(n int) *workspace.Workspace {
	w.t.Helper()
	ix, err := workspace.OpenIndex(w.t.Context(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = ix.Close() })
	node := &perdure.Node{Store: w.store, Key: w.keys[n], Trust: w.trust}
	set := policy.Default()
	return &workspace.Workspace{Store: w.store, Node: node, Index: ix,
		Allow: func(a *perdure.Agent, x workspace.Access) perdure.Verdict {
			return set.Document(a, policy.Document{Write: x.Write, Path: x.Path, Kind: x.Kind, Tier: string(x.Tier),
				Scope: x.Scope}, time.Now())
		}}
}

// person is the n-th key with a folder.
func (w *world) person(n int) *person {
	w.t.Helper()
	dir := w.t.TempDir()
	st, err := OpenState(w.t.Context(), filepath.Join(dir, StateFile))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = st.Close() })
	r, err := w.open(n).For(w.t.Context(), w.agent)
	if err != nil {
		w.t.Fatal(err)
	}
	return &person{&Folder{Reader: r, State: st, Dir: filepath.Join(dir, "memory")}, w}
}

func (p *person) sync() *Report {
	p.w.t.Helper()
	r, err := p.Sync(p.w.t.Context())
	if err != nil {
		p.w.t.Fatal(err)
	}
	return r
}

// still fails unless a sync finds nothing to do.
func (p *person) still() {
	p.w.t.Helper()
	if r := p.sync(); !r.still() {
		p.w.t.Errorf("a second sync does something: %v", r.Changes)
	}
}

// still reports whether a sync did nothing; what needs a person still may.
func (r *Report) still() bool {
	return !slices.ContainsFunc(r.Changes, func(c Change) bool { return !c.stays })
}

func (p *person) file(name string) string { return filepath.Join(p.Dir, filepath.FromSlash(name)) }

func (p *person) save(name, text string) {
	p.w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.file(name)), 0o755); err != nil {
		p.w.t.Fatal(err)
	}
	if err := os.WriteFile(p.file(name), []byte(text), 0o600); err != nil {
		p.w.t.Fatal(err)
	}
}

func (p *person) shows(name, want string) {
	p.w.t.Helper()
	b, err := os.ReadFile(p.file(name))
	if err != nil || string(b) != want {
		p.w.t.Errorf("%s: got %q, %v, want %q", name, b, err, want)
	}
}

// tree is the texts in the folder, by name.
func (p *person) texts() map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(p.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return err
		}
		rel, err := filepath.Rel(p.Dir, path)
		if err != nil || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		b, err := os.ReadFile(path)
		all[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		p.w.t.Fatal(err)
	}
	return all
}

func (p *person) write(path, text string) *workspace.Document {
	p.w.t.Helper()
	d, err := p.Reader.Write(p.w.t.Context(), workspace.Draft{Path: path, Text: text})
	if err != nil {
		p.w.t.Fatal(err)
	}
	return d
}

// twice writes a document in as many copies of the memory, at once, as there are texts.
func (p *person) twice(path, one string, others ...string) {
	p.w.t.Helper()
	var apart []*perdure.Entry
	for _, text := range others {
		v := p.w.copy(new(perdure.MemStore))
		v.person(0).write(path, text)
		apart = append(apart, v.entries()...)
	}
	p.write(path, one)
	if err := p.w.store.Put(p.w.t.Context(), p.w.agent.ID(), apart...); err != nil {
		p.w.t.Fatal(err)
	}
}

func (p *person) read(path string) *workspace.Document {
	p.w.t.Helper()
	d, err := p.Reader.Read(p.w.t.Context(), path, nil)
	if err != nil {
		p.w.t.Fatal(err)
	}
	return d
}

// did are the files of a report that ended in a status.
func did(r *Report, status string) []string {
	var all []string
	for _, c := range r.Changes {
		if c.Status == status {
			all = append(all, c.File)
		}
	}
	slices.Sort(all)
	return all
}
