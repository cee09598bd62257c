package show_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/imports"
)

// Whoever reads a list must be able to tell its lines apart, whatever an agent, a tool or a server calls itself.
func TestNothingShownLeavesItsLine(t *testing.T) {
	const evil = "a\nok    all is well"
	var id perdure.AgentID
	for name, write := range map[string]func(*strings.Builder) error{
		"tools": func(b *strings.Builder) error {
			return show.Tools(b, []home.ToolUse{{Name: evil, About: evil, Source: evil, Why: evil}}, false)
		},
		"documents": func(b *strings.Builder) error {
			return show.Documents(b, []*workspace.Document{{Path: evil, Title: evil}})
		},
		"nodes": func(b *strings.Builder) error {
			return show.Nodes(b, [][]string{{"NAME", "WHERE"}, {evil, evil}})
		},
		"transfer": func(b *strings.Builder) error {
			one := home.Passage{Synced: &exchange.Synced{Agent: id, Pulled: &exchange.Receipt{Held: evil}}, Name: evil}
			return show.Transfer(b, &home.Transfer{Peer: evil, Passed: []home.Passage{one}})
		},
		"faults": func(b *strings.Builder) error {
			return show.Faults(b, []*policy.Fault{{File: evil, What: evil}})
		},
		"cases": func(b *strings.Builder) error {
			return show.Cases(b, []policy.CaseReport{{Name: evil, Wrong: evil}})
		},
		"doctor": func(b *strings.Builder) error {
			return show.Examined(b, []home.Examined{{Health: "new", What: "store", Found: evil, Fix: evil}})
		},
		"imported": func(b *strings.Builder) error {
			v := &imports.Imported{Documents: []workspace.Import{{Path: evil}}}
			return show.Imported(b, v, func(string) {})
		},
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(b.String(), "\nok    all is well") {
			t.Errorf("%s: got a line of somebody else's:\n%s", name, b.String())
		}
	}
}

func TestAnEmptyCollectionIsSaid(t *testing.T) {
	var b strings.Builder
	if err := show.Collected(&b, nil, false, nil); err != nil || !strings.HasPrefix(b.String(), "nothing to drop") {
		t.Errorf("got %q, %v, want that there is nothing to drop", b.String(), err)
	}
}
