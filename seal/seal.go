// Package seal keeps data about a person or thing in memories only as ciphertext, under a key of their own: erasing the
// key erases the data in every copy at once, while every hash and signature still verifies.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/canon"
)

// Vault keeps one key for each subject: the person or thing that data is about. Data sealed for a subject is in
// memories, snapshots, capsules and backups only as ciphertext, so that erasing the key erases it everywhere at once,
// while every hash and signature still verifies.
type Vault interface {
	// Key returns the key of a subject, making one if the subject has none and was not erased: then the error wraps
	// ErrErased.
	Key(subject string) ([32]byte, error)
	// Erase destroys the key of a subject for good. Erasing twice is not an error.
	Erase(subject string) error
	// Knows reports, without making a key, whether a subject ever had one, erased or not.
	Knows(subject string) (bool, error)
}

// ErrErased says that the key of sealed data is gone: nobody can read it any more, in any copy.
var ErrErased = errors.New("erased: its key is gone")

var codec = canon.For[sealedRecord]("sealed")

// field is the one key of a map that stands for sealed data.
const field = "$sealed"

// sealedRecord is sealed data: the fold carries it and never reads it.
type sealedRecord struct {
	Subject string `canon:"1,subject,verbatim"`
	Box     []byte `canon:"2,box"` // nonce and AES-256-GCM ciphertext; the subject is authenticated with it
}

// For encrypts data under the key of a subject. The result takes its place in an event, an argument, a result or the
// agent's state.
func For(v Vault, subject string, d canon.Data) (canon.Data, error) {
	aead, err := cipherOf(v, subject)
	if err != nil {
		return nil, fmt.Errorf("seal for %s: %w", subject, err)
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(d)+aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("seal for %s: %w", subject, err)
	}
	box, err := codec.Append(nil, &sealedRecord{Subject: subject,
		Box: aead.Seal(nonce, nonce, d, []byte(subject))})
	if err != nil {
		return nil, err
	}
	return canon.DataOf(map[string]any{field: box})
}

// Open returns data with everything sealed in it decrypted, at any depth. Data without anything sealed is returned as
// it is. What was erased is an error that wraps ErrErased.
func Open(v Vault, d canon.Data) (canon.Data, error) {
	if !bytes.Contains(d, []byte(field)) {
		return d, nil
	}
	value, err := openValue(v, d.Value())
	if err != nil {
		return nil, err
	}
	return canon.DataOf(value)
}

// Is reports whether a value of data is sealed: whoever judges it by what it says must refuse it, not pass it
// over.
func Is(value any) bool {
	m, ok := value.(map[string]any)
	if !ok || len(m) != 1 {
		return false
	}
	_, ok = m[field]
	return ok
}

func openValue(v Vault, value any) (any, error) {
	var err error
	switch x := value.(type) {
	case []any:
		for i := range x {
			if x[i], err = openValue(v, x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if box, ok := x[field].([]byte); ok && len(x) == 1 {
			return openBox(v, box)
		}
		for k := range x {
			if x[k], err = openValue(v, x[k]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// openBox decrypts sealed data.
func openBox(v Vault, box []byte) (any, error) {
	var rec sealedRecord
	if err := codec.Decode(box, &rec, canon.Limits{}); err != nil {
		return nil, fmt.Errorf("unseal: %w", err)
	}
	if v == nil {
		return nil, fmt.Errorf("unseal data about %s: this node has no vault", rec.Subject)
	}
	aead, err := cipherOf(v, rec.Subject)
	if err != nil {
		return nil, fmt.Errorf("unseal data about %s: %w", rec.Subject, err)
	}
	if len(rec.Box) < aead.NonceSize() {
		return nil, fmt.Errorf("unseal data about %s: it was cut short", rec.Subject)
	}
	plain, err := aead.Open(nil, rec.Box[:aead.NonceSize()], rec.Box[aead.NonceSize():], []byte(rec.Subject))
	if err != nil {
		return nil, fmt.Errorf("unseal data about %s: it was sealed with another key, or changed", rec.Subject)
	}
	if err := canon.Check(canon.DataType, plain, canon.Limits{}); err != nil {
		return nil, fmt.Errorf("unseal data about %s: %w", rec.Subject, err)
	}
	return canon.Data(plain).Value(), nil
}

func cipherOf(v Vault, subject string) (cipher.AEAD, error) {
	key, err := v.Key(subject)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
