package workspace

import (
	"slices"
	"strings"
	"unicode"
)

// question is a search as the index is asked it.
type question struct {
	terms []string // each a string of FTS5, in quotes
}

const (
	// maxTerms bounds the words of one search.
	maxTerms = 64
	// minPrefix is how many letters word* has at least: of so many and up to four, the index has lists of its own, and
	// with more letters few words begin. With fewer it is looked for as a word.
	minPrefix = 2
)

// ask makes a question of what people type or ask: words that say nothing are left out, the others are each looked for;
// "several words" in quotes stand together, and word* is any word that begins so. Where there are words beside the
// quotes, too, those in quotes also count each: people quote from memory. Nothing in it is read as the language of the
// index.
func ask(text string) question {
	var q question
	parts := strings.Split(text, `"`)
	if n := len(parts); n%2 == 0 { // a quote that does not end is none: 5" of snow
		parts = append(parts[:n-2], parts[n-2]+" "+parts[n-1])
	}
	var beside, quoted string
	for i, part := range parts {
		if words := wordsOf(part); i%2 == 1 && len(words) > 1 {
			q.add(`"` + strings.Join(words, " ") + `"`)
			quoted += part + " "
			continue
		}
		beside += part + " "
	}
	words := wordsOf(beside)
	if len(words) > 0 {
		words = append(words, wordsOf(quoted)...)
	}
	telling := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return stopWords[w] })
	if len(telling) == 0 && len(q.terms) == 0 {
		telling = words // to be or not to be
	}
	for i, w := range telling {
		r := []rune(w)
		switch {
		case len(r) == 1 && wordless(r[0]):
			if i+1 < len(telling) {
				if next := []rune(telling[i+1]); len(next) == 1 && wordless(next[0]) {
					q.add(`"` + w + " " + telling[i+1] + `"`)
					continue
				}
			}
			if i > 0 {
				if last := []rune(telling[i-1]); len(last) == 1 && wordless(last[0]) {
					continue // it is the end of the pair before
				}
			}
			q.add(`"` + w + `"`)
		case strings.HasSuffix(w, "*") && len(r) > minPrefix:
			q.add(`"` + strings.TrimSuffix(w, "*") + `"*`)
		case strings.HasSuffix(w, "*"): // nearly every text has a word that begins with one letter
			q.add(`"` + strings.TrimSuffix(w, "*") + `"`)
		default:
			q.add(`"` + w + `"`)
		}
	}
	return q
}

func (q *question) add(term string) {
	if len(q.terms) < maxTerms && !slices.Contains(q.terms, term) {
		q.terms = append(q.terms, term)
	}
}

// words are the words that are looked for.
func (q *question) words() []string {
	var all []string
	for _, t := range q.terms {
		text, begins := strings.CutSuffix(t, "*")
		for _, w := range strings.Fields(strings.Trim(text, `"`)) {
			if begins {
				w += "*"
			}
			all = append(all, w)
		}
	}
	return all
}

// match is the question in the language of the index.
func match(terms []string) string { return strings.Join(terms, " OR ") }

// wordsOf are the words of a text, as the index parts them, in lower case. A star at the end of a word stays.
func wordsOf(text string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case wordless(r):
			end()
			words = append(words, string(r))
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Co, r):
			word.WriteRune(r)
		case r == '*' && word.Len() > 0:
			word.WriteRune(r)
			end()
		default:
			end()
		}
	}
	end()
	return words
}

// stopWords are English words that nearly every text has.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a an the and or but if then of in on at to from by for with about as into is are was were be been being am do does did
		have has had having i you he she it we they me him her them my your his its our their this that these those what which who whom whose when where
		why how can could would should not no so than too very just s t d ll m re ve don isn aren wasn weren didn doesn there here
		any some`) {
		m[w] = true
	}
	return m
}()
