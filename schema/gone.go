package schema

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/canon"
)

// goneMagic begins the file that stands for a value whose time was over.
const goneMagic = "gone/1"

// The fields by which a schema says how long a value is kept.
const (
	timeField = "timestamp"
	ttlField  = "ttl"
)

// gone is what is left of a .vein file: its place in the chain, and nothing of its value. Do NOT renumber.
type gone struct {
	Magic       string `canon:"0,format"`
	Schema      Hash   `canon:"1,schema"`
	Fingerprint Hash   `canon:"2,fingerprint"`
	Parent      Hash   `canon:"3,parent,omitzero"`
	Size        int64  `canon:"4,size"` // of the file that was there
	At          int64  `canon:"5,at"`   // when it went, in milliseconds
}

var gones = canon.For[gone]("gone")

// Expires returns when the time of a value is over, and whether that ever is: its schema has the fields timestamp,
// milliseconds since 1970 or text as RFC 3339 has it, and ttl, seconds or text such as 90s, 15m, 12h or 30d, and the
// value has both.
func (v *Vein) Expires() (time.Time, bool, error) {
	view, rec := v.Schema.views[""], decode(v.Schema.typ, v.Value).(record)
	field := func(name string) any {
		if f := view.byName[name]; f != nil {
			return rec[uint16(f.ID)]
		}
		return nil
	}
	ttl, began := field(ttlField), field(timeField)
	if ttl == nil || began == nil {
		return time.Time{}, false, nil
	}
	from, ok := instant(began)
	if !ok {
		return time.Time{}, false, refuse(predShape, "$."+timeField, clip(fmt.Sprint(began)),
			"milliseconds since 1970, or a time as 2026-11-02T08:15:00Z")
	}
	kept, ok := lifetime(ttl)
	if !ok {
		return time.Time{}, false, refuse(predShape, "$."+ttlField, clip(fmt.Sprint(ttl)),
			"seconds, or 90s, 15m, 12h or 30d")
	}
	return from.Add(kept), true, nil
}

func instant(v any) (time.Time, bool) {
	switch v := v.(type) {
	case int64:
		return time.UnixMilli(v), true
	case string:
		t, err := time.Parse(time.RFC3339, v)
		return t, err == nil
	}
	return time.Time{}, false
}

// maxLifetime is a ttl beyond which nothing is ever over: a duration holds no more.
const maxLifetime = 250 * 365 * 24 * time.Hour

func lifetime(v any) (time.Duration, bool) {
	unit := time.Second
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case string:
		units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
		if v == "" || units[v[len(v)-1]] == 0 {
			return 0, false
		}
		var err error
		if n, err = strconv.ParseInt(v[:len(v)-1], 10, 64); err != nil || strings.HasPrefix(v, "+") {
			return 0, false
		}
		unit = units[v[len(v)-1]]
	default:
		return 0, false
	}
	if n < 0 {
		return 0, false
	}
	if n > int64(maxLifetime/unit) {
		return maxLifetime, true
	}
	return time.Duration(n) * unit, true
}

// Retire returns what takes the place of a .vein file whose value is to go: its fingerprint and its parent, so that
// chains still verify. The fingerprint is committed to by whatever names it as its parent; that the value named this
// parent is the word of whoever retired it.
func Retire(v *Vein, size int, at time.Time) ([]byte, error) {
	parent, err := v.Parent()
	if err != nil {
		return nil, err
	}
	return gones.Append(nil, &gone{Magic: goneMagic, Schema: v.Schema.id, Fingerprint: v.Fingerprint, Parent: parent,
		Size: int64(size), At: at.UnixMilli()})
}

// readGone reads what Retire wrote; false: the file is something else.
func readGone(file []byte) (*gone, bool, error) {
	if len(file) < 9 || file[0]>>5 != 5 || string(file[1:9]) != "\x00\x66"+goneMagic {
		return nil, false, nil
	}
	g := new(gone)
	if err := gones.Decode(bytes.Clone(file), g, canon.Limits{}); err != nil {
		return nil, true, err
	}
	if g.Fingerprint == (Hash{}) || g.Fingerprint == g.Parent || g.Size < 1 || g.At < 0 {
		return nil, true, refuse(predVein, "$", "the place of no value",
			"a fingerprint, another as its parent, a size and a time")
	}
	return g, true, nil
}

// IsGone reports whether a file is what Retire left of one.
func IsGone(file []byte) bool {
	_, is, _ := readGone(file)
	return is
}

// agentField is the field in which a schema may name the agent a value is of.
const agentField = "agentName"

// Of returns the files whose value is of an agent: its schema has a text field agentName, and the value that name in
// it. What is left of values that are gone does not say whose they were: those that a file of the agent names as its
// parent, themselves or through each other, are among them.
func Of(files []File, agent string, reg *Registry) ([]File, error) {
	var out []File
	places := map[Hash]File{}
	parents := map[Hash]Hash{}
	var wanted []Hash
	for _, f := range files {
		if g, is, err := readGone(f.Bytes); err == nil && is {
			places[g.Fingerprint], parents[g.Fingerprint] = f, g.Parent
			continue
		}
		v, err := Open(f.Bytes, reg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		field := v.Schema.views[""].byName[agentField]
		if field == nil || decode(v.Schema.typ, v.Value).(record)[uint16(field.ID)] != any(agent) {
			continue
		}
		parent, err := v.Parent()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		out, wanted = append(out, f), append(wanted, parent)
	}
	for _, h := range wanted {
		for {
			f, ok := places[h]
			if !ok {
				break
			}
			delete(places, h)
			out, h = append(out, f), parents[h]
		}
	}
	return out, nil
}
