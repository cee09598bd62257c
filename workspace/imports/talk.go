package imports

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/workspace"
)

// KindTranscript is the kind of documents that hold what was said elsewhere.
const KindTranscript = workspace.KindTranscript

// turn is something that was said in a conversation.
type turn struct {
	who  string
	at   time.Time
	text string
	id   string // by which a second copy is known
}

// talk is a conversation.
type talk struct {
	name   string // by which it is told from others of its format
	title  string
	format string
	origin string   // of the file, if its name is no id
	facts  []string // what else is known of it, a line each
	turns  []turn
	seen   map[string]bool
}

// say adds a turn, unless it is a copy of one that is there.
func (t *talk) say(x turn) {
	if x.id != "" {
		if t.seen == nil {
			t.seen = map[string]bool{}
		}
		if t.seen[x.id] {
			return
		}
		t.seen[x.id] = true
	}
	if x.text = strings.TrimSpace(x.text); x.text != "" {
		t.turns = append(t.turns, x)
	}
}

// partSize is how long a document of a conversation gets before the next begins. A conversation that goes on changes
// only the last one.
const partSize = 128 << 10

// talk gives a conversation as documents.
func (r *reader) talk(f *file, t *talk) error {
	if len(t.turns) == 0 {
		return nil
	}
	title := t.title
	if title == "" {
		title = firstWords(t)
	}
	head := "# " + title + "\n\n"
	for _, fact := range t.facts {
		head += fact + "\n"
	}
	var b strings.Builder
	part, began := 1, time.Time{}
	flush := func() error {
		x := workspace.Foreign{Kind: KindTranscript, Title: title, Text: b.String(), Format: t.format, Time: began,
			Origin: t.origin, Path: "transcripts/" + t.format + "/" + nameOf(t.name) + ".md"}
		if part > 1 {
			x.Path = strings.TrimSuffix(x.Path, ".md") + fmt.Sprintf("-%03d.md", part)
			x.Title = fmt.Sprintf("%s (part %d)", title, part)
		}
		b.Reset()
		part, began = part+1, time.Time{}
		return r.document(x, f, t.name+fmt.Sprint(part))
	}
	for _, one := range t.turns {
		if b.Len() > partSize {
			if err := flush(); err != nil {
				return err
			}
		}
		if b.Len() == 0 && part == 1 {
			b.WriteString(head)
		} else if b.Len() == 0 {
			fmt.Fprintf(&b, "# %s (part %d)\n", title, part)
		}
		if began.IsZero() {
			began = one.at
		}
		b.WriteString("\n## " + one.who)
		if !one.at.IsZero() {
			b.WriteString(" " + one.at.UTC().Format(time.RFC3339))
		}
		b.WriteString("\n\n" + one.text + "\n")
	}
	return flush()
}

// firstWords are the title of a conversation that has none: what a person first said.
func firstWords(t *talk) string {
	for _, one := range t.turns {
		if line, _, _ := strings.Cut(one.text, "\n"); one.who == "user" {
			return cut(line, 80)
		}
	}
	return t.name
}

// cut is the beginning of a text.
func cut(s string, n int) string {
	s = strings.TrimSpace(s)
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return s
}

// maxName bounds the name of a document.
const maxName = 80

// nameOf is a text as the name of a file.
func nameOf(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	name := strings.Join(words, "-")
	if name == "" || len(name) > maxName {
		name = strings.TrimRight(strings.ToValidUTF8(name[:min(len(name), maxName)], ""), "-")
		name = strings.TrimPrefix(name+"-"+digest(s), "-")
	}
	return name
}

// digest tells names apart.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// fence is a value as Markdown shows it: compact JSON, or the text that it is.
func fence(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var b bytes.Buffer
		if json.Compact(&b, raw) != nil {
			b.Write(raw)
		}
		text = b.String()
	}
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + "\n" + strings.TrimRight(text, "\n") + "\n" + mark
}

// blocks are the parts of a message, as text: what was said, thought, called and returned.
func blocks(raw json.RawMessage) (text string, results bool, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", false, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return text, false, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", false, fmt.Errorf("its content is neither a text nor a list")
	}
	var all []string
	for _, p := range parts {
		one, result, err := block(p)
		if err != nil {
			return "", false, err
		}
		if results = results || result; strings.TrimSpace(one) != "" {
			all = append(all, one)
		}
	}
	return strings.Join(all, "\n\n"), results, nil
}

// block is one part of a message.
func block(raw json.RawMessage) (text string, result bool, err error) {
	if json.Unmarshal(raw, &text) == nil {
		return text, false, nil
	}
	var b struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Refusal  string          `json:"refusal"`
		Thinking string          `json:"thinking"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
		Content  json.RawMessage `json:"content"`
		IsError  bool            `json:"is_error"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return "", false, fmt.Errorf("a part of its content: %s", jsontext.Fault(err))
	}
	switch b.Type {
	case "text", "input_text", "output_text":
		return b.Text, false, nil
	case "refusal":
		return b.Refusal, false, nil
	case "thinking":
		return quote(b.Thinking), false, nil
	case "tool_use":
		return "calls " + b.Name + "\n\n" + fence(b.Input), false, nil
	case "tool_result":
		inner, _, err := blocks(b.Content)
		head := "result"
		if b.IsError {
			head = "error"
		}
		quoted, _ := json.Marshal(inner) // a string always has a form
		return head + "\n\n" + fence(quoted), true, err
	}
	if b.Text != "" {
		return b.Text, false, nil
	}
	return "(" + b.Type + ")", false, nil // an image, say: it is named, not kept
}

// quote is a text as a quotation.
func quote(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n> ")
}
