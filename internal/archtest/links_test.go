package archtest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var (
	fence   = regexp.MustCompile("(?ms)^[ \t]*(```+|~~~+).*?^[ \t]*(```+|~~~+)[ \t]*$")
	code    = regexp.MustCompile("`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#{1,6}[ \t]+(.+?)[ \t#]*$`)
	inline  = regexp.MustCompile(`\]\(<?([^()<>\s]+(?:\([^()\s]*\))?)>?(?:[ \t]+"[^"]*")?\)`)
	named   = regexp.MustCompile(`(?m)^[ \t]*\[[^\]]+\]:[ \t]+<?([^\s>]+)>?`)
	html    = regexp.MustCompile(`(?i)<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)="([^"\s]+)`)
	anchor  = regexp.MustCompile(`(?i)<[^>]*?\b(?:id|name)="([^"]+)"`)
	linkIn  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// brokenLinks returns the relative links of the Markdown files below dir that lead nowhere, one line each, in order.
func brokenLinks(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".github"
			if path != dir && (hidden || d.Name() == "testdata" || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(d.Name(), ".md") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		for _, link := range links(string(text)) {
			if wrong := follow(dir, rel, link); wrong != "" {
				found = append(found, fmt.Sprintf("%s: link to %s: %s", filepath.ToSlash(rel), link, wrong))
			}
		}
		return nil
	})
	return found, err
}

// links returns the targets of a text's links that are not URLs, outside code.
func links(text string) []string {
	text = code.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	var targets []string
	for _, form := range []*regexp.Regexp{inline, named, html} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			if u, err := url.Parse(m[1]); err != nil || u.Scheme == "" && u.Host == "" {
				targets = append(targets, m[1])
			}
		}
	}
	return targets
}

// follow says why a link in a file leads nowhere, or returns "".
func follow(dir, file, link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return "not a URL"
	}
	if strings.HasPrefix(u.Path, "/") {
		return "starts with a slash; write it relative to the file"
	}
	target := file
	if u.Path != "" {
		target = filepath.Join(filepath.Dir(file), filepath.FromSlash(u.Path))
	}
	if !filepath.IsLocal(target) {
		return "leads out of the repository"
	}
	if _, err := os.Stat(filepath.Join(dir, target)); err != nil {
		return "no such file"
	}
	if u.Fragment == "" || !strings.HasSuffix(target, ".md") {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, target))
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchors(string(text)), u.Fragment) {
		return "no such heading"
	}
	return ""
}

// anchors returns the names of a text's headings as hosts of Markdown make them, and those it gives itself.
func anchors(text string) []string {
	text = fence.ReplaceAllString(text, "")
	var names []string
	seen := make(map[string]int)
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, linkIn.ReplaceAllString(m[1], "$1"))
		seen[name]++
		if n := seen[name]; n > 1 {
			name = fmt.Sprintf("%s-%d", name, n-1)
		}
		names = append(names, name)
	}
	for _, m := range anchor.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestEveryRelativeLinkLeadsSomewhere(t *testing.T) {
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	broken, err := brokenLinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

func TestEveryBrokenLinkIsFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"README.md": "# Top\n[a](docs/a.md) [b](docs/a.md#two-words) [top](#top) [out](https://example.org/x) " +
			"[mail](mailto:a@example.org)\n" +
			"![i](docs/i.png \"title\") <a href=\"docs/\">d</a> [n]: not a definition\n\n[n]: docs/a.md\n" +
			"`[code](gone)`\n```\n[code](gone)\n```\n" +
			"[1](gone.md) [2](docs/a.md#gone) [3](#gone) [4](../outside.md) [5](/docs/a.md) <img " +
			"src=\"gone.png\">\n[6]: gone.txt\n",
		"docs/a.md": "# A\n## Two `words`\n## Two words\n[back](../README.md) [twice](#two-words-1) <a " +
			"id=\"own\"></a>[own](#own) [7](b.md)\n",
		"docs/i.png":         "",
		"testdata/broken.md": "[x](gone)",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := brokenLinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"README.md: link to gone.md: no such file",
		"README.md: link to docs/a.md#gone: no such heading",
		"README.md: link to #gone: no such heading",
		"README.md: link to ../outside.md: leads out of the repository",
		"README.md: link to /docs/a.md: starts with a slash; write it relative to the file",
		"README.md: link to gone.txt: no such file",
		"README.md: link to gone.png: no such file",
		"docs/a.md: link to b.md: no such file",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("broken links (-want +got):\n%s", diff)
	}
}
