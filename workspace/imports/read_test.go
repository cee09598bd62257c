package imports_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/imports"
)

// read is what a file of this name and text gives.
func read(t testing.TB, name, text string) ([]workspace.Foreign, imports.Read) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []workspace.Foreign
	r, err := imports.Source{Path: file}.Each(func(x workspace.Foreign) error {
		all = append(all, x)
		return nil
	})
	if err != nil && len(text) > 0 {
		r.Problems = append(r.Problems, imports.Problem{Why: err.Error()})
	}
	return all, r
}

func TestMessagesKeepTheirTimesHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	docs, r := read(t, "talk.json", `{"created":"2026-01-02T03:04:05Z","messages":[
 {"role":"user","name":"Caroline","content":"One.","timestamp":"2023-05-08T13:56:00+01:00"},
 {"role":"user","content":"Two.","create_time":1683500000},
 {"role":"user","content":"Three.","created_at":"2023-05-08 02:00:00"},
 {"role":"user","content":"Four.","timestamp":1683500000000},
 {"role":"user","content":"Five.","timestamp":"yesterday"},
 {"role":"user","content":"Six.","timestamp":null}]}`)
	if len(docs) != 1 {
		t.Fatalf("got %+v, %v", docs, r.Problems)
	}
	_, got, _ := strings.Cut(docs[0].Text, "\n\n\n")
	want := "## user Caroline 2023-05-08T12:56:00Z\n\nOne.\n\n## user 2023-05-07T22:53:20Z\n\nTwo.\n\n" +
		"## user 2023-05-08T02:00:00Z\n\nThree.\n\n## user 2023-05-07T22:53:20Z\n\nFour.\n\n" +
		"## user 2026-01-02T03:04:05Z\n\nFive.\n\n## user 2026-01-02T03:04:05Z\n\nSix.\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Why, "yesterday") {
		t.Errorf("problems: got %v, want one about a time", r.Problems)
	}
}

func TestExportedConversationsKeepTheBranchInUse(t *testing.T) {
	t.Parallel()
	docs, r := read(t, "conversations.json", `[
{"title":"Rye","conversation_id":"c1","create_time":1767225600,"current_node":"4","mapping":{
 "1":{"message":null},
 "2":{"parent":"1","message":{"id":"2","author":{"role":"user"},"create_time":1767225600.5,
  "content":{"content_type":"text","parts":["Which rye?"]}}},
 "3":{"parent":"2","message":{"id":"3","author":{"role":"assistant"},"content":{"parts":["Dark."]}}},
 "4":{"parent":"2","message":{"id":"4","author":{"role":"assistant"},"content":{"parts":["Light."]}}}}},
{"title":"Lost","conversation_id":"c2","current_node":"9","mapping":{}}
]`)
	want := "# Rye\n\n\n## user 2026-01-01T00:00:00Z\n\nWhich rye?\n\n## assistant 2026-01-01T00:00:00Z\n\nLight.\n"
	if len(docs) != 1 || docs[0].Path != "transcripts/openai/c1.md" {
		t.Fatalf("got %+v", docs)
	}
	if diff := cmp.Diff(want, docs[0].Text); diff != "" {
		t.Error(diff)
	}
	if got := r.Left["messages on branches that were given up"]; got != 1 {
		t.Errorf("left out: got %d, want 1", got)
	}
	if len(r.Problems) != 1 || r.Problems[0].Line != 8 {
		t.Errorf("problems: got %v, want one at line 8", r.Problems)
	}
}

func TestOfALongTranscriptOnlyTheLastPartChanges(t *testing.T) {
	t.Parallel()
	line := func(i int) string {
		return fmt.Sprintf(`{"type":"user","uuid":"%d","sessionId":"s","message":{"role":"user","content":"%d %s"}}`+
			"\n",
			i, i, strings.Repeat("word ", 2000))
	}
	text := ""
	for i := range 30 {
		text += line(i)
	}
	before, _ := read(t, "s.jsonl", text+line(3)) // a copy of a message counts once
	after, _ := read(t, "s.jsonl", text+line(30))
	if len(before) < 3 || len(before) != len(after) {
		t.Fatalf("parts: got %d and %d", len(before), len(after))
	}
	for i := range before {
		if same, last := before[i].Text == after[i].Text, i == len(before)-1; same == last {
			t.Errorf("part %d: same is %t", i+1, same)
		}
	}
}

func TestEveryLineIsImportedOrNamed(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 300 {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&text, `{"type":"user","sessionId":"s","uuid":"%d","message":{"content":"kept %d."}}`+"\n",
				i, i)
		case 1:
			text.WriteString(`{"type":"user","sessionId":"s","message":{"content":{"odd":1}}}` + "\n")
		case 2:
			text.WriteString("\x00{]\n")
		}
	}
	docs, r := read(t, "s.jsonl", text.String())
	all := ""
	for _, d := range docs {
		all += d.Text
	}
	for i := 0; i < 300; i += 3 {
		if !strings.Contains(all, fmt.Sprintf("kept %d.", i)) {
			t.Errorf("line %d is lost", i+1)
		}
	}
	named := map[int]bool{}
	for _, p := range r.Problems {
		named[p.Line] = true
	}
	if len(named) != 200 || named[1] || !named[2] || !named[300] {
		t.Errorf("named: got %d lines, want the 200 that cannot be read", len(named))
	}
}

func FuzzImportsAreTheSameEachTime(f *testing.F) {
	f.Add("a.jsonl", `{"type":"entity","name":"Ann","observations":["x"]}`+"\n"+
		`{"type":"relation","from":"Ann","to":"../B"}`)
	f.Add("a.jsonl", `{"sessionId":"../../x","message":{"content":[{"type":"tool_use"},1,null]}}`)
	f.Add("a.json", `[{"role":"user","content":"x"},{"messages":[{}]},`+
		`{"mapping":{"a":{"parent":"a"}},"current_node":"a"}]`)
	f.Add("prd.json", `{"userStories":[{"id":1}]}`)
	f.Add("a.md", "---\ntags: x, y\n---\n# T")
	f.Fuzz(func(t *testing.T, name, text string) {
		name = filepath.Base(filepath.Clean("/" + name))
		if name == "/" || len(name) > 100 || strings.Contains(name, "\x00") {
			return
		}
		one, r1 := read(t, name, text)
		two, r2 := read(t, name, text)
		for _, docs := range [][]workspace.Foreign{one, two} {
			for i := range docs {
				docs[i].Source, docs[i].Origin, docs[i].Time = "", "", time.Time{}
				if p, err := workspace.CleanPath(docs[i].Path); err != nil || strings.HasPrefix(p, "agents/") {
					t.Fatalf("path %q: %v", docs[i].Path, err)
				}
			}
		}
		if diff := cmp.Diff(one, two); diff != "" || len(r1.Problems) != len(r2.Problems) {
			t.Fatal(diff)
		}
	})
}

func TestAStoryThatCannotBeReadIsNamedAndTheOthersCount(t *testing.T) {
	t.Parallel()
	docs, r := read(t, "prd.json", `{"project":"Shop","userStories":[
{"id":"1","title":"Cart","passes":true},
"bogus",
{"id":"2","title":"Pay","steps":"one"},
{"id":"3","title":"Ship"}]}`)
	if len(docs) != 1 || !strings.Contains(docs[0].Text, "- [x] 1 Cart\n- [ ] 3 Ship\n") {
		t.Errorf("got %+v", docs)
	}
	if len(r.Problems) != 2 || r.Problems[0].Line != 3 || r.Problems[1].Line != 4 {
		t.Errorf("problems: %v", r.Problems)
	}
}
