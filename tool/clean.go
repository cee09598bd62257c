package tool

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/textproto"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/glyph"
)

// cleaners refuse the values of arguments that are not in their clean form, by the name of the field.
type cleaners map[string]func(v any) error

// check refuses arguments of which one is not clean. What is sealed, or of another type, is left to whoever reads it:
// the schema has been looked at before, and the tool looks at the plain value when it is called.
func (c cleaners) check(args perdure.Data) error {
	if len(c) == 0 || len(args) == 0 {
		return nil
	}
	fields, _ := args.Value().(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(c)) { // the reason is recorded: always the same one of several
		if v, ok := fields[name]; ok {
			if err := c[name](v); err != nil {
				return fmt.Errorf("field %s: %w", name, err)
			}
		}
	}
	return nil
}

// cleanText makes a cleaner of texts.
func cleanText(clean func(string) error) func(any) error {
	return func(v any) error {
		switch v := v.(type) {
		case string:
			return clean(v)
		case []byte: // they would become text on the way to the tool, and policy saw bytes
			return errors.New("want text, got bytes")
		}
		return nil
	}
}

// cleanPath refuses a path that is not the one spelling of itself: relative, with slashes, in Unicode's form NFC, and
// without anything that is left out on the way to the file. The folder of the tool itself is ".".
func cleanPath(p string) error {
	switch {
	case p == "":
		return errors.New(`it is empty; the folder itself is "."`)
	case len(p) > maxPath || strings.Count(p, "/") > maxPathDepth:
		return fmt.Errorf("it is longer than %d bytes or deeper than %d folders", maxPath, maxPathDepth)
	case strings.ContainsRune(p, 0):
		return fmt.Errorf("%q holds a NUL byte", p)
	case !utf8.ValidString(p) || strings.ContainsFunc(p, glyph.Control):
		return fmt.Errorf("%q holds bytes that are no text, or control characters", p)
	case strings.Contains(p, `\`):
		return fmt.Errorf("%q holds a backslash; folders are parted by slashes", p)
	case path.IsAbs(p):
		return fmt.Errorf("%q is absolute; give it relative to the folder of the tool", p)
	case p == ".." || strings.HasPrefix(p, "../"):
		return fmt.Errorf("%q leads out of the folder of the tool", p)
	case path.Clean(p) != p:
		return wantForm(p, path.Clean(p))
	case !norm.NFC.IsNormalString(p):
		return wantForm(p, norm.NFC.String(p))
	case runtime.GOOS == "windows" && !windowsName(p):
		return fmt.Errorf("%q means something else on this system: a device, a stream, or a name without its last "+
			"dot or space", p)
	}
	return nil
}

// windowsName reports whether a path means on Windows what it says.
func windowsName(p string) bool {
	if !filepath.IsLocal(filepath.FromSlash(p)) {
		return false // a device, such as NUL or COM1
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.ContainsAny(part, `:*?"<>|`) || part != "." && strings.TrimRight(part, " .") != part {
			return false
		}
	}
	return true
}

func wantForm(got, want string) error {
	return fmt.Errorf("%q is not in its clean form: want %q", clip(got), clip(want))
}

// cleanProgram refuses a program that is not named in one of three ways: by its name alone, which is looked for on the
// PATH; by ./ and a clean path below the working folder; or by a clean absolute path.
func cleanProgram(name string) error {
	switch {
	case name == "":
		return errors.New("give the program and its arguments, or a script")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, glyph.Control):
		return fmt.Errorf("program %q holds bytes that are no text, or control characters", clip(name))
	case !strings.ContainsAny(name, `/\`):
		if name == "." || name == ".." || runtime.GOOS == "windows" && !windowsName(name) {
			return fmt.Errorf("%q is not a program", name)
		}
		return nil
	case filepath.IsAbs(name):
		if filepath.Clean(name) != name {
			return wantForm(name, filepath.Clean(name))
		}
		return nil
	}
	below, ok := strings.CutPrefix(name, "./")
	if !ok {
		return fmt.Errorf("%q is not in its clean form: name a program alone, as ./PATH in the working folder, or by "+
			"an absolute path", clip(name))
	}
	if below == "." {
		return fmt.Errorf("%q is not a program", name)
	}
	if err := cleanPath(below); err != nil {
		return fmt.Errorf("program %q: %w", clip(name), err)
	}
	return nil
}

// cleanURL refuses a URL that is not the one spelling of itself. It is
//
//	https://host/path?query    or http, and host:port where the port is not the scheme's own
//
// in ASCII, where scheme and host are lower-case, the host is a name or an address in the usual form and does not end
// in a dot, there is no user and no fragment, the path begins with a slash (of a host alone it is "/") and has neither
// empty segments nor . and .. in it, and a percent sign begins two upper-case digits that stand for a character which
// could not be written as it is. In the path, none stands for a slash or a backslash.
func cleanURL(s string) error {
	if len(s) > maxURL {
		return fmt.Errorf("it is longer than %d bytes", maxURL)
	}
	for _, c := range s {
		if c <= ' ' || c >= 0x7F || strings.ContainsRune("\\\"<>^`{|}#", c) {
			if c == '#' {
				return errors.New("it has a fragment, which is never sent: leave out # and what follows")
			}
			return fmt.Errorf("it holds %q, which is not written as it is in a URL: want it as %s, or a host in "+
				"punycode", c, url.PathEscape(string(c)))
		}
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "https" && scheme != "http" {
		return errors.New("want it to begin with https:// or http://, in lower case")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 || rest[end] == '?' {
		if end < 0 {
			end = len(rest)
		}
		return wantForm(s, scheme+"://"+rest[:end]+"/"+rest[end:])
	}
	if err := cleanHost(scheme, rest[:end]); err != nil {
		return err
	}
	p, query, asked := strings.Cut(rest[end:], "?")
	if asked && query == "" {
		return errors.New("it ends in a question mark: leave it out")
	}
	if err := cleanURLPath(p); err != nil {
		return err
	}
	return cleanPercent(query, "")
}

// cleanHost refuses a host, with its port, that is not the one spelling of itself.
func cleanHost(scheme, host string) error {
	if strings.Contains(host, "@") {
		return errors.New("a name or password does not belong in it; use a header, such as Authorization")
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		port := host[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		switch {
		case err != nil || n == 0 || strconv.FormatUint(n, 10) != port:
			return fmt.Errorf("port %q is none", clip(port))
		case scheme == "https" && n == 443, scheme == "http" && n == 80:
			return fmt.Errorf("port %d is that of %s anyway: leave it out", n, scheme)
		}
		host = host[:i]
	}
	if v6, ok := strings.CutPrefix(host, "["); ok {
		v6, closed := strings.CutSuffix(v6, "]")
		addr, err := netip.ParseAddr(v6)
		if !closed || err != nil || !addr.Is6() || addr.Is4In6() || addr.Zone() != "" || addr.String() != v6 {
			return fmt.Errorf("%q is no IPv6 address in its usual form", clip(host))
		}
		return nil
	}
	return cleanHostName(host)
}

func cleanHostName(host string) error {
	if lower := strings.ToLower(host); lower != host {
		return fmt.Errorf("host %q is not in lower case: want %q", clip(host), clip(lower))
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		bad := func(r rune) bool { return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }
		if l == "" || len(l) > 63 || strings.ContainsFunc(l, bad) {
			return fmt.Errorf("%q is not a host: want a name of letters, digits and hyphens, without a dot at its end",
				clip(host))
		}
	}
	last := labels[len(labels)-1]
	digits := !strings.ContainsFunc(last, func(r rune) bool { return r < '0' || r > '9' })
	if digits || strings.HasPrefix(last, "0x") { // whatever ends in a number is an IPv4 address to some
		if addr, err := netip.ParseAddr(host); err != nil || addr.String() != host {
			return fmt.Errorf("%q is no IPv4 address in its usual form, such as 192.0.2.1", clip(host))
		}
	}
	return nil
}

// cleanURLPath refuses a path that servers read in several ways. What follows a semicolon is left out by some of them.
func cleanURLPath(p string) error {
	segments := strings.Split(p[1:], "/")
	for i, seg := range segments {
		name, _, _ := strings.Cut(seg, ";")
		switch {
		case name == "." || name == "..":
			return fmt.Errorf("its path holds %q: want the path it leads to", clip(seg))
		case seg == "" && i < len(segments)-1:
			return errors.New("its path holds //: want one slash")
		}
	}
	return cleanPercent(p, `/\`)
}

// cleanPercent refuses percent forms that are malformed, in lower case, or of characters that are written as they are;
// and of those in never.
func cleanPercent(s, never string) error {
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		if i+2 >= len(s) {
			return errors.New("a percent sign is not followed by two digits")
		}
		digits := s[i+1 : i+3]
		n, err := strconv.ParseUint(digits, 16, 8)
		if err != nil || strings.ContainsAny(digits, "+-_") {
			return errors.New("a percent sign is not followed by two digits")
		}
		c := byte(n)
		switch {
		case strings.ToUpper(digits) != digits:
			return fmt.Errorf("%%%s is not in upper case", digits)
		case c < ' ' || c == 0x7F:
			return fmt.Errorf("%%%s is a control character", digits)
		case c < 0x7F && (isWord(c) || c == '.' || c == '~'):
			return fmt.Errorf("%%%s is written %c", digits, c)
		case strings.IndexByte(never, c) >= 0:
			return fmt.Errorf("%%%s stands for %c, which some servers take for a slash", digits, c)
		}
		i += 2
	}
	return nil
}

// cleanHeaders refuses two headers that are one to the server, of which it is not known which one that sees.
func cleanHeaders(v any) error {
	m, _ := v.(map[string]any)
	seen := make([]string, 0, len(m))
	for name := range m {
		seen = append(seen, headerName(name))
	}
	slices.Sort(seen)
	for i := 1; i < len(seen); i++ {
		if seen[i] == seen[i-1] {
			return fmt.Errorf("%s is given twice, in two spellings", seen[i])
		}
	}
	return nil
}

// headerName is the name of a header as servers compare it; some take _ for -.
func headerName(name string) string {
	return textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
}
