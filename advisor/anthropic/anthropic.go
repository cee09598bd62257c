// Package anthropic is the language models of Anthropic.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/internal/wire"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/perdure/perdure"
)

// New returns a model of Anthropic's Messages API, such as claude-opus-5-5. What it thought goes back to it unchanged,
// as it demands, and tools, system and the settled part of the transcript are kept in its prompt cache. Its key is in
// the environment variable ANTHROPIC_API_KEY, unless the endpoint finds another; a server at another URL gets none but
// that.
func New(name string, at advisor.Endpoint) advisor.Model { return model{name, at} }

var provider = wire.Provider{Name: "Anthropic", URL: "https://api.anthropic.com", Env: "ANTHROPIC_API_KEY"}

type model struct {
	name string
	advisor.Endpoint
}

func (m model) Name() string { return m.name }

func (m model) Family() string { return "anthropic" }

// Reach asks which models there are.
func (m model) Reach(ctx context.Context) error {
	page := strings.TrimSuffix(cmp.Or(m.URL, provider.URL), "/") + "/v1/models"
	return provider.At(m.Endpoint).Reach(ctx, page, "X-Api-Key", "", http.Header{"Anthropic-Version": {"2023-06-01"}})
}

func (m model) Ask(ctx context.Context, p *advisor.Prompt, live func(string)) (advisor.Reply, error) {
	to := provider.At(m.Endpoint)
	key, err := to.Key()
	if err != nil {
		return advisor.Reply{}, err
	}
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), option.WithMaxRetries(0), option.WithHTTPClient(wire.Client(m.Client)),
		option.WithoutOpenTelemetry(),
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	if m.URL != "" {
		opts = append(opts, option.WithBaseURL(m.URL))
	}
	service := anthropic.NewMessageService(opts...)
	ctx, x := wire.Watched(ctx)
	stream := service.NewStreaming(ctx, m.params(p))
	defer stream.Close() //nolint:errcheck // what was read counts
	var s pieces
	done := false
	for stream.Next() {
		e := stream.Current()
		if err := s.add(e); err != nil {
			return advisor.Reply{Tokens: tokensOf(&s.msg)}, wire.Hide(key, wire.Broken(ctx, to, err, x))
		}
		if live != nil && e.Type == "content_block_delta" && e.Delta.Type == "text_delta" {
			live(e.Delta.Text)
		}
		done = done || e.Type == "message_stop"
	}
	msg, args := s.whole()
	r := replyOf(msg, args)
	if err := stream.Err(); err != nil {
		return r, wire.Hide(key, failure(ctx, to, err, x))
	}
	if !done {
		return r, wire.CutOff(to, x)
	}
	if msg.StopReason == "model_context_window_exceeded" && len(msg.Content) == 0 {
		return r, &advisor.Failure{Signal: perdure.Failed, Overflow: true,
			Note: "Anthropic answered that the context window is exceeded"}
	}
	return r, nil
}

// pieces are the parts of a message as they come. The SDK would copy what it has of a block with every piece of it.
type pieces struct {
	msg    anthropic.Message
	blocks []*added
}

// added is what came of a block since it began.
type added struct{ text, thinking, signature, args strings.Builder }

func (s *pieces) add(e anthropic.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_delta": // the SDK would copy the whole message
		s.end(&e)
	case "message_start", "content_block_start":
		if e.Type == "message_start" {
			s.blocks = nil
		}
		err := s.msg.Accumulate(e)
		if len(s.msg.Content) > wire.MaxParts {
			return wire.ErrParts
		}
		for len(s.blocks) < len(s.msg.Content) {
			s.blocks = append(s.blocks, new(added))
		}
		return err
	case "content_block_delta":
		if e.Index < 0 || e.Index >= int64(len(s.blocks)) {
			return fmt.Errorf("it adds to block %d of %d", e.Index, len(s.blocks))
		}
		b := s.blocks[e.Index]
		b.text.WriteString(e.Delta.Text)
		b.thinking.WriteString(e.Delta.Thinking)
		b.signature.WriteString(e.Delta.Signature)
		b.args.WriteString(e.Delta.PartialJSON)
	}
	return nil
}

// end notes why a message ends, and what it took: each number is of the whole message, and one that is left out stays.
func (s *pieces) end(e *anthropic.MessageStreamEventUnion) {
	s.msg.StopReason = e.Delta.StopReason
	is, u := &s.msg.Usage, &e.Usage
	is.OutputTokens = u.OutputTokens
	if u.JSON.InputTokens.Valid() {
		is.InputTokens = u.InputTokens
	}
	if u.JSON.CacheCreationInputTokens.Valid() {
		is.CacheCreationInputTokens = u.CacheCreationInputTokens
	}
	if u.JSON.CacheReadInputTokens.Valid() {
		is.CacheReadInputTokens = u.CacheReadInputTokens
	}
}

// whole is the message, and the arguments of calls as they came, by their blocks: they may be no JSON.
func (s *pieces) whole() (*anthropic.Message, map[int64]string) {
	args := map[int64]string{}
	for i, b := range s.blocks {
		c := &s.msg.Content[i]
		c.Text += b.text.String()
		c.Thinking += b.thinking.String()
		c.Signature += b.signature.String()
		args[int64(i)] = b.args.String()
	}
	return &s.msg, args
}

// params is the prompt as Anthropic wants it.
func (m model) params(p *advisor.Prompt) anthropic.MessageNewParams {
	keep := anthropic.NewCacheControlEphemeralParam()
	out := anthropic.MessageNewParams{
		Model: m.name, MaxTokens: int64(p.Output), System: []anthropic.TextBlockParam{{Text: p.System,
			CacheControl: keep}},
		Messages: make([]anthropic.MessageParam, 0, len(p.Messages)),
	}
	if out.MaxTokens == 0 {
		out.MaxTokens = advisor.DefaultOutput
	}
	for i := range p.Messages {
		out.Messages = append(out.Messages, m.message(&p.Messages[i]))
	}
	if n := min(p.Stable, len(out.Messages)); n > 0 {
		markCached(out.Messages[n-1].Content, keep)
	}
	for i, t := range p.Tools {
		tool := anthropic.ToolParam{
			Name: t.Name, Description: param.NewOpt(t.Description),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(wire.SchemaJSON(t.Args))),
		}
		if i == len(p.Tools)-1 {
			tool.CacheControl = keep
		}
		out.Tools = append(out.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	if p.Talk && len(p.Tools) > 0 {
		out.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &anthropic.ToolChoiceNoneParam{}}
	}
	return out
}

// markCached marks the last block of a message that can be.
func markCached(blocks []anthropic.ContentBlockParamUnion, keep anthropic.CacheControlEphemeralParam) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if c := blocks[i].GetCacheControl(); c != nil {
			*c = keep
			return
		}
	}
}

func (m model) message(in *advisor.Message) anthropic.MessageParam {
	if blocks, ok := m.thought(in); ok {
		return anthropic.NewAssistantMessage(blocks...)
	}
	blocks := make([]anthropic.ContentBlockParamUnion, 0, len(in.Parts))
	for _, part := range in.Parts {
		blocks = append(blocks, block(part))
	}
	if in.Model {
		return anthropic.NewAssistantMessage(blocks...)
	}
	return anthropic.NewUserMessage(blocks...)
}

func block(part advisor.Part) anthropic.ContentBlockParamUnion {
	switch x := part.(type) {
	case advisor.ToolCall:
		return anthropic.NewToolUseBlock(x.ID, json.RawMessage(wire.ArgsJSON(x.Args)), x.Name)
	case advisor.ToolResult:
		return anthropic.NewToolResultBlock(x.ID, x.Text, x.Failed)
	case advisor.Text:
		return anthropic.NewTextBlock(string(x))
	}
	return anthropic.NewTextBlock("")
}

// Anthropic demands that what a model thought comes back where it stood: the Raw of a reply that holds thoughts is the
// list of its blocks, those that are recorded elsewhere as their kind and length only.
func rawOf(msg *anthropic.Message) perdure.Data {
	var blocks []any
	thought := false
	for i := range msg.Content {
		switch b := &msg.Content[i]; b.Type {
		case "thinking":
			blocks, thought = append(blocks, map[string]any{"thinking": b.Thinking, "signature": b.Signature}), true
		case "redacted_thinking":
			blocks, thought = append(blocks, map[string]any{"redacted": b.Data}), true
		case "text":
			blocks = append(blocks, map[string]any{"text": len(b.Text)})
		case "tool_use":
			blocks = append(blocks, map[string]any{"call": true})
		}
	}
	if !thought {
		return nil
	}
	d, err := perdure.DataOf(blocks)
	if err != nil {
		return nil
	}
	return d
}

// thought is a message with its thoughts where they stood, if it has any and they still fit what it said.
func (m model) thought(in *advisor.Message) ([]anthropic.ContentBlockParamUnion, bool) {
	list, ok := in.Raw.Value().([]any)
	if !in.Model || !ok {
		return nil, false
	}
	var text string
	var calls []advisor.ToolCall
	for _, part := range in.Parts {
		switch x := part.(type) {
		case advisor.Text:
			text += string(x)
		case advisor.ToolCall:
			calls = append(calls, x)
		case advisor.ToolResult:
		}
	}
	var out []anthropic.ContentBlockParamUnion
	for _, v := range list {
		b, _ := v.(map[string]any)
		if n, ok := b["text"].(int64); ok {
			if n < 0 || n > int64(len(text)) {
				return nil, false
			}
			if n > 0 {
				out = append(out, anthropic.NewTextBlock(text[:n]))
			}
			text = text[n:]
		} else if s, ok := b["thinking"].(string); ok {
			sign, _ := b["signature"].(string)
			out = append(out, anthropic.NewThinkingBlock(sign, s))
		} else if s, ok := b["redacted"].(string); ok {
			out = append(out, anthropic.NewRedactedThinkingBlock(s))
		} else if len(calls) > 0 {
			out, calls = append(out, block(calls[0])), calls[1:]
		}
	}
	return out, text == "" && len(calls) == 0
}

func tokensOf(msg *anthropic.Message) advisor.Tokens {
	u := &msg.Usage
	return advisor.Tokens{
		In: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Out: u.OutputTokens,
		Cached: u.CacheReadInputTokens, Written: u.CacheCreationInputTokens,
	}
}

func replyOf(msg *anthropic.Message, args map[int64]string) advisor.Reply {
	r := advisor.Reply{Tokens: tokensOf(msg), Raw: rawOf(msg)}
	var text strings.Builder
	for i := range msg.Content {
		switch b := &msg.Content[i]; b.Type {
		case "text":
			text.WriteString(b.Text)
		case "tool_use":
			c := advisor.ToolCall{ID: b.ID, Name: b.Name, Args: args[int64(i)]}
			if c.Args == "" { // not in pieces
				c.Args = string(b.Input)
			}
			r.Calls = append(r.Calls, c)
		}
	}
	r.Text = text.String()
	switch msg.StopReason {
	case anthropic.StopReasonMaxTokens, "model_context_window_exceeded":
		r.Stop = advisor.StopLength
	case anthropic.StopReasonRefusal:
		r.Stop, r.Refusal = advisor.StopRefused, r.Text
	}
	return r
}

func failure(ctx context.Context, to wire.Party, err error, x *wire.Exchange) *advisor.Failure {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		return wire.Broken(ctx, to, err, x)
	}
	c := wire.ComplaintOf([]byte(api.RawJSON()))
	if x.Status >= 400 { // else it came inside a stream
		c.Status = x.Status
	}
	c.Retry = x.Retry
	return c.Failure(to, x)
}
