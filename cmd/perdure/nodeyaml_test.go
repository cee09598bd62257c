package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/home"
)

// TestHelpDescribesEveryKeyOfNodeYAML holds the topic against the struct that the file is read into.
func TestHelpDescribesEveryKeyOfNodeYAML(t *testing.T) {
	b, err := topicFiles.ReadFile("topics/node.yaml.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, fields, ok := strings.Cut(string(b), "\nFields\n")
	if !ok {
		t.Fatal("the topic has no fields")
	}
	of := reflect.TypeFor[home.NodeFile]()
	keys := 0
	for i := range of.NumField() {
		key := of.Field(i).Tag.Get("yaml")
		if key == "" {
			continue
		}
		keys++
		at := regexp.MustCompile(`(?m)^  ` + key + ` .*(\n    .*)*`).FindString(fields)
		if at == "" {
			t.Errorf("perdure help node.yaml does not describe %s", key)
		}
		for _, one := range keysBelow(of.Field(i).Type) {
			if !regexp.MustCompile(`\b` + one + `\b`).MatchString(at) {
				t.Errorf("perdure help node.yaml does not describe %s of %s", one, key)
			}
		}
	}
	if keys < 15 {
		t.Errorf("%d keys were looked for", keys)
	}
}

// keysBelow are the keys of what a value of a type holds, at any depth.
func keysBelow(t reflect.Type) (keys []string) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			keys = append(append(keys, key), keysBelow(t.Field(i).Type)...)
		}
	}
	return keys
}
