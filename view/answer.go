package view

import (
	"bytes"

	"github.com/perdure/perdure"
)

// AnswerText is what a result or an answer says, for people: the text of one that is a text, or that says one ({"say":
// …}), and JSON of any other. It may have several lines.
func AnswerText(d perdure.Data) string {
	if text, is := plainText(d); is {
		return text
	}
	return DataText(d)
}

// plainText is the text of data that has nothing else to say to people. It is told by how the stored form begins:
// whatever else data holds, and that may be a great deal, is not looked at.
func plainText(d perdure.Data) (string, bool) {
	switch {
	case isText(d):
		return d.Text(), true
	case bytes.HasPrefix(d, says):
		d = d[len(says):]
	case bytes.HasPrefix(d, saysTo): // the id of the call it answers comes first
		d = d[len(saysTo):]
		if d = d[min(len(d), textSize(d)):]; !bytes.HasPrefix(d, says[1:]) {
			return "", false
		}
		d = d[len(says)-1:]
	default:
		return "", false
	}
	return d.Text(), isText(d)
}

// The stored forms of {"say": …} and {"to": …, "say": …}: maps of one and two, as far as their first values.
var says, saysTo = []byte("\xa1\x63say"), []byte("\xa2\x62to")

// isText reports whether data begins with a text.
func isText(d perdure.Data) bool { return len(d) > 0 && d[0]>>5 == 3 }

// textSize is how many bytes a text takes that data begins with and that is no longer than an id; else all of them.
func textSize(d perdure.Data) int {
	switch {
	case !isText(d):
	case d[0]&31 < 24:
		return 1 + int(d[0]&31)
	case d[0]&31 == 24 && len(d) > 1:
		return 2 + int(d[1])
	}
	return len(d)
}
