package perdure

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/perdure/perdure/internal/disk"
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

// Signer signs the entries of one author. The private key may be anywhere a crypto.Signer can reach: a file, an ssh-agent, a KMS.
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
	if err := Key(pub).Check(); err != nil {
		return nil, fmt.Errorf("key %q: %w", name, err)
	}
	return &Signer{Name: name, key: Key(pub), signer: s}, nil
}

// GenerateSigner makes a new key. The name must not hold spaces or plus signs.
func GenerateSigner(name string) (*Signer, error) {
	if err := checkKeyName(name); err != nil {
		return nil, err
	}
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key %q: %w", name, err)
	}
	return NewSigner(name, priv)
}

// Key is the public key.
func (s *Signer) Key() Key { return s.key }

// VerifierKey is the public key as one word of text, NAME+HASH+KEY, as golang.org/x/mod/sumdb/note writes it.
func (s *Signer) VerifierKey() string { return KeyText(s.Name, s.key) }

// Sign signs the name of an entry.
func (s *Signer) Sign(name Hash) ([]byte, error) {
	sig, err := s.signer.Sign(rand.Reader, name[:], crypto.Hash(0))
	if err != nil {
		return nil, fmt.Errorf("sign with key %s: %w", s.Name, err)
	}
	if len(sig) != signatureSize {
		return nil, fmt.Errorf("sign with key %s: the signer returned %d bytes, want %d", s.Name, len(sig), signatureSize)
	}
	return sig, nil
}

// KeyText writes a public key as one word of text: NAME+HASH+KEY, or 64 hex digits for a name that is no word.
func KeyText(name string, k Key) string {
	text, err := note.NewEd25519VerifierKey(name, k[:])
	if err != nil || checkKeyName(name) != nil {
		return k.String()
	}
	return text
}

// ParseKey reads a public key written by KeyText, or 64 hex digits, and returns the name in it, if any. It refuses a key that Key.Check refuses.
func ParseKey(text string) (Key, string, error) {
	k, name, err := parseKey(text)
	if err == nil {
		err = k.Check()
	}
	return k, name, err
}

func parseKey(text string) (Key, string, error) {
	var k Key
	if !strings.Contains(text, "+") {
		return k, "", k.UnmarshalText([]byte(text))
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

// WriteKey writes the private key of a generated signer to a new file that only its owner can read. It never overwrites one.
func WriteKey(path string, s *Signer) error {
	priv, ok := s.signer.(ed25519.PrivateKey)
	if !ok {
		return fmt.Errorf("write key %s: its private part is not in this process", s.Name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, err = io.WriteString(f, privateText(s.Name, priv))
	return errors.Join(err, f.Sync(), f.Close())
}

// maxKeyFile bounds what is read of a key file, which is one line.
const maxKeyFile = 64 << 10

// ReadKey reads a private key file. It refuses one that others can read.
func ReadKey(path string) (*Signer, error) {
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("key file %s: %w: make one with `perdure key new`", path, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()            // of what is read, whatever has the name by now
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("key file %s can be read by others (mode %04o): run `chmod 600 %s`", path, info.Mode().Perm(), path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	return parsePrivate(path, strings.TrimSpace(string(b)))
}
