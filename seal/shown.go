package seal

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/canon"
)

var (
	// errNoKey says that sealed data was sealed elsewhere.
	errNoKey = errors.New("its key is not here")
	// errShut says that nothing is opened for whoever looks, whatever keys there are.
	errShut = errors.New("it is opened only in its home")
)

// Shown is data for a person to read: in the place of everything sealed is a map whose one key says for whom it was
// sealed, with what it says, or why that cannot be read here. It makes no key. Without a vault nothing is opened.
func Shown(v Vault, d canon.Data) canon.Data {
	if !bytes.Contains(d, []byte(field)) {
		return d
	}
	shown, err := canon.DataOf(show(v, d.Value()))
	if err != nil {
		return d
	}
	return shown
}

func show(v Vault, value any) any {
	switch x := value.(type) {
	case []any:
		for i := range x {
			x[i] = show(v, x[i])
		}
	case map[string]any:
		if box, ok := x[field].([]byte); ok && len(x) == 1 {
			return showBox(v, box)
		}
		for k := range x {
			x[k] = show(v, x[k])
		}
	}
	return value
}

// showBox is sealed data, opened or not.
func showBox(v Vault, box []byte) any {
	var rec sealedRecord
	if err := codec.Decode(box, &rec, canon.Limits{}); err != nil {
		return map[string]any{"sealed, and cannot be opened": err.Error()}
	}
	plain, err := rec.look(v)
	if err != nil {
		return map[string]any{fmt.Sprintf("sealed for %s, and not opened here", rec.Subject): err.Error()}
	}
	return map[string]any{"sealed for " + rec.Subject: show(v, plain.Value())}
}

// look is open without making a key.
func (r *sealedRecord) look(v Vault) (canon.Data, error) {
	if v == nil {
		return nil, errShut
	}
	if known, err := v.Knows(r.Subject); err != nil {
		return nil, err
	} else if !known {
		return nil, errNoKey
	}
	return r.open(v)
}
