package schema

import (
	"fmt"
	"strconv"
	"time"

	"github.com/perdure/perdure"
)

// Description is what a .vein file is, without its value.
type Description struct {
	Name        string     `json:"name"`
	Bytes       int        `json:"bytes"`
	Schema      string     `json:"schema,omitempty"` // its name and version
	Fingerprint Hash       `json:"fingerprint"`
	Parent      Hash       `json:"parent,omitzero"`
	Expires     *time.Time `json:"expires,omitempty"`
}

// Describe reads a file whole, under its schema, and says what it is.
func (f File) Describe(reg *Registry) (*Description, error) {
	d, _, err := f.describe(reg)
	return d, err
}

// Verify is Describe of a file that must have a fingerprint; zero: any.
func (f File) Verify(reg *Registry, want Hash) (*Description, error) {
	if want != (Hash{}) {
		if _, err := Restore(f.Bytes, want, reg); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return f.Describe(reg)
}

func (f File) describe(reg *Registry) (*Description, *Vein, error) {
	v, err := Open(f.Bytes, reg)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	d := &Description{Name: f.Name, Bytes: len(f.Bytes), Fingerprint: v.Fingerprint,
		Schema: fmt.Sprintf("%s v%d", v.Schema.Name(), v.Schema.Version())}
	if d.Parent, err = v.Parent(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	at, ever, err := v.Expires()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if at = at.UTC(); ever {
		d.Expires = &at
	}
	return d, v, nil
}

// Retire is what takes the place of a file whose time is over, and what the file is; nil if its time is not over, or
// if it was retired before.
func (f File) Retire(reg *Registry, now time.Time) (*Description, []byte, error) {
	if IsGone(f.Bytes) {
		return nil, nil, nil
	}
	d, v, err := f.describe(reg)
	if err != nil || d.Expires == nil || now.Before(*d.Expires) {
		return nil, nil, err
	}
	left, err := Retire(v, d.Bytes, now)
	return d, left, err
}

// Last verifies the chain of those files that are of an agent, or of all if agent is nil, and is its last link. One
// whose value is gone is not found.
func Last(files []File, agent *string, reg *Registry, o ChainOptions) (last Link, err error) {
	if agent != nil {
		if files, err = Of(files, *agent, reg); err != nil {
			return last, err
		}
		if len(files) == 0 {
			return last, perdure.Missing("none of these files is of agent " + *agent)
		}
	}
	chain, err := VerifyPart(files, reg, o)
	if err != nil {
		return last, err
	}
	last = chain.Links[len(chain.Links)-1]
	if last.Gone {
		err = perdure.Missing("the latest, " + last.Name + ", was collected: only its fingerprint " +
			last.Fingerprint.String() + " is left")
	}
	return last, err
}

// Version is a schema in the version that is asked for by its number, or latest, out of all that are known.
func (r *Registry) Version(s *Schema, as string) (*Schema, error) {
	if latest := r.Latest(s.Name()); latest != nil && latest.Succeeds(s) == nil {
		s = latest
	}
	if as == "latest" {
		return s, nil
	}
	version, err := strconv.Atoi(as)
	if err != nil {
		return nil, perdure.Invalid(fmt.Errorf("%s is not a version: want its number, or latest", as))
	}
	return s.At(version)
}

// JSON is the value of a file, as a version of its schema (empty: the one it was written under). It is refused if it
// does not have the fingerprint want; zero wants none.
func (r *Registry) JSON(file []byte, want Hash, as string) ([]byte, error) {
	if want != (Hash{}) {
		if text, err := Restore(file, want, r); err != nil || as == "" {
			return text, err
		}
	}
	v, err := Open(file, r)
	if err != nil || as == "" {
		if err == nil {
			return v.JSON()
		}
		return nil, err
	}
	s, err := r.Version(v.Schema, as)
	if err != nil {
		return nil, err
	}
	value, err := v.As(s)
	if err != nil {
		return nil, err
	}
	return s.ToJSON(value)
}
