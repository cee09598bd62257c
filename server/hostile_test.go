package server_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

func TestHostileCapsulesAreRefusedWithTheirPredicate(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	files, err := filepath.Glob("../spec/vectors/reject/*.json")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			Name, As, Hex, Text, Predicate, Signatures, Here string
			Limits                                           any
			Shallow                                          bool
		}
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		if v.As != "capsule" || v.Limits != nil || v.Shallow || v.Signatures != "" || v.Here != "" {
			continue // what is given beside the bytes does not go over the wire
		}
		in := []byte(v.Text)
		if v.Hex != "" {
			if in, err = hex.DecodeString(v.Hex); err != nil {
				t.Fatal(err)
			}
		}
		tried++
		p := w.problem(all, "POST", "/v1/import", in, 422)
		if p.Rejection == nil || p.Rejection.Predicate != v.Predicate {
			t.Errorf("%s: got %+v, want %s", v.Name, p.Rejection, v.Predicate)
		}
	}
	if tried < 20 {
		t.Errorf("only %d capsules were tried", tried)
	}
	var l client.List
	w.call(all, "GET", "/v1/agents", nil, 200, &l)
	if len(l.Agents) != 0 {
		t.Errorf("something of them was stored: %+v", l.Agents)
	}
}

func TestHostileEntriesOfVotesAreRefused(t *testing.T) {
	w := newWorld(t)
	token := w.token("", home.VerbApprove)
	_, ana := w.person("ana")
	id, digest := w.asking()
	path := "/v1/agents/" + id.String() + "/votes"
	if p := w.problem(token, "POST", path, client.Signed{Entries: [][]byte{{0xff, 0x00}}}, 422); p.Rejection == nil {
		t.Errorf("got %+v", p)
	}
	a, err := w.node.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []perdure.Body{ // somebody who may approve signs something else
		perdure.Event{Name: "pay", Notice: perdure.Cancel{}},
		perdure.Event{Name: "x"},
		perdure.Event{Name: "approval", Notice: perdure.Approval{Approve: true, Digest: digest},
			Set: map[string]perdure.Data{"rich": mustData(t, true)}},
	} {
		entries, _, err := ana.Commit(a, time.Now(), perdure.Draft{Body: body})
		if err != nil {
			t.Fatal(err)
		}
		b, err := entries[0].MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		w.problem(token, "POST", path, client.Signed{Entries: [][]byte{b}}, 400)
	}
	joined, _, err := ana.Commit(a, time.Now(), // what joins heads carries state along, under the same signature
		perdure.Draft{Body: perdure.Event{Name: "joined", Notice: perdure.Joined{Heads: 2},
			Set: map[string]perdure.Data{"rich": mustData(t, true)}}},
		perdure.Draft{Body: perdure.Event{Name: "approval", Notice: perdure.Approval{Approve: true, Digest: digest}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := perdure.VoteOf(joined, id, ana.Key()); err == nil {
		t.Error("entries that change state pass for a vote")
	}
	other, _ := w.asking()
	var u client.Unsigned
	w.call(token, "POST", path+"/prepare", client.ToSign{Approve: true, Key: ana.Key().String(), Name: "ana"}, 200, &u)
	w.problem(token, "POST", "/v1/agents/"+other.String()+"/votes", client.Signed{Entries: u.Entries}, 400)
	if w.run(id); w.paid != 0 {
		t.Error("it paid")
	}
}
