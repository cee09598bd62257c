package wiretest

// LastText is the last text a request holds, whichever protocol it is of.
func LastText(body map[string]any) string {
	parts := lastParts(body)
	for i := len(parts) - 1; i >= 0; i-- {
		if s, ok := parts[i].(string); ok {
			return s
		}
		if s := text(object(parts[i])["text"]); s != "" {
			return s
		}
	}
	return ""
}

// LastIsResult reports whether the model was told what came of a call after all it said itself.
func LastIsResult(body map[string]any) bool {
	all := append(list(body["messages"]), list(body["contents"])...)
	for i := len(all) - 1; i >= 0; i-- {
		msg := object(all[i])
		switch msg["role"] {
		case "assistant", "model":
			return false
		case "tool":
			return true
		}
		for _, p := range append(list(msg["content"]), list(msg["parts"])...) {
			if o := object(p); o["type"] == "tool_result" || o["functionResponse"] != nil {
				return true
			}
		}
	}
	return false
}

// lastParts are the parts of the last message.
func lastParts(body map[string]any) []any {
	all := append(list(body["messages"]), list(body["contents"])...)
	if len(all) == 0 {
		return nil
	}
	msg := object(all[len(all)-1])
	if s, ok := msg["content"].(string); ok {
		return []any{s}
	}
	return append(list(msg["content"]), list(msg["parts"])...)
}
