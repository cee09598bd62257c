package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
)

// Anthropic speaks the Messages API.
func Anthropic(say func(int, map[string]any) Turn) (*Server, error) {
	return serve(protocol{
		authorized: func(r *http.Request) bool {
			return r.Header.Get("x-api-key") == Key &&
				(r.URL.Path == "/v1/messages" || r.Method == http.MethodGet && r.URL.Path == "/v1/models")
		},
		check:  anthropicCheck,
		fail:   func(t *Turn) []byte { return marshal(anthropicError(t)) },
		stream: anthropicStream, wrongKey: http.StatusUnauthorized,
	}, say)
}

// isName reports whether a provider takes s as the name of a tool.
func isName(s string) bool { return len(s) <= 64 && nameForm.MatchString(s) }

var nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// anthropicCheck refuses what Anthropic refuses: calls without their results right after them, empty text, thoughts
// without signature.
func anthropicCheck(body map[string]any) error {
	if n, _ := body["max_tokens"].(float64); n < 1 {
		return errors.New("max_tokens is missing")
	}
	for _, t := range list(body["tools"]) {
		if o := object(t); !isName(text(o["name"])) || object(o["input_schema"])["type"] != "object" {
			return fmt.Errorf("tool %v is not well formed", t)
		}
	}
	msgs := list(body["messages"])
	if len(msgs) == 0 || object(msgs[0])["role"] != "user" {
		return errors.New("the first message is not the user's")
	}
	var open []string
	for i, v := range msgs {
		msg := object(v)
		var calls, results []string
		for _, b := range list(msg["content"]) {
			switch o := object(b); o["type"] {
			case "text":
				if text(o["text"]) == "" {
					return fmt.Errorf("message %d: empty text", i)
				}
			case "tool_use":
				calls = append(calls, text(o["id"]))
				if object(o["input"]) == nil || !isName(text(o["name"])) || !isName(text(o["id"])) {
					return fmt.Errorf("message %d: tool_use %v is not well formed", i, o)
				}
			case "tool_result":
				results = append(results, text(o["tool_use_id"]))
			case "thinking":
				if text(o["signature"]) != "signed" {
					return fmt.Errorf("message %d: a thought without its signature", i)
				}
			}
		}
		if fmt.Sprint(open) != fmt.Sprint(results) {
			return fmt.Errorf("message %d answers %v, the calls before it are %v", i, results, open)
		}
		open = calls
		if len(calls) > 0 && msg["role"] != "assistant" {
			return fmt.Errorf("message %d: a user made calls", i)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %v have no result", open)
	}
	return nil
}

func anthropicError(t *Turn) any {
	kind, message := t.Kind, t.Message
	if kind == Overflow {
		kind, message = "invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"
	}
	return m{"type": "error", "error": m{"type": kind, "message": message}, "request_id": "req_1"}
}

func anthropicStream(w *writer, t *Turn) {
	w.event("message_start", m{"type": "message_start", "message": m{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": m{"input_tokens": t.In - t.Cached - t.Written, "cache_read_input_tokens": t.Cached,
			"cache_creation_input_tokens": t.Written, "output_tokens": 1},
	}})
	w.event("ping", m{"type": "ping"})
	if t.Midway {
		w.event("error", anthropicError(t))
		return
	}
	n := 0
	block := func(start any, deltas ...any) {
		w.event("content_block_start", m{"type": "content_block_start", "index": n, "content_block": start})
		for _, d := range deltas {
			w.event("content_block_delta", m{"type": "content_block_delta", "index": n, "delta": d})
			w.piece()
			if t.Malformed {
				w.raw("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_del`)
			}
		}
		w.event("content_block_stop", m{"type": "content_block_stop", "index": n})
		n++
	}
	if t.Think != "" {
		block(m{"type": "thinking", "thinking": "", "signature": ""}, m{"type": "thinking_delta", "thinking": t.Think},
			m{"type": "signature_delta", "signature": "signed"})
	}
	pieces := t.Text
	if t.Refusal != "" {
		pieces = []string{t.Refusal}
	}
	if len(pieces) > 0 {
		var deltas []any
		for _, s := range pieces {
			deltas = append(deltas, m{"type": "text_delta", "text": s})
		}
		block(m{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range t.Calls {
		deltas := []any{m{"type": "input_json_delta", "partial_json": ""}}
		for _, s := range c.Args {
			deltas = append(deltas, m{"type": "input_json_delta", "partial_json": s})
		}
		block(m{"type": "tool_use", "id": c.ID, "name": c.Name, "input": m{}}, deltas...)
	}
	stop := "end_turn"
	switch {
	case t.Refusal != "":
		stop = "refusal"
	case t.Length:
		stop = "max_tokens"
	case len(t.Calls) > 0:
		stop = "tool_use"
	}
	w.event("message_delta", m{"type": "message_delta", "delta": m{"stop_reason": stop, "stop_sequence": nil},
		"usage": m{"output_tokens": t.Out}})
	w.event("message_stop", m{"type": "message_stop"})
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
