// Package webhook takes what other programs post to agents, and signs what is posted to them, by Standard Webhooks: an
// id, a time and the raw body, signed with a shared secret (v1, HMAC-SHA256) or a key pair (v1a, Ed25519).
package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed message.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

const (
	// Window is how far the time of a message may be from now, either way: after that it counts as replayed.
	Window = 5 * time.Minute
	// maxID is the longest id of a message.
	maxID = 256
	// maxSignatures bounds the signatures looked at: one for each key of a sender that is changing keys.
	maxSignatures = 16
	// minSecret is the shortest secret of which HMAC-SHA256 is worth anything, in bytes.
	minSecret = 24
)

// The beginnings of keys as text, and of signatures.
const (
	secretPrefix  = "whsec_"
	publicPrefix  = "whpk_"
	privatePrefix = "whsk_"
	symmetric     = "v1"
	asymmetric    = "v1a"
)

var (
	// ErrUnsigned says that no key here made any signature of a message.
	ErrUnsigned = errors.New("no signature of this message is by a key configured here")
	// ErrReplayed says that a message was signed too long ago, or for later.
	ErrReplayed = errors.New("the message was signed more than 5 minutes from now: it counts as replayed")
	// ErrMalformed says that a message lacks what a signed one has.
	ErrMalformed = errors.New("malformed webhook")
)

// Key signs or verifies messages: a shared secret, which does both, a private key, which does both, or a public key.
type Key struct {
	secret  []byte
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

// ParseKey reads a key: whsec_ and a secret, whsk_ and a private key or its seed, whpk_ and a public key, each in
// base64. The error never quotes the key.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	prefix, rest, ok := strings.Cut(text, "_")
	raw, err := base64.StdEncoding.DecodeString(rest)
	switch prefix += "_"; {
	case !ok || prefix != secretPrefix && prefix != publicPrefix && prefix != privatePrefix:
		return Key{}, errors.New("a webhook key begins with whsec_, whsk_ or whpk_")
	case err != nil:
		return Key{}, fmt.Errorf("what follows %s is not base64", prefix)
	case prefix == secretPrefix && len(raw) < minSecret:
		return Key{}, fmt.Errorf("the secret has %d bytes, want at least %d: openssl rand -base64 32", len(raw),
			minSecret)
	case prefix == secretPrefix:
		return Key{secret: raw}, nil
	case prefix == publicPrefix && len(raw) == ed25519.PublicKeySize:
		return Key{public: raw}, nil
	case prefix == privatePrefix && len(raw) == ed25519.SeedSize:
		k := ed25519.NewKeyFromSeed(raw)
		return Key{private: k, public: ed25519.PublicKey(k[ed25519.SeedSize:])}, nil
	case prefix == privatePrefix && len(raw) == ed25519.PrivateKeySize:
		k := ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize])
		if !k.Equal(ed25519.PrivateKey(raw)) {
			return Key{}, errors.New("the two halves of the key do not belong together")
		}
		return Key{private: k, public: ed25519.PublicKey(k[ed25519.SeedSize:])}, nil
	}
	return Key{}, fmt.Errorf("a key that begins with %s does not have %d bytes", prefix, len(raw))
}

// Signs reports whether the key can sign.
func (k Key) Signs() bool { return k.secret != nil || k.private != nil }

// Equal reports whether two keys verify the same signatures.
func (k Key) Equal(o Key) bool {
	if k.secret != nil {
		return subtle.ConstantTimeCompare(k.secret, o.secret) == 1
	}
	return k.public != nil && k.public.Equal(o.public)
}

// String never shows the key.
func (k Key) String() string {
	if k.secret != nil {
		return "whsec_…"
	}
	return "whpk_" + base64.StdEncoding.EncodeToString(k.public)
}

// GoString does not either.
func (k Key) GoString() string { return k.String() }

// signed is the bytes that a signature is over.
func signed(id string, at int64, body []byte) []byte {
	b := make([]byte, 0, len(id)+len(body)+24)
	b = append(append(b, id...), '.')
	b = append(strconv.AppendInt(b, at, 10), '.')
	return append(b, body...)
}

func (k Key) mac(message []byte) []byte {
	m := hmac.New(sha256.New, k.secret)
	_, _ = m.Write(message) // it never fails
	return m.Sum(nil)
}

// verifies reports whether a signature of a version is by this key.
func (k Key) verifies(version string, message, signature []byte) bool {
	switch version {
	case symmetric:
		return k.secret != nil && hmac.Equal(k.mac(message), signature)
	case asymmetric:
		return k.public != nil && len(signature) == ed25519.SignatureSize &&
			ed25519.Verify(k.public, message, signature)
	}
	return false
}

// Sign sets the headers that sign a message by every key that can: receivers that know any of them accept it, so that
// keys can be changed one side after the other.
func Sign(h http.Header, id string, at time.Time, body []byte, keys ...Key) error {
	message := signed(id, at.Unix(), body)
	var all []string
	for _, k := range keys {
		switch {
		case k.secret != nil:
			all = append(all, symmetric+","+base64.StdEncoding.EncodeToString(k.mac(message)))
		case k.private != nil:
			all = append(all, asymmetric+","+base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, message)))
		}
	}
	if len(all) == 0 {
		return errors.New("sign a webhook: no key that signs; want whsec_ or whsk_")
	}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, strings.Join(all, " "))
	return nil
}

// Message is a message whose signature was verified.
type Message struct {
	ID   string
	Time time.Time
	By   int // which of the keys
}

// Verify is a message that one of the keys signed at about this time. It looks at the signature first: what is not
// signed gets no other answer than ErrUnsigned, or ErrMalformed where there is nothing to verify.
func Verify(h http.Header, body []byte, now time.Time, keys ...Key) (Message, error) {
	id, stamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	at, err := strconv.ParseInt(stamp, 10, 64)
	switch list := h.Values(HeaderSignature); {
	case id == "" || stamp == "" || len(list) == 0 || list[0] == "":
		return Message{}, fmt.Errorf("%w: want %s, %s and %s", ErrMalformed, HeaderID, HeaderTimestamp, HeaderSignature)
	case len(h.Values(HeaderID)) > 1 || len(h.Values(HeaderTimestamp)) > 1 || len(list) > 1:
		return Message{}, fmt.Errorf("%w: a header of the signature comes more than once", ErrMalformed)
	case len(id) > maxID || strings.Contains(id, "."):
		return Message{}, fmt.Errorf("%w: %s has a dot or more than %d bytes", ErrMalformed, HeaderID, maxID)
	case err != nil || strconv.FormatInt(at, 10) != stamp:
		return Message{}, fmt.Errorf("%w: %s is not a number of seconds", ErrMalformed, HeaderTimestamp)
	}
	message := signed(id, at, body)
	by := -1
	for n, text := range strings.Fields(h.Get(HeaderSignature)) {
		version, encoded, _ := strings.Cut(text, ",")
		signature, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || n >= maxSignatures {
			continue
		}
		for i, k := range keys { // every key is tried: how long it takes does not tell which it was
			if k.verifies(version, message, signature) && by < 0 {
				by = i
			}
		}
	}
	if by < 0 {
		return Message{}, ErrUnsigned
	}
	m := Message{ID: id, Time: time.Unix(at, 0), By: by}
	if off := now.Sub(m.Time); off > Window || off < -Window {
		return m, ErrReplayed
	}
	return m, nil
}
