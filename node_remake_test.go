package perdure_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/keeper"
)

// TestNoAgentBecomesOneThatKeepsDocuments tries every way an agent could come to pass for a role or a workspace, or one
// of these for something else.
func TestNoAgentBecomesOneThatKeepsDocuments(t *testing.T) {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	workspace, other := keeper.Workspace, "other"
	n := &perdure.Node{
		Store: new(perdure.MemStore), Key: key,
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				acts := []perdure.Action{perdure.Mutate{Kind: &workspace},
					perdure.Delegate{Intent: perdure.Intent{Name: "child", Kind: workspace}},
					perdure.End{Signal: perdure.OK}}
				return perdure.Advice{Actions: acts[min(a.Fold().Turns, 2):][:1]}, nil
			})},
	}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "be tested"},
		Charter: perdure.Charter{Scope: "acme", Depth: 2}})
	if err != nil {
		t.Fatal(err)
	}
	notes, err := n.CreateAsleep(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "notes", Kind: workspace,
		Labels: map[string]string{"tier": "private"}}, Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   perdure.AgentID
		edit perdure.Mutate
		want string
	}{
		{a.ID(), perdure.Mutate{Kind: &workspace}, "no agent becomes one"},
		{notes.ID(), perdure.Mutate{Kind: &other}, "its kind and labels say who sees them"},
		{notes.ID(), perdure.Mutate{Labels: map[string]string{"tier": "public"}}, "labels say who sees them"},
	} {
		if _, err := n.Edit(t.Context(), c.id, c.edit, nil); !errors.Is(err, perdure.ErrInvalid) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("edit %+v: got %v, want %q", c.edit, err, c.want)
		}
	}
	if _, err := n.RunAgent(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	var denied []string
	for e, err := range perdure.Memory(t.Context(), n.Store, a.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Content().(perdure.Decision); ok && d.Verdict.Answer == perdure.Deny {
			denied = append(denied, d.Verdict.Rules...)
		}
	}
	kinds := slices.DeleteFunc(denied, func(r string) bool { return !strings.HasSuffix(r, "kind") })
	if len(kinds) != 2 {
		t.Errorf("denied by %v, want the rule on kinds twice", denied)
	}
	now, err := n.Load(t.Context(), a.ID())
	if err != nil {
		t.Fatal(err)
	}
	if f := now.Fold(); f.Intent.Kind != "" || len(f.Children) != 0 {
		t.Errorf("the agent is of kind %q, with %d children", f.Intent.Kind, len(f.Children))
	}
}

// TestRemadeInASnapshotIsNot resumes an agent from a snapshot of a program that let mutations change more.
func TestRemadeInASnapshotIsNot(t *testing.T) {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	first, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: "notes", Kind: keeper.Workspace,
		Labels: map[string]string{"tier": "team"}}, Charter: perdure.Charter{Scope: "acme"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(first)
	if err != nil {
		t.Fatal(err)
	}
	entries, other := []*perdure.Entry{first}, "other"
	write := func(b perdure.Body) {
		t.Helper()
		more, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: b})
		if err != nil {
			t.Fatal(err)
		}
		entries, a = append(entries, more...), next
	}
	write(perdure.Event{Name: "edit", Notice: perdure.Edit{Mutate: perdure.Mutate{Kind: &other,
		Labels: map[string]string{}}}})
	earlier := *a.Fold()
	earlier.Intent.Kind, earlier.Intent.Labels = other, nil
	write(perdure.Snapshot{Fold: earlier})
	write(perdure.Event{Name: "hello"})
	s := new(perdure.MemStore)
	if err := s.Put(t.Context(), a.ID(), entries...); err != nil {
		t.Fatal(err)
	}
	if _, err := perdure.Verify(perdure.Memory(t.Context(), s, a.ID()), perdure.VerifyOptions{}); err != nil {
		t.Errorf("a snapshot as earlier programs wrote it: %v", err)
	}
	got, err := perdure.Load(t.Context(), s, a.ID())
	if err != nil {
		t.Fatal(err)
	}
	if in := got.Fold().Intent; in.Kind != keeper.Workspace || in.Labels["tier"] != "team" {
		t.Errorf("it became %q with labels %v", in.Kind, in.Labels)
	}
	lie := *got.Fold()
	lie.Intent.Kind = "role"
	write(perdure.Snapshot{Fold: lie})
	if err := s.Put(t.Context(), a.ID(), entries...); err != nil {
		t.Fatal(err)
	}
	if _, err := perdure.Verify(perdure.Memory(t.Context(), s, a.ID()), perdure.VerifyOptions{}); err == nil {
		t.Error("a snapshot that says what nobody wrote was accepted")
	}
}
