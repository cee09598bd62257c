package workspace

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// snippetWords is how many words of a text are shown around what was found.
const snippetWords = 32

// place is where a word stands in a text.
type place struct{ from, to int }

// snippet is the part of a text that has most of the words, with those in [brackets]. It goes by how words begin: the
// index knows their stems, people only have to see why something was found.
func snippet(text string, words []string) string {
	all := placesOf(text)
	marked := make([]int, len(all)) // which word it is, counted from 1
	for i, p := range all {
		word := strings.ToLower(text[p.from:p.to])
		marked[i] = 1 + slices.IndexFunc(words, func(w string) bool { return alike(word, w) })
	}
	from := bestWindow(marked)
	to := min(from+snippetWords, len(all))
	if len(all) == 0 {
		return strings.TrimSpace(clip(text, 8*snippetWords))
	}
	var b strings.Builder
	at := all[from].from
	if from == 0 {
		at = 0
	} else {
		b.WriteString("…")
	}
	for i := from; i < to; i++ {
		b.WriteString(text[at:all[i].from])
		if at = all[i].to; marked[i] > 0 {
			b.WriteString("[" + text[all[i].from:at] + "]")
		} else {
			b.WriteString(text[all[i].from:at])
		}
	}
	if to < len(all) {
		b.WriteString("…")
	} else {
		b.WriteString(text[at:])
	}
	return strings.TrimSpace(b.String())
}

// bestWindow is where the window begins in which most different words are marked; of several, the first.
func bestWindow(marked []int) int {
	best, score := 0, -1
	for from, m := range marked {
		if m == 0 && from > 0 {
			continue
		}
		seen := map[int]bool{}
		for _, m := range marked[from:min(from+snippetWords, len(marked))] {
			if m > 0 {
				seen[m] = true
			}
		}
		if len(seen) > score {
			best, score = from, len(seen)
		}
	}
	return max(best-4, 0) // some words before it
}

// placesOf is where the words of a text are.
func placesOf(text string) []place {
	var all []place
	from := -1
	end := func(at int) {
		if from >= 0 {
			all = append(all, place{from, at})
			from = -1
		}
	}
	for i, r := range text {
		switch {
		case wordless(r):
			end(i)
			all = append(all, place{i, i + utf8.RuneLen(r)})
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Mn, r):
			if from < 0 {
				from = i
			}
		default:
			end(i)
		}
	}
	end(len(text))
	return all
}

// alike reports whether a word of a text is one that was looked for, in another form.
func alike(word, wanted string) bool {
	if begin, ok := strings.CutSuffix(wanted, "*"); ok {
		return strings.HasPrefix(word, begin)
	}
	if word == wanted {
		return true
	}
	short := min(len(word), len(wanted))
	n := 0
	for n < short && word[n] == wanted[n] {
		n++
	}
	return short >= 3 && n >= max(3, short-2) && len(word)+len(wanted)-2*short <= 4
}
