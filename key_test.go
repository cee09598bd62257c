package perdure

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestKeyTextComesBack(t *testing.T) {
	ann := people["ann"]
	for text, name := range map[string]string{ann.VerifierKey(): "ann", ann.Key().String(): "",
		strings.ToUpper(ann.Key().String()): ""} {
		k, got, err := ParseKey(text)
		if err != nil || k != ann.Key() || got != name {
			t.Errorf("%s: got %s %q, %v", text, k.Short(), got, err)
		}
	}
	for _, text := range []string{"", "abc", "ann+1+x", strings.Replace(ann.VerifierKey(), "ann", "bob", 1),
		ann.Key().String()[:62] + "zz"} {
		if _, _, err := ParseKey(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
	if got := keyText("two words", ann.Key()); got != ann.Key().String() {
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
	if text, err := s.PrivateText(); err == nil {
		t.Errorf("got %s of a key that is not here", text)
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
