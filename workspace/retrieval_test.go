package workspace_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// longTalk is a long conversation, and questions about it with the turn that answers each.
type longTalk struct {
	turns     []string
	questions map[string]int
}

// makeTalk makes up a conversation of two people over months: facts among small talk that shares their words.
func makeTalk(seed uint64) *longTalk {
	r := rand.New(rand.NewPCG(seed, 3))
	pick := func(of string) string { all := strings.Split(of, "|"); return all[r.IntN(len(all))] }
	t := &longTalk{questions: map[string]int{}}
	verbs := "adopting:adopt|painting:paint|visiting:visit|repairing:repair|selling:sell|borrowing:borrow|baking:bake"
	things := "puppy|guitar|bicycle|lighthouse|museum|sofa|cake|greenhouse|telescope|kayak|piano|quilt|camera"
	places := "Lisbon|Oslo|Kyoto|Denver|Accra|Quito|Perth|Cork|Turin"
	months := "January|March|May|July|October|December"
	for i := range 300 {
		who := []string{"Caroline", "Will"}[i%2]
		verb, thing, place, month := pick(verbs), pick(things), pick(places), pick(months)
		ing, plain, _ := strings.Cut(verb, ":")
		switch r.IntN(3) {
		case 0:
			question := fmt.Sprintf("What %s did %s %s, and may it be in %s?", thing, who, plain, month)
			t.questions[question] = len(t.turns)
			t.turns = append(t.turns, fmt.Sprintf("%s: I have been %s a %s in %s since %s, number %d on my list, and "+
				"it makes me happy.", who, ing, thing, place, month, i))
		case 1:
			t.turns = append(t.turns, fmt.Sprintf("%s: That sounds lovely! Tell me more about the %s, what did you do "+
				"in %s?", who, thing, place))
		default:
			t.turns = append(t.turns, fmt.Sprintf("%s: I may be busy this week, but you will see, we can talk about "+
				"%s. How was your day? Did you do what you wanted?", who, place))
		}
	}
	return t
}

const at = 3

// plain is how many questions plain BM25 over turns answers among the first few.
func (x *longTalk) plain(t *testing.T) int {
	t.Helper()
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	if _, err := db.Exec("CREATE VIRTUAL TABLE turn USING fts5(text)"); err != nil {
		t.Fatal(err)
	}
	for i, turn := range x.turns {
		if _, err := db.Exec("INSERT INTO turn(rowid, text) VALUES(?,?)", i+1, turn); err != nil {
			t.Fatal(err)
		}
	}
	hits := 0
	for q, want := range x.questions {
		words := strings.FieldsFunc(q, func(r rune) bool { return strings.ContainsRune(" ,?", r) })
		rows, err := db.Query("SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT ?",
			`"`+strings.Join(words, `" OR "`)+`"`, at)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id int
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			if id-1 == want {
				hits++
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return hits
}

// found is how many questions a search answers among the first few. The turn of a result is told by its snippet, whole
// words of which stand in the turn.
func (x *longTalk) found(w *world, r *workspace.Reader) int {
	w.t.Helper()
	hits := 0
	for q, want := range x.questions {
		found, err := r.Find(w.t.Context(), workspace.Search{Text: q, Limit: at})
		if err != nil {
			w.t.Fatal(err)
		}
		number := fmt.Sprintf("number %s ", strings.Split(strings.Split(x.turns[want], "number ")[1], " ")[0])
		for _, f := range found {
			if strings.Contains(strings.NewReplacer("[", "", "]", "").Replace(f.Snippet)+" ", number) {
				hits++
				break
			}
		}
	}
	return hits
}

// Whichever way a long conversation comes into memory, questions about it find the turn that answers them at least as
// often as plain BM25 over its turns does.
func TestLongConversationsAreFoundAsByPlainBM25(t *testing.T) {
	t.Parallel()
	x := makeTalk(1)
	want := x.plain(t)
	if want == 0 || want == len(x.questions) {
		t.Fatalf("plain BM25 answers %d of %d: that tells nothing", want, len(x.questions))
	}
	ways := map[string]func(w *world, r *workspace.Reader){
		"told": func(w *world, r *workspace.Reader) { w.tell(x.turns...) },
		"a note for each turn": func(w *world, r *workspace.Reader) {
			for i, turn := range x.turns {
				w.write(r, workspace.Draft{Path: fmt.Sprintf("notes/conversation/%d.md", i), Text: turn + "\n"})
			}
		},
		"one transcript": func(w *world, r *workspace.Reader) {
			text := "# What Caroline and Will said\n"
			for _, turn := range x.turns {
				who, said, _ := strings.Cut(turn, ": ")
				text += "\n## " + who + "\n\n" + said + "\n"
			}
			if _, err := r.Import(t.Context(), workspace.Foreign{Path: "transcripts/x.md",
				Kind: workspace.KindTranscript, Text: text}, nil, false); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worldOf(t, new(perdure.MemStore), signer(t, "ann"), filepath.Join(t.TempDir(), workspace.IndexFile))
			r := w.Owner()
			way(w, r)
			got := x.found(w, r)
			t.Logf("%d of %d, plain BM25 %d", got, len(x.questions), want)
			if got < want {
				t.Errorf("%d of %d questions are answered, by plain BM25 %d", got, len(x.questions), want)
			}
		})
	}
}

// A conversation without a title is called by how its first turn begins. That is found once, as the turn that it is.
func TestTheHeadingOfAConversationTakesNoPlaceOfATurn(t *testing.T) {
	t.Parallel()
	w := worldOf(t, new(perdure.MemStore), signer(t, "ann"), filepath.Join(t.TempDir(), workspace.IndexFile))
	r := w.Owner()
	say := func(path, heading string) {
		t.Helper()
		if _, err := r.Import(t.Context(), workspace.Foreign{Path: path, Kind: workspace.KindTranscript,
			Text: "# " + heading + "\n\n\n## user\n\nCaroline went to a pottery class.\n\n" +
				"## assistant\n\nGood for Caroline!\n"}, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int, words string) {
		t.Helper()
		found, err := r.Find(t.Context(), workspace.Search{Text: words})
		if err != nil || len(found) != want {
			t.Errorf("%s: got %d, %v, want %d", words, len(found), err, want)
		}
	}
	say("transcripts/one.md", "Caroline went to a pott…")
	count(2, "Caroline")
	count(1, "one.md")
	say("transcripts/two.md", "Hobbies of Caroline")
	count(4, "Caroline")
	count(1, "hobbies")
	say("transcripts/three.md", "Caroline went to a pott…\n\nClaude Code, session 3\nFolder: /home/ann/kiln")
	count(6, "Caroline")
	count(1, "kiln")
}

// Who speaks is a word of half of all texts, and nearly every question has it. It tells who is meant.
func TestWhoIsAskedAboutCountsInAConversationOfTwo(t *testing.T) {
	t.Parallel()
	w := worldOf(t, new(perdure.MemStore), signer(t, "ann"), filepath.Join(t.TempDir(), workspace.IndexFile))
	var all []string
	for i := range 20 {
		all = append(all, fmt.Sprintf("Will: I was in town number %d.", i), fmt.Sprintf("Gina: So what, %d?", i))
	}
	w.tell(append(all, "Gina: A puppy is what I have adopted.", "Will: A puppy is what we have all adopted.")...)
	for who, want := range map[string]string{"Gina": "I have", "Will": "we have"} {
		found, err := w.Owner().Find(t.Context(), workspace.Search{Text: "What did " + who + " adopt?"})
		if err != nil || len(found) < 2 || !strings.Contains(found[0].Snippet, want) {
			t.Errorf("%s: got %v, %v, want %q first", who, found, err, want)
		}
	}
}

// A long turn takes one place, and has all of its words. What is in quotes is found where it stands in other words,
// too.
func TestALongTurnIsFoundOnceWithAllOfItsWords(t *testing.T) {
	t.Parallel()
	w := worldOf(t, new(perdure.MemStore), signer(t, "ann"), filepath.Join(t.TempDir(), workspace.IndexFile))
	r := w.Owner()
	text := "\n## user\n\nWhat about the harpsichord?\n\n## assistant\n\nA harpsichord" +
		strings.Repeat(" is one of many things.", 150) + "\n\nYour harpsichord needs quills, it is a quiet old thing.\n"
	if _, err := r.Import(t.Context(), workspace.Foreign{Path: "transcripts/x.md", Kind: workspace.KindTranscript,
		Text: text}, nil, false); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]int{"harpsichord": 2, `Which "quiet thing" was it?`: 1, `"quiet thing"`: 0,
		`a 5" harpsichord`: 2} {
		if found, err := r.Find(t.Context(), workspace.Search{Text: words}); err != nil || len(found) != want {
			t.Errorf("%s: got %d, %v, want %d", words, len(found), err, want)
		}
	}
}

// What is said at length about something is found before a turn that only names it, and an answer before the same words
// in answer to something else.
func TestTurnsThatSaySomethingAreFoundFirst(t *testing.T) {
	t.Parallel()
	w := worldOf(t, new(perdure.MemStore), signer(t, "ann"), filepath.Join(t.TempDir(), workspace.IndexFile))
	text := "# Aunts\n"
	say := func(who, words string) { text += "\n## " + who + "\n\n" + words + "\n" }
	for i := range 20 {
		say("Will", fmt.Sprintf("I was in town %d, to see to it that all is well.", i))
		say("Gina", fmt.Sprintf("So what, %d?", i))
	}
	say("Will", "What is it that you will play tonight at the house of the Millers?")
	say("Gina", "A harpsichord, number 1.")
	say("Gina", "Good night, and thank you for all!")
	say("Will", "And what did your aunt leave to you?")
	say("Gina", "A harpsichord, number 2.")
	say("Gina", "You may come and see it, if you like.")
	say("Will", "Marathon?")
	say("Gina", "It was in the spring, when the cherry trees were in blossom all along the river, that I first "+
		"thought of running a marathon, and a friend of mine has trained with me ever since, on most days.")
	if _, err := w.Owner().Import(t.Context(), workspace.Foreign{Path: "transcripts/x.md",
		Kind: workspace.KindTranscript, Text: text}, nil, false); err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string][2]string{
		"Which harpsichord did her aunt leave to Gina?": {"number 2", "number 1"},
		"Who trained for the marathon?":                 {"friend of mine", "Marathon]?"},
	} {
		found, err := w.Owner().Find(t.Context(), workspace.Search{Text: question})
		if err != nil {
			t.Fatal(err)
		}
		at := func(words string) int {
			return slices.IndexFunc(found, func(f *workspace.Found) bool { return strings.Contains(f.Snippet, words) })
		}
		if first, later := at(want[0]), at(want[1]); first < 0 || later < first {
			t.Errorf("%s: %q is at %d, %q at %d", question, want[0], first, want[1], later)
		}
	}
}
