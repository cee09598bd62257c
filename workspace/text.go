package workspace

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/seal"
)

// sealedMark stands for a part that is sealed.
const sealedMark = "[sealed]"

// plainText is what of the body of a document can be read without a key, and whether something of it is sealed.
func plainText(body perdure.Data) (text string, sealed bool) {
	if len(body) == 0 {
		return "", false
	}
	if text := body.Text(); text != "" {
		return text, false
	}
	parts, ok := body.Value().([]any)
	if !ok {
		parts = []any{body.Value()}
	}
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		default:
			sealed = true
			b.WriteString(sealedMark)
		}
	}
	return b.String(), sealed
}

// turns takes in what was said in the transcript of an agent.
func (t *taker) turns(ctx context.Context, a *agentRow, e *perdure.Entry) error {
	kind, text := said(e)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	for _, p := range passages(clip(text, maxTurn), turnSize) {
		if err := t.add(ctx, a, nil, e, kind, a.expires(e), "", "", p); err != nil {
			return err
		}
	}
	return nil
}

// maxTurn bounds what of one turn can be found: a tool may return a book.
const maxTurn = 64 << 10

// KindTurn is the kind of what was said, and KindResult of what a tool returned.
const (
	KindTurn   = "turn"
	KindResult = "result"
)

// said is what an entry adds to a transcript, as words. What is sealed is left out.
func said(e *perdure.Entry) (kind, text string) {
	switch b := e.Content().(type) {
	case perdure.Genesis:
		return KindTurn, b.Intent.Goal
	case perdure.Advice:
		text = b.Text
		for _, act := range b.Actions {
			switch x := act.(type) {
			case perdure.Sleep:
				if x.Asks() && !strings.Contains(text, x.Note) {
					text += "\n" + x.Note
				}
			case perdure.End:
				if more := valueText(x.Result.Value(), 0); !strings.Contains(text, more) {
					text += "\n" + more
				}
			case perdure.Execute, perdure.Mutate, perdure.Delegate, perdure.Wake:
			}
		}
		return KindTurn, strings.TrimSpace(text)
	case perdure.Outcome:
		return KindResult, strings.TrimSpace(b.Note + "\n" + valueText(b.Result.Value(), 0))
	case perdure.Event:
		if b.Notice != nil {
			return KindTurn, ""
		}
		text := valueText(b.Data.Value(), 0)
		if b.By != "" && text != "" {
			text = b.By + ": " + text
		}
		return KindTurn, text
	}
	return KindTurn, ""
}

// maxValueDepth bounds how deep texts are looked for.
const maxValueDepth = 16

// valueText is the texts in a value, in order. What is sealed is left out.
func valueText(v any, depth int) string {
	if depth > maxValueDepth || seal.Is(v) {
		return ""
	}
	var parts []string
	add := func(v any) {
		if text := valueText(v, depth+1); text != "" {
			parts = append(parts, text)
		}
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		for _, one := range v {
			add(one)
		}
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			add(v[name])
		}
	}
	return strings.Join(parts, "\n")
}

const (
	// passageSize is how long a passage of a document is: long enough to say something, short enough to be a snippet's
	// home.
	passageSize = 1800
	// turnSize is how long a passage of a transcript is. Nearly every turn is shorter: cut, it would take many places
	// of a search, and none of them would have all of its words. Of longer ones a model of meaning would not read all.
	turnSize = maxEmbedText
)

// passages are the parts of a text that are found each for itself. They end between paragraphs where they can, else
// between lines or words.
func passages(text string, size int) []string {
	var all []string
	for len(text) > size {
		at := cutAt(text[:size])
		all = append(all, text[:at])
		text = text[at:]
	}
	if strings.TrimSpace(text) != "" || len(all) == 0 {
		all = append(all, text)
	}
	return all
}

// passagesOf are the passages of a document. Those of a transcript are its turns. Its heading goes behind the first:
// alone, it would take the place of a turn.
func passagesOf(kind, text string) []string {
	if kind != KindTranscript {
		return passages(text, passageSize)
	}
	turns := turnsIn(text)
	if len(turns) == 0 {
		return passages(text, turnSize)
	}
	var all []string
	for i, from := range turns {
		to := len(text)
		if i+1 < len(turns) {
			to = turns[i+1]
		}
		turn := text[from:to]
		if heading := strings.TrimSpace(text[:turns[0]]); i == 0 && heading != "" {
			turn += "\n" + heading
		}
		all = append(all, passages(turn, turnSize)...)
	}
	return all
}

// turnsIn is where the turns of a transcript begin.
func turnsIn(text string) (all []int) {
	const mark = "## "
	if strings.HasPrefix(text, mark) {
		all = append(all, 0)
	}
	for at := 0; ; {
		next := strings.Index(text[at:], "\n"+mark)
		if next < 0 {
			return all
		}
		at += next + 1
		all = append(all, at)
	}
}

// untitled is a transcript without its first line, if that says nothing but how its first turn begins, as it does where
// the conversation had no title: those words would count twice.
func untitled(text string) string {
	turns := turnsIn(text)
	if len(turns) == 0 {
		return text
	}
	line, rest, _ := strings.Cut(text, "\n")
	title := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "# ")), "…")
	_, said, _ := strings.Cut(text[turns[0]:], "\n\n")
	if title != "" && strings.HasPrefix(strings.TrimSpace(said), title) {
		return strings.TrimLeft(rest, "\n")
	}
	return text
}

// headOf is what of a document counts more than its text: its path, and its title, unless that is only how the text
// begins, which would count twice.
func headOf(title, path, text string) string {
	if title == TitleOf(path, text) && !strings.HasPrefix(strings.TrimSpace(text), "#") {
		return path
	}
	return title + "\n" + path
}

// cutAt is where the beginning of a text is cut off.
func cutAt(text string) int {
	for _, mark := range []string{"\n#", "\n\n", "\n", " "} {
		if i := strings.LastIndex(text, mark); i > len(text)/2 {
			return i + 1
		}
	}
	i := len(text)
	for i > 0 && text[i-1]&0xc0 == 0x80 {
		i--
	}
	return max(i-1, 1)
}

// apart stands between characters of scripts that do not part words with spaces, so that each is a word of the index.
// Nobody sees it.
const apart = "\u200b"

// wordless reports whether a character belongs to a script that does not part words with spaces.
func wordless(r rune) bool {
	return r > 0x2e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Myanmar) ||
		r >= 0x0e00 && r <= 0x17ff && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer)
}

// spaced is a text in which characters of such scripts stand apart.
func spaced(text string) string {
	if !strings.ContainsFunc(text, wordless) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if wordless(r) {
			b.WriteString(apart)
			b.WriteRune(r)
			b.WriteString(apart)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// joined is a text as it was before spaced.
func joined(text string) string { return strings.ReplaceAll(text, apart, "") }

// Links in texts are [[path]], or Markdown links to files without a scheme.
var (
	wikiLink = regexp.MustCompile(`\[\[([^\[\]\n|]+)(?:\|[^\[\]\n]*)?\]\]`)
	markLink = regexp.MustCompile(`\]\(([^()\s:]+\.md)(?:#[^()\s]*)?\)`)
)

// maxTextLinks and maxLink bound how many links are found in one text, and how long they are.
const (
	maxTextLinks = 256
	maxLink      = 512
)

// linksIn are the paths that a text links to.
func linksIn(text string) []string {
	var all []string
	for _, re := range []*regexp.Regexp{wikiLink, markLink} {
		for _, m := range re.FindAllStringSubmatch(text, maxTextLinks) {
			target := strings.TrimPrefix(strings.TrimSpace(m[1]), "/")
			if target != "" && len(m[1]) <= maxLink && !slices.Contains(all, target) {
				all = append(all, target)
			}
		}
	}
	return all
}
