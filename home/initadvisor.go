package home

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// firstModels are the providers a new home looks for, in this order, and the model it begins with.
var firstModels = []struct{ provider, model string }{
	{"anthropic", "claude-sonnet-5-5"}, {"openai", "gpt-6.1-sol"}, {"gemini", "gemini-2.5-flash"},
}

// advisorHere is the advisor that can be had here, and why it is that one: a server that the environment names, a
// provider whose key is in the environment, a server on this machine, and else a script.
func advisorHere(ctx context.Context) (source, because string) {
	if base := os.Getenv("OPENAI_BASE_URL"); base != "" {
		if model := modelAt(ctx, base, os.Getenv("OPENAI_API_KEY")); model != "" {
			source = "openai:" + model + "@" + base
			if os.Getenv("OPENAI_API_KEY") != "" {
				source += "#OPENAI_API_KEY"
			}
			return source, "OPENAI_BASE_URL is in the environment"
		}
	}
	for _, first := range firstModels {
		if key := providers[first.provider].key; os.Getenv(key) != "" {
			return first.provider + ":" + first.model, key + " is in the environment"
		}
	}
	base := ollamaURL(os.Getenv("OLLAMA_HOST"))
	if model := modelAt(ctx, base, ""); model != "" {
		return "openai:" + model + "@" + base, "a server answers at " + base
	}
	return "script:" + firstScript, "no key of a provider is in the environment, and no server answers at " + base
}

// ollamaURL is where Ollama serves the protocol of OpenAI, by what OLLAMA_HOST says.
func ollamaURL(host string) string {
	scheme, rest, given := strings.Cut(host, "://")
	if !given {
		scheme, rest = "http", host
	}
	rest, _, _ = strings.Cut(rest, "/")
	name, port, err := net.SplitHostPort(rest)
	if err != nil {
		name, port = strings.Trim(rest, "[]"), "11434"
	}
	if name == "" || name == "0.0.0.0" || name == "::" { // where it listens, not where it is found
		name = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(name, port) + "/v1"
}

const (
	// serverLook is how long a server may take to say which models it has.
	serverLook = 2 * time.Second
	maxModels  = 1 << 20
)

// modelAt is the first model that a server has, or none: also when there is no server. One that embeds texts, by its
// name, comes after the others.
func modelAt(ctx context.Context, base, key string) string {
	if u, err := url.Parse(base); err != nil || u.Host == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, serverLook)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/models", nil)
	if err != nil {
		return ""
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	var models struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, maxModels)).Decode(&models)
	if err != nil || answer.StatusCode != http.StatusOK || len(models.Data) == 0 {
		return ""
	}
	id := models.Data[0].ID
	for _, m := range models.Data {
		if !strings.Contains(strings.ToLower(m.ID), "embed") {
			id = m.ID
			break
		}
	}
	if strings.Contains(id, "@") {
		return ""
	}
	return id
}
