package main

import (
	"embed"
	"strings"
)

// topicFiles are the texts of perdure help that belong to no one command.
//
//go:embed topics/*.txt
var topicFiles embed.FS

// topicText is the text of a topic; empty if there is none by that name.
func topicText(name string) string {
	b, err := topicFiles.ReadFile("topics/" + name + ".txt")
	if err != nil {
		return ""
	}
	return string(b)
}

// topicNames are the topics there are.
func topicNames() []string {
	found, err := topicFiles.ReadDir("topics")
	if err != nil {
		panic(err) // they are part of the program
	}
	var names []string
	for _, f := range found {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}
