package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
)

// An agent whose id was damaged with its first rows lies aside under an id that nobody has. A good copy of it, whenever
// it comes, puts an end to that, and so does a repair after it.
func TestPiecesUnderADamagedIDAreTheAgents(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} { // whether the copy is there before what lies aside is looked at
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			path := filepath.Join(t.TempDir(), "store.db")
			s := openBench(t, path)
			key := newSigner(t)
			g, a := begin(t, key, "x")
			es, _ := commit(t, key, a, draft(20), draft(700))
			good := append([]*perdure.Entry{g}, es...)
			for _, e := range [][]*perdure.Entry{good[:1], good[1:]} {
				if err := s.Put(ctx, a.ID(), e...); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			ghost := a.ID()
			ghost[30] ^= 0x10
			vandal(t, path, fmt.Sprintf("UPDATE agents SET id=x'%x'", ghost[:]), "DELETE FROM births",
				"UPDATE log SET data=substr(data,1,9)||x'ffff'||substr(data,12)")
			s = openBench(t, path)
			if got, err := s.Heal(ctx, ghost, nil); err != nil || got.Entries != 0 || got.Aside == 0 {
				t.Fatalf("heal: %+v, %v; want nothing that can be used", got, err)
			}
			all, err := s.Ailing(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if x := all[ghost]; !x.Gone || !a.ID().Resembles(ghost) {
				t.Fatalf("the agent is not known to be damaged: %v", all)
			}
			if late {
				if err := s.Put(ctx, a.ID(), good...); err != nil {
					t.Fatal(err)
				}
				all, err = s.Ailing(ctx)
				if x, found := all[a.ID()]; err != nil || len(all) != 1 || !found || x.Gone {
					t.Fatalf("ailing: %v, %v; want the agent that is here", all, err)
				}
			}
			if got, err := s.Heal(ctx, a.ID(), good); err != nil || got.Aside != 0 || got.Entries != int64(len(good)) {
				t.Fatalf("heal with a good copy: %+v, %v", got, err)
			}
			if all, err = s.Ailing(ctx); err != nil {
				t.Fatal(err)
			}
			for id, x := range all {
				if x.Reason.Error() != "the index does not list it" {
					t.Errorf("%s is still ailing: %v", id.Short(), x.Reason)
				}
			}
			if !holdsAll(ctx, s, a.ID(), good) {
				t.Error("the agent lacks entries of the good copy")
			}
		})
	}
}
