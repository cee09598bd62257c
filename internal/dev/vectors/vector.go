package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/canon"
	"github.com/perdure/perdure/internal/chunk"
)

// vector is one input and what must come of it. spec/README.md says what the fields mean.
type vector struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	As   string `json:"as"`   // value, entry, memory, chunk, capsule, set-name, schema, typed, vein or chain
	Form string `json:"form"` // binary, described or text

	Hex   string  `json:"hex,omitempty"`  // the input, of the forms that are bytes
	Text  string  `json:"text,omitempty"` // the input, of the text form
	Limit *limits `json:"limits,omitempty"`
	Heads string  `json:"heads,omitempty"` // memory: the heads it must have
	Trust string  `json:"trust,omitempty"` // memory: whom to trust
	Chunk string  `json:"chunk,omitempty"` // chunk: its name
	Size  int64   `json:"size,omitempty"`  // chunk: its size unpacked

	Signatures  string   `json:"signatures,omitempty"`  // capsule: the file of detached signatures, in hex
	Here        string   `json:"here,omitempty"`        // capsule: the copy that the store already has, in hex
	Shallow     bool     `json:"shallow,omitempty"`     // capsule: shallow validation is asked for, with no attestation
	Schema      string   `json:"schema,omitempty"`      // typed, vein: the .lode; schema: an earlier one
	From        int      `json:"from,omitempty"`        // typed: the version to move up from
	To          int      `json:"to,omitempty"`          // typed: the version to move down to
	Fingerprint string   `json:"fingerprint,omitempty"` // vein: the one expected
	Files       []string `json:"files,omitempty"`       // chain: the .vein files, in hex

	Binary  string `json:"binary,omitempty"`  // accepted: the binary form
	JSON    string `json:"json,omitempty"`    // accepted: the text form
	Entry   string `json:"entry,omitempty"`   // accepted entry: its name
	Entries int64  `json:"entries,omitempty"` // accepted memory: how many entries
	Fold    string `json:"fold,omitempty"`    // accepted memory: the hash of its fold

	Phase     string `json:"phase,omitempty"` // refused: why, and where
	Predicate string `json:"predicate,omitempty"`
	Path      string `json:"path,omitempty"`
	Offset    *int64 `json:"offset,omitempty"`
}

type limits struct {
	Bytes int64 `json:"bytes,omitempty"`
	Depth int   `json:"depth,omitempty"`
	Items int64 `json:"items,omitempty"`
}

func (v *vector) folder() string {
	if v.Predicate != "" {
		return "reject"
	}
	return "accept"
}

func (v *vector) limits() canon.Limits {
	if v.Limit == nil {
		return canon.Limits{}
	}
	return canon.Limits{Bytes: v.Limit.Bytes, Depth: v.Limit.Depth, Items: v.Limit.Items}
}

// run puts the input through the real code and sets what comes of it.
func (v *vector) run() error {
	v.Binary, v.JSON, v.Entry, v.Entries, v.Fold = "", "", "", 0, ""
	v.Phase, v.Predicate, v.Path, v.Offset = "", "", "", nil
	in, err := hex.DecodeString(v.Hex)
	if err != nil {
		return err
	}
	if v.Form == "text" {
		in = []byte(v.Text)
	}
	switch v.As {
	case "value":
		err = v.value(in)
	case "entry":
		err = v.entry(in)
	case "memory":
		err = v.memory(in)
	case "chunk":
		err = v.chunk(in)
	case "capsule":
		err = v.capsule(in)
	case "set-name":
		err = v.setName()
	case "schema":
		err = v.lode(in)
	case "typed":
		err = v.typed(in)
	case "vein":
		err = v.vein(in)
	case "chain":
		err = v.veins()
	default:
		return fmt.Errorf("as %q is not known", v.As)
	}
	var r *perdure.Rejection
	if errors.As(err, &r) {
		v.Binary, v.JSON = "", ""
		v.Phase, v.Predicate, v.Path, v.Offset = r.Phase, r.Predicate, r.Path, &r.Offset
		return nil
	}
	return err
}

func (v *vector) value(in []byte) (err error) {
	bin := in
	switch v.Form {
	case "text":
		bin, err = canon.FromText(nil, canon.AnyType, in, v.limits())
	case "described":
		bin, err = canon.FromDescribed(nil, nil, in, v.limits())
	default:
		err = canon.Check(canon.AnyType, in, v.limits())
	}
	if err != nil {
		return err
	}
	if v.Form == "described" {
		v.Binary = hex.EncodeToString(bin)
		return nil
	}
	text, err := canon.ToText(nil, canon.AnyType, bin)
	v.Binary, v.JSON = hex.EncodeToString(bin), string(text)
	return err
}

func (v *vector) entry(in []byte) error {
	var e *perdure.Entry
	var err error
	switch v.Form {
	case "text":
		e, err = perdure.EntryFromText(in, v.limits())
	case "described":
		e, err = perdure.EntryFromDescribed(in, v.limits())
	default:
		e, err = perdure.DecodeEntry(in, v.limits())
	}
	if err == nil {
		err = e.CheckSignature()
	}
	if err != nil {
		return err
	}
	bin, err := e.MarshalBinary()
	if err != nil {
		return err
	}
	text, err := e.AppendText(nil)
	v.Binary, v.JSON, v.Entry = hex.EncodeToString(bin), string(text), e.Name.String()
	return err
}

func (v *vector) memory(in []byte) error {
	var o perdure.VerifyOptions
	for _, h := range strings.Fields(v.Heads) {
		name, err := perdure.ParseHash(h)
		if err != nil {
			return err
		}
		o.Heads = append(o.Heads, name)
	}
	if v.Trust != "" {
		var err error
		if o.Trust, err = perdure.ParseTrust(strings.NewReader(v.Trust)); err != nil {
			return err
		}
	}
	found, err := perdure.Verify(perdure.ReadMemory(bytes.NewReader(in), v.limits()), o)
	if err != nil {
		return err
	}
	v.Entries, v.Fold = found.Entries, found.Fold.String()
	return nil
}

func (v *vector) chunk(in []byte) error {
	name, err := perdure.ParseHash(v.Chunk)
	if err != nil {
		return err
	}
	b, err := chunk.Unpack(in, name, v.Size, canon.DefaultBytes)
	v.Binary = hex.EncodeToString(b)
	return err
}
