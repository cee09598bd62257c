package perdure

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/mod/sumdb/note"
)

// algEd25519 is how golang.org/x/mod/sumdb/note marks an Ed25519 key.
const algEd25519 = 1

// privateText writes a private key the way note does: PRIVATE+KEY+NAME+HASH+SEED.
func privateText(name string, priv ed25519.PrivateKey) string {
	pub := append([]byte{algEd25519}, priv.Public().(ed25519.PublicKey)...)
	seed := append([]byte{algEd25519}, priv.Seed()...)
	return fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s\n", name, keyHash(name, pub), base64.StdEncoding.EncodeToString(seed))
}

// keyHash is note's short hash of a named public key.
func keyHash(name string, key []byte) uint32 {
	h := HashOf(append([]byte(name+"\n"), key...))
	return binary.BigEndian.Uint32(h[:4])
}

// parsePrivate reads what privateText wrote.
func parsePrivate(path, text string) (*Signer, error) {
	s, err := note.NewSigner(text)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w: want one line PRIVATE+KEY+NAME+HASH+SEED", path, err)
	}
	seed, err := keyData(strings.TrimPrefix(text, "PRIVATE+KEY+"))
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return NewSigner(s.Name(), ed25519.NewKeyFromSeed(seed))
}

// keyData cuts the 32 bytes of key out of NAME+HASH+BASE64, which note has checked.
func keyData(text string) ([]byte, error) {
	_, rest, _ := strings.Cut(text, "+")
	_, encoded, _ := strings.Cut(rest, "+")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) != 1+ed25519.SeedSize || data[0] != algEd25519 {
		return nil, fmt.Errorf("key %.40q: want an Ed25519 key of %d bytes", text, ed25519.SeedSize)
	}
	return data[1:], nil
}

// checkKeyName refuses names that note cannot write.
func checkKeyName(name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || r == '+' }) {
		return fmt.Errorf("key name %q: use a word without spaces or plus signs", name)
	}
	return nil
}
