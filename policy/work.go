package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// likeness is what a `like` of a rule costs: at each place of a text, Cedar may compare all of a piece of the pattern.
type likeness struct {
	width int        // bytes of the longest piece behind a wildcard
	args  [][]string // the arguments whose text it may be about
	other bool       // it may be about another fact
	own   int        // bytes of texts of the rule itself
}

// likesOf is what the patterns of a rule cost.
func likesOf(p *ast.Policy) []likeness {
	var list []likeness
	for _, c := range p.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			if like, ok := n.(ast.NodeTypeLike); ok {
				l := likeness{width: widthOf(like.Value)}
				l.about(like.Arg)
				list = append(list, l)
			}
			return true
		})
	}
	return list
}

// about notes which texts an expression may be.
func (l *likeness) about(n ast.IsNode) {
	ast.Inspect(ast.NewNode(n), func(n ast.IsNode) bool {
		if path, ok := argPath(n); ok {
			l.args = append(l.args, path)
			return false
		}
		switch n := n.(type) {
		case ast.NodeTypeVariable:
			l.other = true
		case ast.NodeValue:
			text, _ := n.Value.(types.String)
			l.own += len(text)
		}
		return true
	})
}

// widthOf is the bytes of the longest piece of a pattern behind a wildcard: what stands before the first is compared
// once.
func widthOf(p types.Pattern) int {
	var parts []any
	written, err := p.MarshalJSON()
	if err != nil || json.Unmarshal(written, &parts) != nil {
		return maxQuoted
	}
	width := 0
	for i, part := range parts {
		if piece, ok := part.(map[string]any); ok && i > 0 {
			text, _ := piece["Literal"].(string)
			width = max(width, len(text))
		}
	}
	return width
}

// work is how many bytes the patterns of a rule compare at most.
func (r *rule) work(q *question) int64 {
	total := int64(0)
	for _, l := range r.likes {
		text := l.own
		for _, path := range l.args {
			text += lengthAt(q.args, path)
		}
		if l.other {
			text += q.longest()
		}
		total += int64(l.width) * int64(text)
	}
	return total
}

// affords reports whether a rule can be asked within maxCompared, and counts what it costs. A policy may be that of a
// stranger, and so may what is held against it: nothing ends the comparing once it has begun.
func (q *question) affords(r *rule) bool {
	n := r.work(q)
	if n > maxCompared-q.compared {
		return false
	}
	q.compared += n
	return true
}

// lengthAt is the length of the text at a path of arguments.
func lengthAt(args map[string]any, path []string) int {
	for i, name := range path {
		if i == len(path)-1 {
			text, _ := args[name].(string)
			return len(text)
		}
		args, _ = args[name].(map[string]any)
	}
	return 0
}

// longest is the length of the longest text among the facts that are no arguments.
func (q *question) longest() int {
	if q.text == 0 {
		for _, part := range q.facts.rec {
			if part.name != "context" {
				q.text = max(q.text, part.longest())
				continue
			}
			for _, f := range part.rec {
				if f.name != "args" {
					q.text = max(q.text, f.longest())
				}
			}
		}
	}
	return q.text
}

func (v *value) longest() int {
	n := len(v.text)
	for i := range v.rec {
		n = max(n, v.rec[i].longest())
	}
	return n
}

// idBefore is the @id of a rule, as it is written.
var idBefore = regexp.MustCompile(`@id\s*\(\s*"([^"]*)"\s*\)`)

// longPath is more names than freePath with dots between them.
var longPath = regexp.MustCompile(fmt.Sprintf(`\w+(?:\s*\.\s*\w+){%d,}`, freePath))

// noCode is a text in quotes or a comment, as Cedar reads them.
var noCode = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|$)`)

// codeOf is a text with blanks for its comments, and with quotes for its texts in quotes. Lines stay as they are. Long
// is where the first text in quotes of more than maxQuoted bytes begins, or -1.
func codeOf(text []byte) (code []byte, long int) {
	code, long = bytes.Clone(text), -1
	for _, at := range noCode.FindAllIndex(text, -1) {
		with := byte(' ')
		if text[at[0]] == '"' {
			with = '"'
			if long < 0 && at[1]-at[0] > maxQuoted+len(`""`) {
				long = at[0]
			}
		}
		for i := at[0]; i < at[1]; i++ {
			if code[i] != '\n' {
				code[i] = with
			}
		}
	}
	return code, long
}

// tooMuch is the fault of a file that is not to be parsed: Cedar compares what is constant while it reads a rule, texts
// with patterns and each part of a list with all others. Of `has a.b.c` it makes a test for each of a, a.b and a.b.c,
// so that a path costs the square of its length. The parser of Cedar descends into each bracket within brackets.
func tooMuch(f File) *Fault {
	code, long := codeOf(f.Text)
	if long >= 0 {
		return f.faultAt(long, fmt.Sprintf("a text in quotes of more than %d bytes", maxQuoted))
	}
	paths := 0
	for _, at := range longPath.FindAllIndex(code, -1) {
		n := 1 + bytes.Count(code[at[0]:at[1]], []byte("."))
		if n > maxDepth+2 { // as many as arguments have, with the two before them: context.args
			return f.faultAt(at[0], fmt.Sprintf("a path of more than %d names", maxDepth+2))
		}
		if paths += n * n; paths > maxPaths {
			return f.faultAt(at[0], fmt.Sprintf("more paths of more than %d names than a file may have: their "+
				"lengths squared come to more than %d", freePath, maxPaths))
		}
	}
	depth, parts := 0, 0
	for i, c := range code {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case ';':
			parts = 0
		case ',':
			parts++
		}
		switch {
		case depth > maxNesting:
			return f.faultAt(i, fmt.Sprintf("brackets nest deeper than %d", maxNesting))
		case parts > maxNodes+maxNesting: // what is within maxNodes has no more, with the actions it is about
			return f.faultAt(i, fmt.Sprintf("more than %d parts; split it into several rules", maxNodes))
		}
	}
	return nil
}

// faultAt is something wrong with a rule that was not parsed.
func (f *File) faultAt(offset int, what string) *Fault {
	line := 1 + bytes.Count(f.Text[:offset], []byte("\n"))
	fault := &Fault{File: f.Name, Line: line, Column: 1, What: what}
	if ids := idBefore.FindAllSubmatch(f.Text[:offset], -1); len(ids) > 0 {
		fault.Rule = string(ids[len(ids)-1][1])
	}
	return fault
}
