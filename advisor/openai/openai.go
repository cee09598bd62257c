// Package openai is the language models of OpenAI, and of every server that speaks its protocol.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/internal/wire"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// New returns a model of OpenAI's Chat Completions API, such as gpt-6.1-sol, or of any server that speaks it: Ollama,
// vLLM, llama.cpp, a gateway, at a URL such as http://localhost:11434/v1. Its key is in the environment variable
// OPENAI_API_KEY, unless the endpoint finds another; a server of another URL gets none but that.
func New(name string, at advisor.Endpoint) advisor.Model { return model{name, at} }

var provider = wire.Provider{Name: "OpenAI", URL: "https://api.openai.com/v1", Env: "OPENAI_API_KEY"}

type model struct {
	name string
	advisor.Endpoint
}

func (m model) Name() string { return m.name }

func (m model) Family() string { return "openai" }

// Reach asks which models there are.
func (m model) Reach(ctx context.Context) error {
	page := strings.TrimSuffix(cmp.Or(m.URL, provider.URL), "/") + "/models"
	return provider.At(m.Endpoint).Reach(ctx, page, "Authorization", "Bearer ", nil)
}

func (m model) Ask(ctx context.Context, p *advisor.Prompt, live func(string)) (advisor.Reply, error) {
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithMaxRetries(0),
		option.WithHTTPClient(wire.Client(m.Client))}
	if m.URL != "" {
		opts = append(opts, option.WithBaseURL(m.URL))
	}
	to := provider.At(m.Endpoint)
	key, err := to.Key()
	if err != nil {
		return advisor.Reply{}, err
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
	}
	service := openai.NewChatCompletionService(opts...)
	ctx, x := wire.Watched(ctx)
	stream := service.NewStreaming(ctx, m.params(p))
	defer stream.Close() //nolint:errcheck // what was read counts
	var s pieces
	for stream.Next() {
		if !s.add(stream.Current(), live) {
			return s.reply(), wire.Hide(key, wire.Broken(ctx, to, wire.ErrParts, x))
		}
	}
	if err := stream.Err(); err != nil {
		return s.reply(), wire.Hide(key, failure(ctx, to, err, x))
	}
	if s.finish == "" {
		return s.reply(), wire.CutOff(to, x)
	}
	return s.reply(), nil
}

// params is the prompt as OpenAI wants it. Prompts that begin alike are cached by themselves; the key sends them to the
// same cache.
func (m model) params(p *advisor.Prompt) openai.ChatCompletionNewParams {
	out := openai.ChatCompletionNewParams{
		Model: m.name, StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(p.System)},
	}
	switch {
	case m.URL != "" && p.Output > 0:
		out.MaxTokens = param.NewOpt(int64(p.Output)) // the name other servers know
	case p.Output > 0:
		out.MaxCompletionTokens = param.NewOpt(int64(p.Output))
	}
	if m.URL == "" && p.Agent != "" {
		out.PromptCacheKey = param.NewOpt(p.Agent)
	}
	for i := range p.Messages {
		out.Messages = append(out.Messages, messages(&p.Messages[i])...)
	}
	for _, t := range p.Tools {
		var schema map[string]any
		if json.Unmarshal([]byte(wire.SchemaJSON(t.Args)), &schema) != nil {
			schema = map[string]any{"type": "object"}
		}
		out.Tools = append(out.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: param.NewOpt(t.Description), Parameters: schema,
		}))
	}
	if p.Talk && len(p.Tools) > 0 {
		out.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfAuto: param.NewOpt("none")}
	}
	return out
}

// messages is a message; each result in it is a message of its own.
func messages(in *advisor.Message) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	var text string
	var calls []openai.ChatCompletionMessageToolCallUnionParam
	for _, part := range in.Parts {
		switch x := part.(type) {
		case advisor.Text:
			if text != "" {
				text += "\n\n"
			}
			text += string(x)
		case advisor.ToolCall:
			calls = append(calls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID: x.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
						Name: x.Name, Arguments: wire.ArgsJSON(x.Args),
					},
				},
			})
		case advisor.ToolResult:
			content := x.Text
			if x.Failed {
				content = "Error: " + content
			}
			out = append(out, openai.ToolMessage(content, x.ID))
		}
	}
	if in.Model {
		msg := openai.ChatCompletionAssistantMessageParam{ToolCalls: calls}
		if text != "" {
			msg.Content.OfString = param.NewOpt(text)
		}
		return append(out, openai.ChatCompletionMessageParamUnion{OfAssistant: &msg})
	}
	if text != "" {
		out = append(out, openai.UserMessage(text))
	}
	return out
}

// pieces are the parts of a reply as they come.
type pieces struct {
	text, refusal strings.Builder
	finish        string
	calls         []*call
	last          map[int64]*call // by index
	tokens        advisor.Tokens
}

// call is a call as it comes.
type call struct {
	id         string
	name, args strings.Builder
}

// add adds a chunk; false: there are too many calls.
func (s *pieces) add(c openai.ChatCompletionChunk, live func(string)) bool {
	if u := &c.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 { // some servers count again with every piece
		s.tokens = advisor.Tokens{In: u.PromptTokens, Out: u.CompletionTokens,
			Cached: u.PromptTokensDetails.CachedTokens}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		if d := choice.Delta.Content; d != "" {
			s.text.WriteString(d)
			if live != nil {
				live(d)
			}
		}
		s.refusal.WriteString(choice.Delta.Refusal)
		for j := range choice.Delta.ToolCalls {
			s.call(&choice.Delta.ToolCalls[j])
		}
		if choice.FinishReason != "" {
			s.finish = choice.FinishReason
		}
	}
	return len(s.calls) <= wire.MaxParts
}

// call adds a piece of a call. Some servers send each call whole, under the same index and with another id.
func (s *pieces) call(d *openai.ChatCompletionChunkChoiceDeltaToolCall) {
	c := s.last[d.Index]
	if c == nil || d.ID != "" && c.id != "" && d.ID != c.id {
		if s.last == nil {
			s.last = map[int64]*call{}
		}
		c = new(call)
		s.calls, s.last[d.Index] = append(s.calls, c), c
	}
	if d.ID != "" {
		c.id = d.ID
	}
	c.name.WriteString(d.Function.Name)
	c.args.WriteString(d.Function.Arguments)
}

func (s *pieces) reply() advisor.Reply {
	r := advisor.Reply{Text: s.text.String(), Tokens: s.tokens}
	for _, c := range s.calls {
		r.Calls = append(r.Calls, advisor.ToolCall{ID: c.id, Name: c.name.String(), Args: c.args.String()})
	}
	switch {
	case s.refusal.Len() > 0 || s.finish == "content_filter":
		r.Stop, r.Refusal = advisor.StopRefused, s.refusal.String()
	case s.finish == "length":
		r.Stop = advisor.StopLength
	}
	return r
}

func failure(ctx context.Context, to wire.Party, err error, x *wire.Exchange) *advisor.Failure {
	var c wire.Complaint
	var api *openai.Error
	var in *ssestream.StreamError
	switch {
	case errors.As(err, &api):
		c = wire.ComplaintOf([]byte(api.RawJSON()))
		c.Status = api.StatusCode
	case errors.As(err, &in):
		c = wire.ComplaintOf(in.Event.Data)
	default:
		return wire.Broken(ctx, to, err, x)
	}
	c.Retry = x.Retry
	return c.Failure(to, x)
}
