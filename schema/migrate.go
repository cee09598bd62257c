package schema

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/canon"
)

// complement is what a downgrade keeps so that the upgrade after it gives back the same bytes. Do NOT renumber.
type complement struct {
	Base Hash   `canon:"1,base"`          // of the downgraded value without its complement
	Kept []kept `canon:"2,kept,omitzero"` // the fields the upgrade would not restore by itself
	Gone []int  `canon:"3,gone,omitzero"` // the fields the upgrade would add
}

// kept is one field of the newer version, top-level and whole.
type kept struct {
	ID    int64      `canon:"1,id"`
	Value canon.Data `canon:"2,value"`
}

var complements = canon.For[complement]("complement")

// Upgrade moves a value from an earlier version to that of s. value is checked, and so is the result.
//
// A value that was downgraded comes back as it was if nobody changed it since. If somebody did, the fields the earlier
// version has, and those renamed from them, are as they were changed, and the others come back.
func (s *Schema) Upgrade(from int, value []byte) ([]byte, error) {
	old, err := s.At(from)
	if err != nil {
		return nil, err
	}
	if err := old.Check(value); err != nil {
		return nil, err
	}
	for _, st := range s.steps[from-1:] {
		if value, err = st.upgrade(value); err != nil {
			return nil, err
		}
	}
	return bytes.Clone(value), nil
}

// Downgrade moves a value of s to an earlier version. What that has no field for is kept in the field Complement, which
// its readers pass on. value is checked, and so is the result.
func (s *Schema) Downgrade(to int, value []byte) ([]byte, error) {
	if _, err := s.At(to); err != nil {
		return nil, err
	}
	if err := s.Check(value); err != nil {
		return nil, err
	}
	var err error
	for i := len(s.steps) - 1; i >= to-1; i-- {
		if value, err = s.steps[i].downgrade(value); err != nil {
			return nil, err
		}
	}
	return bytes.Clone(value), nil
}

func (st *step) downgrade(value []byte) ([]byte, error) {
	rec := decode(st.new.typ, value).(record)
	stripped := maps.Clone(rec)
	delete(stripped, Complement)
	older, r := st.down.record(newWork(), st.new.views[""], st.old.views[""], stripped, "$")
	if r != nil {
		return nil, r
	}
	base := encode(nil, st.old.typ, older)
	if err := st.old.Check(base); err != nil {
		return nil, moved(predDowngrade, st.old, err)
	}
	// What the upgrade would make of it by itself. Where it would refuse, everything is kept.
	again, r := st.up.record(newWork(), st.old.views[""], st.new.views[""], older, "$")
	if r != nil {
		again = record{}
	}
	c := complement{Base: sha256.Sum256(base)}
	for _, id := range slices.Sorted(maps.Keys(rec)) {
		t := fieldType(st.new.typ, id)
		b := encode(nil, t, rec[id])
		if x, ok := again[id]; !ok || !bytes.Equal(encode(nil, t, x), b) {
			c.Kept = append(c.Kept, kept{int64(id), b})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(again)) {
		if _, ok := rec[id]; !ok {
			c.Gone = append(c.Gone, int(id))
		}
	}
	if c.Kept == nil && c.Gone == nil {
		return base, nil
	}
	b, err := complements.Append(nil, &c)
	if err != nil {
		return nil, moved(predDowngrade, st.old, err)
	}
	older[Complement] = canon.Data(b)
	out := encode(nil, st.old.typ, older)
	if err := canon.Check(st.old.typ, out, canon.Limits{}); err != nil {
		return nil, moved(predDowngrade, st.old, err)
	}
	return out, nil
}

func (st *step) upgrade(value []byte) ([]byte, error) {
	rec := decode(st.old.typ, value).(record)
	var c complement
	raw, downgraded := rec[Complement].(canon.Data)
	delete(rec, Complement)
	untouched := false
	if downgraded {
		if err := complements.Decode(raw, &c, canon.Limits{}); err != nil {
			return nil, refuse(predComplement, "$.$127", err.Error(), "what a downgrade wrote")
		}
		untouched = c.Base == sha256.Sum256(encode(nil, st.old.typ, rec))
	}
	newer, r := st.up.record(newWork(), st.old.views[""], st.new.views[""], rec, "$")
	if r != nil {
		if !untouched {
			return nil, r
		}
		newer = record{} // the complement holds everything
	}
	if err := st.restore(newer, &c, untouched); err != nil {
		return nil, err
	}
	out := encode(nil, st.new.typ, newer)
	if err := st.new.Check(out); err != nil {
		return nil, moved(predUpgrade, st.new, err)
	}
	return out, nil
}

// restore puts back what the complement kept: all of it if the value was not touched, else what the older version has
// no say in.
func (st *step) restore(newer record, c *complement, untouched bool) error {
	for _, k := range c.Kept {
		id := uint16(k.ID)
		t := fieldType(st.new.typ, id)
		if k.ID < 0 || k.ID > canon.MaxReserved || t == canon.DataType && k.ID <= canon.MaxCritical {
			return refuse(predComplement, "$.$127", fmt.Sprintf("field %d", k.ID),
				"a field of version "+fmt.Sprint(st.new.Version()))
		}
		if !untouched && !st.own(id) {
			continue
		}
		if err := canon.Check(t, k.Value, canon.Limits{}); err != nil {
			return refuse(predComplement, "$.$127", fmt.Sprintf("field %d: %v", k.ID, err),
				"a value of the field's type")
		}
		newer[id] = decode(t, k.Value)
	}
	for _, id := range c.Gone {
		if id >= 0 && id <= canon.MaxReserved && (untouched || st.own(uint16(id))) {
			delete(newer, uint16(id))
		}
	}
	return nil
}

// own reports whether the newer version has a field to itself: the older one has neither it nor one renamed to it.
func (st *step) own(id uint16) bool {
	if id == Complement {
		return true
	}
	if fieldType(st.new.typ, id) == canon.DataType || fieldType(st.old.typ, id) != canon.DataType {
		return false
	}
	return !slices.ContainsFunc(st.up.rules[""], func(m move) bool {
		return m.Rename != "" && uint16(m.target.ID) == id
	})
}

// moved says that a value does not fit the version it was moved to.
func moved(p canon.Predicate, to *Schema, err error) error {
	return refuse(p, "$", err.Error(), fmt.Sprintf("a value of %s version %d", to.Name(), to.Version()),
		"move it with rules that fit the predicates of that version")
}
