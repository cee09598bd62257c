package main

import (
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"

	"filippo.io/edwards25519"

	"github.com/perdure/perdure/internal/canon"
)

// The rule for keys and signatures, by property. Where a lenient reader would accept, the vector is made so that it
// does: crypto/ed25519, which takes any encoding of any point as a key, accepts it (lenient), or a reader that
// multiplies by 8 would.

// torsion is a point of order 8. Its multiples are the eight points of small order.
func torsion() *edwards25519.Point {
	return point("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
}

// point decodes a point; the text is a constant.
func point(text string) *edwards25519.Point {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	p, err := new(edwards25519.Point).SetBytes(b)
	if err != nil {
		panic(err)
	}
	return p
}

// nobody are the encodings of points of small order: anyone can sign for them.
func nobody() map[string][]byte {
	out := map[string][]byte{}
	t, sum := torsion(), edwards25519.NewIdentityPoint()
	for i := range 8 {
		out[fmt.Sprintf("small-order-%d", i)] = sum.Bytes()
		sum = new(edwards25519.Point).Add(sum, t)
	}
	for i, y := range []byte{1, 0xec} { // x is 0, and has no sign
		b := out[fmt.Sprintf("small-order-%d", 4*i)]
		if b[0] != y {
			panic("vectors: the order of small orders")
		}
		b = slices.Clone(b)
		b[31] |= 0x80
		out[fmt.Sprintf("sign-of-zero-%d", i)] = b
	}
	for y := range byte(2) { // y is p or p+1
		for sign := range byte(2) {
			out[fmt.Sprintf("unreduced-%d-%d", y, sign)] = unreduced(y, sign)
		}
	}
	return out
}

// unreduced is the encoding of a point whose y is p and some more.
func unreduced(y, sign byte) []byte {
	b := slices.Repeat([]byte{0xff}, 32)
	b[0], b[31] = 0xed+y, 0x7f|sign<<7
	return b
}

// secret is the scalar of the n-th key.
func secret(n byte) *edwards25519.Scalar {
	h := sha512.Sum512(key(n).Seed())
	s, err := edwards25519.NewScalar().SetBytesWithClamping(h[:32])
	if err != nil {
		panic(err)
	}
	return s
}

// challenge is SHA-512(R, A, M) modulo the order of the base point.
func challenge(r, a, m []byte) *edwards25519.Scalar {
	h := sha512.Sum512(slices.Concat(r, a, m))
	k, err := edwards25519.NewScalar().SetUniformBytes(h[:])
	if err != nil {
		panic(err)
	}
	return k
}

// signedAs is an entry on g whose origin is a, with a signature made of a nonce r (as [r]B) and the scalar x of a,
// whatever of small order is in a. Of such entries it is the first that crypto/ed25519 judges as wanted.
func signedAs(g entry, a []byte, r, x *edwards25519.Scalar, wanted bool) (e entry, sig []byte) {
	point := new(edwards25519.Point).ScalarBaseMult(r).Bytes()
	for i := range 1000 {
		e = next(g, 1, "told", fields{5: began + i, 7: a}, g)
		s := edwards25519.NewScalar().MultiplyAdd(challenge(point, a, e.name()), x, r)
		if sig = slices.Concat(point, s.Bytes()); ed25519.Verify(a, e.name(), sig) == wanted {
			return e, sig
		}
	}
	panic("vectors: no such signature")
}

// with is the entry with another signature.
func (e entry) with(sig []byte) raw {
	f := e.fields()
	f[3] = sig
	return record(f)
}

// mixed is key 1 with a point of order 8 added, and what its holder can sign with it.
func mixed(g entry, wanted bool) raw {
	a, err := new(edwards25519.Point).SetBytes(public(1))
	if err != nil {
		panic(err)
	}
	e, sig := signedAs(g, a.Add(a, torsion()).Bytes(), secret(2), secret(1), wanted)
	return e.with(sig)
}

func acceptedKeys() []*vector {
	return []*vector{binaryVector("entry-mixed-key", "entry", mixed(first(), true),
		"a key with a part of small order is a key: what its holder signs verifies without a factor of 8"),
		binaryVector("entry-mixed-r", "entry", mixedTwice(first()),
			"an R with a part of small order that cancels out with the key's: the encodings are equal, and that is "+
				"all that counts"),
	}
}

// mixedTwice is an entry by key 1 with a point of order 8 added whose signature has a part of small order in R, too.
func mixedTwice(g entry) raw {
	p, err := new(edwards25519.Point).SetBytes(public(1))
	if err != nil {
		panic(err)
	}
	a := p.Add(p, torsion()).Bytes()
	r := secret(2)
	begins := new(edwards25519.Point).ScalarBaseMult(r)
	begins.Add(begins, torsion())
	for i := range 1000 {
		e := next(g, 1, "told", fields{5: began + i, 7: a}, g)
		s := edwards25519.NewScalar().MultiplyAdd(challenge(begins.Bytes(), a, e.name()), secret(1), r)
		if sig := slices.Concat(begins.Bytes(), s.Bytes()); ed25519.Verify(a, e.name(), sig) {
			return e.with(sig)
		}
	}
	panic("vectors: no such signature")
}

func rejectedKeys() []*vector {
	g := first()
	var out []*vector
	add := func(predicate, name, why string, b []byte) {
		out = append(out, binaryVector("key-"+name, "entry", b, why).refused(predicate))
	}
	none := edwards25519.NewScalar()
	for name, a := range nobody() {
		e, sig := signedAs(g, a, secret(2), none, true)
		add("key.sound", name, "anyone can sign for this key, and a lenient reader would accept it", e.with(sig))
	}
	for y := byte(2); y < 19; y++ { // of these points nobody knows the scalar
		if a := unreduced(y, 0); on25519(a) {
			add("key.sound", fmt.Sprintf("unreduced-%d", y),
				"a point that is not of small order, in an encoding that is not canonical",
				next(g, 1, "told", fields{7: a}, g).bytes())
		}
	}
	add("key.sound", "small-order-unsigned", "a point of small order, and no signature",
		record(fields{1: next(g, 1, "told", fields{7: torsion().Bytes()}, g).header}))
	owner := func(charter fields) []byte {
		c := fields{1: public(1), 2: "acme"}
		for id, v := range charter {
			c[id] = v
		}
		return newEntry(genesis, body(genesis, fields{1: fields{2: "watch"}, 2: c}), nil).bytes()
	}
	approver := canon.AppendBytes(nil, torsion().Bytes())
	add("key.sound", "approver", "an approver that anyone can sign for",
		owner(fields{5: []raw{canon.AppendBytes(nil, public(2)), approver}}))
	changed := func(k fields) []byte { return on(g, event, fields{1: "keys", 5: fields{3: k}}).bytes() }
	add("key.sound", "new-owner", "the agent is handed on to everybody", changed(fields{2: torsion().Bytes()}))
	add("key.sound", "revoked", "a key that is none is revoked", changed(fields{1: torsion().Bytes()}))

	e := next(g, 1, "told", nil, g)
	name, a := e.name(), public(1)
	identity := edwards25519.NewIdentityPoint().Bytes()
	lazy := edwards25519.NewScalar().Multiply(challenge(identity, a, name), secret(1)).Bytes()
	add("entry.signed", "r-small-order", "R is the neutral point, and a lenient reader would accept it",
		e.with(slices.Concat(identity, lazy)))
	one := unreduced(1, 0)
	lazy = edwards25519.NewScalar().Multiply(challenge(one, a, name), secret(1)).Bytes()
	add("entry.signed", "r-unreduced", "R is an encoding that is not canonical", e.with(slices.Concat(one, lazy)))
	sig := ed25519.Sign(key(1), name)
	add("entry.signed", "s-unreduced", "S is not below the order of the base point",
		e.with(slices.Concat(sig[:32], plusOrder(sig[32:]))))
	add("entry.signed", "needs-cofactor", "it verifies only after a multiplication by 8", mixed(g, false))
	return out
}

// on25519 reports whether bytes are some encoding of a point of the curve.
func on25519(b []byte) bool {
	_, err := new(edwards25519.Point).SetBytes(b)
	return err == nil
}

// plusOrder is a scalar and the order of the base point, little endian.
func plusOrder(s []byte) []byte {
	b := slices.Clone(s)
	slices.Reverse(b)
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989",
		10)
	sum := new(big.Int).Add(order, new(big.Int).SetBytes(b)).FillBytes(make([]byte, 32))
	slices.Reverse(sum)
	return sum
}
