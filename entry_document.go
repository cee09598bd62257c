package perdure

import (
	"fmt"
	"io/fs"
	"strings"
)

// Document is a version of a text that is kept across sessions: a note, a summary, a decision, a plan. It is a matter
// of record: it changes nothing else in the agent, does not join its inbox and is not in its snapshots.
//
// The versions of a path that no other version replaces are current. There is one, unless two authors wrote at once
// without having read each other: then all of them are kept, until a version replaces them together.
type Document struct {
	// where it stands, such as plans/autumn.md; see ValidPath of io/fs
	Path  string   `canon:"1,path"`
	Kind  string   `canon:"2,kind,omitzero"`           // what it is: note, session, decision, plan, …
	Title string   `canon:"3,title,omitzero,verbatim"` // one line, by which people find it
	Body  Data     `canon:"4,body,omitzero"`           // a text, or a list of texts and sealed parts
	Links []string `canon:"5,links,omitzero"`          // the paths and agents it refers to
	Tags  []string `canon:"6,tags,omitzero"`           // words to find it by
	Base  []Hash   `canon:"7,base,omitzero"`           // the versions it replaces: the entries its author had read
	From  *Source  `canon:"8,from,optional"`           // where its text was taken from
	Gone  bool     `canon:"9,gone,omitzero"`           // it was removed: the path has no text from here on
	// how to find out whether it still holds; nothing runs it unasked
	Check string `canon:"10,check,omitzero,verbatim"`
}

// Source names an entry in the memory of an agent.
type Source struct {
	Agent AgentID `canon:"1,agent"`
	Entry Hash    `canon:"2,entry"`
}

func (Document) notice() {}

// checkDocument refuses a document that has no place: its path becomes the name of a file.
func checkDocument(e *Entry, at string, d *Document) error {
	if !fs.ValidPath(d.Path) || d.Path == "." || len(d.Path) > maxPath || strings.ContainsFunc(d.Path, notInPaths) {
		return reject(predDocument, e, at+".path", fmt.Sprintf("%.80q", d.Path), "a path such as plans/autumn.md",
			"join words with slashes; no dots alone, no backslashes, no control characters")
	}
	return atMost(e, at, list{"links", len(d.Links), maxLinks}, list{"tags", len(d.Tags), maxTags},
		list{"base", len(d.Base), maxBase})
}

// notInPaths are the characters that some file system or terminal reads as something else.
func notInPaths(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }
