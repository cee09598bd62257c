package term

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// pressed are the keys that bytes are, fed in pieces of a size.
func pressed(in string, size int) (all []press) {
	k := keyReader{most: 100}
	for rest := in; rest != ""; rest = rest[min(size, len(rest)):] {
		k.bytes = append(k.bytes, rest[:min(size, len(rest))]...)
		for p, ok := k.next(); ok; p, ok = k.next() {
			all = append(all, p)
		}
	}
	return all
}

// What a terminal sends for keys becomes no text, in however many pieces it comes.
func TestTextIsEditedByKeys(t *testing.T) {
	for in, want := range map[string]string{
		"abc":                                  "abc",
		"日本é":                                  "日本é",
		"ac\x1b[Db":                            "abc",
		"bc\x1b[Ha\x1b[Fd":                     "abcd",
		"bc\x01a\x05d":                         "abcd",
		"one two\x1b[1;5D\x1b[1;5DX":           "Xone two",
		"one two\x1bbX":                        "one Xtwo",
		"one two\x17\x7f!":                     "one!",
		"one two\x1b\x7fx":                     "one x",
		"abc\x02\x02\x0b":                      "a",
		"abc\x02\x15":                          "c",
		"abc\x15\x19\x19":                      "abcabc",
		"abc\x01\x1b[3~":                       "bc",
		"a\x1b[15~\x1b[1;2P\x1bOP\x1bxb":       "ab",
		"a\xffb\x00c":                          "abc",
		"a\x1b\rb":                             "a\nb",
		"ab\x1b\rcd\x1b[Ax":                    "abx\ncd",
		"a\x1b[200~x\r\ny\x1b[A\x07\x1b[201~b": "ax\ny[Ab",
		"\x1b[200~" + strings.Repeat("x", 200) + "\x1b[201~ok": "ok",
		"new\x1b[A":                   "second",
		"new\x1b[A\x1b[A\x1b[A":       "first",
		"new\x1b[A\x1b[A\x1b[B\x1b[B": "new",
	} {
		for _, size := range []int{1, 2, 5, len(in)} {
			e := editor{history: []string{"first", "second"}}
			for _, p := range pressed(in, size) {
				e.apply(p)
			}
			if e.String() != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", in, size, e.String(), want)
			}
		}
	}
}

func TestMessagesGoOnWhereTheySaySo(t *testing.T) {
	for in, want := range map[string]struct {
		text string
		ends bool
	}{
		"hello":                        {"hello", true},
		`hello \`:                      {"hello \n", false},
		"a \\\nb":                      {"a \\\nb", true}, // pasted
		`"""`:                          {"\"\"\"\n", false},
		"\"\"\"\na\\\n":                {"\"\"\"\na\\\n\n", false},
		"\"\"\"\na\\\nb\n\"\"\"":       {"a\\\nb\n", true},
		"\"\"\"\n\"\"\"":               {"", true},
		`""" no block of its own line`: {`""" no block of its own line`, true},
	} {
		if text, ends := entered(in); text != want.text || ends != want.ends {
			t.Errorf("%q: got %q, %v; want %q, %v", in, text, ends, want.text, want.ends)
		}
	}
}

func TestRowsOfATextUnderEdit(t *testing.T) {
	for text, want := range map[string]string{
		"":               "> |",
		"abcdef":         "> abcdef|",
		"abcdefgh":       "> abcdef/  gh|", // the row has room for six
		"日本語漢":           "> 日本語/  漢|",
		"a\nb":           "> a/… b|",
		"\n":             "> /… |",
		"a\x1b":          `> a\x1b|`,
		"e\u0301e\u0301": "> e\u0301e\u0301|",
	} {
		n := &shown{prompt: "> ", more: "… ", text: []rune(text), at: len([]rune(text))}
		rows, row, column := n.rows(8)
		var got []string
		for i, r := range rows {
			got = append(got, r.mark+r.text)
			if i == row && column != r.width {
				t.Errorf("%q: the cursor is in column %d, want %d", text, column, r.width)
			}
		}
		if s := strings.Join(got, "/") + "|"; s != want || row != len(rows)-1 {
			t.Errorf("%q: got %q with the cursor in row %d, want %q", text, s, row, want)
		}
	}
}

func TestLinesOfAnInputHaveALimit(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	r := bufio.NewReader(strings.NewReader("short\r\n" + long[1:] + "\n" + long + "x\nafter\nlast"))
	for i, want := range []int{5, MaxLine - 1, -1, 5, 4} {
		line, err := ReadLine(r)
		if want < 0 {
			if !errors.Is(err, ErrLong) || line != nil {
				t.Errorf("line %d: got %d bytes, %v; want that it is too long", i, len(line), err)
			}
			continue
		}
		if len(line) != want || err != nil && !(i == 4 && errors.Is(err, io.EOF)) {
			t.Errorf("line %d: got %d bytes, %v; want %d", i, len(line), err, want)
		}
	}
}

// Lines that come while a text is under edit stand above it, whole.
func TestLinesStandAboveWhatIsUnderEdit(t *testing.T) {
	var b bytes.Buffer
	s := NewScreen(NewDoor(&b))
	s.edit(shown{prompt: "> ", text: []rune("half a wo"), at: 9})
	s.edit(shown{prompt: "> ", text: []rune("half a wor"), at: 10})
	if _, err := io.WriteString(s, "a line\n"); err != nil {
		t.Fatal(err)
	}
	s.SayWhole("an answer")
	s.leave(true)
	back := "\r\x1b[J"
	want := "> half a wor" + back + "a line\n> half a wor" + back + "| an answer\n> half a wor\n"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
