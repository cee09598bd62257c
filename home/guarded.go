package home

import (
	"bytes"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/perdure/perdure/tool"
)

// namedSecrets is what else must not be seen: the secrets that node.yaml refers to, by env:, file: or #NAME, those that
// the environment has for this home, and the keys of people that it keeps. More advisors are those of the flags. What
// cannot be read here is not used here either, and who uses it is told.
func (h *Home) namedSecrets(file *NodeFile, more []string) tool.SecretMap {
	all := tool.SecretMap{}
	for what, refs := range file.references() {
		for _, ref := range refs {
			value, err := h.resolve(ref, file.Secrets)
			if err != nil {
				continue
			}
			all[what+" "+ref] = value
			if prefix, rest, ok := strings.Cut(value, "_"); ok && strings.HasPrefix(prefix, "wh") {
				all[what+" "+ref+" without its prefix"] = rest
			}
		}
	}
	sources := append(slices.Collect(maps.Values(file.Advisors)), file.Advisor, file.Embeddings)
	for _, source := range append(sources, more...) {
		if _, name, ok := strings.Cut(source, "#"); ok && os.Getenv(name) != "" {
			all[name] = os.Getenv(name)
		}
	}
	for pair := range strings.SplitSeq(os.Getenv(otlpHeaders), ",") {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil && plain != "" {
			all[otlpHeaders+" "+name] = plain
		}
	}
	return all
}

// references are the secrets that the file refers to, by what they are for.
func (n *NodeFile) references() map[string][]string {
	all := map[string][]string{}
	for _, c := range n.Hooks {
		all["hooks"] = append(append(all["hooks"], c.Secret), c.Secrets...)
	}
	for _, c := range n.Notify {
		all["notify"] = append(append(all["notify"], c.Secret, c.URL+c.Slack), c.Secrets...)
		if c.Mail != nil {
			all["notify"] = append(all["notify"], c.Mail.Password)
		}
	}
	for _, c := range n.Peers {
		all["peers"] = append(all["peers"], c.Token)
	}
	for _, ref := range n.Telemetry.Headers {
		all["telemetry"] = append(all["telemetry"], ref)
	}
	return all
}

// peoplesKeys adds the private keys of people: those of hooks, and of the folder that is for them.
func (h *Home) peoplesKeys(file *NodeFile, to tool.SecretMap) {
	var paths []string
	for _, c := range file.Hooks {
		if c.Key != "" {
			paths = append(paths, c.Key)
		}
	}
	files, _ := os.ReadDir(filepath.Join(h.Dir, peopleDir)) // who cannot read it signs with none of them
	for _, f := range files {
		paths = append(paths, filepath.Join(h.Dir, peopleDir, f.Name()))
	}
	for _, path := range paths {
		values, _ := signingKey(path)
		for name, value := range values {
			to[filepath.Base(path)+" "+name] = value
		}
	}
}

// tokenText is what tokens and links look like.
var tokenText = regexp.MustCompile(`^` + tokenPrefix + `[0-9a-fA-F]{16}_[0-9A-Za-z_-]{43}`)

// holdsToken reports whether a body has a token or a link that is good at this home. The home knows them when it sees
// them; it keeps none.
func (h *Home) holdsToken(body []byte) bool {
	for { // what looks like one may have one inside: matches overlap
		i := bytes.Index(body, []byte(tokenPrefix))
		if i < 0 {
			return false
		}
		body = body[i:]
		if id, secret, err := splitToken(string(tokenText.Find(body))); err == nil {
			if t, err := h.readToken(id); err == nil && t.Hash == hashSecret(secret) {
				return true
			}
		}
		body = body[len(tokenPrefix):]
	}
}
