package capsule

import (
	"fmt"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// signatureMagic begins a file of detached signatures.
const signatureMagic = "perdure signatures"

// signatureHead is the first record of a file of detached signatures. The others follow it in the order of the entries.
type signatureHead struct {
	Magic   string          `canon:"1,magic"`
	Version int64           `canon:"2,version"`
	Agent   perdure.AgentID `canon:"3,agent"`
}

// detachedSignature is the signature of one entry.
type detachedSignature struct {
	Entry     perdure.Hash `canon:"1,entry"`
	Signature [64]byte     `canon:"2,signature"`
}

var (
	signatureHeadCodec = canon.For[signatureHead]("capsule-signatures")
	signatureCodec     = canon.For[detachedSignature]("capsule-signature")
)

// signatureWriter writes detached signatures.
type signatureWriter struct {
	w   io.Writer
	buf []byte
}

func newSignatureWriter(w io.Writer, id perdure.AgentID) (*signatureWriter, error) {
	b, err := signatureHeadCodec.Append(nil, &signatureHead{Magic: signatureMagic, Version: Version, Agent: id})
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, fmt.Errorf("write signatures: %w", err)
	}
	return &signatureWriter{w: w}, nil
}

func (s *signatureWriter) add(e *perdure.Entry) (err error) {
	if s.buf, err = signatureCodec.Append(s.buf[:0], &detachedSignature{Entry: e.Name,
		Signature: [64]byte(e.Signature)}); err != nil {
		return err
	}
	if _, err = s.w.Write(s.buf); err != nil {
		return fmt.Errorf("write signatures: %w", err)
	}
	return nil
}

// signatureReader reads detached signatures beside the entries they belong to.
type signatureReader struct {
	r    *canon.Reader
	next *detachedSignature
}

func newSignatureReader(r io.Reader, id perdure.AgentID) (*signatureReader, error) {
	s := &signatureReader{r: canon.NewReader(r, canon.Limits{Bytes: maxRecord})}
	b, err := s.r.Next(signatureHeadCodec.Type())
	var head signatureHead
	if err == nil {
		err = signatureHeadCodec.Decode(b, &head, canon.Limits{})
	}
	switch {
	case err == io.EOF:
		return nil, reject(PredDetached, 0, "$", "an empty signature file", "a file of signatures")
	case err != nil:
		return nil, fmt.Errorf("signature file: %w", err)
	case head.Magic != signatureMagic:
		return nil, reject(PredDetached, 0, "$.magic", fmt.Sprintf("%.30q", head.Magic), "a file of signatures")
	case head.Version > Version:
		return nil, reject(PredVersion, 0, "$.version", fmt.Sprint(head.Version), fmt.Sprint(Version))
	case head.Agent != id:
		return nil, reject(PredDetached, 0, "$.agent", "signatures of agent "+head.Agent.Short(), id.Short())
	}
	return s, s.advance()
}

func (s *signatureReader) advance() error {
	s.next = nil
	b, err := s.r.Next(signatureCodec.Type())
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return fmt.Errorf("signature file: %w", err)
	}
	s.next = new(detachedSignature)
	return signatureCodec.Decode(b, s.next, canon.Limits{})
}

// of returns the signature of an entry, or nil if it has none. Entries are asked for in order.
func (s *signatureReader) of(name perdure.Hash) ([]byte, error) {
	if s.next == nil || s.next.Entry != name {
		return nil, nil
	}
	sig := s.next.Signature
	return sig[:], s.advance()
}

// end refuses signatures that no entry had a use for.
func (s *signatureReader) end() error {
	if s.next != nil {
		return reject(PredDetached, s.r.Offset(), "$.entry", "a signature of "+s.next.Entry.Short(),
			"only those of entries in the capsule, in their order")
	}
	return nil
}
