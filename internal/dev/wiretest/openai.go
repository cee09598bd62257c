package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// OpenAI speaks the Chat Completions API.
func OpenAI(say func(int, map[string]any) Turn) (*Server, error) {
	return serve(protocol{
		authorized: func(r *http.Request) bool {
			return r.Header.Get("Authorization") == "Bearer "+Key &&
				(r.URL.Path == "/v1/chat/completions" || r.Method == http.MethodGet && r.URL.Path == "/v1/models")
		},
		check:  openaiCheck,
		fail:   func(t *Turn) []byte { return marshal(openaiError(t)) },
		stream: openaiStream, wrongKey: http.StatusUnauthorized,
	}, say)
}

// openaiCheck refuses what OpenAI refuses: calls without their results right after them, results without their calls.
func openaiCheck(body map[string]any) error {
	if body["stream"] != true || object(body["stream_options"])["include_usage"] != true {
		return errors.New("no stream with usage is asked for")
	}
	for _, t := range list(body["tools"]) {
		if f := object(object(t)["function"]); !isName(text(f["name"])) || object(f["parameters"])["type"] != "object" {
			return fmt.Errorf("tool %v is not well formed", t)
		}
	}
	var open []string
	for i, v := range list(body["messages"]) {
		msg := object(v)
		if msg["role"] == "tool" {
			n := slices.Index(open, text(msg["tool_call_id"]))
			if n < 0 {
				return fmt.Errorf("message %d answers %v, which is not open", i, msg["tool_call_id"])
			}
			open = slices.Delete(open, n, n+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d comes before the results of %v", i, open)
		}
		for _, c := range list(msg["tool_calls"]) {
			f := object(object(c)["function"])
			if !json.Valid([]byte(text(f["arguments"]))) || !isName(text(f["name"])) ||
				len(text(object(c)["id"])) > 40 {
				return fmt.Errorf("message %d: call %v is not well formed", i, c)
			}
			open = append(open, text(object(c)["id"]))
		}
		if msg["role"] == "assistant" && text(msg["content"]) == "" && len(list(msg["tool_calls"])) == 0 {
			return fmt.Errorf("message %d says nothing", i)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %v have no result", open)
	}
	return nil
}

func openaiError(t *Turn) any {
	kind, code, message := t.Kind, any(nil), t.Message
	if kind == Overflow {
		kind, code, message = "invalid_request_error", "context_length_exceeded",
			"This model's maximum context length is 8192 tokens."
	}
	return m{"error": m{"message": message, "type": kind, "param": nil, "code": code}}
}

func openaiStream(w *writer, t *Turn) {
	chunk := func(delta m, finish any) {
		w.event("", m{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", "usage": nil,
			"choices": []any{m{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	chunk(m{"role": "assistant", "content": ""}, nil)
	if t.Midway {
		w.event("", openaiError(t))
		return
	}
	for _, s := range t.Text {
		chunk(m{"content": s}, nil)
		w.piece()
		if t.Malformed {
			w.raw("", `{"id":"chatcmpl-1","choices":[{"index":0,"del`)
		}
	}
	if t.Refusal != "" {
		chunk(m{"refusal": t.Refusal}, nil)
	}
	for i, c := range t.Calls {
		chunk(m{"tool_calls": []any{m{"index": i, "id": c.ID, "type": "function",
			"function": m{"name": c.Name, "arguments": ""}}}}, nil)
	}
	for part := 0; ; part++ { // the fragments of parallel calls come interleaved
		more := false
		for i, c := range t.Calls {
			if part < len(c.Args) {
				more = true
				chunk(m{"tool_calls": []any{m{"index": i, "function": m{"arguments": c.Args[part]}}}}, nil)
				w.piece()
			}
		}
		if !more {
			break
		}
	}
	finish := "stop"
	switch {
	case t.Length:
		finish = "length"
	case len(t.Calls) > 0:
		finish = "tool_calls"
	}
	chunk(m{}, finish)
	w.event("", m{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", "choices": []any{},
		"usage": m{"prompt_tokens": t.In, "completion_tokens": t.Out, "total_tokens": t.In + t.Out,
			"prompt_tokens_details": m{"cached_tokens": t.Cached}},
	})
	w.raw("", "[DONE]")
}
