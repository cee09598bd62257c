package home

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/perdure/perdure"
)

// certLife is how long a certificate is good. Nobody relies on that: it is the key that is pinned.
const certLife = 10 * 365 * 24 * time.Hour

// Certificate is a certificate over a key of ours, signed by itself: who reads it compares the key, not names. So nodes
// know each other by what their trust files name, and no other authority is needed.
func Certificate(s *perdure.Signer) (tls.Certificate, error) {
	key, err := privateKey(s)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: s.Name}, NotBefore: now.Add(-24 * time.Hour),
		NotAfter: now.Add(certLife), KeyUsage: x509.KeyUsageDigitalSignature, DNSNames: []string{"perdure"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// privateKey is the private part of a key that is in a file.
func privateKey(s *perdure.Signer) (ed25519.PrivateKey, error) {
	text, err := s.PrivateText()
	if err != nil {
		return nil, err
	}
	// PRIVATE+KEY+NAME+HASH+SEED: the seed may hold plus signs, the name may not.
	at := len("PRIVATE+KEY+") + len(s.Name) + len("+00000000+")
	if len(text) < at {
		return nil, errors.New("this key cannot be used for TLS")
	}
	seed, err := base64.StdEncoding.DecodeString(text[at:])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return nil, errors.New("this key cannot be used for TLS")
	}
	return ed25519.NewKeyFromSeed(seed[1:]), nil
}
