package view

import "github.com/perdure/perdure"

// AnswerText is what a result or an answer says, for people: the text of one that is a text, or that says one ({"say":
// …}), and JSON of any other. It may have several lines.
func AnswerText(d perdure.Data) string {
	if text, is := plainText(d); is {
		return text
	}
	return DataText(d)
}

// plainText is the text of data that has nothing else to say to people.
func plainText(d perdure.Data) (string, bool) {
	if d == nil {
		return "", false
	}
	switch v := d.Value().(type) {
	case string:
		return v, true
	case map[string]any:
		say, is := v["say"].(string)
		for name := range v {
			is = is && (name == "say" || name == "to") // to is the id of the call it answers
		}
		return say, is
	}
	return "", false
}
