package perdure

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

func TestKeyFileIsForItsOwnerOnly(t *testing.T) {
	s, err := GenerateSigner("node-1")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys", "node.key")
	if err := WriteKey(path, s); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got mode %v, %v; want 0600", info.Mode(), err)
	}
	back, err := ReadKey(path)
	if err != nil || back.Key() != s.Key() || back.Name != "node-1" {
		t.Fatalf("got %+v, %v", back, err)
	}
	if err := WriteKey(path, s); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want not to overwrite a key", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v, want to be told to chmod", err)
	}
	if _, err := ReadKey(path + "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.NewSigner(strings.TrimSpace(string(text))); err != nil {
		t.Errorf("signed notes cannot read the key: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("PRIVATE+KEY+x+00000000+AAAA"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(bad); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("got %v, want the file named", err)
	}
}

func TestKeyTextComesBack(t *testing.T) {
	ann := people["ann"]
	for text, name := range map[string]string{ann.VerifierKey(): "ann", ann.Key().String(): "", strings.ToUpper(ann.Key().String()): ""} {
		k, got, err := ParseKey(text)
		if err != nil || k != ann.Key() || got != name {
			t.Errorf("%s: got %s %q, %v", text, k.Short(), got, err)
		}
	}
	for _, text := range []string{"", "abc", "ann+1+x", strings.Replace(ann.VerifierKey(), "ann", "bob", 1), ann.Key().String()[:62] + "zz"} {
		if _, _, err := ParseKey(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
	if got := KeyText("two words", ann.Key()); got != ann.Key().String() {
		t.Errorf("got %q, want hex for a name that cannot be written", got)
	}
	for _, name := range []string{"", "a b", "a+b"} {
		if _, err := GenerateSigner(name); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	var k Key
	if b, err := ann.Key().MarshalText(); err != nil || k.UnmarshalText(b) != nil || k != ann.Key() {
		t.Errorf("got %s", k)
	}
}

// vault is a key that is somewhere else: an ssh-agent, a KMS.
type vault struct {
	key  ed25519.PrivateKey
	cut  int
	fail error
}

func (v *vault) Public() crypto.PublicKey { return v.key.Public() }

func (v *vault) Sign(r io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	if v.fail != nil {
		return nil, v.fail
	}
	sig, err := v.key.Sign(r, digest, o)
	return sig[v.cut:], err
}

func TestKeyMayBeSomewhereElse(t *testing.T) {
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	v := &vault{key: priv}
	s, err := NewSigner("vault", v)
	if err != nil {
		t.Fatal(err)
	}
	g := Genesis{Intent: Intent{Goal: "g"}, Charter: Charter{Scope: "acme"}}
	e, err := s.Genesis(g, epoch)
	if err != nil || !e.Signed() {
		t.Fatalf("got %v", err)
	}
	if err := WriteKey(filepath.Join(t.TempDir(), "k"), s); err == nil {
		t.Error("a key that is not here was written to a file")
	}
	v.cut = 1
	if _, err := s.Genesis(g, epoch); err == nil || !strings.Contains(err.Error(), "63 bytes") {
		t.Errorf("got %v, want the short signature refused", err)
	}
	v.fail = errors.New("locked")
	if _, err := s.Genesis(g, epoch); !errors.Is(err, v.fail) {
		t.Errorf("got %v, want what the vault said", err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewSigner("p256", other); err == nil || !strings.Contains(err.Error(), "Ed25519") {
		t.Errorf("got %v, want Ed25519 asked for", err)
	}
}
