package tool_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

const longSecret = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDx7Qm3" +
	"zPf1Lr8kT2vYw5NhJb6cUe4sGoKd9AiXqRtZlMnBpVHyWjEu"

// every is a text in parts of so many bytes.
func every(n int, text string) (parts []any) {
	for part := range slices.Chunk([]byte(text), n) {
		parts = append(parts, string(part))
	}
	return parts
}

// spreads are values in which the secret is whole, though in no one text.
func spreads() map[string]any {
	var dump, records []any
	for i, part := range every(16, longSecret) {
		dump = append(dump, fmt.Sprintf("%08x: % x  ................", 16*i, part))
	}
	var numbers, signs []any
	lines, names := []any{}, map[string]any{}
	for i, part := range every(20, longSecret) {
		lines = append(lines, map[string]any{"line": part, "n": i})
	}
	for i, part := range every(len(longSecret)/4, longSecret) {
		names[string(rune('('+i))+part.(string)] = "x"
	}
	for _, c := range longSecret {
		numbers, signs = append(numbers, int(c)), append(signs, map[string]any{"c": int(c)})
	}
	for _, part := range every(20, longSecret) {
		records = append(records, map[string]any{"text": part, "type": "", "z": []any{}})
	}
	return map[string]any{
		"lines":             every(40, longSecret),
		"characters":        every(1, longSecret),
		"pairs in a record": map[string]any{"lines": every(2, longSecret), "truncated": false},
		"quoted":            every(40, "\""+longSecret[:50]+"\", \""+longSecret[50:]+"\""),
		"other case":        every(10, strings.ToUpper(longSecret)),
		"base64":            every(76, base64.StdEncoding.EncodeToString([]byte("user:"+longSecret))),
		"a dump":            dump,
		"lists in a list":   []any{every(30, longSecret[:60]), every(30, longSecret[60:])},
		"records":           records,
		"numbers of bytes":  numbers,
		"records of bytes":  map[string]any{"type": "Buffer", "data": signs},
		"numbered lines":    lines,
		"names of fields":   names,
		"names in names":    map[string]any{longSecret[:50]: map[string]any{"/" + longSecret[50:]: nil}},
		"bytes":             []any{[]byte(longSecret[:50]), []byte(longSecret[50:])},
	}
}

func TestASecretSpreadOverTextsIsFound(t *testing.T) {
	secrets := tool.SecretMap{"PEM": longSecret, "NUMBERS": "zebra-4711-quagga-0815-okapi"}
	guard := guardOf(t, secrets)
	all := spreads()
	all["numbers"] = []any{"before", "zebra", 4711, "quagga-0", 815, "okapi", "after"}
	for name, v := range all {
		for _, body := range []perdure.Data{data(t, v),
			data(t, map[string]any{"a": "first", "result": v, "z": "last"})} {
			if err := guard.Check(body); err == nil || !strings.Contains(err.Error(), "secret:") {
				t.Errorf("%s: the guard says %v", name, err)
			}
			p := &probe{result: func() (perdure.Result, error) { return perdure.Result{Data: body}, nil }}
			res := call(t, tool.WithSecrets([]perdure.Tool{p}, secrets)[0], nil)
			if err := guard.Check(res.Data); err != nil {
				t.Errorf("%s: what is left is %v, %v", name, res.Data.Value(), err)
			}
			for at := 0; at+8 <= len(longSecret); at++ {
				if piece := longSecret[at : at+8]; strings.Contains(string(res.Data), piece) {
					t.Errorf("%s: what is left is %v, which holds %s", name, res.Data.Value(), piece)
					break
				}
			}
		}
	}
}

func TestASpreadSecretLeavesTheRestOfAResult(t *testing.T) {
	for _, test := range []struct{ in, want any }{
		{[]any{"key: " + longSecret[:50], longSecret[50:] + "; end", "more"},
			[]any{"key: secret:PEM", "; end", "more"}},
		{[]any{"a", longSecret[:40], longSecret[40:80], longSecret[80:], int64(7)},
			[]any{"a", "secret:PEM", "", "", int64(7)}},
		{[]any{longSecret[:50], longSecret[50:] + " " + longSecret[:30], longSecret[30:]},
			[]any{"secret:PEM", " secret:PEM", ""}},
		{map[string]any{"b": longSecret[50:], "a": longSecret[:50], "long": true},
			map[string]any{"a": "secret:PEM", "b": "", "long": true}},
	} {
		p := &probe{result: func() (perdure.Result, error) { return perdure.Result{Data: data(t, test.in)}, nil }}
		res := call(t, tool.WithSecrets([]perdure.Tool{p}, tool.SecretMap{"PEM": longSecret})[0], nil)
		if string(res.Data) != string(data(t, test.want)) {
			t.Errorf("got %v, want %v", res.Data.Value(), test.want)
		}
	}
}

// Fields keep their values when their names are taken out, and no two get one name.
func TestFieldsWhoseNamesAreASecretKeepTheirValues(t *testing.T) {
	in, want := map[string]any{"other": map[string]any{"x": 3}}, map[string]any{"other": map[string]any{"x": 3}}
	for i, part := range every(len(longSecret)/4, longSecret) {
		in[string(rune('('+i))+part.(string)] = []any{i}
		want[fmt.Sprintf("secret:PEM %d", i+3)] = []any{i}
	}
	p := &probe{result: func() (perdure.Result, error) { return perdure.Result{Data: data(t, in)}, nil }}
	res := call(t, tool.WithSecrets([]perdure.Tool{p}, tool.SecretMap{"PEM": longSecret})[0], nil)
	if string(res.Data) != string(data(t, want)) {
		t.Errorf("got %v, want %v", res.Data.Value(), want)
	}
}

func TestTextsThatAreNoSpreadSecretStay(t *testing.T) {
	secrets := tool.SecretMap{"PEM": longSecret}
	guard := guardOf(t, secrets)
	parts := every(4, longSecret)
	between := []any{}
	for _, part := range parts {
		between = append(between, part, "and")
	}
	backwards := slices.Clone(parts)
	slices.Reverse(backwards)
	for name, v := range map[string]any{
		"other letters between": between, "backwards": backwards, "all but the last": parts[:len(parts)-1],
		"a truth between": append(append(every(4, longSecret[:52]), true), every(4, longSecret[52:])...),
		"words":           strings.Fields("the quick brown fox jumps over the lazy dog"),
	} {
		body := data(t, v)
		if err := guard.Check(body); err != nil {
			t.Errorf("%s: the guard says %v", name, err)
		}
		p := &probe{result: func() (perdure.Result, error) { return perdure.Result{Data: body}, nil }}
		if res := call(t, tool.WithSecrets([]perdure.Tool{p}, secrets)[0], nil); string(res.Data) != string(body) {
			t.Errorf("%s: got %v, want it as it was", name, res.Data.Value())
		}
	}
}

// The bytes that are checked need not be canonical: what is no value is not taken apart.
func TestBytesThatAreNoValueAreCheckedAsTheyAre(t *testing.T) {
	guard := guardOf(t, tool.SecretMap{"PEM": longSecret})
	whole := data(t, map[string]any{"lines": every(3, "nothing of the kind"), "n": []any{1, -5, 2.5, nil, 1 << 40}})
	for cut := range whole {
		if err := guard.Check(whole[:cut]); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
		for _, c := range []byte{0x1f, 0x5f, 0x7f, 0x9f, 0xbf, 0xc0, 0x5b, 0x9b, 0xbb, 0xff} {
			hostile := slices.Clone(whole)
			hostile[cut] = c
			if err := guard.Check(hostile); err != nil {
				t.Errorf("%02x at %d: %v", c, cut, err)
			}
		}
	}
	deep := slices.Repeat([]byte{0x81}, 1<<20) // a list in a list in a list
	if err := guard.Check(append(deep, 0x61, 'x')); err != nil {
		t.Error(err)
	}
}

// What is nearly the secret, over and over, costs no more than other text of its size: this would take hours if it did.
func TestManyBeginningsOfASecretCostNoMoreThanOtherText(t *testing.T) {
	secrets := tool.SecretMap{"PEM": longSecret}
	beginning := every(1, strings.Repeat(longSecret[:len(longSecret)/2-1], 4000))
	body := data(t, beginning)
	if err := guardOf(t, secrets).Check(body); err != nil {
		t.Error(err)
	}
	p := &probe{result: func() (perdure.Result, error) { return perdure.Result{Data: body}, nil }}
	if res := call(t, tool.WithSecrets([]perdure.Tool{p}, secrets)[0], nil); string(res.Data) != string(body) {
		t.Error("a result that holds no secret was changed")
	}
	many := every(1, strings.Repeat(longSecret, 2000))
	p.result = func() (perdure.Result, error) { return perdure.Result{Data: data(t, many)}, nil }
	res := call(t, tool.WithSecrets([]perdure.Tool{p}, secrets)[0], nil)
	if n := strings.Count(string(res.Data), "secret:PEM"); n != 2000 {
		t.Errorf("%d references, want one for each of 2000 times", n)
	}
}

// What only seems to begin an escape, a colour or the number of a line, over and over, costs no more than other text of
// its size: this would take minutes each if it did.
func TestManyBeginningsOfEscapesCostNoMoreThanOtherText(t *testing.T) {
	secrets := tool.SecretMap{"PEM": longSecret}
	guard := guardOf(t, secrets)
	const size = 256 << 10
	for name, one := range map[string]string{
		"colours": "\x1b[", "parameters": "\x1b[1;1", "one colour": "\x1b[" + strings.Repeat("1;", size/2),
		"escaped colours": "\\e[1", "braces": "\\u{", "open braces": "\\u{ffff", "units": "\\U0000000",
		"entities":    "&#x",
		"blank lines": "\n    ", "blanks": "\n" + strings.Repeat(" ", size), "line numbers": "\n1",
		"long numbers": "\n" + strings.Repeat("1", size), "bytes": "0x6", "bytes in a row": "107,",
		"drawings":  "\uff2d",
		"ligatures": "\ufb01", "cut drawings": "\xef\xbc", "backslashes": "\\\\\\e",
	} {
		text := strings.Repeat(one, 1+size/len(one))
		body := data(t, map[string]any{"text": []byte(text), "lines": []any{[]byte(text[:9]), []byte(text[9:])}})
		if err := guard.Check(body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p := &probe{result: func() (perdure.Result, error) { return perdure.Result{Data: body}, nil }}
		if res := call(t, tool.WithSecrets([]perdure.Tool{p}, secrets)[0], nil); string(res.Data) != string(body) {
			t.Errorf("%s: a result that holds no secret was changed", name)
		}
	}
}
