package home

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/internal/yamltext"
)

// decode reads the text of a file. What is wrong with it is told by its line and key.
func (n *NodeFile) decode(path string, text []byte) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil && dec.Decode(new(yaml.Node)) != io.EOF { // what is read must be what people see
		return fmt.Errorf("%s: want one document, without --- between parts", path)
	}
	n.places = map[string]string{}
	lines := map[int]string{}
	if err == nil {
		n.note(path, doc.Content[0], "", lines)
		err = yamltext.Check(text)
	}
	if err == nil {
		strict := yaml.NewDecoder(bytes.NewReader(text))
		strict.KnownFields(true)
		err = strict.Decode(n)
	}
	if err == nil {
		return nil
	}
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return explainNodeFile(errors.New(inFile(path, tabbed(err.Error(), text), lines)))
	}
	var all []string
	for _, one := range wrong.Errors {
		all = append(all, inFile(path, one, lines))
	}
	return explainNodeFile(errors.New(strings.Join(all, "; ")))
}

var tabLine = regexp.MustCompile(`^ *\t`)

// tabbed is what the reader of YAML says of a text in which it may have met a tab: of that it names no line, or a wrong
// one.
func tabbed(says string, text []byte) string {
	if !strings.Contains(says, "cannot start any token") {
		return says
	}
	n := 0
	for line := range bytes.Lines(text) {
		if n++; tabLine.Match(line) {
			return fmt.Sprintf("line %d: it begins with a tab; indent with spaces", n)
		}
	}
	return says
}

// explainNodeFile says where the fields are described.
func explainNodeFile(err error) error {
	return perdure.WithHint(err, "perdure help node.yaml describes every field")
}

// note remembers where the keys of a node are, two deep.
func (n *NodeFile) note(path string, at *yaml.Node, above string, lines map[int]string) {
	if at.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(at.Content); i += 2 {
		key := at.Content[i]
		name := above + key.Value
		n.places[name] = path + ":" + strconv.Itoa(key.Line)
		lines[key.Line] = name
		n.note(path, at.Content[i+1], name+".", lines)
	}
}

var (
	lineText    = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (.*)$`)
	unknownText = regexp.MustCompile(`^field (\S+) not found in type (\S+)$`)
	typeText    = regexp.MustCompile("^cannot unmarshal !!(\\w+)(?: `(.*)`)? into (\\S+)$")
)

// inFile is what the reader of YAML says is wrong, by line and key, in the words of people who know no Go.
func inFile(path, text string, lines map[int]string) string {
	m := lineText.FindStringSubmatch(text)
	if m == nil {
		return path + ": " + strings.TrimPrefix(text, "yaml: ")
	}
	at, text := path+":"+m[1]+": ", m[2]
	line, _ := strconv.Atoi(m[1])
	if u := unknownText.FindStringSubmatch(text); u != nil {
		if meant := near.Words(u[1], keys()); len(meant) > 0 && u[2] == "home.NodeFile" {
			return at + "there is no field " + u[1] + "; did you mean " + strings.Join(meant, " or ") + "?"
		}
		return at + "there is no field " + u[1]
	}
	if key := lines[line]; key != "" {
		at += key + ": "
	}
	if t := typeText.FindStringSubmatch(text); t != nil {
		is := map[string]string{"seq": "a list", "map": "fields and values", "null": "nothing"}[t[1]]
		if t[2] != "" {
			is = strconv.Quote(t[2])
		}
		return at + "want " + wanted(t[3]) + ", and it is " + is
	}
	return at + text
}

// wanted is a type of Go in words.
func wanted(kind string) string {
	switch {
	case kind == "string":
		return "a text"
	case kind == "[]string":
		return "a list of texts, such as [a, b]"
	case kind == "time.Duration":
		return "a time such as 10s"
	case kind == "bool":
		return "true or false"
	case kind == "map[string]string":
		return "names and texts, each on a line of its own as NAME: TEXT"
	case strings.HasPrefix(kind, "map["):
		return "names, each with what it stands for"
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), strings.HasPrefix(kind, "float"):
		return "a number"
	}
	return "fields and values"
}

// keys are those of a node.yaml.
func keys() (names []string) {
	for field := range reflect.TypeFor[NodeFile]().Fields() {
		names = append(names, field.Tag.Get("yaml"))
	}
	return names
}
