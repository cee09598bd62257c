// Package seal keeps data about a person or thing in memories only as ciphertext, under a key of their own: erasing the
// key erases the data in every copy at once, while every hash and signature still verifies.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

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
	return boxed(v, subject, d, randomNonce)
}

// boxed is For with a nonce of some kind.
func boxed(v Vault, subject string, d canon.Data,
	nonceOf func([32]byte, cipher.AEAD, canon.Data) ([]byte, error),
) (canon.Data, error) {
	key, err := v.Key(subject)
	var nonce []byte
	var aead cipher.AEAD
	if err == nil {
		aead, err = cipherOf(key)
	}
	if err == nil {
		nonce, err = nonceOf(key, aead, d)
	}
	if err != nil {
		return nil, fmt.Errorf("seal for %s: %w", subject, err)
	}
	box, err := codec.Append(nil, &sealedRecord{Subject: subject,
		Box: aead.Seal(slices.Clone(nonce), nonce, d, []byte(subject))})
	if err != nil {
		return nil, err
	}
	return canon.DataOf(map[string]any{field: box})
}

func randomNonce(_ [32]byte, aead cipher.AEAD, _ canon.Data) ([]byte, error) {
	nonce := make([]byte, aead.NonceSize())
	_, err := rand.Read(nonce)
	return nonce, err
}

// Open returns data with everything sealed in it decrypted, at any depth. Data without anything sealed is returned as
// it is. What was erased is an error that wraps ErrErased.
func Open(v Vault, d canon.Data) (canon.Data, error) {
	plain, _, err := OpenAll(v, d)
	return plain, err
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

func (o *Opened) open(value any) (any, error) {
	var err error
	switch x := value.(type) {
	case []any:
		for i := range x {
			if x[i], err = o.open(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if box, ok := x[field].([]byte); ok && len(x) == 1 {
			return o.openBox(box)
		}
		for k := range x {
			if x[k], err = o.open(x[k]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// openBox decrypts sealed data, and what is sealed in it.
func (o *Opened) openBox(box []byte) (any, error) {
	var rec sealedRecord
	if err := codec.Decode(box, &rec, canon.Limits{}); err != nil {
		return nil, fmt.Errorf("unseal: %w", err)
	}
	plain, err := rec.open(o.vault)
	if err != nil {
		return nil, fmt.Errorf("unseal data about %s: %w", rec.Subject, err)
	}
	value, err := o.open(plain.Value())
	if err == nil {
		o.note(rec.Subject, value)
	}
	return value, err
}

func (r *sealedRecord) open(v Vault) (canon.Data, error) {
	if v == nil {
		return nil, errors.New("this node has no vault")
	}
	key, err := v.Key(r.Subject)
	if err != nil {
		return nil, err
	}
	aead, err := cipherOf(key)
	if err != nil {
		return nil, err
	}
	if len(r.Box) < aead.NonceSize() {
		return nil, errors.New("it was cut short")
	}
	plain, err := aead.Open(nil, r.Box[:aead.NonceSize()], r.Box[aead.NonceSize():], []byte(r.Subject))
	if err != nil {
		return nil, errors.New("it was sealed with another key, or changed")
	}
	return plain, canon.Check(canon.DataType, plain, canon.Limits{})
}

func cipherOf(key [32]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
