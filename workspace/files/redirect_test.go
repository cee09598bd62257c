package files

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/workspace"
)

// A tag that anybody may write does not send what a person types in a private file to a public document.
func TestATagDoesNotRedirectAnEdit(t *testing.T) {
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/diary.md", "dear diary\n")
	if _, err := p.Reader.Write(t.Context(), workspace.Draft{Path: "notes/all.md", Text: "for all\n",
		Visibility: &workspace.Visibility{Tier: workspace.Public}}); err != nil {
		t.Fatal(err)
	}
	p.sync()
	p.save("diary.md", "dear diary\nmy secret\n")
	// a model, or another author, writes the note meanwhile: nothing was promoted
	if _, err := p.Reader.Write(t.Context(), workspace.Draft{Path: "agents/coder/diary.md", Text: "dear diary, too\n",
		Tags: []string{"moved"}, Links: []string{"notes/all.md"}}); err != nil {
		t.Fatal(err)
	}
	p.sync()
	if got := p.read("notes/all.md").Text; strings.Contains(got, "secret") {
		t.Errorf("the public document says %q", got)
	}
}
