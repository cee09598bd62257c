package perdure

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha512"
	"io"

	"filippo.io/edwards25519"
)

// expandedKey signs as crypto/ed25519 does with the same private key, byte for byte (RFC 8032, section 5.1.6), and takes a fifth less time for
// it, which is a tenth of what a step costs: what depends on the key alone is worked out once, and the encoding of R, which takes an
// inversion, once per signature.
type expandedKey struct {
	private ed25519.PrivateKey
	scalar  *edwards25519.Scalar
	prefix  [32]byte
}

// expand is the signer of a private key; any other signer is left as it is.
func expand(s crypto.Signer) crypto.Signer {
	private, ok := s.(ed25519.PrivateKey)
	if !ok || len(private) != ed25519.PrivateKeySize {
		return s
	}
	h := sha512.Sum512(private.Seed())
	scalar, err := edwards25519.NewScalar().SetBytesWithClamping(h[:32])
	if err != nil {
		return s
	}
	k := &expandedKey{private: private, scalar: scalar}
	copy(k.prefix[:], h[32:])
	return k
}

func (k *expandedKey) Public() crypto.PublicKey { return k.private.Public() }

// Sign signs a message that is not hashed. Other kinds of signature are left to crypto/ed25519.
func (k *expandedKey) Sign(rand io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if opts.HashFunc() != 0 {
		return k.private.Sign(rand, message, opts)
	}
	r, err := scalarOf(k.prefix[:], message)
	if err != nil {
		return nil, err
	}
	signature := make([]byte, 0, signatureSize)
	signature = append(signature, new(edwards25519.Point).ScalarBaseMult(r).Bytes()...)
	c, err := scalarOf(signature, k.private[32:], message)
	if err != nil {
		return nil, err
	}
	s := edwards25519.NewScalar().MultiplyAdd(c, k.scalar, r)
	return append(signature, s.Bytes()...), nil
}

// scalarOf is the hash of all parts as a scalar.
func scalarOf(parts ...[]byte) (*edwards25519.Scalar, error) {
	h := sha512.New()
	for _, p := range parts {
		h.Write(p)
	}
	var sum [sha512.Size]byte
	return edwards25519.NewScalar().SetUniformBytes(h.Sum(sum[:0]))
}
