package advisor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"google.golang.org/genai"

	"github.com/perdure/perdure"
)

// Gemini is a model of Google's Gemini API. The signatures of its thoughts go back to it with its calls, as it demands; prompts that begin
// alike are cached by themselves.
type Gemini struct {
	Model   string       // such as gemini-3.1-pro
	Key     KeyFunc      // nil: the environment variable GEMINI_API_KEY
	BaseURL string       // none: Google's own
	Client  *http.Client // nil: the default one
}

var _ Model = Gemini{}

// geminiURL is named so that the SDK does not take another from the environment.
const geminiURL = "https://generativelanguage.googleapis.com/"

// Name implements Model.
func (m Gemini) Name() string { return m.Model }

// Family implements Model.
func (m Gemini) Family() string { return "gemini" }

// Ask implements Model.
func (m Gemini) Ask(ctx context.Context, p *Prompt, live func(string)) (Reply, error) {
	find := m.Key
	if find == nil {
		find = KeyFromEnv("GEMINI_API_KEY")
	}
	key, err := find.key("Gemini")
	if err != nil {
		return Reply{}, err
	}
	cfg := &genai.ClientConfig{APIKey: key, Backend: genai.BackendGeminiAPI, HTTPClient: observed(m.Client), HTTPOptions: genai.HTTPOptions{BaseURL: geminiURL}}
	if m.BaseURL != "" {
		cfg.HTTPOptions.BaseURL = m.BaseURL
	}
	client, err := genai.NewClient(ctx, cfg)
	if err != nil {
		return Reply{}, broken(ctx, "Gemini", err).without(key)
	}
	ctx, x := watched(ctx)
	contents, config := geminiPrompt(p)
	var s geminiStream
	for resp, err := range client.Models.GenerateContentStream(ctx, m.Model, contents, config) {
		if err != nil {
			return s.reply, geminiFailure(ctx, err, x).without(key)
		}
		s.add(resp, live)
	}
	switch {
	case s.malformed:
		s.reply.Calls = append(s.reply.Calls, ToolCall{Name: "?", Args: "malformed"})
	case s.reply.Stop != StopRefused && !s.finished:
		return s.reply, cutOff("Gemini")
	}
	return s.reply, nil
}

// geminiPrompt is the prompt as Gemini wants it.
func geminiPrompt(p *Prompt) ([]*genai.Content, *genai.GenerateContentConfig) {
	config := &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: p.System}}}, MaxOutputTokens: int32(min(p.Output, 1<<30)),
	}
	if len(p.Tools) > 0 {
		tool := &genai.Tool{}
		for _, t := range p.Tools {
			tool.FunctionDeclarations = append(tool.FunctionDeclarations, &genai.FunctionDeclaration{
				Name: t.Name, Description: t.Description, ParametersJsonSchema: json.RawMessage(schemaJSON(t.Args)),
			})
		}
		config.Tools = []*genai.Tool{tool}
		if p.Talk {
			config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeNone}}
		}
	}
	contents := make([]*genai.Content, 0, len(p.Messages))
	for i := range p.Messages {
		c := &genai.Content{Role: genai.RoleUser}
		if p.Messages[i].Model {
			c.Role = genai.RoleModel
		}
		for _, part := range p.Messages[i].Parts {
			c.Parts = append(c.Parts, geminiPart(part))
		}
		contents = append(contents, c)
	}
	return contents, config
}

func geminiPart(part Part) *genai.Part {
	switch x := part.(type) {
	case Text:
		return &genai.Part{Text: string(x)}
	case ToolCall:
		var args map[string]any
		if json.Unmarshal([]byte(argsJSON(x.Args)), &args) != nil {
			args = map[string]any{}
		}
		sign, _ := x.Opaque.Value().([]byte)
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: x.ID, Name: x.Name, Args: args}, ThoughtSignature: sign}
	case ToolResult:
		field := "output"
		if x.Failed {
			field = "error"
		}
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: x.ID, Name: x.Name, Response: map[string]any{field: x.Text}}}
	}
	return &genai.Part{}
}

// geminiStream puts the pieces of a reply together.
type geminiStream struct {
	reply     Reply
	finished  bool
	malformed bool
}

func (s *geminiStream) add(resp *genai.GenerateContentResponse, live func(string)) {
	if u := resp.UsageMetadata; u != nil {
		s.reply.Tokens = Tokens{
			In: int64(u.PromptTokenCount) + int64(u.ToolUsePromptTokenCount), Out: int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount),
			Cached: int64(u.CachedContentTokenCount),
		}
	}
	if f := resp.PromptFeedback; f != nil && f.BlockReason != "" {
		s.reply.Stop, s.reply.Refusal = StopRefused, string(f.BlockReason)+" "+f.BlockReasonMessage
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
		s.reply.Stop = StopLength
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls:
		s.malformed = true
	default: // the many names of filters
		s.reply.Stop, s.reply.Refusal = StopRefused, string(c.FinishReason)+" "+c.FinishMessage
	}
	s.finished = true
}

func (s *geminiStream) part(part *genai.Part, live func(string)) {
	if part == nil || part.Thought {
		return
	}
	if f := part.FunctionCall; f != nil {
		call := ToolCall{ID: f.ID, Name: f.Name, Args: "{}"}
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
		s.reply.Text += part.Text
		if live != nil {
			live(part.Text)
		}
	}
}

func geminiFailure(ctx context.Context, err error, x *exchange) *Failure {
	var api genai.APIError
	if !errors.As(err, &api) {
		return broken(ctx, "Gemini", err)
	}
	c := complaint{status: api.Code, kind: api.Status, message: api.Message, retry: x.retry}
	for _, d := range api.Details { // google.rpc.RetryInfo
		if s, ok := d["retryDelay"].(string); ok && c.retry == 0 {
			if wait, err := time.ParseDuration(s); err == nil {
				c.retry = boundedWait(wait.Seconds())
			}
		}
	}
	return c.failure("Gemini")
}
