package roff

import (
	"fmt"
	"strings"
)

// Page is a manual page.
type Page struct {
	Name, Section, Short string
	Source               string // the program and its version
	Synopsis             string // empty: none
	Description          string // paragraphs
	Parts                []Part
	Examples             string // lines
	Exits                []Item
	See                  string // the page above, of section 1; empty: none
}

// Part is a list under a title. An empty one is left out.
type Part struct {
	Title string
	Items []Item
}

// Item is a word and what it means.
type Item struct {
	Word, Text string
	Page       bool // the word is the name of a page of section 1
}

// String is the page as man reads it.
func (p *Page) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s %s \"\" \"%s\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(Escape(p.Name)), p.Section,
		Escape(p.Source), Escape(p.Name), Escape(p.Short))
	if p.Synopsis != "" {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", Escape(p.Synopsis))
	}
	b.WriteString(".SH DESCRIPTION\n" + Paragraphs(p.Description))
	for _, part := range p.Parts {
		part.write(&b)
	}
	if p.Examples != "" {
		b.WriteString(".SH EXAMPLES\n" + Verbatim(p.Examples))
	}
	(&Part{"EXIT STATUS", p.Exits}).write(&b)
	if p.See != "" {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", Escape(p.See))
	}
	return b.String()
}

func (p *Part) write(b *strings.Builder) {
	if len(p.Items) == 0 {
		return
	}
	b.WriteString(".SH " + p.Title + "\n")
	for _, i := range p.Items {
		word := ".B " + Escape(i.Word)
		if i.Page {
			word = ".BR " + Escape(i.Word) + " (1)"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", word, Escape(i.Text))
	}
}
