package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
)

// TestAListGoesOnBehindAnyName: what arrives may be called anything, and a page may end with it.
func TestAListGoesOnBehindAnyName(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("traveller ", 300)
	want := map[perdure.AgentID]bool{w.agent("a"): true, w.agent("z"): true}
	for i := range 3 {
		n, id := named(t, fmt.Sprint(long, i))
		c := &client.Client{URL: w.url, Token: w.token("", home.VerbRead, home.VerbExport, home.VerbImport)}
		if _, err := exchange.Sync(t.Context(), storePeer{n.Store}, c, id, exchange.Push); err != nil {
			t.Fatal(err)
		}
		want[id] = true
	}
	c := &client.Client{URL: w.url, Token: w.token("", home.Verbs...)}
	listed := map[perdure.AgentID]bool{}
	for one, err := range c.List(t.Context(), client.Filter{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		listed[one.Agent] = true
	}
	if len(listed) != len(want) {
		t.Errorf("%d agents are listed, want %d", len(listed), len(want))
	}
	changed, after := map[perdure.AgentID]bool{}, ""
	for range 2 * len(want) {
		got, err := c.Changes(t.Context(), after, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range got.Agents {
			changed[id] = true
		}
		if after = got.Position; !got.More {
			break
		}
	}
	if len(changed) != len(want) {
		t.Errorf("%d agents have changed, want %d", len(changed), len(want))
	}
	for cursor := ""; ; {
		page, err := c.WaitsPage(t.Context(), cursor, 1)
		if err != nil {
			t.Fatal(err)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
}

// A page of very long texts ends sooner than it might.
func TestAListIsBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	creates := w.token("", home.VerbCreate)
	for i := range 18 {
		w.call(creates, "POST", "/v1/agents", client.Intent{Goal: "x", Name: fmt.Sprint("a", i),
			Labels: map[string]string{"much": strings.Repeat("x", 1<<20)}}, 201, nil)
	}
	c := &client.Client{URL: w.url, Token: w.token("", home.VerbRead)}
	n := 0
	for _, err := range c.List(t.Context(), client.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 18 {
		t.Errorf("%d agents are listed, want 18", n)
	}
}
