package workspace

import (
	"strings"
	"testing"
)

// plan is how SQLite goes about a statement.
func plan(t *testing.T, ix *Index, text string, args ...any) string {
	t.Helper()
	rows, err := ix.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var all []string
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

// TestNothingReadsAllDocuments asks SQLite how it looks for what changed, for the session before, for links and for
// what a search found: not by reading all that a shelf has.
func TestNothingReadsAllDocuments(t *testing.T) {
	ix, err := OpenIndex(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ix.Close() }()
	on := []shelf{{row: 1}, {row: 2}}
	current := isCurrent(on, "v") + " AND "
	marks, _ := marksFor(make([]int64, 40))
	for text, want := range map[string]string{
		selection(on, numberedRows, current+changedSince): "SEARCH v USING INTEGER PRIMARY KEY (rowid>?)",
		selection(on, numberedRows, arrivedSince): "SEARCH v USING INTEGER PRIMARY KEY (rowid>? AND rowid<?); " +
			"USE TEMP B-TREE FOR ORDER BY",
		selection(on, numberedRows, current+linkedTo): "SEARCH v USING INTEGER PRIMARY KEY (rowid=?); " +
			"LIST SUBQUERY 1; SEARCH link USING COVERING INDEX link_target (target=?); USE TEMP B-TREE FOR ORDER BY",
		selection(on, numberedRows, "v.id IN ("+marks+")"): "SEARCH v USING INTEGER PRIMARY KEY (rowid=?)",
		selection(on, anyRows, current+lastSessions): "SEARCH v USING INDEX version_session (agent=?); " +
			"USE TEMP B-TREE FOR ORDER BY",
		selection(on[:1], anyRows, current+lastSession): "SEARCH v USING INDEX version_session (agent=?)",
		selection(on, anyRows, current+"v.path=?"):      "SEARCH v USING INDEX version_path (agent=? AND path=?)",
	} {
		args := make([]any, strings.Count(text, "?"))
		for i := range args {
			args[i] = 1
		}
		if got := plan(t, ix, text, args...); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// The same where memories are one place.
func TestNothingReadsAllDocumentsOfTwins(t *testing.T) {
	ix, err := OpenIndex(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ix.Close() }()
	on := []shelf{{row: 1, twins: []int64{1, 2}}, {row: 2, twins: []int64{1, 2}}}
	current := isCurrent(on, "v") + " AND "
	for _, text := range []string{
		selection(on, numberedRows, current+changedSince), selection(on, numberedRows, current+linkedTo),
		selection(on, anyRows, current+"v.path=?"), selection(on, anyRows, current+isBeside(on)),
	} {
		args := make([]any, strings.Count(text, "?"))
		got := plan(t, ix, text, args...)
		for _, all := range []string{"SCAN v", "SCAN o", "SCAN r", "(agent=?);"} {
			if strings.Contains(got+";", all) {
				t.Errorf("%s\ngot  %s", text, got)
			}
		}
	}
}

// However many homes have met, what is asked of their memories is something SQLite answers.
func TestManyMemoriesAreOnePlace(t *testing.T) {
	ix, err := OpenIndex(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ix.Close() }()
	on := make([]shelf, 1000)
	for i := range on {
		on[i] = shelf{row: int64(i + 1), Visibility: Visibility{Team, "home"}}
	}
	on = paired(on)
	for _, some := range [][]shelf{on, on[:1]} {
		if _, err := ix.current(t.Context(), some, isBeside(some)); err != nil {
			t.Error(err)
		}
	}
}

// TestShortBeginningsAreLookedForAsWords bounds what word* costs: nearly every text has a word that begins with a given
// letter.
func TestShortBeginningsAreLookedForAsWords(t *testing.T) {
	for text, want := range map[string]string{"a* b": `"a" OR "b"`, "ab*": `"ab"*`, "abcdef* x": `"abcdef"* OR "x"`} {
		if got := match(ask(text).terms); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
