package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// story is a task as JSON has it: a story of a prd.json, or a feature of a list of features.
type story struct {
	ID          json.RawMessage `json:"id"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Category    string          `json:"category"`
	Criteria    []string        `json:"acceptanceCriteria"`
	Steps       []string        `json:"steps"`
	Priority    float64         `json:"priority"`
	Passes      *bool           `json:"passes"`
	Notes       string          `json:"notes"`
}

// The members of a document that can hold its stories.
var storyLists = []string{"userStories", "stories", "features", "tasks"}

// parseJSON reads a prd.json, or a list of features: objects that say whether they pass.
func parseJSON(name string, src []byte, skip func(int, error)) (*List, error) {
	w := &walk{d: json.NewDecoder(bytes.NewReader(src)), src: src, list: &List{src: src}, skip: skip}
	err := w.document()
	if err == nil && !w.found {
		err = errors.New("it has no list of stories: want userStories, stories, features or tasks, each with passes")
	}
	if err != nil {
		return nil, perdure.Invalid(fmt.Errorf("%s:%d: %w", name, w.line(int(w.d.InputOffset())), err))
	}
	l := w.list
	slices.SortStableFunc(w.order, func(a, b ranked) int { // the order they are to be done in; none comes last
		return cmpRank(a.priority, b.priority)
	})
	for _, r := range w.order {
		l.Tasks = append(l.Tasks, r.Task)
	}
	named(l.Tasks, func(t *Task) string {
		if t.key != "" {
			return t.key
		}
		return t.Under + "\x00" + t.Title
	})
	l.tick = func(t *Task) []edit {
		if t.Done {
			return nil
		}
		return []edit{{t.at, t.to, w.marks[t.at]}}
	}
	return l, nil
}

func cmpRank(a, b float64) int {
	switch {
	case a == b:
		return 0
	case a == 0:
		return 1
	case b == 0 || a < b:
		return -1
	}
	return 1
}

type ranked struct {
	Task
	priority float64
}

// walk reads JSON and knows where it is.
type walk struct {
	d     *json.Decoder
	src   []byte
	list  *List
	order []ranked
	marks map[int]string // what to write at the mark of a task
	found bool
	skip  func(line int, err error) // is told of a story that cannot be read; nil: none may be like that
}

func (w *walk) line(at int) int { return 1 + bytes.Count(w.src[:min(at, len(w.src))], []byte("\n")) }

// document reads the whole file.
func (w *walk) document() error {
	w.marks = map[int]string{}
	t, err := w.d.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('['):
		return w.stories()
	case json.Delim('{'):
	default:
		return errors.New("want an object or a list")
	}
	for w.d.More() {
		key, err := w.d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if slices.Contains(storyLists, name) {
			if t, err = w.d.Token(); err != nil {
				return err
			}
			if t != json.Delim('[') {
				return fmt.Errorf("%s: want a list", name)
			}
			if err := w.stories(); err != nil {
				return err
			}
			continue
		}
		var v any
		if err := w.d.Decode(&v); err != nil {
			return err
		}
		if text, ok := v.(string); ok {
			w.about(name, text)
		}
	}
	if _, err := w.d.Token(); err != nil {
		return err
	}
	if _, err := w.d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

// about takes in what a document says about itself.
func (w *walk) about(name, text string) {
	switch name {
	case "project", "title", "name":
		if w.list.Title == "" {
			w.list.Title = text
			return
		}
	case "description":
		w.list.Text = strings.TrimSpace(text + "\n" + w.list.Text)
		return
	}
	w.list.Text = strings.TrimSpace(w.list.Text + "\n" + name + ": " + text)
}

// stories reads a list up to its end.
func (w *walk) stories() error {
	w.found = true
	for w.d.More() {
		var raw json.RawMessage
		if err := w.d.Decode(&raw); err != nil {
			return err
		}
		begin := int(w.d.InputOffset()) - len(raw)
		var s story
		err := json.Unmarshal(raw, &s)
		if err == nil {
			err = w.story(&s, raw, begin)
		}
		switch {
		case err != nil && w.skip != nil:
			w.skip(w.line(begin), err)
		case err != nil:
			return fmt.Errorf("a story of line %d: %w", w.line(begin), err)
		}
	}
	_, err := w.d.Token()
	return err
}

// story takes in a story, with the place of its mark.
func (w *walk) story(s *story, raw []byte, begin int) error {
	title := strings.TrimSpace(s.Title)
	if title == "" {
		title, _, _ = strings.Cut(strings.TrimSpace(s.Description), "\n")
	}
	id := strings.Trim(string(s.ID), `" `)
	if id == "null" {
		id = ""
	}
	if title == "" && id == "" {
		return errors.New("it has neither id, title nor description")
	}
	if id != "" {
		title = strings.TrimSpace(id + " " + title)
	}
	t := Task{Title: title, Under: s.Category, Line: w.line(begin), Done: s.Passes != nil && *s.Passes,
		Text: s.text(title), key: id}
	at, to, err := memberOf(raw, "passes")
	if err != nil {
		return err
	}
	if t.at, t.to = begin+at, begin+to; at < 0 { // it says nothing: a member is added at its beginning
		t.at, t.to = begin+1, begin+1
		w.marks[t.at] = `"passes": true, `
	} else {
		w.marks[t.at] = "true"
	}
	w.order = append(w.order, ranked{t, s.Priority})
	return nil
}

func (s *story) text(title string) string {
	var b strings.Builder
	b.WriteString(title + "\n")
	if d := strings.TrimSpace(s.Description); d != "" && d != title {
		b.WriteString("\n" + d + "\n")
	}
	writeLines(&b, "Acceptance criteria", s.Criteria)
	writeLines(&b, "Steps", s.Steps)
	if s.Notes != "" {
		b.WriteString("\nNotes: " + s.Notes + "\n")
	}
	return strings.TrimSpace(b.String())
}

func writeLines(b *strings.Builder, head string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n" + head + ":\n")
	for _, l := range lines {
		b.WriteString("- " + l + "\n")
	}
}

// memberOf is where the value of a member of an object begins and ends; -1: there is none.
func memberOf(raw []byte, name string) (at, to int, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, 0, errors.Join(err, errors.New("want an object"))
	}
	at = -1
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return 0, 0, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return 0, 0, err
		}
		if key == name { // of several the last counts, as for every reader
			to = int(d.InputOffset())
			at = to - len(v)
		}
	}
	return at, to, nil
}
