package perdure

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/mod/sumdb/note"
)

// Key is an Ed25519 public key: the author of entries.
type Key [ed25519.PublicKeySize]byte

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k == Key{} }

// String is the key in hex, 64 digits.
func (k Key) String() string { return Hash(k).String() }

// Short is the first 12 hex digits, for people.
func (k Key) Short() string { return Hash(k).Short() }

// MarshalText writes the key as 64 hex digits.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads 64 hex digits.
func (k *Key) UnmarshalText(b []byte) error { return (*Hash)(k).UnmarshalText(b) }

// Signer signs the entries of one author. The private key may be anywhere a crypto.Signer can reach: a file, an
// ssh-agent, a KMS.
type Signer struct {
	Name   string // what people call the key
	key    Key
	signer crypto.Signer
}

// NewSigner returns a Signer over s, whose public key must be Ed25519.
func NewSigner(name string, s crypto.Signer) (*Signer, error) {
	pub, ok := s.Public().(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("key %q is %T: entries are signed with Ed25519 keys only", name, s.Public())
	}
	if err := Key(pub).sound(); err != nil {
		return nil, fmt.Errorf("key %q: %w", name, err)
	}
	return &Signer{Name: name, key: Key(pub), signer: s}, nil
}

// GenerateSigner makes a new key. The name must not hold spaces or plus signs, and not be the runtime's.
func GenerateSigner(name string) (*Signer, error) {
	if err := checkKeyName(name); err != nil {
		return nil, err
	}
	if strings.EqualFold(name, runtimeName) {
		if err := CheckName("a key", name); err != nil {
			return nil, err
		}
	}
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key %q: %w", name, err)
	}
	return NewSigner(name, priv)
}

// ParseSigner reads a private key as Signer.PrivateText writes it.
func ParseSigner(text string) (*Signer, error) {
	s, err := note.NewSigner(text)
	if err != nil {
		return nil, fmt.Errorf("%w: want one line PRIVATE+KEY+NAME+HASH+SEED", err)
	}
	seed, err := keyData(strings.TrimPrefix(text, "PRIVATE+KEY+"))
	if err != nil {
		return nil, err
	}
	return NewSigner(s.Name(), ed25519.NewKeyFromSeed(seed))
}

// PrivateText is the private key of a signer from GenerateSigner or ParseSigner as one line,
// PRIVATE+KEY+NAME+HASH+SEED, as golang.org/x/mod/sumdb/note writes it. Other signers keep theirs to themselves.
func (s *Signer) PrivateText() (string, error) {
	priv, ok := s.signer.(ed25519.PrivateKey)
	if !ok {
		return "", fmt.Errorf("key %s: its private part is not in this process", s.Name)
	}
	pub := append([]byte{algEd25519}, priv.Public().(ed25519.PublicKey)...)
	seed := append([]byte{algEd25519}, priv.Seed()...)
	return fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s", s.Name, keyHash(s.Name, pub), base64.StdEncoding.EncodeToString(seed)),
		nil
}

// Key is the public key.
func (s *Signer) Key() Key { return s.key }

// VerifierKey is the public key as one word of text, NAME+HASH+KEY, as golang.org/x/mod/sumdb/note writes it.
func (s *Signer) VerifierKey() string { return keyText(s.Name, s.key) }

// Sign signs the name of an entry.
func (s *Signer) Sign(name Hash) ([]byte, error) {
	sig, err := s.signer.Sign(rand.Reader, name[:], crypto.Hash(0))
	if err != nil {
		return nil, fmt.Errorf("sign with key %s: %w", s.Name, err)
	}
	if len(sig) != signatureSize {
		return nil, fmt.Errorf("sign with key %s: the signer returned %d bytes, want %d", s.Name, len(sig),
			signatureSize)
	}
	return sig, nil
}

// keyText writes a public key as one word of text: NAME+HASH+KEY, or 64 hex digits for a name that is no word.
func keyText(name string, k Key) string {
	text, err := note.NewEd25519VerifierKey(name, k[:])
	if err != nil || checkKeyName(name) != nil {
		return k.String()
	}
	return text
}

// ParseKey reads a public key written by KeyText, or 64 hex digits, and returns the name in it, if any. It refuses a
// key that can be nobody's (key.sound).
func ParseKey(text string) (Key, string, error) {
	k, name, err := parseKey(text)
	if err == nil {
		err = k.sound()
	}
	return k, name, err
}

func parseKey(text string) (Key, string, error) {
	var k Key
	if !strings.Contains(text, "+") {
		if k.UnmarshalText([]byte(text)) != nil {
			return k, "", fmt.Errorf("key %.70q: want %d hex digits, or NAME+HASH+KEY as `perdure key show` prints it",
				text, 2*len(k))
		}
		return k, "", nil
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		return k, "", fmt.Errorf("key %.40q: %w: want NAME+HASH+KEY as `perdure key show` prints it", text, err)
	}
	data, err := keyData(text)
	if err != nil {
		return k, "", err
	}
	copy(k[:], data)
	return k, v.Name(), nil
}

// algEd25519 is how golang.org/x/mod/sumdb/note marks an Ed25519 key.
const algEd25519 = 1

// keyHash is note's short hash of a named public key.
func keyHash(name string, key []byte) uint32 {
	h := HashOf(append([]byte(name+"\n"), key...))
	return binary.BigEndian.Uint32(h[:4])
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

// runtimeName is who says what nodes say of themselves.
const runtimeName = "runtime"

// CheckName refuses a name for something, such as a key, if it stands, in any case, for somebody in every memory and
// policy: the runtime, which says what nodes do by themselves, and the owner and operator, whom policies ask. Nobody
// else is called so: no key, no line of a trust file, no token, hook or role.
func CheckName(what, name string) error {
	if !reserved(name) {
		return nil
	}
	return Invalid(fmt.Errorf("%s cannot be called %q: the names runtime, owner and operator stand for somebody in "+
		"every memory and policy", what, name))
}

// reserved reports whether a name stands for somebody in every memory.
func reserved(name string) bool {
	return slices.ContainsFunc([]string{runtimeName, askedOwner, askedOperator}, func(word string) bool {
		return strings.EqualFold(word, strings.TrimSpace(name))
	})
}
