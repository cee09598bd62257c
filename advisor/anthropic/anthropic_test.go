package anthropic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/anthropic"
	"github.com/perdure/perdure/internal/dev/wiretest"
)

func TestAnthropicIsToldWhatToCache(t *testing.T) {
	s, err := wiretest.Anthropic(wiretest.Turns(wiretest.Turn{Text: []string{"ok"}, In: 100, Cached: 60, Written: 30,
		Out: 1}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	m := anthropic.New("claude-x", advisor.Endpoint{URL: s.URL, Key: func() (string, error) {
		return wiretest.Key, nil
	}})
	p := &advisor.Prompt{
		System: "sys", Tools: []perdure.Spec{{Name: "a"}, {Name: "b"}}, Stable: 2,
		Messages: []advisor.Message{{Parts: []advisor.Part{advisor.Text("one")}},
			{Model: true, Parts: []advisor.Part{advisor.Text("two")}}, {Parts: []advisor.Part{advisor.Text("state")}}},
	}
	r, err := m.Ask(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (advisor.Tokens{In: 100, Out: 1, Cached: 60, Written: 30}); r.Tokens != want {
		t.Errorf("tokens are %+v, want %+v", r.Tokens, want)
	}
	body := s.Requests()[0]
	var marked []string
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch x := v.(type) {
		case map[string]any:
			if x["cache_control"] != nil {
				name, _ := x["name"].(string)
				text, _ := x["text"].(string)
				marked = append(marked, at+":"+name+text)
			}
			for _, k := range []string{"tools", "system", "messages", "content"} {
				walk(k, x[k])
			}
		case []any:
			for _, e := range x {
				walk(at, e)
			}
		}
	}
	walk("", body)
	if diff := cmp.Diff([]string{"tools:b", "system:sys", "content:two"}, marked); diff != "" {
		t.Errorf("marked for the cache (-want +got):\n%s", diff)
	}
}
