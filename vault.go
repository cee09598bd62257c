package perdure

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/disk"
)

// ErrErased says that the key of sealed data is gone: nobody can read it any more, in any copy.
var ErrErased = errors.New("erased: its key is gone")

// Vault keeps one key for each subject: the person or thing that data is about. Data sealed for a subject is in memories, snapshots, capsules
// and backups only as ciphertext, so that erasing the key erases it everywhere at once, while every hash and signature still verifies.
type Vault interface {
	// Key returns the key of a subject, making one if the subject has none and was not erased: then the error wraps ErrErased.
	Key(subject string) ([32]byte, error)
	// Erase destroys the key of a subject for good. Erasing twice is not an error.
	Erase(subject string) error
}

// Knower is a Vault that can tell, without making a key, whether a subject ever had one, erased or not.
type Knower interface {
	Knows(subject string) (bool, error)
}

// sealedField is the one key of a map that stands for sealed data.
const sealedField = "$sealed"

// sealedRecord is sealed data: the fold carries it and never reads it.
type sealedRecord struct {
	Subject string `canon:"1,subject,verbatim"`
	Box     []byte `canon:"2,box"` // nonce and AES-256-GCM ciphertext; the subject is authenticated with it
}

// Seal encrypts data under the key of a subject. The result takes its place in an event, an argument, a result or the agent's state.
func Seal(v Vault, subject string, d Data) (Data, error) {
	aead, err := vaultCipher(v, subject)
	if err != nil {
		return nil, fmt.Errorf("seal for %s: %w", subject, err)
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(d)+aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("seal for %s: %w", subject, err)
	}
	box, err := sealedCodec.Append(nil, &sealedRecord{Subject: subject, Box: aead.Seal(nonce, nonce, d, []byte(subject))})
	if err != nil {
		return nil, err
	}
	return DataOf(map[string]any{sealedField: box})
}

// Unseal returns data with everything sealed in it decrypted, at any depth. Data without anything sealed is returned as it is. What was erased
// is an error that wraps ErrErased.
func Unseal(v Vault, d Data) (Data, error) {
	if !bytes.Contains(d, []byte(sealedField)) {
		return d, nil
	}
	value, err := unsealValue(v, d.Value())
	if err != nil {
		return nil, err
	}
	return DataOf(value)
}

// IsSealed reports whether a value of Data is sealed: whoever judges it by what it says must refuse it, not pass it over.
func IsSealed(value any) bool {
	m, ok := value.(map[string]any)
	if !ok || len(m) != 1 {
		return false
	}
	_, ok = m[sealedField]
	return ok
}

func unsealValue(v Vault, value any) (any, error) {
	var err error
	switch x := value.(type) {
	case []any:
		for i := range x {
			if x[i], err = unsealValue(v, x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if box, ok := x[sealedField].([]byte); ok && len(x) == 1 {
			return openBox(v, box)
		}
		for k := range x {
			if x[k], err = unsealValue(v, x[k]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// openBox decrypts sealed data.
func openBox(v Vault, box []byte) (any, error) {
	var rec sealedRecord
	if err := sealedCodec.Decode(box, &rec, Limits{}); err != nil {
		return nil, fmt.Errorf("unseal: %w", err)
	}
	if v == nil {
		return nil, fmt.Errorf("unseal what is about %s: this node has no vault", rec.Subject)
	}
	aead, err := vaultCipher(v, rec.Subject)
	if err != nil {
		return nil, fmt.Errorf("unseal what is about %s: %w", rec.Subject, err)
	}
	if len(rec.Box) < aead.NonceSize() {
		return nil, fmt.Errorf("unseal what is about %s: it was cut short", rec.Subject)
	}
	plain, err := aead.Open(nil, rec.Box[:aead.NonceSize()], rec.Box[aead.NonceSize():], []byte(rec.Subject))
	if err != nil {
		return nil, fmt.Errorf("unseal what is about %s: it was sealed with another key, or changed", rec.Subject)
	}
	if err := canon.Check(canon.DataType, plain, Limits{}); err != nil {
		return nil, fmt.Errorf("unseal what is about %s: %w", rec.Subject, err)
	}
	return Data(plain).Value(), nil
}

func vaultCipher(v Vault, subject string) (cipher.AEAD, error) {
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

// DirVault is a Vault in a folder that only its owner can read: one file a subject, named by a hash of it.
type DirVault string

// erasedMark is what is left of an erased key.
const erasedMark = "erased\n"

// Key implements Vault.
func (d DirVault) Key(subject string) ([32]byte, error) {
	var key [32]byte
	b, err := os.ReadFile(d.path(subject))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.create(subject)
	case err != nil:
		return key, fmt.Errorf("read vault: %w", err)
	case string(b) == erasedMark:
		return key, ErrErased
	case len(b) != len(key):
		return key, fmt.Errorf("vault file %s has %d bytes, want %d: restore it from a backup", d.path(subject), len(b), len(key))
	}
	return [32]byte(b), nil
}

// Knows implements Knower.
func (d DirVault) Knows(subject string) (bool, error) {
	_, err := os.Lstat(d.path(subject))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d DirVault) path(subject string) string {
	return filepath.Join(string(d), HashOf([]byte(subject)).String())
}

// create makes a key, unless another process is first.
func (d DirVault) create(subject string) ([32]byte, error) {
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return key, fmt.Errorf("make a vault key: %w", err)
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return key, fmt.Errorf("make a vault: %w", err)
	}
	temp, err := d.write(key[:])
	if err != nil {
		return key, err
	}
	defer func() { _ = disk.Remove(temp) }()
	if err := disk.Link(temp, d.path(subject)); errors.Is(err, fs.ErrExist) {
		return d.Key(subject)
	} else if err != nil {
		return key, fmt.Errorf("make a vault key: %w", err)
	}
	return key, disk.Sync(string(d))
}

// Erase implements Vault. The file is overwritten before it is replaced; what a disk keeps beside files is beyond it.
func (d DirVault) Erase(subject string) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("erase %s: %w", subject, err)
	}
	if f, err := os.OpenFile(d.path(subject), os.O_WRONLY, 0); err == nil {
		_, werr := f.Write(make([]byte, 32))
		if err := errors.Join(werr, f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("erase %s: %w", subject, err)
		}
	}
	temp, err := d.write([]byte(erasedMark))
	if err != nil {
		return err
	}
	if err := disk.Rename(temp, d.path(subject)); err != nil {
		return fmt.Errorf("erase %s: %w", subject, errors.Join(err, disk.Remove(temp)))
	}
	return disk.Sync(string(d))
}

// write writes a durable file under a name nobody looks for.
func (d DirVault) write(b []byte) (string, error) {
	path := filepath.Join(string(d), ".new-"+rand.Text())
	if err := disk.Write(path, b, 0o600); err != nil {
		return "", fmt.Errorf("write vault: %w", err)
	}
	if err := disk.Sync(path); err != nil {
		return "", fmt.Errorf("write vault: %w", errors.Join(err, disk.Remove(path)))
	}
	return path, nil
}
