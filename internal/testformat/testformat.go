// Package testformat is a format of the future, for tests of how entries of one are read.
package testformat

import (
	"bytes"
	"errors"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
)

// Version is that of the format: a body is a list of one, the body of today.
const Version = 1_000_001

var once sync.Once

// Register makes entries of the format readable in this process.
func Register() {
	once.Do(func() {
		perdure.RegisterFormat(Version, func(b []byte) ([]byte, error) {
			if len(b) < 2 || b[0] != 0x81 {
				return nil, errors.New("want a list of one")
			}
			return b[1:], nil
		})
	})
}

// Rewrite is an entry of today as one of the format, signed again. Its name is another.
func Rewrite(s *perdure.Signer, e *perdure.Entry) (*perdure.Entry, error) {
	codec := canon.For[perdure.Header]("header")
	body := append([]byte{0x81}, e.BodyBytes()...)
	h := e.Header
	h.Version, h.Body, h.Size = Version, perdure.HashOf(body), int64(len(body))
	header, err := codec.Append(nil, &h)
	if err != nil {
		return nil, err
	}
	sig, err := s.Sign(perdure.HashOf(header))
	if err != nil {
		return nil, err
	}
	return perdure.NewEntry(bytes.Clone(header), body, sig, perdure.Limits{})
}
