// Package gemini is the language models of Google.
package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/internal/bound"
	"github.com/perdure/perdure/advisor/internal/wire"

	"google.golang.org/genai"

	"github.com/perdure/perdure"
)

// New returns a model of Google's Gemini API, such as gemini-3.1-pro. The signatures of its thoughts go back to it with
// its calls, as it demands; prompts that begin alike are cached by themselves. Its key is in the environment variable
// GEMINI_API_KEY, unless the endpoint finds another; a server at another URL gets none but that.
func New(name string, at advisor.Endpoint) advisor.Model { return model{name, at} }

var provider = wire.Provider{Name: "Gemini", URL: ownURL, Env: "GEMINI_API_KEY"}

type model struct {
	name string
	advisor.Endpoint
}

// noKey is sent to a server that wants none, so that the SDK does not look for one in the environment.
const noKey = "none"

// ownURL is named so that the SDK does not take another from the environment.
const ownURL = "https://generativelanguage.googleapis.com/"

func (m model) Name() string { return m.name }

func (m model) Family() string { return "gemini" }

// Reach asks which models there are.
func (m model) Reach(ctx context.Context) error {
	page := strings.TrimSuffix(cmp.Or(m.URL, ownURL), "/") + "/v1beta/models"
	return provider.At(m.Endpoint).Reach(ctx, page, "X-Goog-Api-Key", "", nil)
}

func (m model) Ask(ctx context.Context, p *advisor.Prompt, live func(string)) (advisor.Reply, error) {
	to := provider.At(m.Endpoint)
	key, err := to.Key()
	if err != nil {
		return advisor.Reply{}, err
	}
	cfg := &genai.ClientConfig{APIKey: cmp.Or(key, noKey), Backend: genai.BackendGeminiAPI,
		HTTPClient: wire.Client(m.Client), HTTPOptions: genai.HTTPOptions{BaseURL: ownURL}}
	if m.URL != "" {
		cfg.HTTPOptions.BaseURL = m.URL
	}
	client, err := genai.NewClient(ctx, cfg)
	if err != nil {
		return advisor.Reply{}, wire.Hide(key, wire.Broken(ctx, to, err, new(wire.Exchange)))
	}
	ctx, x := wire.Watched(ctx)
	contents, config := prompt(p)
	var s pieces
	for resp, err := range client.Models.GenerateContentStream(ctx, m.name, contents, config) {
		if err != nil {
			return s.done(), wire.Hide(key, failure(ctx, to, err, x))
		}
		if s.add(resp, live); len(s.reply.Calls) > wire.MaxParts {
			return s.done(), wire.Hide(key, wire.Broken(ctx, to, wire.ErrParts, x))
		}
	}
	switch {
	case s.malformed:
		s.reply.Calls = append(s.reply.Calls, advisor.ToolCall{Name: "?", Args: "malformed"})
	case s.reply.Stop != advisor.StopRefused && !s.finished:
		return s.done(), wire.CutOff(to, x)
	}
	return s.done(), nil
}

// prompt is the prompt as Gemini wants it.
func prompt(p *advisor.Prompt) ([]*genai.Content, *genai.GenerateContentConfig) {
	config := &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: p.System}}},
		MaxOutputTokens:   int32(min(p.Output, 1<<30)),
	}
	if len(p.Tools) > 0 {
		tool := &genai.Tool{}
		for _, t := range p.Tools {
			tool.FunctionDeclarations = append(tool.FunctionDeclarations, &genai.FunctionDeclaration{
				Name: t.Name, Description: t.Description, ParametersJsonSchema: json.RawMessage(
					wire.SchemaJSON(t.Args)),
			})
		}
		config.Tools = []*genai.Tool{tool}
		if p.Talk {
			none := &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeNone}
			config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: none}
		}
	}
	contents := make([]*genai.Content, 0, len(p.Messages))
	for i := range p.Messages {
		c := &genai.Content{Role: genai.RoleUser}
		if p.Messages[i].Model {
			c.Role = genai.RoleModel
		}
		for _, part := range p.Messages[i].Parts {
			c.Parts = append(c.Parts, partOf(part))
		}
		contents = append(contents, c)
	}
	return contents, config
}

func partOf(part advisor.Part) *genai.Part {
	switch x := part.(type) {
	case advisor.Text:
		return &genai.Part{Text: string(x)}
	case advisor.ToolCall:
		var args map[string]any
		if json.Unmarshal([]byte(wire.ArgsJSON(x.Args)), &args) != nil {
			args = map[string]any{}
		}
		sign, _ := x.Opaque.Value().([]byte)
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: x.ID, Name: x.Name, Args: args},
			ThoughtSignature: sign}
	case advisor.ToolResult:
		field := "output"
		if x.Failed {
			field = "error"
		}
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: x.ID, Name: x.Name,
			Response: map[string]any{field: x.Text}}}
	}
	return &genai.Part{}
}

// pieces are the parts of a reply as they come.
type pieces struct {
	reply     advisor.Reply // without its text
	text      strings.Builder
	finished  bool
	malformed bool
}

func (s *pieces) done() advisor.Reply {
	s.reply.Text = s.text.String()
	return s.reply
}

func (s *pieces) add(resp *genai.GenerateContentResponse, live func(string)) {
	if u := resp.UsageMetadata; u != nil {
		s.reply.Tokens = advisor.Tokens{
			In:     int64(u.PromptTokenCount) + int64(u.ToolUsePromptTokenCount),
			Out:    int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount),
			Cached: int64(u.CachedContentTokenCount),
		}
	}
	if f := resp.PromptFeedback; f != nil && f.BlockReason != "" {
		s.reply.Stop, s.reply.Refusal = advisor.StopRefused, string(f.BlockReason)+" "+f.BlockReasonMessage
	}
	if len(resp.Candidates) == 0 {
		return
	}
	c := resp.Candidates[0]
	if c.Content != nil {
		for _, part := range c.Content.Parts {
			s.part(part, live)
		}
	}
	switch c.FinishReason {
	case "", genai.FinishReasonUnspecified:
		return
	case genai.FinishReasonStop, genai.FinishReasonOther:
	case genai.FinishReasonMaxTokens, genai.FinishReasonContinuation:
		s.reply.Stop = advisor.StopLength
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall,
		genai.FinishReasonTooManyToolCalls:
		s.malformed = true
	default: // the many names of filters
		s.reply.Stop, s.reply.Refusal = advisor.StopRefused, string(c.FinishReason)+" "+c.FinishMessage
	}
	s.finished = true
}

func (s *pieces) part(part *genai.Part, live func(string)) {
	if part == nil || part.Thought {
		return
	}
	if f := part.FunctionCall; f != nil {
		call := advisor.ToolCall{ID: f.ID, Name: f.Name, Args: "{}"}
		if b, err := json.Marshal(f.Args); err == nil && f.Args != nil {
			call.Args = string(b)
		}
		if len(part.ThoughtSignature) > 0 {
			if d, err := perdure.DataOf(part.ThoughtSignature); err == nil {
				call.Opaque = d
			}
		}
		s.reply.Calls = append(s.reply.Calls, call)
		return
	}
	if part.Text != "" {
		s.text.WriteString(part.Text)
		if live != nil {
			live(part.Text)
		}
	}
}

func failure(ctx context.Context, to wire.Party, err error, x *wire.Exchange) *advisor.Failure {
	var api genai.APIError
	if !errors.As(err, &api) {
		return wire.Broken(ctx, to, err, x)
	}
	c := wire.Complaint{Status: cmp.Or(api.Code, x.Status), Kind: api.Status, Message: api.Message, Retry: x.Retry}
	for _, d := range api.Details { // google.rpc.ErrorInfo, RetryInfo
		c.KeyRefused = c.KeyRefused || d["reason"] == wire.KeyInvalid
		if s, ok := d["retryDelay"].(string); ok && c.Retry == 0 {
			if wait, err := time.ParseDuration(s); err == nil {
				c.Retry = bound.Seconds(wait.Seconds())
			}
		}
	}
	return c.Failure(to, x)
}
