package capsule

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"

	"github.com/perdure/perdure"
)

const (
	ageMagic  = "age-encryption.org/"
	ageArmour = "-----BEGIN AGE ENCRYPTED FILE-----"
)

// decrypt returns what is in an age file, or the source itself if it is none.
func decrypt(src *source, identities []age.Identity) (plain io.Reader, encrypted bool, err error) {
	start := src.peek(len(ageArmour))
	var in io.Reader = src
	switch {
	case bytes.HasPrefix(start, []byte(ageArmour)):
		in = armor.NewReader(src)
	case !bytes.HasPrefix(start, []byte(ageMagic)):
		return src, false, nil
	}
	if len(identities) == 0 {
		return nil, true, reject(PredRecipient, 0, "$", "an encrypted capsule", "an identity to decrypt it with")
	}
	plain, err = age.Decrypt(in, identities...)
	var nobody *age.NoIdentityMatchError
	if errors.As(err, &nobody) || errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, true, reject(PredRecipient, 0, "$", "a capsule encrypted to somebody else",
			"one encrypted to an identity given")
	}
	if err != nil {
		return nil, true, fmt.Errorf("decrypt: %w", err)
	}
	return &decrypted{plain}, true, nil
}

// decrypted turns the complaints of age about damaged files into refusals.
type decrypted struct{ r io.Reader }

func (d *decrypted) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	var r *perdure.Rejection
	if err == nil || err == io.EOF || errors.As(err, &r) {
		return n, err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return n, reject(PredComplete, 0, "$", "the end of the encrypted file inside a block", "a whole file")
	}
	return n, reject(PredRecipient, 0, "$", "encrypted bytes that were changed: "+err.Error(),
		"the bytes that were encrypted")
}

// ParseRecipient reads whom to encrypt to: an age recipient (age1…) or an SSH public key (ssh-ed25519 …, ssh-rsa …).
func ParseRecipient(s string) (age.Recipient, error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "ssh-") {
		r, err := agessh.ParseRecipient(s)
		if err != nil {
			return nil, fmt.Errorf("recipient %.20q: %w", s, err)
		}
		return r, nil
	}
	rs, err := age.ParseRecipients(strings.NewReader(s))
	if err != nil || len(rs) != 1 {
		return nil, fmt.Errorf("recipient %.20q: want age1… or an SSH public key", s)
	}
	return rs[0], nil
}

// ParseIdentities reads whom to decrypt as: a file of age identities (AGE-SECRET-KEY-1…) or an SSH private key. The
// passphrase of a protected SSH key is asked for when it is needed.
func ParseIdentities(r io.Reader, passphrase func() ([]byte, error)) ([]age.Identity, error) {
	in := bufio.NewReader(r)
	start, _ := in.Peek(len("-----BEGIN"))
	if string(start) != "-----BEGIN" {
		ids, err := age.ParseIdentities(in)
		if err != nil {
			return nil, fmt.Errorf("identity: %w", err)
		}
		return ids, nil
	}
	pem, err := io.ReadAll(io.LimitReader(in, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	id, err := agessh.ParseIdentity(pem)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) && locked.PublicKey != nil && passphrase != nil {
		id, err = agessh.NewEncryptedSSHIdentity(locked.PublicKey, pem, passphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return []age.Identity{id}, nil
}

// Passphrase is whom to encrypt to and to decrypt as when all there is is a passphrase. It goes with no other
// recipient.
func Passphrase(s string) (age.Recipient, age.Identity, error) {
	r, err := age.NewScryptRecipient(s)
	if err != nil {
		return nil, nil, fmt.Errorf("passphrase: %w", err)
	}
	id, err := age.NewScryptIdentity(s)
	if err != nil {
		return nil, nil, fmt.Errorf("passphrase: %w", err)
	}
	return r, id, nil
}
