package mcp

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/perdure/perdure/view"
)

// serverName is what clients are told to call the server.
const serverName = "perdure"

// Clients are those that ClientConfig knows.
var Clients = []string{"claude", "cursor", "vscode"}

// ClientConfig is what makes a client start a program as its server, with a variable set unless env is empty: a command
// to type, or a file of its own.
func ClientConfig(client, program, env, value string, args ...string) (string, error) {
	type starts struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env,omitempty"`
	}
	var set map[string]string
	if env != "" {
		set = map[string]string{env: value}
	}
	var config any
	switch client {
	case "claude":
		words := []string{"claude mcp add", serverName}
		if env != "" {
			words = append(words, "--env", view.Pasted(env+"="+value))
		}
		words = append(words, "--", view.Pasted(program))
		for _, word := range args {
			if !strings.HasPrefix(word, "--") { // a flag of ours
				word = view.Pasted(word)
			}
			words = append(words, word)
		}
		return strings.Join(words, " "), nil
	case "cursor":
		config = map[string]any{"mcpServers": map[string]any{serverName: starts{"", program, args, set}}}
	case "vscode":
		config = map[string]any{"servers": map[string]any{serverName: starts{"stdio", program, args, set}}}
	default:
		return "", errors.New("there is no client " + client)
	}
	text, err := json.MarshalIndent(config, "", "  ")
	return string(text), err
}
