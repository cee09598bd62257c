package main

import "strings"

// inForce is what the user named on this command line, which every suggested command must name again to work when it is pasted.
var inForce struct {
	store string // --store
	file  string // the file of an agent, in the place of its name
}

// suggest is a command of this program as the user could type it now: the words, and the store if one was named by a flag. What
// comes after the words is for the caller to add.
func suggest(words string) string {
	name, flags, _ := strings.Cut(words, " --")
	line := "perdure " + name
	if inForce.store != "" {
		line += " --store " + pasted(inForce.store)
	}
	if flags != "" {
		line += " --" + flags
	}
	return line
}

// suggested is a text from below this program, with the commands in it as suggest has them.
func suggested(text string) string {
	const trust = "perdure key trust "
	return strings.ReplaceAll(text, trust, suggest("key trust")+" ")
}

// pasted is a word the user typed, as a shell takes it again.
func pasted(typed string) string {
	if word, ok := shellWord(typed); ok {
		return word
	}
	return "'" + strings.ReplaceAll(typed, "'", `'\''`) + "'"
}
