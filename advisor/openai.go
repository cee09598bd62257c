package advisor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

// OpenAI is a model of OpenAI's Chat Completions API, or of any server that speaks it: Ollama, vLLM, llama.cpp, a gateway.
type OpenAI struct {
	Model   string       // such as gpt-6.1-sol
	Key     KeyFunc      // nil: the environment variable OPENAI_API_KEY, or no key if BaseURL names another server
	BaseURL string       // such as http://localhost:11434/v1; none: OpenAI's own
	Client  *http.Client // nil: the default one
}

var _ Model = OpenAI{}

// Name implements Model.
func (m OpenAI) Name() string { return m.Model }

// Family implements Model.
func (m OpenAI) Family() string { return "openai" }

// Ask implements Model.
func (m OpenAI) Ask(ctx context.Context, p *Prompt, live func(string)) (Reply, error) {
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithMaxRetries(0), option.WithHTTPClient(observed(m.Client))}
	if m.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(m.BaseURL))
	}
	find, key := m.Key, ""
	if find == nil && m.BaseURL == "" {
		find = KeyFromEnv("OPENAI_API_KEY")
	}
	if find != nil {
		var err error
		if key, err = find.key("OpenAI"); err != nil {
			return Reply{}, err
		}
		opts = append(opts, option.WithAPIKey(key))
	}
	service := openai.NewChatCompletionService(opts...)
	ctx, x := watched(ctx)
	stream := service.NewStreaming(ctx, m.params(p))
	defer stream.Close() //nolint:errcheck // what was read counts
	var s openaiStream
	for stream.Next() {
		s.add(stream.Current(), live)
	}
	if err := stream.Err(); err != nil {
		return s.reply(), openaiFailure(ctx, err, x).without(key)
	}
	if s.finish == "" {
		return s.reply(), cutOff("OpenAI")
	}
	return s.reply(), nil
}

// params is the prompt as OpenAI wants it. Prompts that begin alike are cached by themselves; the key sends them to the same cache.
func (m OpenAI) params(p *Prompt) openai.ChatCompletionNewParams {
	out := openai.ChatCompletionNewParams{
		Model: m.Model, StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(p.System)},
	}
	switch {
	case m.BaseURL != "" && p.Output > 0:
		out.MaxTokens = param.NewOpt(int64(p.Output)) // the name other servers know
	case p.Output > 0:
		out.MaxCompletionTokens = param.NewOpt(int64(p.Output))
	}
	if m.BaseURL == "" && p.Agent != "" {
		out.PromptCacheKey = param.NewOpt(p.Agent)
	}
	for i := range p.Messages {
		out.Messages = append(out.Messages, openaiMessages(&p.Messages[i])...)
	}
	for _, t := range p.Tools {
		var schema map[string]any
		if json.Unmarshal([]byte(schemaJSON(t.Args)), &schema) != nil {
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

// openaiMessages is a message; each result in it is a message of its own.
func openaiMessages(in *Message) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	var text string
	var calls []openai.ChatCompletionMessageToolCallUnionParam
	for _, part := range in.Parts {
		switch x := part.(type) {
		case Text:
			if text != "" {
				text += "\n\n"
			}
			text += string(x)
		case ToolCall:
			calls = append(calls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: x.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: x.Name, Arguments: argsJSON(x.Args)},
			}})
		case ToolResult:
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

// openaiStream puts the pieces of a reply together.
type openaiStream struct {
	text, refusal, finish string
	calls                 []ToolCall
	index                 []int64 // of calls
	tokens                Tokens
}

func (s *openaiStream) add(c openai.ChatCompletionChunk, live func(string)) {
	if u := &c.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 { // some servers count again with every piece
		s.tokens = Tokens{In: u.PromptTokens, Out: u.CompletionTokens, Cached: u.PromptTokensDetails.CachedTokens}
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		if d := choice.Delta.Content; d != "" {
			s.text += d
			if live != nil {
				live(d)
			}
		}
		s.refusal += choice.Delta.Refusal
		for j := range choice.Delta.ToolCalls {
			s.call(&choice.Delta.ToolCalls[j])
		}
		if choice.FinishReason != "" {
			s.finish = choice.FinishReason
		}
	}
}

// call adds a piece of a call. Some servers send each call whole, under the same index and with another id.
func (s *openaiStream) call(d *openai.ChatCompletionChunkChoiceDeltaToolCall) {
	n := -1
	for i := len(s.index) - 1; i >= 0 && n < 0; i-- {
		if s.index[i] == d.Index {
			n = i
		}
	}
	if n < 0 || d.ID != "" && s.calls[n].ID != "" && d.ID != s.calls[n].ID {
		s.calls, s.index = append(s.calls, ToolCall{}), append(s.index, d.Index)
		n = len(s.calls) - 1
	}
	c := &s.calls[n]
	if d.ID != "" {
		c.ID = d.ID
	}
	c.Name += d.Function.Name
	c.Args += d.Function.Arguments
}

func (s *openaiStream) reply() Reply {
	r := Reply{Text: s.text, Calls: slices.Clone(s.calls), Tokens: s.tokens}
	switch {
	case s.refusal != "" || s.finish == "content_filter":
		r.Stop, r.Refusal = StopRefused, s.refusal
	case s.finish == "length":
		r.Stop = StopLength
	}
	return r
}

func openaiFailure(ctx context.Context, err error, x *exchange) *Failure {
	var c complaint
	var api *openai.Error
	var in *ssestream.StreamError
	switch {
	case errors.As(err, &api):
		c = complaintOf([]byte(api.RawJSON()))
		c.status = api.StatusCode
	case errors.As(err, &in):
		c = complaintOf(in.Event.Data)
	default:
		return broken(ctx, "OpenAI", err)
	}
	c.retry = x.retry
	return c.failure("OpenAI")
}
