package tool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// MCPConfig is an MCP server as a command line or a configuration file names it.
//
//	notes: npx -y @modelcontextprotocol/server-filesystem "/srv/my notes"
//	forge: {url: https://forge.example/mcp, headers: {Authorization: "Bearer secret:FORGE_TOKEN"}}
//	issues: {command: [issue-server, --read-only], dir: /srv, env: {LEVEL: debug, TOKEN: "secret:ISSUE_TOKEN"}}
type MCPConfig struct {
	Command []string          `yaml:"command"` // in a file also as one line
	URL     string            `yaml:"url"`
	Dir     string            `yaml:"dir"`
	Env     map[string]string `yaml:"env"`     // beside PATH and HOME; secret:NAME stands for a secret
	Headers map[string]string `yaml:"headers"` // likewise
	Start   time.Duration     `yaml:"start"`   // how long it may take to start and answer, such as 10s; zero: 1 minute
}

// mcpFields are the fields of a server in a file.
var mcpFields = []string{"command", "url", "dir", "env", "headers", "start"}

// ParseMCP reads a server in one line: a URL, or a command with its arguments, parted by spaces and quoted as in a
// shell.
func ParseMCP(line string) (MCPConfig, error) {
	if strings.HasPrefix(line, "http://") || strings.HasPrefix(line, "https://") {
		return MCPConfig{URL: line}, nil
	}
	command, err := words(line)
	if err == nil && len(command) == 0 {
		err = errors.New("want a command or a URL")
	}
	return MCPConfig{Command: command}, err
}

// UnmarshalYAML reads a server as a line, or by its parts.
func (c *MCPConfig) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		var err error
		if *c, err = ParseMCP(n.Value); err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := n.Content[i].Value; !slices.Contains(mcpFields, name) {
			return fmt.Errorf("line %d: there is no field %s of an MCP server, but %s", n.Content[i].Line, name,
				strings.Join(mcpFields, ", "))
		}
		if at := n.Content[i+1]; n.Content[i].Value == "command" && at.Kind == yaml.ScalarNode {
			command, err := words(at.Value)
			if err != nil {
				return fmt.Errorf("line %d: %w", at.Line, err)
			}
			if err := at.Encode(command); err != nil {
				return err
			}
		}
	}
	type parts MCPConfig // without this method
	return n.Decode((*parts)(c))
}

// Server is the server under a name. Secrets may be nil if the configuration names none; those that can be listed, and
// any that the server is given, are kept out of what it says of its tools.
func (c MCPConfig) Server(ctx context.Context, name string, s Secrets) (*MCP, error) {
	switch {
	case len(c.Command) == 0 && c.URL == "" || len(c.Command) > 0 && c.URL != "":
		return nil, fmt.Errorf("MCP server %s: name its command or its url", name)
	case c.URL != "" && (len(c.Env) > 0 || c.Dir != ""):
		return nil, fmt.Errorf("MCP server %s: env and dir are for a command; a url takes headers", name)
	case c.Start < 0:
		return nil, fmt.Errorf("MCP server %s: start is %s, want a time such as 10s", name, c.Start)
	case c.URL == "" && len(c.Headers) > 0:
		return nil, fmt.Errorf("MCP server %s: headers are for a url; a command takes env", name)
	}
	m := &MCP{Name: name, Command: c.Command, URL: c.URL, Dir: c.Dir, Start: c.Start}
	given := SecretMap{}
	m.Secrets = given
	if known, ok := s.(KnownSecrets); ok {
		m.Secrets = known
	}
	if len(c.Env) > 0 {
		m.Env = []string{"PATH", "HOME"}
	}
	for _, k := range slices.Sorted(maps.Keys(c.Env)) {
		v, err := plainValue(ctx, c.Env[k], s, given)
		if err != nil {
			return nil, fmt.Errorf("MCP server %s: env %s: %w", name, k, err)
		}
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			return nil, fmt.Errorf("MCP server %s: env %q cannot be set: a name has no =, and neither it nor its "+
				"value has a NUL", name, k)
		}
		m.Env = append(m.Env, k+"="+v)
	}
	for k, v := range c.Headers {
		v, err := plainValue(ctx, v, s, given)
		if err != nil {
			return nil, fmt.Errorf("MCP server %s: header %s: %w", name, k, err)
		}
		if !token.MatchString(k) || strings.ContainsFunc(v, unicode.IsControl) {
			return nil, fmt.Errorf("MCP server %s: header %q cannot be sent: a name is letters, digits and hyphens, "+
				"and a value is one line", name, k)
		}
		if m.Header == nil {
			m.Header = http.Header{}
		}
		m.Header.Set(k, v)
	}
	return m, nil
}

// token is how the name of a header is spelled.
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// plainValue is a value of a configuration with secrets in the place of references to them, as in "Bearer secret:NAME".
// They are noted as given.
func plainValue(ctx context.Context, text string, s Secrets, given SecretMap) (string, error) {
	get := func(ctx context.Context, name string) (string, error) {
		if s == nil {
			return "", fmt.Errorf("%s: %w: this node has no secrets", name, ErrUnknownSecret)
		}
		v, err := s.Secret(ctx, name)
		if err == nil {
			given[name] = v
		}
		return v, err
	}
	if name, ok := strings.CutPrefix(text, reference); ok && !strings.Contains(name, " ") {
		return get(ctx, name)
	}
	return resolveText(ctx, text, get)
}

// words parts a command as a shell does: by spaces, except where they are quoted. It knows no variables and no
// patterns.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			begun, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				out = append(out, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("%q has an unclosed quotation mark", line)
	}
	if begun {
		out = append(out, word.String())
	}
	return out, nil
}
