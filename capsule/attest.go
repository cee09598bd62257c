package capsule

import (
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// Attestation is somebody's signed word that they validated a capsule deeply. It lets others be content with shallow
// validation of exactly that capsule, if they trust the key.
type Attestation struct {
	Agent     perdure.AgentID `canon:"1,agent"`
	Digest    perdure.Hash    `canon:"2,digest"` // of the capsule, from its index
	Time      perdure.Time    `canon:"3,time"`
	Key       perdure.Key     `canon:"4,key"`
	Signature [64]byte        `canon:"5,signature"`
}

var attestationCodec = canon.For[Attestation]("capsule-attestation")

// Attest reads all of a capsule, validating it deeply, and attests to it.
func Attest(s *perdure.Signer, c *Reader, now time.Time) (*Attestation, error) {
	if c.o.Shallow {
		return nil, fmt.Errorf("attest: the capsule is read with shallow validation; read it deeply")
	}
	for _, err := range c.Entries() {
		if err != nil {
			return nil, fmt.Errorf("attest: %w", err)
		}
	}
	a := &Attestation{Agent: c.head.Agent, Digest: c.end.Digest, Time: perdure.TimeOf(now), Key: s.Key()}
	sig, err := s.Sign(a.digest())
	if err != nil {
		return nil, fmt.Errorf("attest: %w", err)
	}
	a.Signature = [64]byte(sig)
	return a, nil
}

// digest is what is signed. It begins with a word, so that it is never the name of an entry.
func (a *Attestation) digest() perdure.Hash {
	b := canon.AppendText(nil, "perdure attestation")
	b = canon.AppendBytes(b, a.Agent[:])
	b = canon.AppendBytes(b, a.Digest[:])
	return perdure.HashOf(canon.AppendInt(b, int64(a.Time)))
}

// MarshalBinary returns the canonical bytes of the attestation.
func (a *Attestation) MarshalBinary() ([]byte, error) { return attestationCodec.Append(nil, a) }

// UnmarshalBinary reads the canonical bytes of an attestation. It does not look at the signature: a Reader does.
func (a *Attestation) UnmarshalBinary(b []byte) error {
	return attestationCodec.Decode(append([]byte(nil), b...), a, canon.Limits{Bytes: maxRecord})
}

// checkShallow refuses to relax validation without a reason to.
func (c *Reader) checkShallow() error {
	a := c.o.Attestation
	switch {
	case a == nil && c.o.Shallow && !c.o.Local:
		return reject(PredAttested, 0, "$", "shallow validation of a capsule from elsewhere",
			"deep validation, or an attestation")
	case a == nil:
		return nil
	case c.o.Trusted == nil || !c.o.Trusted(a.Key):
		r := reject(PredAttested, 0, "$.attestation.key", "an attestation by "+a.Key.Short()+
			", who is not trusted everywhere", "one by a key that is trusted in every scope")
		r.Hint = "leave --shallow out; or, if you trust this key everywhere: perdure key trust " + a.Key.String()
		return r
	}
	if a.Key.Verify(a.digest(), a.Signature[:]) != nil {
		return reject(PredAttested, 0, "$.attestation.signature", "a signature that does not verify",
			"one by "+a.Key.Short())
	}
	if a.Agent != c.head.Agent {
		return reject(PredAttested, 0, "$.attestation.agent", a.Agent.Short(), c.head.Agent.Short())
	}
	return nil
}

// covers refuses a capsule that is not the one attested to.
func (a *Attestation) covers(h *Head, x *Index) error {
	if a.Agent != h.Agent || a.Digest != x.Digest {
		return reject(PredAttested, 0, "$.attestation.digest", x.Digest.Short(), a.Digest.Short())
	}
	return nil
}
