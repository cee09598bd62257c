package term

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// key is what a press of a key, or several, means to who edits a text.
type key int

const (
	keyNone    key = iota // nothing that is known here
	keyText               // a character
	keyPaste              // a text, whole
	keyTooLong            // a paste that is too long, and was dropped
	keyEnter
	keyNewline // a new line in the text
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyBackspace
	keyDelete
	keyCutWord     // before the cursor
	keyCutNextWord // after it
	keyCutLeft
	keyCutRight
	keyYank
	keyClear // the screen
	keyEOF   // Ctrl-D
	keyInterrupt
)

// press is a key that was pressed.
type press struct {
	key  key
	text string // of keyText and keyPaste
}

// keyReader makes keys of the bytes that a terminal sends. A sequence may come in pieces.
type keyReader struct {
	bytes   []byte
	pasting bool
	pasted  []byte
	most    int // bytes of a paste
	dropped bool
}

var pasteBegin, pasteEnd = []byte("\x1b[200~"), []byte("\x1b[201~")

// next is the next key; false: more bytes must come first.
func (k *keyReader) next() (press, bool) {
	if k.pasting {
		return k.paste()
	}
	b := k.bytes
	if len(b) == 0 {
		return press{}, false
	}
	switch c := b[0]; {
	case c == 0x1b:
		return k.escape()
	case c < 0x20 || c == 0x7f:
		k.bytes = b[1:]
		return press{key: controls[c]}, true
	}
	if !utf8.FullRune(b) {
		return press{}, false
	}
	r, size := utf8.DecodeRune(b)
	k.bytes = b[size:]
	if r == utf8.RuneError && size == 1 {
		return press{key: keyNone}, true
	}
	return press{keyText, string(b[:size])}, true
}

// controls are the keys that are one byte below a space.
var controls = map[byte]key{
	0x01: keyHome, 0x02: keyLeft, ctrlC: keyInterrupt, 0x04: keyEOF, 0x05: keyEnd, 0x06: keyRight, 0x08: keyBackspace,
	'\n': keyEnter, 0x0b: keyCutRight, 0x0c: keyClear, '\r': keyEnter, 0x0e: keyDown, 0x10: keyUp, 0x15: keyCutLeft,
	0x17: keyCutWord, 0x19: keyYank, 0x7f: keyBackspace,
}

// finals are the keys that a sequence ends with, where its number does not say more.
var finals = map[byte]key{'A': keyUp, 'B': keyDown, 'C': keyRight, 'D': keyLeft, 'H': keyHome, 'F': keyEnd}

// numbered are the keys that are a number and a tilde.
var numbered = map[string]key{"1": keyHome, "3": keyDelete, "4": keyEnd, "7": keyHome, "8": keyEnd}

// metas are the keys that are pressed with Alt.
var metas = map[byte]key{
	'b': keyWordLeft, 'f': keyWordRight, 'd': keyCutNextWord, 0x7f: keyCutWord, '\r': keyNewline, '\n': keyNewline,
}

// escape is a key that begins with an escape. What is not known is passed over whole: no part of it becomes text.
func (k *keyReader) escape() (press, bool) {
	b := k.bytes
	if len(b) < 2 {
		return press{}, false
	}
	if b[1] != '[' && b[1] != 'O' {
		k.bytes = b[2:]
		return press{key: metas[b[1]]}, true
	}
	end := 2
	for end < len(b) && b[end] >= 0x20 && b[end] < 0x40 {
		end++
	}
	if end == len(b) {
		if end > maxSequence {
			k.bytes = nil // no key is that long
			return press{key: keyNone}, true
		}
		return press{}, false
	}
	k.bytes = b[end+1:]
	if bytes.Equal(b[:end+1], pasteBegin) {
		k.pasting, k.pasted, k.dropped = true, nil, false
		return k.paste()
	}
	number, with, _ := strings.Cut(string(b[2:end]), ";")
	found := finals[b[end]]
	if b[end] == '~' {
		found = numbered[number]
	}
	if with != "" && found == keyLeft {
		found = keyWordLeft
	} else if with != "" && found == keyRight {
		found = keyWordRight
	}
	return press{key: found}, true
}

// maxSequence is how many bytes a sequence of a key has at most.
const maxSequence = 32

// paste collects a text that is pasted, which is one, however many lines it has.
func (k *keyReader) paste() (press, bool) {
	end := bytes.Index(k.bytes, pasteEnd)
	rest := k.bytes
	if end >= 0 {
		rest, k.bytes = k.bytes[:end], k.bytes[end+len(pasteEnd):]
	} else {
		keep := 0 // the beginning of the end
		for n := min(len(pasteEnd)-1, len(rest)); n > 0 && keep == 0; n-- {
			if bytes.HasSuffix(rest, pasteEnd[:n]) {
				keep = n
			}
		}
		rest, k.bytes = rest[:len(rest)-keep], rest[len(rest)-keep:]
	}
	if len(k.pasted)+len(rest) > k.most {
		k.dropped, k.pasted = true, nil
	} else if !k.dropped {
		k.pasted = append(k.pasted, rest...)
	}
	if end < 0 {
		return press{}, false
	}
	text := plainPaste(string(k.pasted))
	k.pasting, k.pasted = false, nil
	if k.dropped {
		return press{key: keyTooLong}, true
	}
	return press{keyPaste, text}, true
}

// plainPaste is a pasted text without what is no text: line ends are newlines, and controls are left out.
func plainPaste(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
