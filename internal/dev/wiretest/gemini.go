package wiretest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Gemini speaks the Gemini API.
func Gemini(say func(int, map[string]any) Turn) (*Server, error) {
	return serve(protocol{
		authorized: func(r *http.Request) bool {
			if r.Method == http.MethodGet {
				return r.Header.Get("x-goog-api-key") == Key && r.URL.Path == "/v1beta/models"
			}
			return r.Header.Get("x-goog-api-key") == Key && strings.HasSuffix(r.URL.Path, ":streamGenerateContent") &&
				r.URL.Query().Get("alt") == "sse"
		},
		check:  geminiCheck,
		fail:   func(t *Turn) []byte { return marshal(geminiError(t)) },
		stream: geminiStream, wrongKey: http.StatusBadRequest,
	}, say)
}

// geminiCheck refuses what Gemini refuses: calls whose results do not come next, one for each, and thoughts without
// signature.
func geminiCheck(body map[string]any) error {
	var open []string
	for i, v := range list(body["contents"]) {
		var calls, results []string
		for _, p := range list(object(v)["parts"]) {
			o := object(p)
			if f := object(o["functionCall"]); f != nil {
				calls = append(calls, text(f["name"]))
				if text(f["id"]) == "" {
					return fmt.Errorf("content %d: a call lost its id", i)
				}
			}
			if f := object(o["functionResponse"]); f != nil {
				results = append(results, text(f["name"]))
				if object(f["response"]) == nil {
					return fmt.Errorf("content %d: a result is no object", i)
				}
			}
		}
		if fmt.Sprint(open) != fmt.Sprint(results) {
			return fmt.Errorf("content %d answers %v, the calls before it are %v", i, results, open)
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %v have no result", open)
	}
	return nil
}

func geminiError(t *Turn) any {
	status := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}[t.Status]
	e := m{"code": t.Status, "message": t.Message, "status": status}
	if t.Kind == Overflow {
		e["message"] = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
	}
	if s := t.Header["Retry-After"]; s != "" && t.Status == 429 { // Google says it here, too
		e["details"] = []any{m{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": s + "s"}}
	}
	if t.Status == http.StatusBadRequest && t.Kind == wrongKey {
		e["details"] = []any{m{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}}
	}
	return m{"error": e}
}

func geminiStream(w *writer, t *Turn) {
	usage := m{"promptTokenCount": t.In, "candidatesTokenCount": t.Out, "totalTokenCount": t.In + t.Out,
		"cachedContentTokenCount": t.Cached}
	chunk := func(finish string, parts ...any) {
		c := m{"index": 0, "content": m{"role": "model", "parts": parts}}
		if finish != "" {
			c["finishReason"] = finish
		}
		w.event("", m{"candidates": []any{c}, "modelVersion": "gemini-test", "usageMetadata": usage})
	}
	if t.Midway {
		w.event("", geminiError(t))
		return
	}
	if t.Refusal != "" {
		w.event("", m{"promptFeedback": m{"blockReason": "SAFETY", "blockReasonMessage": t.Refusal},
			"usageMetadata": usage})
		return
	}
	if t.Think != "" {
		chunk("", m{"text": t.Think, "thought": true})
	}
	for _, s := range t.Text {
		chunk("", m{"text": s})
		w.piece()
		if t.Malformed {
			w.raw("", `{"candidates":[{"content":{"parts":[{"te`)
		}
	}
	for _, c := range t.Calls {
		var args any
		if json.Unmarshal([]byte(strings.Join(c.Args, "")), &args) != nil {
			chunk("MALFORMED_FUNCTION_CALL") // Gemini does not show what it could not read
			return
		}
		f := m{"name": c.Name, "args": args}
		if c.ID != "" {
			f["id"] = c.ID
		}
		part := m{"functionCall": f}
		if t.Think != "" {
			part["thoughtSignature"] = "c2lnbmVk"
		}
		chunk("", part)
		w.piece()
	}
	finish := "STOP"
	if t.Length {
		finish = "MAX_TOKENS"
	}
	chunk(finish, m{"text": ""})
}
