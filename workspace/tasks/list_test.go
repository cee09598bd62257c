package tasks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/workspace/tasks"
)

const boxes = `# Shop

What it is for.

## Now

- [x] Pay (2026-01-02 10:00)
- [ ] Ship
  - [ ] Print the label
    On the small printer.
  - [X] Weigh it
* [ ] Say thanks <!-- later -->
` + "```\n- [ ] not a task\n```\n" + `
## Later

1. [ ] Pay
- [ ] Pay
`

func parse(t *testing.T, name, text string) *tasks.List {
	t.Helper()
	l, err := tasks.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func titles(l *tasks.List) (all []string) {
	for _, one := range l.Tasks {
		mark := " "
		if one.Done {
			mark = "x"
		}
		all = append(all, mark+one.Under+": "+one.Title)
	}
	return all
}

func TestBoxesWithoutBoxesBelowAreTasks(t *testing.T) {
	t.Parallel()
	l := parse(t, "TASKS.md", boxes)
	want := []string{"xShop / Now: Pay", " Shop / Now / Ship: Print the label", "xShop / Now / Ship: Weigh it",
		" Shop / Now: Say thanks", " Shop / Later: Pay", " Shop / Later: Pay"}
	if diff := cmp.Diff(want, titles(l)); diff != "" {
		t.Fatal(diff)
	}
	if got, want := l.Tasks[1].Text, "Print the label\n    On the small printer."; got != want {
		t.Errorf("text: got %q, want %q", got, want)
	}
	seen := map[string]bool{}
	for _, one := range l.Tasks {
		if seen[one.ID] {
			t.Errorf("two tasks have the id %s", one.ID)
		}
		seen[one.ID] = true
	}
}

func TestTickChangesTheBoxAndThoseAboveItThatAreDoneWithIt(t *testing.T) {
	t.Parallel()
	l := parse(t, "TASKS.md", boxes)
	got, _, err := l.Tick(l.Tasks[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(strings.Replace(boxes, "- [ ] Print", "- [x] Print", 1), "- [ ] Ship", "- [x] Ship", 1)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Fatal(diff)
	}
	again := parse(t, "TASKS.md", string(got))
	for i := range l.Tasks {
		if l.Tasks[i].ID != again.Tasks[i].ID {
			t.Errorf("ticking changed the id of %s", l.Tasks[i].Title)
		}
	}
	l = parse(t, "TASKS.md", "- [ ] a\n  - [ ] b\n  - [ ] c\n")
	if got, _, _ := l.Tick(l.Tasks[0].ID); string(got) != "- [ ] a\n  - [x] b\n  - [ ] c\n" {
		t.Errorf("got %q", got)
	}
}

// Whoever ticked the last box below another: that one is done, too.
func TestTickOfATickedBoxTicksThoseAboveIt(t *testing.T) {
	t.Parallel()
	l := parse(t, "TASKS.md", "- [ ] a\n  - [x] b\n  - [x] c\n")
	got, changed, err := l.Tick(l.Tasks[1].ID)
	if err != nil || !changed || string(got) != "- [x] a\n  - [x] b\n  - [x] c\n" {
		t.Errorf("got %q, %v, %v", got, changed, err)
	}
	l = parse(t, "TASKS.md", string(got))
	if again, changed, _ := l.Tick(l.Tasks[1].ID); changed || string(again) != string(got) {
		t.Errorf("again: %q, %v", again, changed)
	}
}

func TestAStampDoesNotMakeItAnotherTask(t *testing.T) {
	t.Parallel()
	plain := parse(t, "TASKS.md", "- [ ] Pay the bill").Tasks[0].ID
	for _, stamped := range []string{"- [x] Pay the bill (2026-01-02)", "- [x] Pay the bill <!-- 3f2 -->",
		"- [x] Pay the bill ✅ 2026-01-02", "- [x] Pay the bill @done(today)", "- [x] Pay the bill — 2026-01-02T10:00Z",
		"- [x] Pay the bill (done 2026-01-02 10:00 UTC)"} {
		if got := parse(t, "TASKS.md", stamped).Tasks[0].ID; got != plain {
			t.Errorf("%s is another task", stamped)
		}
	}
}

func TestStoriesAreDoneByPriorityAndTickedInPlace(t *testing.T) {
	t.Parallel()
	src := `{ "project": "Shop",
  "userStories": [
    {"id": "B", "title": "Ship", "priority": 2,   "passes" : false },
    {"id": "A", "title": "Pay", "priority": 1, "acceptanceCriteria": ["a {\"passes\": false} card"]},
    {"id": "C", "title": "Rest", "passes": true}
  ] }`
	l := parse(t, "prd.json", src)
	if diff := cmp.Diff([]string{" : A Pay", " : B Ship", "x: C Rest"}, titles(l)); diff != "" {
		t.Fatal(diff)
	}
	for _, id := range []string{l.Tasks[0].ID, l.Tasks[1].ID} {
		b, _, err := l.Tick(id)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b) {
			t.Fatalf("it is no JSON any more: %s", b)
		}
		l = parse(t, "prd.json", string(b))
	}
	for _, one := range l.Tasks {
		if !one.Done {
			t.Errorf("%s is not done", one.Title)
		}
	}
	features := parse(t, "features.json",
		`[{"category":"ui","description":"A button","steps":["press"],"passes":false}]`)
	if diff := cmp.Diff([]string{" ui: A button"}, titles(features)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{``, `{`, `{"a":1}`, `[1]`, `{"stories":{}}`, `[{}]`, `{"stories":[]} x`} {
		if _, err := tasks.Parse("prd.json", []byte(bad)); err == nil {
			t.Errorf("%s was taken for a list", bad)
		}
	}
}

func FuzzTickedTasksStayTicked(f *testing.F) {
	f.Add("TASKS.md", boxes)
	f.Add("prd.json", `{"stories":[{"id":1,"title":"x"},{"description":"y","passes":false}]}`)
	f.Fuzz(func(t *testing.T, name, text string) {
		l, err := tasks.Parse(name, []byte(text))
		if err != nil {
			return
		}
		for _, one := range l.Tasks {
			b, _, err := l.Tick(one.ID)
			if err != nil {
				t.Fatal(err)
			}
			after, err := tasks.Parse(name, b)
			if err != nil {
				t.Fatalf("after a tick it cannot be read: %v", err)
			}
			if got := after.Find(one.ID); got == nil || !got.Done {
				t.Fatalf("%q is not done after it was ticked: %q", one.Title, b)
			}
		}
	})
}
