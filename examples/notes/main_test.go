package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestWhatIsAddedIsListed(t *testing.T) {
	near, far := mcp.NewInMemoryTransports()
	s, err := server(filepath.Join(t.TempDir(), "notes")).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func(name string, args map[string]any) any {
		t.Helper()
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil || r.IsError {
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		return r.StructuredContent
	}
	if diff := cmp.Diff(map[string]any{"notes": []any{}}, call("list", map[string]any{})); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	call("add", map[string]any{"text": "one\nnote"})
	call("add", map[string]any{"text": "another"})
	if diff := cmp.Diff(map[string]any{"notes": []any{"one note", "another"}},
		call("list", map[string]any{})); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}
