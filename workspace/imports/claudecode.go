package imports

import (
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/jsontext"
)

// claudeLine is a line of a transcript of Claude Code.
type claudeLine struct {
	Type      string          `json:"type"`
	UUID      string          `json:"uuid"`
	SessionID string          `json:"sessionId"`
	Timestamp string          `json:"timestamp"`
	Cwd       string          `json:"cwd"`
	Branch    string          `json:"gitBranch"`
	Version   string          `json:"version"`
	Sidechain bool            `json:"isSidechain"`
	Meta      bool            `json:"isMeta"`
	Summary   string          `json:"summary"`
	Title     string          `json:"customTitle"`
	AITitle   string          `json:"aiTitle"`
	Content   json.RawMessage `json:"content"`
	Message   *struct {
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// claudeCode reads a transcript: one document for each session in it, or several if it is long.
func (r *reader) claudeCode(f *file) error {
	whole := strings.TrimSuffix(path.Base(f.name), path.Ext(f.name))
	talks := map[string]*talk{}
	var order []*talk
	of := func(l *claudeLine) *talk {
		name := l.SessionID
		if name == "" {
			name = whole
		}
		if strings.HasPrefix(whole, "agent-") { // what a helper of a session said is in a file of its own
			name = whole
		}
		t := talks[name]
		if t == nil {
			t = &talk{name: name, format: ClaudeCode}
			talks[name] = t
			order = append(order, t)
		}
		return t
	}
	title := ""
	err := lines(f.text, func(number int, line []byte) error {
		var l claudeLine
		if err := json.Unmarshal(line, &l); err != nil {
			r.problem(f, number, "skipped: %s", jsontext.Fault(err))
			return nil
		}
		switch {
		case l.Type == "summary" && l.Summary != "":
			title = l.Summary
		case l.Title != "" || l.AITitle != "":
			if title = l.Title; title == "" {
				title = l.AITitle
			}
		case l.Message == nil && l.Type != "system":
			if l.Type == "" {
				r.problem(f, number, "skipped: it has neither a type nor a message")
				return nil
			}
			r.Left["records of type "+cut(l.Type, 40)]++
		default:
			r.claudeTurn(f, number, &l, of(&l))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range order {
		if len(order) == 1 {
			t.title = cut(title, 120)
		}
		if err := r.talk(f, t); err != nil {
			return err
		}
	}
	return nil
}

// claudeTurn takes in a message.
func (r *reader) claudeTurn(f *file, number int, l *claudeLine, t *talk) {
	content, who := l.Content, l.Type
	if l.Message != nil {
		content = l.Message.Content
		if l.Message.Role != "" {
			who = l.Message.Role
		}
	}
	text, results, err := blocks(content)
	if err != nil {
		r.problem(f, number, "skipped: %v", err)
		return
	}
	at, err := time.Parse(time.RFC3339, l.Timestamp)
	if err != nil && l.Timestamp != "" {
		r.problem(f, number, "its time %q is none; the message is kept without", cut(l.Timestamp, 40))
	}
	switch {
	case results:
		who = "tool"
	case l.Meta:
		who = "system"
	case l.Sidechain:
		who += " (helper)"
	}
	if len(t.facts) == 0 && l.Cwd != "" {
		t.facts = []string{"Claude Code, session " + t.name, "Folder: " + l.Cwd}
		if l.Branch != "" {
			t.facts = append(t.facts, "Branch: "+l.Branch)
		}
	}
	t.say(turn{who: who, at: at, text: text, id: l.UUID})
}
