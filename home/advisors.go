package home

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/anthropic"
	"github.com/perdure/perdure/advisor/gemini"
	"github.com/perdure/perdure/advisor/openai"
	"github.com/perdure/perdure/advisor/remote"
	"github.com/perdure/perdure/advisor/script"
	"github.com/perdure/perdure/internal/disk"
)

// thinkers are the advisors that the flags name.
func (p *Powers) thinkers(s perdure.Store, tools []perdure.Tool, log *slog.Logger) (map[string]perdure.Advisor, error) {
	prices, err := readPrices(p.Prices)
	if err != nil {
		return nil, err
	}
	all := map[string]perdure.Advisor{}
	for _, text := range p.Advisors {
		name, source := splitAdvisor(text)
		if all[name] != nil {
			return nil, perdure.Invalid(fmt.Errorf("advisor %q is given twice", name))
		}
		a, err := p.thinker(source, s)
		if err != nil {
			return nil, p.wrong(advisorKey(name), err)
		}
		if l, ok := a.(*advisor.LLM); ok {
			l.Store, l.Tools, l.Prices, l.Log, l.Live = s, advisor.Specs(tools...), prices, log, p.Say
			if p.memory != nil {
				l.Current = p.memory.state
			}
		}
		all[name] = a
	}
	return all, nil
}

// advisorKey is where an advisor stands in node.yaml.
func advisorKey(name string) string {
	if name == "" {
		return "advisor"
	}
	return "advisors." + name
}

// splitAdvisor parts [NAME=]SOURCE. The name is empty for agents that name none.
func splitAdvisor(text string) (name, source string) {
	name, source, named := strings.Cut(text, "=")
	if !named || strings.Contains(name, ":") { // the = is in the source
		return "", text
	}
	return name, source
}

// thinker is the advisor of a source.
func (p *Powers) thinker(source string, s perdure.Store) (perdure.Advisor, error) {
	scheme, rest, _ := strings.Cut(source, ":")
	switch scheme {
	case "script":
		f, err := disk.Open(rest)
		if err != nil {
			return nil, err
		}
		said, err := script.Load(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, perdure.WithHint(fmt.Errorf("%s: %w", rest, err), "perdure help script describes its words")
		}
		said.Store = s
		return said, nil
	case "http", "https":
		if u, err := url.Parse(source); err != nil || u.Host == "" {
			return nil, errors.New("want the URL of an advisor")
		}
		return &remote.Advisor{URL: source, Store: s}, nil
	}
	if m := p.model(scheme, rest); m != nil {
		return &advisor.LLM{Model: m}, nil
	}
	return nil, fmt.Errorf("%q is none of anthropic:MODEL, gemini:MODEL, openai:MODEL (each with @URL, or @URL#KEY, "+
		"for another server), script:FILE and a URL", source)
}

// providers are those whose models can be named, with the names of their keys.
var providers = map[string]struct {
	open func(model string, at advisor.Endpoint) advisor.Model
	key  string
}{
	"anthropic": {anthropic.New, "ANTHROPIC_API_KEY"},
	"gemini":    {gemini.New, "GEMINI_API_KEY"},
	"openai":    {openai.New, "OPENAI_API_KEY"},
}

// model is the language model of a provider, or nil if there is none. Keys are looked for when they are needed, among
// the secrets of the node and in the environment; one for another server than the provider's own is named after #,
// which is no part of what is sent.
func (p *Powers) model(provider, model string) advisor.Model {
	model, base, _ := strings.Cut(model, "@")
	base, key, _ := strings.Cut(base, "#")
	by, ok := providers[provider]
	if u, err := url.Parse(base); !ok || model == "" || base != "" && (err != nil || u.Host == "" ||
		u.Scheme != "http" && u.Scheme != "https") {
		return nil
	}
	at := advisor.Endpoint{URL: base}
	switch {
	case base == "":
		at.Key, at.KeyName = p.key(by.key), by.key
	case key != "":
		at.Key, at.KeyName = p.key(key), key
	}
	return by.open(model, at)
}

// key finds the key of a provider by its name.
func (p *Powers) key(name string) advisor.KeyFunc {
	return func() (string, error) {
		if v := p.Known[name]; v != "" {
			return v, nil
		}
		v, err := advisor.KeyFromEnv(name)()
		if err != nil {
			err = perdure.WithHint(err, "set it, or add a line "+name+"=… to the file that secrets in node.yaml "+
				"names")
		}
		return v, err
	}
}

// readPrices reads what models cost; no file, no prices.
func readPrices(path string) (advisor.Prices, error) {
	if path == "" {
		return nil, nil
	}
	b, err := disk.ReadFile(path, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	prices, err := advisor.LoadPrices(b)
	if err != nil {
		return nil, perdure.WithHint(fmt.Errorf("prices %s: %w", path, err),
			`write {"MODEL": {"in": 3, "out": 15, "cached": 0.3}}, in US dollars per million tokens`)
	}
	return prices, nil
}
