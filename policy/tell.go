package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure"
)

// Tell implements perdure.Teller: the text of s or of a set it knows, as FromText reads it. There is none for a
// built-in policy, which comes with this package.
func (s *Set) Tell(hash perdure.Hash) perdure.Data {
	set := s.named(hash)
	if hash == s.hash {
		set = s
	}
	if set == nil || builtIns()[hash] != nil {
		return nil
	}
	texts := make([]any, len(set.texts))
	for i, t := range set.texts {
		texts[i] = t
	}
	d, err := perdure.DataOf(texts)
	if err != nil {
		return nil // a file with bytes that are no text has not been parsed
	}
	return d
}

// FromText is the set with a text that Tell told. An error says that it is not the text of the policy with that hash.
func FromText(hash perdure.Hash, text perdure.Data) (*Set, error) {
	files, err := filesOf(hash, text)
	if err != nil {
		return nil, err
	}
	s, err := Parse(files...)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", hash.Short(), err)
	}
	return s, nil
}

// filesOf is the files of a text that Tell told, if their hash is this. To parse them takes long.
func filesOf(hash perdure.Hash, text perdure.Data) (files []File, err error) {
	list, _ := text.Value().([]any)
	for i, v := range list {
		t, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("policy %s: its text is not a list of files", hash.Short())
		}
		files = append(files, File{Name: fmt.Sprintf("%s-%d.cedar", hash.Short(), i+1), Text: []byte(t)})
	}
	is, err := hashOf(files)
	if err == nil && is != hash {
		err = fmt.Errorf("the text is that of %s", is.Short())
	}
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", hash.Short(), err)
	}
	return files, nil
}

// Texts are the texts of the set's files.
func (s *Set) Texts() []string { return slices.Clone(s.texts) }

// Learn is s with the policy an entry tells, if it tells one that s does not know. A text that is not that of its hash
// teaches nothing, and neither does one beyond maxLearned: anybody can put any number of them into a memory.
func (s *Set) Learn(e *perdure.Entry) *Set {
	ev, _ := e.Content().(perdure.Event)
	r, ok := ev.Notice.(perdure.Enclosed)
	if !ok || r.Kind != perdure.EnclosedPolicy || r.Of == s.hash || s.known[r.Of] != nil {
		return s
	}
	if len(r.Text) > maxLearned-s.learned {
		return s
	}
	files, err := filesOf(r.Of, r.Text)
	if err != nil {
		return s
	}
	out := *s
	out.learned += len(r.Text)
	set, err := Parse(files...)
	if err != nil {
		return &out
	}
	if out.known = maps.Clone(s.known); out.known == nil {
		out.known = map[perdure.Hash]*Set{}
	}
	out.known[r.Of] = set
	return &out
}
