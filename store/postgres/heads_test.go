package postgres

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/perdure/perdure"
)

// beside are n entries on one, whose names have no order.
func beside(n int) []*perdure.Entry {
	root := &perdure.Entry{Name: sha256.Sum256(nil)}
	all := []*perdure.Entry{root}
	for i := range n {
		all = append(all, &perdure.Entry{Name: sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i))),
			Header: perdure.Header{Parents: []perdure.Hash{root.Name}}})
	}
	return all
}

// TestHeadsComeToTheColumn reads memories of few and of many heads, and one with a head that came twice.
func TestHeadsComeToTheColumn(t *testing.T) {
	for _, n := range []int{1, fewHeads, fewHeads + 1, 1000} {
		all := beside(n)
		var names []perdure.Hash
		var r, twice reading
		for i, e := range all {
			if r.add(e); i > 0 {
				names = append(names, e.Name)
			}
			twice.add(e)
		}
		twice.add(all[n])
		column := headsColumn(ascending(names))
		if got := r.heads.column(); !bytes.Equal(got, column) || !r.heads.are(names) {
			t.Errorf("%d heads: column %x, want %x", n, got, column)
		}
		if err := r.complete(moment{heads: column}); err != nil {
			t.Errorf("%d heads: %v", n, err)
		}
		if err := twice.complete(moment{heads: column}); err == nil {
			t.Errorf("%d heads: one that came twice was not noticed", n)
		}
	}
}

// BenchmarkManyHeads reads a memory in which every entry but the first is a head: twice as many take twice as long.
func BenchmarkManyHeads(b *testing.B) {
	all := beside(80_000)
	for b.Loop() {
		var r reading
		for _, e := range all {
			r.add(e)
		}
		r.heads.column()
	}
}
