package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// inForce is what this command was told about where its agents are. Commands that people are told to type say so too.
var inForce struct {
	root    *cobra.Command
	home    *home.Home
	store   string // --store
	server  string // --server, and with it --server-key and --token-file as they were given
	unknown error  // the command that help was asked for is none
}

// inFile is the file that stands for an agent in this command, and the name of that agent.
func inFile() (file, agent string) {
	if inForce.home == nil {
		return "", ""
	}
	return inForce.home.InFile, inForce.home.Filed
}

// commands finds commands in a text.
var commands = regexp.MustCompile(`\bperdure( [a-z]+)( [a-z]+)?`)

// here is a text in which commands, as they are to be typed, name the store and the file that this one was told of. A
// command that names the store already is left alone.
func here(text string) string {
	file, agent := inFile()
	if inForce.store == "" && file == "" && inForce.server == "" {
		return text
	}
	var b strings.Builder
	for {
		at := commands.FindStringIndex(text)
		if at == nil {
			return b.String() + text
		}
		end, remote := stored(text[at[0]:at[1]])
		b.WriteString(text[:at[0]+end])
		text = text[at[0]+max(end, 1):]
		if end == 0 {
			b.WriteByte('p')
			continue
		}
		if inForce.store != "" && !strings.HasPrefix(text, " --store ") { // it is said already
			b.WriteString(" --store " + view.Pasted(inForce.store))
		}
		if inForce.server != "" && remote && !strings.HasPrefix(text, " --server ") {
			b.WriteString(inForce.server)
		}
		if rest, ok := strings.CutPrefix(text, " "+agent); ok && file != "" && (rest == "" || rest[0] == ' ') {
			b.WriteString(" " + view.Pasted(file))
			text = rest
		}
	}
}

// stored is how much of a text is a command that is about a store; zero: it is none. Remote says that it can go through
// a server.
func stored(text string) (end int, remote bool) {
	c := inForce.root
	end = len("perdure")
	for _, word := range strings.Fields(text)[1:] {
		i := -1
		for n, sub := range c.Commands() {
			if sub.Name() == word {
				i = n
			}
		}
		if i < 0 {
			break
		}
		c, end = c.Commands()[i], end+len(" "+word)
	}
	if c.Flags().Lookup("store") == nil {
		return 0, false
	}
	return end, c.Annotations[remoteKey] != ""
}

// beginning adds to a hint how to begin, where nobody has made or named a home yet.
func beginning(hint string) string {
	const begin = "perdure init makes a home here"
	switch {
	case inForce.home == nil || !inForce.home.Unmade() || strings.Contains(hint, "perdure init"):
		return hint
	case hint == "":
		return begin
	}
	return begin + "; or " + hint
}
