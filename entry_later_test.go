package perdure

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/canon"
)

// testFormat is a format of the future: a body is a list of one, the body of today.
const testFormat = 1_000_001

func init() {
	RegisterFormat(testFormat, func(b []byte) ([]byte, error) {
		if len(b) < 2 || b[0] != 0x81 {
			return nil, errors.New("want a list of one")
		}
		return b[1:], nil
	})
}

// sameFormat is another one, whose bodies are as they are today.
const sameFormat = testFormat + 10

func init() { RegisterFormat(sameFormat, func(b []byte) ([]byte, error) { return b, nil }) }

// spellings moves an entry through its other forms.
func spellings(t *testing.T, e *Entry) {
	t.Helper()
	want, err := e.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.AppendText(nil)
	if err != nil {
		t.Fatal(err)
	}
	described, err := e.Described()
	if err != nil {
		t.Fatal(err)
	}
	for form, read := range map[string]func() (*Entry, error){
		"text":      func() (*Entry, error) { return EntryFromText(text, Limits{}) },
		"described": func() (*Entry, error) { return EntryFromDescribed(described, Limits{}) },
	} {
		back, err := read()
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if got, err := back.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", form, got, err, want)
		}
	}
}

// asOfToday holds that an entry of a later format has one spelling, though its body is as it would be today.
func asOfToday(t *testing.T, bin []byte) {
	t.Helper()
	e, err := DecodeEntry(bin, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	spellings(t, e)
	named, err := canon.ToText(nil, entryCodec.Type(), bin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := EntryFromText(named, Limits{}); err == nil {
		t.Errorf("%s was read, and so is the form that is written", named)
	}
	if named, err = canon.ToDescribed(nil, entryCodec.Type(), bin); err != nil {
		t.Fatal(err)
	}
	if _, err := EntryFromDescribed(named, Limits{}); err == nil {
		t.Errorf("%x was read, and so is the form that is written", named)
	}
}

func TestEntryOfALaterFormatIsReadByItsTransform(t *testing.T) {
	ann := people["ann"]
	g, err := ann.Genesis(Genesis{Intent: Intent{Goal: "watch"}, Charter: Charter{Scope: "acme"}}, time.UnixMilli(1))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	today, _, err := ann.Commit(a, time.UnixMilli(2), Draft{Body: Event{Name: "told"}})
	if err != nil {
		t.Fatal(err)
	}
	later := func(version int64, wrap []byte) []byte {
		h, body := today[0].Header, append(bytes.Clone(wrap), today[0].body...)
		h.Version, h.Body, h.Size = version, HashOf(body), int64(len(body))
		header, err := headerCodec.Append(nil, &h)
		if err != nil {
			t.Fatal(err)
		}
		sig, err := ann.Sign(HashOf(header))
		if err != nil {
			t.Fatal(err)
		}
		out := append(canon.AppendUint(canon.AppendMap(nil, 3), 1), header...)
		out = append(canon.AppendUint(out, 2), body...)
		return canon.AppendBytes(canon.AppendUint(out, 3), sig)
	}
	b := later(testFormat, []byte{0x81})
	e, err := DecodeEntry(b, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
		t.Errorf("got %x, %v, want the bytes as they were written", again, err)
	}
	if a, err = a.Apply(e); err != nil || len(a.Fold().Inbox) != 1 || a.Fold().Inbox[0].Name != "told" {
		t.Fatalf("got %v, want what the entry says in the fold", err)
	}
	if _, err := DecodeEntry(later(testFormat, []byte{0x82, 0x00}), Limits{}); err == nil {
		t.Error("a body its transform refuses was read")
	}
	for _, wrap := range [][]byte{nil, {0x81}} {
		if _, err := DecodeEntry(later(testFormat+1, wrap), Limits{}); !refusedFor(err, "entry.version") {
			t.Errorf("an entry of a format nobody registered: got %v", err)
		}
	}
	spellings(t, e)
	spellings(t, e.Drop())
	asOfToday(t, later(sameFormat, nil))
	for _, garbage := range []string{"", "\xa0", "\xa1", "\xa1\x61\x01\x00", "\xa1\x63abc\x00", "\xa2\x01\x00",
		"\xa1\x01\x00", "\xa1\x02\x40"} {
		if _, err := DecodeEntry([]byte(garbage), Limits{}); err == nil {
			t.Errorf("%x was read as an entry", garbage)
		}
	}
	b[len(b)-1] ^= 1
	if e, err := DecodeEntry(b, Limits{}); err == nil && e.CheckSignature() == nil {
		t.Error("a flipped signature verifies")
	}
}
