package postgres

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

// fewHeads is how many heads the row of an agent holds itself, ascending by name, one after the other. Of an agent with
// more it says how many they are and what they come to, and the heads are in their table: or each write would be as
// long as they are many.
const fewHeads = 32

// headsColumn is what the row of an agent holds for these heads. Two callers that mean the same heads mean the same
// bytes.
func headsColumn(names []perdure.Hash) []byte {
	if len(names) > fewHeads {
		return wideColumn(int64(len(names)), sumOf(names))
	}
	out := make([]byte, 0, len(names)*hashSize)
	for i := range names {
		out = append(out, names[i][:]...)
	}
	return out
}

func wideColumn(count int64, sum perdure.Hash) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+hashSize), uint64(count)), sum[:]...)
}

// sumOf is what names come to, in any order.
func sumOf(names []perdure.Hash) (sum perdure.Hash) {
	for i := range names {
		addTo(&sum, &names[i])
	}
	return sum
}

// addTo adds a name to a sum, or takes it away.
func addTo(sum, name *perdure.Hash) {
	for i := range sum {
		sum[i] ^= name[i]
	}
}

// ascending is names in their order, without changing what was given.
func ascending(names []perdure.Hash) []perdure.Hash {
	if slices.IsSortedFunc(names, perdure.Hash.Compare) {
		return names
	}
	return slices.SortedFunc(slices.Values(names), perdure.Hash.Compare)
}

// heads are those of an agent whose row is locked, as entries arrive.
type heads struct {
	count int64
	sum   perdure.Hash
	wide  bool                  // most are in the table
	known map[perdure.Hash]bool // all of them; where wide, those of the table that were learned
	fresh map[perdure.Hash]bool // where wide, those that are not in the table yet
	gone  []perdure.Hash        // of those in the table
	due   perdure.Time          // of the last that became one
}

// newHeads is those of an agent that has none yet.
func newHeads() *heads { return &heads{known: map[perdure.Hash]bool{}, fresh: map[perdure.Hash]bool{}} }

// readHeads reads the column.
func readHeads(column []byte) (*heads, error) {
	h := newHeads()
	if len(column) == 8+hashSize {
		h.wide, h.count, h.sum = true, int64(binary.BigEndian.Uint64(column)), perdure.Hash(column[8:])
		return h, nil
	}
	if len(column)%hashSize != 0 {
		return nil, errRow
	}
	for b := column; len(b) > 0; b = b[hashSize:] {
		h.add(perdure.Hash(b[:hashSize]))
	}
	return h, nil
}

// learn finds out which of these names are heads. Only of names it was asked for has says anything.
func (h *heads) learn(ctx context.Context, x *transaction, names []perdure.Hash) error {
	if !h.wide || len(names) == 0 {
		return nil
	}
	return x.query(ctx, "SELECT name FROM ~heads WHERE agent=$1 AND name=ANY($2)", func(r pgx.Rows) error {
		var b []byte
		err := r.Scan(&b)
		if err == nil && len(b) == hashSize {
			h.known[perdure.Hash(b)] = true
		}
		return err
	}, x.key, bytesOf(names))
}

// has reports whether a name is a head.
func (h *heads) has(name perdure.Hash) bool { return h.known[name] || h.fresh[name] }

// names are all heads, ascending. Where wide they are in the table instead.
func (h *heads) names() []perdure.Hash {
	return slices.SortedFunc(maps.Keys(h.known), perdure.Hash.Compare)
}

// are reports whether these, in any order, are the heads. They must have been learned.
func (h *heads) are(names []perdure.Hash) bool {
	if int64(len(names)) != h.count || sumOf(names) != h.sum {
		return false
	}
	return !slices.ContainsFunc(names, func(n perdure.Hash) bool { return !h.has(n) })
}

// step takes in an entry that has arrived.
func (h *heads) step(e *perdure.Entry) {
	for _, parent := range e.Parents {
		if !h.has(parent) {
			continue
		}
		addTo(&h.sum, &parent)
		h.count--
		if h.wide && !h.fresh[parent] {
			h.gone = append(h.gone, parent)
		}
		delete(h.fresh, parent)
		delete(h.known, parent)
	}
	h.add(e.Name)
	h.due = e.Due
}

// add takes in a head. It keeps no order: a memory may have a great many, and each is added.
func (h *heads) add(name perdure.Hash) {
	addTo(&h.sum, &name)
	h.count++
	if h.wide {
		h.fresh[name] = true
	} else {
		h.known[name] = true
	}
}

// column is what the row holds for these heads.
func (h *heads) column() []byte {
	if h.count > fewHeads {
		return wideColumn(h.count, h.sum)
	}
	return headsColumn(h.names())
}

// says is when the heads say a node should look. One head is the one that came last.
func (h *heads) says() perdure.Time {
	if h.count > 1 {
		return perdure.AtOnce
	}
	return h.due
}

// save brings the table up to date and returns the column.
func (h *heads) save(ctx context.Context, x *transaction) ([]byte, error) {
	if !h.wide {
		if h.count <= fewHeads {
			return h.column(), nil
		}
		return h.column(), x.addHeads(ctx, h.names())
	}
	if len(h.gone) > 0 {
		if err := x.exec(
			ctx, "DELETE FROM ~heads WHERE agent=$1 AND name=ANY($2)", x.key, bytesOf(h.gone),
		); err != nil {
			return nil, err
		}
	}
	if err := x.addHeads(ctx, slices.Collect(maps.Keys(h.fresh))); err != nil {
		return nil, err
	}
	if h.count > fewHeads {
		return h.column(), nil
	}
	var few []perdure.Hash
	err := x.query(ctx, "DELETE FROM ~heads WHERE agent=$1 RETURNING name", func(r pgx.Rows) error {
		var b []byte
		err := r.Scan(&b)
		if err == nil && len(b) == hashSize {
			few = append(few, perdure.Hash(b))
		}
		return err
	}, x.key)
	if err == nil && (int64(len(few)) != h.count || sumOf(few) != h.sum) {
		err = errRow
	}
	return headsColumn(ascending(few)), err
}

// bytesOf are names as a statement takes them.
func bytesOf(names []perdure.Hash) [][]byte {
	out := make([][]byte, len(names))
	for i := range names {
		out[i] = names[i][:]
	}
	return out
}
