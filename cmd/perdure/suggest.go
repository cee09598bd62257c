package main

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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

// inFile is the file that stands for an agent in this command, and what commands call that agent.
func inFile() (file string, agent []string) {
	if inForce.home == nil {
		return "", nil
	}
	return inForce.home.InFile, inForce.home.Filed
}

// cutAgent is what follows the file's agent in a text that begins with it.
func cutAgent(text string, names []string) (rest string, found bool) {
	for _, name := range names {
		rest, found = strings.CutPrefix(text, " "+name)
		if found && (rest == "" || strings.ContainsRune(" ;,)\n", rune(rest[0]))) {
			return rest, true
		}
	}
	return text, false
}

// program is how commands that people are to type begin.
const program = "perdure "

// here is a text in which commands, as they are to be typed, name the store and the file that this one was told of. A
// command that names the store already is left alone. What is a command is for the commands of this program to say.
func here(text string) string {
	file, agent := inFile()
	if inForce.store == "" && file == "" && inForce.server == "" {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, program)
		if !found {
			return b.String() + text
		}
		words, remote := stored(after)
		b.WriteString(before + program)
		if text = after; words == 0 || !begins(before) {
			continue
		}
		b.WriteString(after[:words])
		text = after[words:]
		if inForce.store != "" && !strings.HasPrefix(text, " --store ") { // it is said already
			b.WriteString(" --store " + view.Pasted(inForce.store))
		}
		if inForce.server != "" && remote && !strings.HasPrefix(text, " --server ") {
			b.WriteString(inForce.server)
		}
		if rest, ok := cutAgent(text, agent); ok {
			b.WriteString(" " + view.Pasted(file))
			text = rest
		}
	}
}

// begins reports whether a word begins after a text.
func begins(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// stored is how much of a text names a command that is about a store; zero: it names none. Remote says that it can go
// through a server.
func stored(text string) (end int, remote bool) {
	c := inForce.root
	for next := 0; ; {
		rest := text[next:]
		i := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool {
			after, named := strings.CutPrefix(rest, sub.Name())
			return named && (after == "" || begins(after[:1]) && after[0] != '-')
		})
		if i < 0 {
			break
		}
		c = c.Commands()[i]
		end = next + len(c.Name())
		if next = end + 1; next > len(text) || text[end] != ' ' {
			break
		}
	}
	if end == 0 || c.Flags().Lookup("store") == nil {
		return 0, false
	}
	return end, c.Annotations[remoteKey] != ""
}

// beginning adds to a hint how to begin, where nobody has made or named a home yet.
func beginning(hint string) string {
	if inForce.home == nil || !inForce.home.Unmade() || strings.Contains(hint, "perdure init") {
		return hint
	}
	return strings.TrimSuffix("perdure init makes a home here; or "+hint, "; or ")
}
