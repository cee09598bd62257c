package bench

import (
	"encoding/json"
	"fmt"

	"github.com/fxamacker/cbor/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perdure/perdure"
)

// peerEntry is the sample entry as other codecs are given it: the same fields and the same content, flat.
type peerEntry struct {
	Version int64    `cbor:"1,keyasint" json:"version"`
	Agent   []byte   `cbor:"2,keyasint" json:"agent"`
	Parents [][]byte `cbor:"3,keyasint" json:"parents"`
	Seq     int64    `cbor:"4,keyasint" json:"seq"`
	Time    int64    `cbor:"5,keyasint" json:"time"`
	Origin  []byte   `cbor:"6,keyasint" json:"origin"`
	Kind    int64    `cbor:"7,keyasint" json:"kind"`
	Body    []byte   `cbor:"8,keyasint" json:"body"`
	Size    int64    `cbor:"9,keyasint" json:"size"`
	Salt    []byte   `cbor:"10,keyasint" json:"salt"`
	Advisor string   `cbor:"11,keyasint" json:"advisor"`
	Model   string   `cbor:"12,keyasint" json:"model"`
	Text    string   `cbor:"13,keyasint" json:"text"`
	In      int64    `cbor:"14,keyasint" json:"in"`
	Out     int64    `cbor:"15,keyasint" json:"out"`
}

func newPeerEntry(e *perdure.Entry, salt [16]byte, a perdure.Advice) *peerEntry {
	p := &peerEntry{Version: e.Version, Agent: e.Agent[:], Seq: e.Seq, Time: int64(e.Time), Origin: e.Origin[:],
		Kind: int64(e.Kind),
		Body: e.Body[:], Size: e.Size, Salt: salt[:], Advisor: a.Advisor, Model: a.Model, Text: a.Text, In: a.Usage.In,
		Out: a.Usage.Out}
	for i := range e.Parents {
		p.Parents = append(p.Parents, e.Parents[i][:])
	}
	return p
}

// peer is another codec for the same fields.
type peer struct {
	name   string
	encode func(dst []byte, p *peerEntry) ([]byte, error)
	decode func(b []byte, p *peerEntry) error
}

func newPeers() ([]peer, error) {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	dec, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsForbidden}.DecMode()
	if err != nil {
		return nil, err
	}
	return []peer{
		{"fxamacker/cbor", func(_ []byte, p *peerEntry) ([]byte, error) {
			return enc.Marshal(p)
		}, func(b []byte, p *peerEntry) error { return dec.Unmarshal(b, p) }},
		{"encoding/json", func(_ []byte, p *peerEntry) ([]byte, error) {
			return json.Marshal(p)
		}, func(b []byte, p *peerEntry) error { return json.Unmarshal(b, p) }},
		{"protobuf wire", appendProto, parseProto},
	}, nil
}

func appendProto(dst []byte, p *peerEntry) ([]byte, error) {
	number := func(id protowire.Number, v int64) {
		dst = protowire.AppendVarint(protowire.AppendTag(dst, id, protowire.VarintType), uint64(v))
	}
	blob := func(id protowire.Number, b []byte) {
		dst = protowire.AppendBytes(protowire.AppendTag(dst, id, protowire.BytesType), b)
	}
	text := func(id protowire.Number, s string) {
		dst = protowire.AppendString(protowire.AppendTag(dst, id, protowire.BytesType), s)
	}
	number(1, p.Version)
	blob(2, p.Agent)
	for _, parent := range p.Parents {
		blob(3, parent)
	}
	number(4, p.Seq)
	number(5, p.Time)
	blob(6, p.Origin)
	number(7, p.Kind)
	blob(8, p.Body)
	number(9, p.Size)
	blob(10, p.Salt)
	text(11, p.Advisor)
	text(12, p.Model)
	text(13, p.Text)
	number(14, p.In)
	number(15, p.Out)
	return dst, nil
}

func parseProto(b []byte, p *peerEntry) error {
	p.Parents = p.Parents[:0]
	for len(b) > 0 {
		id, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if at := p.number(id); at != nil && wire == protowire.VarintType {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			*at, b = int64(v), b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 || wire != protowire.BytesType {
			return fmt.Errorf("field %d: %w", id, protowire.ParseError(min(n, -1)))
		}
		b = b[n:]
		switch id {
		case 2:
			p.Agent = v
		case 3:
			p.Parents = append(p.Parents, v)
		case 6:
			p.Origin = v
		case 8:
			p.Body = v
		case 10:
			p.Salt = v
		case 11:
			p.Advisor = string(v)
		case 12:
			p.Model = string(v)
		case 13:
			p.Text = string(v)
		}
	}
	return nil
}

// number is where the number of a field goes; nil if the field is none.
func (p *peerEntry) number(id protowire.Number) *int64 {
	switch id {
	case 1:
		return &p.Version
	case 4:
		return &p.Seq
	case 5:
		return &p.Time
	case 7:
		return &p.Kind
	case 9:
		return &p.Size
	case 14:
		return &p.In
	case 15:
		return &p.Out
	}
	return nil
}
