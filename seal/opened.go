package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/canon"
)

// What is shorter is in every other text, and says nothing about anybody.
const (
	minText   = 3 // bytes
	minDigits = 5
)

// veil stands in a text for what it must not repeat.
const veil = "[sealed]"

// Opened is what was sealed in data and has been opened, as for the call of a tool. It finds it again in what comes
// back, and seals that, too: else a tool that repeats what it was given would put it where erasing does not reach. It
// finds texts of three bytes and numbers of five digits, as they were and as JSON spells them; not what was changed.
// Nil is of nothing that was sealed.
type Opened struct {
	vault Vault
	found []secret
}

// secret is a text that is about somebody.
type secret struct{ subject, text string }

// OpenAll is Open, and returns what was opened: nil if nothing was sealed.
func OpenAll(v Vault, d canon.Data) (canon.Data, *Opened, error) {
	if !bytes.Contains(d, []byte(field)) {
		return d, nil, nil
	}
	o := &Opened{vault: v}
	value, err := o.open(d.Value())
	if err != nil {
		return nil, nil, err
	}
	plain, err := canon.DataOf(value)
	return plain, o, err
}

// note remembers the texts in a value that is about somebody.
func (o *Opened) note(subject string, value any) {
	switch x := value.(type) {
	case []any:
		for _, v := range x {
			o.note(subject, v)
		}
	case map[string]any:
		for k, v := range x {
			o.note(subject, k)
			o.note(subject, v)
		}
	default:
		text := textOf(value)
		if len(text) < minText || isNumber(value) && len(text) < minDigits {
			return
		}
		o.found = append(o.found, secret{subject, text})
		if spelled, err := json.Marshal(text); err == nil && string(spelled) != `"`+text+`"` {
			o.found = append(o.found, secret{subject, string(spelled[1 : len(spelled)-1])})
		}
	}
}

// Veil is a text without what was opened.
func (o *Opened) Veil(text string) string {
	if o == nil {
		return text
	}
	for _, s := range o.found {
		text = strings.ReplaceAll(text, s.text, veil)
	}
	return text
}

// Seal returns data in which every text, number and key that repeats what was opened is sealed for the same subject.
// The same data is the same again.
func (o *Opened) Seal(d canon.Data) (canon.Data, error) {
	if o == nil || len(d) == 0 {
		return d, nil
	}
	value, err := o.seal(d.Value())
	if err != nil {
		return nil, err
	}
	return canon.DataOf(value)
}

func (o *Opened) seal(value any) (any, error) {
	var err error
	switch x := value.(type) {
	case []any:
		for i := range x {
			if x[i], err = o.seal(x[i]); err != nil {
				return nil, err
			}
		}
		return x, nil
	case map[string]any:
		if Is(value) {
			return value, nil
		}
		var about []string
		for k := range x {
			about = append(about, o.about(k)...)
		}
		if len(about) > 0 {
			return o.sealFor(about, value)
		}
		for k := range x {
			if x[k], err = o.seal(x[k]); err != nil {
				return nil, err
			}
		}
		return x, nil
	}
	return o.sealFor(o.about(textOf(value)), value)
}

// about are the subjects that a text says something of.
func (o *Opened) about(text string) (subjects []string) {
	for _, s := range o.found {
		if strings.Contains(text, s.text) {
			subjects = append(subjects, s.subject)
		}
	}
	return subjects
}

// sealFor seals a value once for each subject, so that to erase one of them erases it.
func (o *Opened) sealFor(subjects []string, value any) (any, error) {
	done := map[string]bool{}
	for _, subject := range subjects {
		if done[subject] {
			continue
		}
		done[subject] = true
		d, err := canon.DataOf(value)
		if err == nil {
			d, err = boxed(o.vault, subject, d, repeatable)
		}
		if err != nil {
			return nil, err
		}
		value = d.Value()
	}
	return value, nil
}

// repeatable is a nonce that follows from the key and the data, so that a tool which answers the same twice is seen to.
func repeatable(key [32]byte, aead cipher.AEAD, d canon.Data) ([]byte, error) {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("perdure seals what a tool repeats 1"))
	h.Write(d)
	return h.Sum(nil)[:aead.NonceSize()], nil
}

// textOf is a leaf of a value as text.
func textOf(value any) string {
	switch x := value.(type) {
	case string:
		return x
	case []byte:
		return string(x)
	case nil, bool:
		return ""
	}
	return fmt.Sprint(value)
}

func isNumber(value any) bool {
	switch value.(type) {
	case int64, uint64, float64:
		return true
	}
	return false
}
