package tool

import (
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/perdure/perdure"
)

// FuzzCleanURL checks that a URL which is taken for clean is the same to the library that asks for it, and has nothing
// in it that servers take away.
func FuzzCleanURL(f *testing.F) {
	for _, s := range []string{
		"https://example.com/", "https://example.com/a/b?x=1#y", "https://a@b:443/%2e%2e/", "http://[::1]:80/",
		"https://0x7f.1/..;/a//b", "https://xn--a.example/%C3%A9?%2F",
		"https://example.com:8443/a%20b;c=d?e=%25&f=/../", `https://a\b/`, "https://1.2.3.4/", "https://a/?",
		"https://[fe80::1%25a]/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if cleanURL(s) != nil {
			return
		}
		u, err := url.Parse(s)
		if err != nil {
			t.Fatalf("%q was taken, and is none: %v", s, err)
		}
		if u.String() != s || u.User != nil || u.Fragment != "" || u.Opaque != "" ||
			u.Host != strings.ToLower(u.Host) || strings.HasSuffix(u.Hostname(), ".") {
			t.Errorf("%q was taken, and is %q", s, u)
		}
		if p := path.Clean(u.Path); p != u.Path && p+"/" != u.Path {
			t.Errorf("%q was taken, and its path leads to %q", s, p)
		}
		if _, err := http.NewRequest(http.MethodGet, s, nil); err != nil {
			t.Errorf("%q was taken, and cannot be asked for: %v", s, err)
		}
	})
}

// FuzzCleanPath checks that a path which is taken for clean stays where it is and what it is.
func FuzzCleanPath(f *testing.F) {
	for _, s := range []string{".", "a/b", "./a", "a/../b", "../a", "/a", "a//b", `a\b`, "e\u0301", "a\x00", "..a",
		"a/..b/c.", "\u202ea"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if cleanPath(s) != nil {
			return
		}
		if path.Clean(s) != s || !filepath.IsLocal(s) || norm.NFC.String(s) != s ||
			strings.ContainsAny(s, "\\\x00\n\x1b") {
			t.Errorf("%q was taken for clean", s)
		}
	})
}

// FuzzCutShowsNoSecret cuts a text anywhere, and looks for pieces of the secret in what is left.
func FuzzCutShowsNoSecret(f *testing.F) {
	f.Add("abc", "correct-horse-battery", "def", 5, 3)
	f.Add("", "aaaaaaaaaaaa", "aaaa", 1, 30)
	f.Add("abab", "ababab", "abab", 3, 9)
	f.Fuzz(func(t *testing.T, before, secret, after string, from, size int) {
		if len(secret) < minSecret || len(secret) > 200 || strings.Contains(before+after, secret[:1]) ||
			strings.Contains("secret:KEY", secret[:1]) {
			return
		}
		text := []byte(before + secret + after)
		if from < 0 || from > len(text) || size < 0 || size > len(text)-from {
			return
		}
		r := newRedactor(map[string]string{secret: "KEY"})
		begin, end := max(0, from-r.margin()), min(len(text), from+size+r.margin())
		got := r.replace(string(r.cut(text[begin:end], from-begin, from+size-begin)))
		if strings.Contains(got, secret[:1]) {
			t.Errorf("%q of %q shows the beginning of %q", got, text, secret)
		}
		if from >= len(before)+len(secret) || from+size <= len(before) {
			if got != string(text[from:from+size]) {
				t.Errorf("got %q, want %q: the secret is elsewhere", got, text[from:from+size])
			}
		} else if size > 0 && !strings.Contains(got, reference+"KEY") {
			t.Errorf("got %q of %q, want a reference", got, text)
		}
	})
}

// FuzzArgumentsNeverPanic gives any data to the tools as arguments, before policy and in a call.
func FuzzArgumentsNeverPanic(f *testing.F) {
	for _, s := range []string{`{"path":"a"}`, `{"url":"https://a/"}`, `{"command":["a"]}`, `{"headers":{"a":1}}`,
		`null`, `[]`, `{"command":[null,{}],"script":3}`} {
		f.Add(s)
	}
	shell := Shell{}
	clean := cleaners{"path": cleanText(cleanPath), "url": cleanText(cleanURL), "headers": cleanHeaders}
	f.Fuzz(func(_ *testing.T, s string) {
		d, err := perdure.DataFromJSON([]byte(s))
		if err != nil {
			return
		}
		_ = shell.CheckArgs(d)
		_ = clean.check(d)
	})
}

func TestARefusedURLIsSaidHowToWrite(t *testing.T) {
	for of, want := range map[string]string{
		"https://a.example/é": "want it as %C3%A9,", "https://a.example/a b": "want it as %20,",
		"https://a.example/\t": "want it as %09,", `https://a.example/\`: "want it as %5C,",
	} {
		if err := cleanURL(of); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want that it says %q", of, err, want)
		}
	}
}
