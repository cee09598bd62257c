package exchange

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// Receipt is what a place says, signed, that it has durably taken.
type Receipt struct {
	Agent   perdure.AgentID `json:"agent"`
	Heads   []perdure.Hash  `json:"heads"`   // that the agent has there now
	Entries int64           `json:"entries"` // that were new there
	Created bool            `json:"created,omitempty"`
	Held    string          `json:"held,omitempty"` // why it does not go on there by itself; empty: it may
	Time    time.Time       `json:"time,omitzero"`
	// Challenge is what whoever asked for the receipt made up for it: it was signed after that, and for them. Zero:
	// they made up none.
	Challenge perdure.Hash `json:"challenge,omitzero"`
	// At is the address by which the challenge came, HOST or HOST:PORT, if whoever signs knows it for their own: a
	// challenge that somebody else was sent, and passed on, is answered for another address or for none.
	At string `json:"at,omitempty"`

	Key       perdure.Key `json:"key,omitzero"` // whose word it is; zero: nobody's, as of a folder
	Signature []byte      `json:"signature,omitempty"`
}

// digest is what is signed. It begins with a word, so that it is never the name of an entry.
func (r *Receipt) digest() perdure.Hash {
	b := []byte("perdure receipt\x00")
	if !r.Challenge.IsZero() {
		b = append([]byte("perdure receipt for\x00"), r.Challenge[:]...)
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(r.At))), r.At...)
	}
	b = append(b, r.Agent[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Entries))
	b = binary.BigEndian.AppendUint64(b, uint64(len(r.Heads)))
	for _, h := range r.Heads {
		b = append(b, h[:]...)
	}
	created := byte(0)
	if r.Created {
		created = 1
	}
	return perdure.HashOf(append(append(b, created), r.Held...))
}

// Sign has a key say what the receipt says.
func (r *Receipt) Sign(s *perdure.Signer) (err error) {
	r.Key = s.Key()
	if r.Signature, err = s.Sign(r.digest()); err != nil {
		return fmt.Errorf("sign receipt: %w", err)
	}
	return nil
}

// Check refuses a receipt that its key did not sign, or that is about another agent.
func (r *Receipt) Check(id perdure.AgentID) error {
	if r.Agent != id {
		return perdure.Invalid(fmt.Errorf("receipt: it is about agent %s, and %s was sent", r.Agent.Short(),
			id.Short()))
	}
	if err := r.Key.Verify(r.digest(), r.Signature); err != nil {
		return fmt.Errorf("receipt: not signed by the key %s it names: %w", r.Key.Short(), err)
	}
	return nil
}
