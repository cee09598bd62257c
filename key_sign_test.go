package perdure

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"testing"
)

func TestSignaturesAreThoseOfTheStandardLibrary(t *testing.T) {
	for range 20 {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		fast, ok := expand(private).(*expandedKey)
		if !ok {
			t.Fatal("a private key in this process is not expanded")
		}
		for size := range 100 {
			message := make([]byte, size)
			rand.Read(message)
			got, err := fast.Sign(rand.Reader, message, crypto.Hash(0))
			if want := ed25519.Sign(private, message); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("signature of %x: got %x, %v, want %x", message, got, err, want)
			}
		}
		digest := make([]byte, 64)
		got, err := fast.Sign(rand.Reader, digest, &ed25519.Options{Hash: crypto.SHA512})
		if want, _ := private.Sign(rand.Reader, digest, &ed25519.Options{Hash: crypto.SHA512}); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("signature of a digest: got %x, %v, want %x", got, err, want)
		}
	}
}

// foreignSigner is a key that is not in this process.
type foreignSigner struct{ crypto.Signer }

func TestSignersElsewhereAreLeftAsTheyAre(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := &foreignSigner{private}
	if got := expand(elsewhere); got != elsewhere {
		t.Errorf("a signer elsewhere became a %T", got)
	}
}

func BenchmarkSign(b *testing.B) {
	_, private, _ := ed25519.GenerateKey(rand.Reader)
	var name Hash
	for what, s := range map[string]crypto.Signer{"expanded": expand(private), "standard": private} {
		b.Run(what, func(b *testing.B) {
			for range b.N {
				if _, err := s.Sign(rand.Reader, name[:], crypto.Hash(0)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
