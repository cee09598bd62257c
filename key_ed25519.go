package perdure

import (
	"crypto/ed25519"
	"fmt"
	"sync"

	"github.com/perdure/perdure/internal/canon"
)

// The one rule by which keys and signatures are judged, wherever they enter: spec/README.md §2 states it. Libraries
// differ on what they accept beside honest signatures, and two readers that differ on one entry differ on the whole
// memory. What is refused here on top of RFC 8032 are the encodings that belong to nobody: with a key of small order
// anyone can make signatures that verify, for any entry.

// smallOrder are the y coordinates of the eight points whose order divides 8, little endian, the sign of x left out.
var smallOrder = [...][32]byte{
	{}, // order 4
	{1},
	{0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, // order 2
	{0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05}, // order 8
	{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a}, // order 8
}

// unsound says what is wrong with the encoding of a point; empty: nothing. Both points of the curve with x = 0 are of
// small order, so their other encodings, with the sign set, are refused as that.
func unsound(point *[32]byte) string {
	y := *point
	y[31] &= 0x7f
	for i := range smallOrder {
		if y == smallOrder[i] {
			return "a point of small order"
		}
	}
	if y[31] != 0x7f || y[0] < 0xed {
		return ""
	}
	for _, b := range y[1:31] {
		if b != 0xff {
			return ""
		}
	}
	return "an encoding that is not canonical" // y is at least 2^255-19
}

// sound refuses a key that can be nobody's: a point of small order, or an encoding that is not canonical (key.sound).
// The zero key is one.
func (k Key) sound() error { return k.check(nil, "$") }

// check is sound for a key at a place in an entry.
func (k Key) check(e *Entry, path string) error {
	got := unsound((*[32]byte)(&k))
	if got == "" {
		return nil
	}
	return reject(predKeySound, e, path, k.Short()+" is no key: "+got, "the canonical encoding of a key",
		"anyone can sign for such a key: get the right one from its holder")
}

// Verify refuses a signature over a hash that is not by this key: 64 bytes R and S, S below the order of the base
// point, R and the key canonical and not of small order, and the encoding of [S]B - [SHA-512(R, key, hash)]key equal to
// R, byte for byte: no factor of 8.
func (k Key) Verify(hash Hash, signature []byte) error { return k.verify(hash[:], signature) }

func (k Key) verify(message, signature []byte) error {
	if err := k.sound(); err != nil {
		return err
	}
	if len(signature) != signatureSize {
		return reject(predSignature, nil, "$.signature", canon.Count(len(signature), "bytes"),
			fmt.Sprint(signatureSize), "")
	}
	if got := unsound((*[32]byte)(signature[:32])); got != "" {
		return reject(predSignature, nil, "$.signature", "a signature that begins with "+got, "one by "+k.Short(),
			forgedHint)
	}
	if !proven.verify(k, message, signature) {
		return reject(predSignature, nil, "$.signature", "a signature that does not verify", "one by "+k.Short(),
			forgedHint)
	}
	return nil
}

// proven are signatures that this process has verified.
var proven proofs

// proofs remembers signatures that verify, the newest of them. To verify one takes longer than all else that is done
// with a small entry, and whoever takes in a memory reads it several times: to check it, to see whether it counts here,
// to store it, and to look at what came of it.
type proofs struct {
	mu            sync.Mutex
	recent, older map[Hash]struct{} // hashes of key, signature and message
	made          int               // how many were verified, and not remembered
}

func (p *proofs) verify(k Key, message, signature []byte) bool {
	b := append(make([]byte, 0, 128), k[:]...)
	name := HashOf(append(append(b, signature...), message...)) // the first two are of one length always
	if p.has(name) {
		return true
	}
	if !ed25519.Verify(k[:], message, signature) { // compares the encodings, and refuses S that is not reduced
		return false
	}
	p.add(name)
	return true
}

func (p *proofs) has(name Hash) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, recent := p.recent[name]
	_, older := p.older[name]
	return recent || older
}

func (p *proofs) add(name Hash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	if p.recent == nil || len(p.recent) == maxProofs {
		p.recent, p.older = make(map[Hash]struct{}), p.recent
	}
	p.recent[name] = struct{}{}
}

const forgedHint = "the entry was changed or forged; get it from another copy"
