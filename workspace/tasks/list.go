// Package tasks reads lists of tasks that people and programs keep in files: boxes in Markdown (TASKS.md), and stories
// or features in JSON (prd.json). It ticks a task off without touching anything else in the file.
package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// Task is one thing to do.
type Task struct {
	ID    string `json:"id"`             // stays the same while its words do, whatever else changes in the file
	Title string `json:"title"`          // one line
	Text  string `json:"text,omitempty"` // everything the list says about it
	Under string `json:"under,omitempty"`
	Done  bool   `json:"done"`
	Day   string `json:"day,omitempty"` // when it was done, as its stamp says
	Line  int    `json:"line"`

	key string // the id that the file gives it
	at  int    // where in the file its mark begins
	to  int    // and ends
}

// List is the tasks of a file, in the order in which they are to be done.
type List struct {
	Title string
	Text  string // what the list says about itself
	Tasks []Task

	src  []byte
	tick func(t *Task) []edit
}

// A task that a program did is recorded by a document of a kind of its own, with a tag once the list says so.
const (
	KindAttempts = "attempts"
	TickedTag    = "state:ticked"
)

// MaxSize bounds a list.
const MaxSize = 4 << 20

// edit puts a text in the place of some bytes of a file.
type edit struct {
	at, to int
	text   string
}

// Parse reads a list. The name of the file says which form it has: JSON, or else Markdown.
func Parse(name string, src []byte) (*List, error) { return ParseSome(name, src, nil) }

// ParseSome is Parse, and calls skip with each story of JSON that cannot be read. A list that is to be worked through
// is read with Parse: no task is skipped there.
func ParseSome(name string, src []byte, skip func(line int, err error)) (*List, error) {
	if len(src) > MaxSize {
		return nil, perdure.Invalid(fmt.Errorf("%s: it has %d bytes, and %d are the most for a list of tasks", name,
			len(src), MaxSize))
	}
	if !utf8.Valid(src) {
		return nil, perdure.Invalid(fmt.Errorf("%s: it is not UTF-8", name))
	}
	if strings.EqualFold(path.Ext(name), ".json") {
		return parseJSON(name, src, skip)
	}
	return parseBoxes(src), nil
}

// Find is the task of an id; nil: there is none.
func (l *List) Find(id string) *Task {
	for i := range l.Tasks {
		if l.Tasks[i].ID == id {
			return &l.Tasks[i]
		}
	}
	return nil
}

// ErrNoTask says that a list has no such task.
var ErrNoTask = errors.New("the list has no such task")

// Tick is the file with a task done, and nothing else changed but the boxes above it of which it was the last. Of a
// task that is done already only those may change.
func (l *List) Tick(id string) (b []byte, changed bool, err error) {
	t := l.Find(id)
	if t == nil {
		return nil, false, fmt.Errorf("tick %s: %w", id, ErrNoTask)
	}
	edits := l.tick(t)
	from := 0
	for _, e := range edits {
		b = append(append(b, l.src[from:e.at]...), e.text...)
		from = e.to
	}
	return append(b, l.src[from:]...), len(edits) > 0, nil
}

// named gives tasks ids: of equal ones the second is told from the first by its number.
func named(all []Task, words func(t *Task) string) {
	seen := map[[sha256.Size]byte]int{}
	for i := range all {
		w := words(&all[i])
		sum := sha256.Sum256([]byte(w))
		seen[sum]++
		if n := seen[sum]; n > 1 {
			sum = sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", w, n))
		}
		all[i].ID = hex.EncodeToString(sum[:6])
	}
}
