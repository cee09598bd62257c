package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// likes is a set of n rules that hold a text of a call against a pattern each.
func likes(t *testing.T, n int, arg, pattern string) *policy.Set {
	t.Helper()
	var b strings.Builder
	b.WriteString(allText)
	for i := range n {
		fmt.Fprintf(&b, "@id(\"r%02d\") forbid (principal, action == Action::\"execute\", resource)\n", i)
		fmt.Fprintf(&b, "when { context.args has %s && context.args.%s like %q };\n", arg, arg, pattern)
	}
	return parse(t, b.String())
}

// TestWhatADecisionComparesIsBounded: each place of a text is held against all of the pattern. What would be too much
// is not asked at all, so that this test takes no time.
func TestWhatADecisionComparesIsBounded(t *testing.T) {
	long := strings.Repeat("a", 3<<20)
	behind := "*" + strings.Repeat("a", 999) + "b"
	call := func(s *policy.Set, arg, text string) perdure.Verdict {
		f := policy.Sample("execute")
		with(f, "args", map[string]any{arg: text})
		return s.DecideFacts(f)
	}
	v := call(likes(t, 1, "path", behind), "path", long)
	want := "rule r00: its patterns cannot be held against texts as long as these: one decision compares at most " +
		"2147483648 bytes"
	if v.Answer != perdure.Deny || !slices.Equal(v.Rules, []string{"policy.error", "r00"}) || v.Reason != want {
		t.Errorf("a long pattern: got %s by %v: %q, want a denial by policy.error", v.Answer, v.Rules, v.Reason)
	}
	v = call(likes(t, 64, "path", "*"+strings.Repeat("a", 19)+"b*"), "path", long)
	if v.Answer != perdure.Deny || !slices.Equal(v.Rules, []string{"policy.error", "r34"}) {
		t.Errorf("many patterns: got %s by %v, want a denial by policy.error", v.Answer, v.Rules)
	}

	narrow := likes(t, 1, "path", behind)
	f := policy.Sample("execute")
	with(f, "args", map[string]any{"path": long})
	f["policies"] = []any{narrow.Hash().String()}
	v = permissive.Know(narrow).DecideFacts(f)
	if rule := narrow.Hash().Short() + ":r00"; v.Answer != perdure.Deny || v.Rules[len(v.Rules)-1] != rule {
		t.Errorf("a policy brought along: got %s by %v, want a denial by %s", v.Answer, v.Rules, rule)
	}

	for name, v := range map[string]perdure.Verdict{
		"a pattern that is about the beginning": call(likes(t, 64, "path", behind[1:]+"*"), "path", long),
		"a long text nobody looks at":           call(likes(t, 64, "path", behind), "content", long),
		"patterns as people write them":         call(likes(t, 20, "path", "*/private/*.key"), "path", long),
	} {
		if v.Answer != perdure.Allow {
			t.Errorf("%s: got %s by %v, want it allowed", name, v.Answer, v.Rules)
		}
	}
}

// TestWhatADecisionComparesOfTheAgentIsBounded: a label is no argument, and its name may be one.
func TestWhatADecisionComparesOfTheAgentIsBounded(t *testing.T) {
	s := parse(t, allText+`@id("label") forbid (principal, action, resource)
		when { principal.hasTag("a") && principal.getTag("a") like "*`+strings.Repeat("a", 999)+`b" };`)
	f := policy.Sample("sleep")
	f["agent"].(map[string]any)["labels"] = map[string]any{"a": strings.Repeat("a", 3<<20)}
	if v := s.DecideFacts(f); !slices.Equal(v.Rules, []string{"policy.error", "label"}) {
		t.Errorf("got %s by %v, want a denial by policy.error", v.Answer, v.Rules)
	}
}

// TestListsOfListsAreNotCompared: to Cedar all of these lists have one hash, and each would be compared with all
// others, before the rule could say that it wants texts.
func TestListsOfListsAreNotCompared(t *testing.T) {
	s := parse(t, allText+`@id("list") forbid (principal, action == Action::"execute", resource)
		when { context.args has list && context.args.list.contains("x") };`)
	var list []any
	for i := range int64(20_000) {
		list = append(list, []any{i, 40_000 - i})
	}
	f := policy.Sample("execute")
	with(f, "args", map[string]any{"list": list})
	if v := s.DecideFacts(f); !slices.Equal(v.Rules, []string{"policy.args", "list"}) {
		t.Errorf("got %s by %v, want a denial by policy.args", v.Answer, v.Rules)
	}
}

// TestLongPathsAreNotParsed: of `has` and a path of n names Cedar makes n tests, each as long as what it tests.
func TestLongPathsAreNotParsed(t *testing.T) {
	for name, path := range map[string]string{
		"has":    "context has " + strings.Repeat("a.", 100_000) + "a",
		"spaced": "context has " + strings.Repeat("a . ", 100) + "a",
		"broken": "context has " + strings.Repeat("a. // and on\n", 100) + "a",
	} {
		rule := `@id("long") permit (principal, action, resource) when { ` + path + " };"
		_, err := policy.Parse(policy.File{Name: "p.cedar", Text: []byte(rule)})
		if err == nil || !strings.Contains(err.Error(), "names") || !strings.Contains(err.Error(), "long") {
			t.Errorf("%s: %v, want a fault that names the rule and its path", name, err)
		}
	}
	// a file of many paths, each of which may be there
	file := ""
	for i := range 64 {
		file += fmt.Sprintf(`@id("r%d") forbid (principal, action, resource) when { context has %s };`+"\n", i,
			strings.Repeat("a.", 33)+"a")
	}
	_, err := policy.Parse(policy.File{Name: "p.cedar", Text: []byte(file)})
	if err == nil || !strings.Contains(err.Error(), "squared") || !strings.Contains(err.Error(), "rule r56") {
		t.Errorf("many: %v, want a fault that names the rule and says why", err)
	}
	// what stands in a comment hides no path, and no bracket
	for name, rule := range map[string]string{
		"behind a quote":  "context has //\"x.\n" + strings.Repeat("a.", 31) + "a",
		"between":         "context has /* \" */ " + strings.Repeat("a.", 31) + "a",
		"within brackets": strings.Repeat("( //)\n", 65) + "true" + strings.Repeat(")", 65),
	} {
		file := strings.Repeat("forbid (principal, action, resource) when { "+rule+" };\n", 65)
		_, err := policy.Parse(policy.File{Name: "p.cedar", Text: []byte(file)})
		if err == nil || !strings.Contains(err.Error(), "squared") && !strings.Contains(err.Error(), "nest deeper") {
			t.Errorf("%s: %v, want a fault that says why", name, err)
		}
	}
	parse(t, allText+`@id("comment") forbid (principal, action == Action::"execute", resource)
when { context.args has /* `+strings.Repeat(". ", 40)+`*/ host && // `+strings.Repeat("a.", 40)+`
context.args.host == "`+strings.Repeat("a.", 40)+`((" };`)
	urls := strings.Repeat(`"https://one.two.three.four.example.com/", `, 1900)
	parse(t, allText+`@id("urls") forbid (principal, action == Action::"execute", resource)
when { context.args has url && [`+urls+`"x"].contains(context.args.url) };`)
	hosts := strings.Repeat(`"one.two.three.four.example.com", `, 1900)
	parse(t, allText+`@id("hosts") forbid (principal, action == Action::"execute", resource)
when { context.args has host && [`+hosts+`"x"].contains(context.args.host) };`)
	deep := strings.Repeat("a.", 29) + "a"
	parse(t, allText+`@id("deep") forbid (principal, action == Action::"execute", resource)
when { context.args has `+deep+` && context.args.`+deep+` == "x" };`)
}

// TestWhatIsLearnedIsBounded: a memory may tell any number of policies, and those of a home may be long.
func TestWhatIsLearnedIsBounded(t *testing.T) {
	enclosed := func(of perdure.Hash, text perdure.Data) (last *perdure.Entry) {
		key, err := perdure.GenerateSigner("n")
		if err != nil {
			t.Fatal(err)
		}
		node := &perdure.Node{Store: new(perdure.MemStore), Key: key}
		a, err := node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
			Charter: perdure.Charter{Scope: "home"}})
		if err == nil {
			_, err = node.Tell(t.Context(), a.ID(), perdure.Event{Name: "enclosed", Notice: perdure.Enclosed{
				Of: of, Kind: perdure.EnclosedPolicy, Text: text}})
		}
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range perdure.Memory(t.Context(), node.Store, a.ID()) {
			if err != nil {
				t.Fatal(err)
			}
			last = e
		}
		return last
	}
	told := func(name string, n, size int) (perdure.Hash, *perdure.Entry) {
		var files []policy.File
		for i := range n {
			text := fmt.Sprintf("@id(\"%s%d\") forbid (principal, action, resource); //%s", name, i,
				strings.Repeat("x", size))
			files = append(files, policy.File{Name: "p.cedar", Text: []byte(text)})
		}
		set, err := policy.Parse(files...)
		if err != nil {
			t.Fatal(err)
		}
		return set.Hash(), enclosed(set.Hash(), set.Tell(set.Hash()))
	}
	hash, e := told("own", 80, 6<<10)
	if s := policy.Default().Learn(e); s.Under(hash) == nil {
		t.Error("a policy of many files is not learned: it may be that of the home")
	}
	s, learned := policy.Default(), 0
	garbage, err := perdure.DataOf([]any{strings.Repeat("x", 1000<<10)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 { // what is not the text of its hash takes no room
		s = s.Learn(enclosed(perdure.HashOf([]byte{byte(i)}), garbage))
	}
	for i := range 20 {
		hash, e := told(fmt.Sprintf("p%d-", i), 1, 255<<10)
		if s = s.Learn(e); s.Under(hash) != nil {
			learned++
		}
	}
	if learned != 16 {
		t.Errorf("%d policies of 255 KiB are learned from one memory, want 16", learned)
	}
}
