package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/jsontext"
)

// chatMessage is a message of the chat API.
type chatMessage struct {
	Role      string          `json:"role"`
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	Created   moment `json:"created_at"`
	Time      moment `json:"create_time"`
	Timestamp moment `json:"timestamp"`
}

// chat is a conversation: a request, an answer, or one of a ChatGPT export.
type chat struct {
	chatMessage
	ID             string            `json:"id"`
	ConversationID string            `json:"conversation_id"`
	Title          string            `json:"title"`
	Model          string            `json:"model"`
	Created        moment            `json:"created"`
	CreateTime     moment            `json:"create_time"`
	Messages       []json.RawMessage `json:"messages"`
	Choices        []struct {
		Message json.RawMessage `json:"message"`
	} `json:"choices"`
	Mapping map[string]exportNode `json:"mapping"`
	Current string                `json:"current_node"`
}

// exportNode is a message of a ChatGPT export, which is a tree.
type exportNode struct {
	Parent  string `json:"parent"`
	Message *struct {
		ID     string `json:"id"`
		Author struct {
			Role string `json:"role"`
			Name string `json:"name"`
		} `json:"author"`
		CreateTime moment `json:"create_time"`
		Content    struct {
			ContentType string            `json:"content_type"`
			Parts       []json.RawMessage `json:"parts"`
			Text        string            `json:"text"`
		} `json:"content"`
	} `json:"message"`
}

// moment is a time as programs write it: seconds or milliseconds since 1970, or a text. What is none is kept to be
// named.
type moment struct {
	time.Time
	odd string
}

// forms are how programs write a time as a text; one without a zone is in UTC.
var forms = []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04:05Z07:00"}

// UnmarshalJSON implements json.Unmarshaler. It refuses nothing: a message counts whatever its time is.
func (m *moment) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	for _, form := range forms {
		if t, err := time.Parse(form, text); err == nil {
			m.Time = t.UTC()
			return nil
		}
	}
	s, err := strconv.ParseFloat(text, 64)
	if s >= 1e11 {
		s /= 1e3
	}
	if err == nil && s > 0 && s < 1e11 {
		whole, part := math.Modf(s)
		m.Time = time.Unix(int64(whole), int64(part*1e9)).UTC()
	} else if text != "null" && text != "" && (err != nil || s != 0) {
		m.odd = text
	}
	return nil
}

// when is the first time of some that there is, and what was given as one and is none.
func when(all ...moment) (at time.Time, odd string) {
	for _, m := range all {
		if at, odd = m.Time, cmp.Or(odd, m.odd); !at.IsZero() {
			return at, ""
		}
	}
	return at, odd
}

// openAI reads conversations: one value, a list of them, or one on each line; or the messages of a single one so.
func (r *reader) openAI(f *file) error {
	loose := &talk{format: OpenAI}
	n := 0
	one := func(number int, raw []byte) error {
		if list := []json.RawMessage(nil); json.Unmarshal(raw, &list) == nil { // a line that is a list of messages
			t := &talk{format: OpenAI}
			for _, m := range list {
				r.chatTurn(f, number, m, t)
			}
			n++
			return r.chatTalk(f, t, "", n)
		}
		var c chat
		if err := json.Unmarshal(raw, &c); err != nil {
			r.problem(f, number, "skipped: %s", jsontext.Fault(err))
			return nil
		}
		if c.Role != "" {
			r.chatTurn(f, number, raw, loose)
			return nil
		}
		n++
		return r.chat(f, number, &c, n)
	}
	var err error
	if strings.EqualFold(path.Ext(f.name), ".json") {
		err = r.values(f, one)
	} else {
		err = lines(f.text, one)
	}
	if err != nil || len(loose.turns) == 0 {
		return err
	}
	return r.chatTalk(f, loose, "", 1)
}

// values calls f with each value of a file, and with each value of a list that it is.
func (r *reader) values(f *file, give func(number int, raw []byte) error) error {
	text := bytes.TrimPrefix(f.text, []byte("\xef\xbb\xbf"))
	d := json.NewDecoder(bytes.NewReader(text))
	if first := bytes.TrimLeft(text, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		if _, err := d.Token(); err != nil {
			r.problem(f, 1, "skipped: %v", err)
			return nil
		}
	}
	for d.More() {
		begin := int(d.InputOffset())
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			r.problem(f, lineAt(text, begin), "skipped from here to the end: %v", err)
			return nil
		}
		begin = int(d.InputOffset()) - len(raw)
		if err := give(lineAt(text, begin), raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil && !errors.Is(err, io.EOF) {
		r.problem(f, lineAt(text, int(d.InputOffset())), "it ends here: %v", err)
	}
	return nil
}

func lineAt(text []byte, at int) int { return 1 + bytes.Count(text[:min(at, len(text))], []byte("\n")) }

// chat takes in a conversation.
func (r *reader) chat(f *file, number int, c *chat, n int) error {
	t := &talk{format: OpenAI, title: cut(c.Title, 120)}
	at, _ := when(c.Created, c.CreateTime)
	switch {
	case c.Mapping != nil:
		r.exported(f, number, c, t)
	case c.Messages == nil && c.Choices == nil:
		r.problem(f, number, "skipped: it has neither messages, choices nor a mapping")
		return nil
	}
	for _, m := range c.Messages {
		r.chatTurn(f, number, m, t)
	}
	for _, x := range c.Choices {
		r.chatTurn(f, number, x.Message, t)
	}
	for i := range t.turns {
		if t.turns[i].at.IsZero() {
			t.turns[i].at = at
		}
	}
	if c.Model != "" {
		t.facts = []string{"Model: " + c.Model}
	}
	id := c.ConversationID
	if id == "" {
		id = c.ID
	}
	return r.chatTalk(f, t, id, n)
}

// chatTalk gives a conversation, named by its id, or else by its file and its number there.
func (r *reader) chatTalk(f *file, t *talk, id string, n int) error {
	if t.name = id; id == "" {
		t.origin = r.fileOrigin(f)
		t.name = strings.TrimSuffix(f.name, path.Ext(f.name))
		if n > 1 {
			t.name = fmt.Sprintf("%s %d", t.name, n)
		}
	}
	return r.talk(f, t)
}

// chatTurn takes in a message.
func (r *reader) chatTurn(f *file, number int, raw json.RawMessage, t *talk) {
	var m chatMessage
	err := json.Unmarshal(raw, &m)
	if err != nil {
		err = errors.New(jsontext.Fault(err))
	}
	if err == nil && m.Role == "" {
		err = errors.New("a message has no role")
	}
	text := ""
	if err == nil {
		text, _, err = blocks(m.Content)
	}
	if err != nil {
		r.problem(f, number, "a message is skipped: %v", err)
		return
	}
	for _, c := range m.ToolCalls {
		text += "\n\ncalls " + c.Function.Name + "\n\n" + fence(c.Function.Arguments)
	}
	who := m.Role
	if m.Name != "" {
		who += " " + m.Name
	}
	at, odd := when(m.Created, m.Time, m.Timestamp)
	if odd != "" {
		r.problem(f, number, "its time %q is none; the message is kept without", cut(odd, 40))
	}
	t.say(turn{who: who, at: at, text: text})
}

// exported takes in a conversation of a ChatGPT export: the branch of the tree that was last in use. Others are counted
// as left out.
func (r *reader) exported(f *file, number int, c *chat, t *talk) {
	at := c.Current
	if _, ok := c.Mapping[at]; !ok {
		r.problem(f, number, "a conversation is skipped: its current_node is not among its messages")
		return
	}
	var branch []string
	for ; at != "" && len(branch) <= len(c.Mapping); at = c.Mapping[at].Parent {
		branch = append(branch, at)
	}
	if other := len(c.Mapping) - len(branch); other > 0 {
		r.Left["messages on branches that were given up"] += other
	}
	slices.Reverse(branch)
	for _, id := range branch {
		m := c.Mapping[id].Message
		if m == nil {
			continue
		}
		text := m.Content.Text
		for _, p := range m.Content.Parts {
			one, _, err := block(p)
			if err != nil {
				r.problem(f, number, "a part of a message is skipped: %v", err)
				continue
			}
			text += "\n\n" + one
		}
		t.say(turn{who: strings.TrimSpace(m.Author.Role + " " + m.Author.Name), at: m.CreateTime.Time, text: text,
			id: m.ID})
	}
}
