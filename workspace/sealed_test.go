package workspace_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/seal"
	"github.com/perdure/perdure/workspace"
)

func sealing(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, new(perdure.MemStore))
	w.Vault = keyfile.Vault(t.TempDir())
	return w
}

func TestAppendKeepsWhatIsSealedBeforeAndNow(t *testing.T) {
	t.Parallel()
	w := sealing(t)
	owner := w.Owner()
	d := workspace.Draft{Path: "notes/s.md", Text: "pub\n", Sealed: []workspace.Part{{Subject: "dora", Text: "first"}}}
	w.write(owner, d)
	more := d
	more.Text, more.Sealed = "more\n", []workspace.Part{{Subject: "dora", Text: "second"}}
	if _, err := owner.Append(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	if got, want := w.read(owner, d.Path).Text, "pub\nfirst\nmore\nsecond"; got != want {
		t.Errorf("read %q, want %q", got, want)
	}
	if err := w.Vault.Erase("bob"); err != nil {
		t.Fatal(err)
	}
	more.Sealed[0].Subject = "bob"
	if _, err := owner.Append(t.Context(), more); !errors.Is(err, seal.ErrErased) {
		t.Errorf("append for an erased subject: %v, want ErrErased", err)
	}
}

func TestNobodyDropsSealedPartsUnseen(t *testing.T) {
	t.Parallel()
	w := sealing(t)
	owner, coder := w.Owner(), w.as("coder")
	was := w.write(owner, workspace.Draft{Path: "notes/c.md", Text: "pub\n",
		Sealed: []workspace.Part{{Subject: "dora", Text: "secret"}}})
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, perdure.ErrDenied) || !strings.Contains(err.Error(), "are sealed, and would be lost") {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	for _, r := range []*workspace.Reader{coder, owner} { // a model may act for the owner
		_, err := r.WriteArgs(t.Context(), workspace.WriteArgs{Path: was.Path, Text: "x", Base: []string{
			was.Version.String()}})
		refused("document_write", err)
	}
	_, err := owner.Write(t.Context(), workspace.Draft{Path: was.Path, Text: "x"})
	refused("the owner, without a word of it", err)
	if got := w.read(owner, was.Path); !strings.Contains(got.Text, "secret") {
		t.Fatalf("read %q: what was sealed is lost", got.Text)
	}
	w.write(owner, workspace.Draft{Path: was.Path, Text: "plain\n", Base: []perdure.Hash{was.Version}})
	if got := w.read(owner, was.Path).Text; got != "plain\n" {
		t.Errorf("read %q, want what the owner replaced it with", got)
	}
}

func TestPromotingKeepsSealedParts(t *testing.T) {
	t.Parallel()
	w := sealing(t)
	owner := w.Owner()
	was := w.write(owner, workspace.Draft{Path: "agents/coder/n.md", Text: "pub\n",
		Sealed: []workspace.Part{{Subject: "dora", Text: "secret"}}})
	next, err := w.as("coder").Promote(t.Context(), was.Path, nil, workspace.Visibility{Tier: workspace.Team}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read(owner, next.Path).Text; got != "pub\nsecret" {
		t.Errorf("read %q, want both parts", got)
	}
	if got := w.read(owner, was.Path).Text; !strings.HasPrefix(got, "Moved to") {
		t.Errorf("in its old place: %q, want a link", got)
	}
}

func TestARemovedDocumentHasItsVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	owner := w.Owner()
	was := w.write(owner, workspace.Draft{Path: "notes/ü.md", Text: "kept\n"})
	if _, err := owner.Remove(t.Context(), was.Path, nil, nil); err != nil {
		t.Fatal(err)
	}
	all, err := owner.History(t.Context(), was.Path, nil)
	if err != nil || len(all) != 2 || !all[0].Gone || all[1].Version != was.Version {
		t.Errorf("history: %d versions, %v; want the removal and the version before", len(all), err)
	}
	got, err := owner.ReadArgs(t.Context(), workspace.ReadArgs{Path: was.Path, Version: was.Version.Short()})
	if err != nil || got.Text != was.Text {
		t.Errorf("read by digits: %+v, %v", got, err)
	}
	if _, err := owner.Read(t.Context(), was.Path, nil); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("read: %v, want that it is not there", err)
	}
	if _, err := owner.History(t.Context(), "notes/never.md", nil); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("history of what never was: %v", err)
	}
}

func TestACheckNobodyCanLookAtIsNotWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, new(perdure.MemStore))
	w.Holds = holds{}
	_, err := w.Owner().Write(t.Context(), workspace.Draft{Path: "a.md", Text: "x", Check: "nonsense x"})
	if !errors.Is(err, perdure.ErrInvalid) {
		t.Errorf("write: %v, want that it is refused", err)
	}
}
