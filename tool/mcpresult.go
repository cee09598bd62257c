package tool

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
)

// result is what a call of a server's tool came to.
func (m *MCP) result(r *redactor, res *mcp.CallToolResult) (perdure.Result, error) {
	limit := m.Limit
	if limit == 0 {
		limit = DefaultResponse
	}
	p := parts{redactor: r, limit: limit, room: MaxFile}
	for _, c := range res.Content {
		p.add(c)
	}
	out := map[string]any{}
	if res.StructuredContent != nil {
		text, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return perdure.Result{}, err
		}
		if structured, err := perdure.DataFromJSON(text); err != nil || len(text) > limit {
			p.cut = true // the call was made and came to something: what cannot be recorded of it does not make it fail
		} else {
			out["structured"] = structured
			if sameJSON(p.text.String(), text) {
				p.text.Reset() // a copy for those that know no structured content
			}
		}
	}
	text := p.cutText()
	if text != "" {
		out["text"] = content([]byte(text), p.cut)
	}
	if len(p.others) > 0 {
		out["content"] = p.others
	}
	if p.cut {
		out["truncated"] = true
	}
	data, err := perdure.DataOf(out)
	if err != nil {
		return perdure.Result{}, err
	}
	came := perdure.Result{Data: data, Taint: true}
	if p.cut {
		came.Signal, came.Note = perdure.Partial, "some of the answer is left out: it is too large to be recorded"
	}
	if res.IsError {
		came.Signal, came.Note = perdure.Failed, clip(r.replace(text))
	}
	return came, nil
}

// sameJSON reports whether a text is nothing but a value written as JSON.
func sameJSON(text string, value []byte) bool {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	again, err := json.Marshal(v)
	return err == nil && bytes.Equal(again, value)
}

// parts are the parts of a result, within limits.
type parts struct {
	*redactor
	text   strings.Builder
	limit  int // of text
	others []any
	room   int // bytes left for others
	cut    bool
}

// add adds a part. What is too large is left out, and said to be.
func (p *parts) add(c mcp.Content) {
	switch c := c.(type) {
	case *mcp.TextContent:
		if p.text.Len() > 0 {
			p.text.WriteString("\n")
		}
		p.text.WriteString(c.Text)
	case *mcp.ImageContent:
		p.other(map[string]any{"type": "image", "mime": c.MIMEType}, c.Data)
	case *mcp.AudioContent:
		p.other(map[string]any{"type": "audio", "mime": c.MIMEType}, c.Data)
	case *mcp.ResourceLink:
		p.other(map[string]any{"type": "link", "uri": c.URI, "name": c.Name, "mime": c.MIMEType}, nil)
	case *mcp.EmbeddedResource:
		if c.Resource == nil {
			return
		}
		about := map[string]any{"type": "resource", "uri": c.Resource.URI, "mime": c.Resource.MIMEType}
		if c.Resource.Blob == nil {
			p.other(about, c.Resource.Text)
			return
		}
		p.other(about, c.Resource.Blob)
	}
}

// cutText is the text of all parts within the limit. It is cut as one: a secret may begin in one part and end in
// another.
func (p *parts) cutText() string {
	text := p.text.String()
	if len(text) <= p.limit {
		return text
	}
	p.cut = true
	return string(wholeRunes(p.redactor.cut([]byte(text), 0, p.limit)))
}

// other adds a part that is not text, with its data: bytes, text or none.
func (p *parts) other(about map[string]any, data any) {
	size := 0
	for k, v := range about {
		if v == "" {
			delete(about, k)
		}
		if s, ok := v.(string); ok {
			size += len(s)
		}
	}
	if len(p.others) == maxContent || size > p.room {
		p.cut = true
		return
	}
	p.room -= size
	var n int
	switch d := data.(type) {
	case []byte:
		n = len(d)
	case string:
		n = len(d)
	}
	switch {
	case data == nil:
	case n > p.room:
		about["left_out"], p.cut = n, true
	default:
		about["data"] = data
		p.room -= n
	}
	p.others = append(p.others, about)
}
