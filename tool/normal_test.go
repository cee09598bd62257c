package tool_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

const (
	phrase = "correct horse+battery <staple>"
	awsKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// wrapped is a text with a line break after every so many bytes.
func wrapped(s string, width int) string {
	var out []string
	for ; len(s) > width; s = s[width:] {
		out = append(out, s[:width])
	}
	return strings.Join(append(out, s), "\n")
}

// xxd is a text as xxd prints it, and hexdump -C if so asked.
func xxd(s string, canonical bool) string {
	if canonical {
		return hex.Dump([]byte(s))
	}
	var out strings.Builder
	for at := 0; at < len(s); at += 16 {
		line := s[at:min(at+16, len(s))]
		fmt.Fprintf(&out, "%08x: ", at)
		for i := range 16 {
			if i < len(line) {
				fmt.Fprintf(&out, "%02x", line[i])
			} else {
				out.WriteString("  ")
			}
			if i%2 == 1 {
				out.WriteString(" ")
			}
		}
		out.WriteString(" " + line + "\n")
	}
	return out.String()
}

// disguises are a secret in other spellings than its own.
func disguises(s string) map[string]string {
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 50) + s + strings.Repeat("y", 50)))
	units, wide := new(strings.Builder), new(strings.Builder)
	for _, c := range s {
		fmt.Fprintf(units, "\\u%04x", c)
		wide.WriteString(string(c) + "\x00")
	}
	return map[string]string{
		"fold": wrapped(s, 7), "base64 -w 8": wrapped(base64.StdEncoding.EncodeToString([]byte(s)), 8),
		"base64": wrapped(long, 76), "pem": wrapped(long, 64),
		"twice in a URL": url.QueryEscape(url.QueryEscape(s)),
		"three times":    url.PathEscape(url.PathEscape(url.PathEscape(s))),
		"lower":          strings.ToLower(s), "upper": strings.ToUpper(s),
		"HEX":          strings.ToUpper(hex.EncodeToString([]byte(s))),
		"xxd -p":       wrapped(hex.EncodeToString([]byte(s)), 20),
		"hex by bytes": strings.TrimSpace(strings.ReplaceAll(fmt.Sprintf("% x", s), " ", ":")),
		"C":            strings.ReplaceAll(fmt.Sprintf(" % x", s), " ", "\\x"),
		"xxd":          xxd("key="+s+".", false), "hexdump -C": xxd(".key="+s, true), "html": html.EscapeString(s),
		"html twice": html.EscapeString(html.EscapeString(s)),
		"JSON":       units.String(), "JSON in JSON": strings.ReplaceAll(wrapped(s, 9), "\n", "\\\\n"),
		"letters apart": strings.Join(strings.Split(s, ""), " "),
		"braces":        each(s, "\\u{%x}"), "long units": each(s, "\\U%08x"), "xxd -i": each(s, "0x%02x, "),
		"Go": "[]byte{" + each(s, "0x%x,") + "}", "decimal": each(s, "%d "),
		"JSON of bytes":    "[" + each(s, "%d,\n") + "]",
		"records of bytes": each(s, `{"c":%d},`), "od -t u1": "0000000 " + each(s[:9], " %3d") + "\n0000011 " +
			each(s[9:], " %3d"),
		"od -c":  "0000000 " + each(s[:9], "   %c") + "\n0000011 " + each(s[9:], "   %c"),
		"cat -n": numbered(s, "     %d\t"), "grep -n": numbered(s, "%d:"), "numbered": numbered(s, "%d. "),
		"less -N":         numbered(s, "  %d "),
		"colours":         "\x1b[31m" + strings.Join(strings.SplitAfter(s, "e"), "\x1b[0;1;32m"),
		"colours in JSON": strings.Join(strings.SplitAfterN(s, "", 5), `\u001b[31m`),
		"colours in C":    strings.Join(strings.SplitAfterN(s, "", 5), `\e[1m`),
		"colours in sh":   strings.Join(strings.SplitAfterN(s, "", 5), `\033[1m`),
		"UTF-16":          wide.String(), "UTF-16 in base64": base64.StdEncoding.EncodeToString([]byte(wide.String())),
		"UTF-16BE in base64":  base64.StdEncoding.EncodeToString([]byte("\x00" + wide.String())),
		"UTF-16 in hex":       hex.EncodeToString([]byte(wide.String())),
		"UTF-16 in a dump":    xxd(".key="+wide.String(), true),
		"full width":          drawn(s, 0xff21, 0xff41, 0xff10),
		"bold":                drawn(s, 0x1d400, 0x1d41a, 0x1d7ce),
		"circled":             drawn(s, 0x24b6, 0x24d0, '0'),
		"full width escaped":  strings.Trim(fmt.Sprintf("%+q", drawn(s, 0xff21, 0xff41, 0xff10)), `"`),
		"full width entities": each(drawn(s, 0xff21, 0xff41, 0xff10), "&#x%x;"),
	}
}

// each is every character of a text in a format.
func each(s, format string) string {
	var out strings.Builder
	for _, c := range s {
		fmt.Fprintf(&out, format, c)
	}
	return out.String()
}

// numbered is a text in lines of nine characters, each with its number before it.
func numbered(s, format string) string {
	var out strings.Builder
	for i, line := range strings.Split(wrapped(s, 9), "\n") {
		fmt.Fprintf(&out, format+"%s\n", i+1, line)
	}
	return out.String()
}

// drawn is a text in other letters, which begin at these characters.
func drawn(s string, upper, lower, digit rune) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return upper + c - 'A'
		case c >= 'a' && c <= 'z':
			return lower + c - 'a'
		case c >= '0' && c <= '9':
			return digit + c - '0'
		}
		return c
	}, s)
}

func TestADisguisedSecretPassesNeitherGuardNorResult(t *testing.T) {
	secrets := tool.SecretMap{"PASS": phrase, "AWS": awsKey}
	guard := guardOf(t, secrets)
	for name, value := range secrets {
		for how, text := range disguises(value) {
			if err := guard.Check(data(t, map[string]any{"stdout": text, "exit": 0})); err == nil ||
				!strings.Contains(err.Error(), "secret:"+name) {
				t.Errorf("%s of %s passes the guard as %q: %v", how, name, text, err)
			}
			p := &probe{result: func() (perdure.Result, error) {
				return perdure.Result{Data: data(t, map[string]any{"text": "before (" + text + ") after"})}, nil
			}}
			say := tool.WithSecrets([]perdure.Tool{p}, secrets)[0]
			got := fields(t, call(t, say, nil))["text"].(string)
			if !strings.Contains(got, "secret:"+name) || !strings.HasPrefix(got, "before (") ||
				!strings.HasSuffix(got, ") after") {
				t.Errorf("%s of %s is shown as %q", how, name, got)
			}
			if err := guard.Check(data(t, map[string]any{"stdout": got})); err != nil {
				t.Errorf("%s of %s: what is shown does not pass the guard: %q", how, name, got)
			}
		}
	}
	for _, text := range []string{
		"correct, the horse and battery", xxd("nothing of the kind, and longer than a line", false),
		"100% of \\u12 & &#; &#x; %2 %zz \\", "wJalrXUtnFEMI/K7MDENG",
		hex.EncodeToString([]byte(awsKey))[2:], strings.Repeat("%25", 1000), strings.Repeat("&amp;", 1000),
		strings.Repeat("\\", 1000),
	} {
		if err := guard.Check(data(t, map[string]any{"text": text})); err != nil {
			t.Errorf("%q: got %v, want it to pass", text, err)
		}
	}
}

// What real programs print, not only what this test takes it for.
func TestADumpByARealProgramIsRedacted(t *testing.T) {
	secrets := tool.SecretMap{"AWS": awsKey}
	for _, script := range []string{"base64", "base64 -w 20", "fold -w 9", "tr a-z A-Z", "xxd", "xxd -p", "xxd -g 1",
		"hexdump -C", "od -A x -t x1 -v"} {
		program, _, _ := strings.Cut(script, " ")
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("%s is not here", program)
			continue
		}
		s := tool.Shell{Dir: t.TempDir(), Allow: []string{"sh"}}
		res := call(t, tool.WithSecrets([]perdure.Tool{s}, secrets)[0],
			map[string]any{"script": "printf %s 'the key is " + awsKey + "' | " + script})
		if got := fields(t, res)["stdout"].(string); !strings.Contains(got, "secret:AWS") {
			t.Errorf("%s shows %q", script, got)
		}
	}
}

// The work for a text grows with its length alone, whatever is in it.
func BenchmarkGuardOfTexts(b *testing.B) {
	guard := guardOf(b, tool.SecretMap{"PASS": phrase, "AWS": awsKey})
	for name, text := range map[string]string{
		"text":    strings.Repeat("some words of a text, as a tool returns them.\n", 22),
		"percent": strings.Repeat("%25", 340), "slashes": strings.Repeat("\\", 1024),
		"dump": xxd(strings.Repeat("abcdefgh", 30), false),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := guard.Check([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A secret that is words, or little more, is refused as it is written and in the ways in which programs write it, but
// not wherever somebody uses the same words: the guard would refuse ordinary text.
func TestOrdinaryTextIsNotTakenForAWeakSecret(t *testing.T) {
	secrets := tool.SecretMap{"A": "administrator", "B": "hunter2hunter2", "C": "2026-01-01-2026",
		"D": "please-let-me-in", "E": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "F": "00000000-0000"}
	guard := guardOf(t, secrets)
	for _, text := range []string{
		"The Administrator said no.", "ask the admini-\nstrator", "Hunter 2, Hunter 2!", "2026/01/01 2026",
		"20260101 2026",
		"Please let me in", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "000000000000000000", "00 00 00 00 00 00 00",
	} {
		if err := guard.Check(data(t, map[string]any{"text": text})); err != nil {
			t.Errorf("%q: got %v, want it to pass", text, err)
		}
		p := &probe{result: func() (perdure.Result, error) {
			return perdure.Result{Data: data(t, map[string]any{"text": text})}, nil
		}}
		if got := fields(t, call(t, tool.WithSecrets([]perdure.Tool{p}, secrets)[0], nil))["text"]; got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	for name, value := range secrets {
		for how, text := range map[string]string{"plain": value,
			"base64": base64.StdEncoding.EncodeToString([]byte(value)),
			"hex":    hex.EncodeToString([]byte(value)), "in a URL": url.QueryEscape(value)} {
			if guard.Check(data(t, map[string]any{"text": "it is (" + text + ")"})) == nil {
				t.Errorf("%s of %s passes", how, name)
			}
		}
	}
}
