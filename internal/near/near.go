// Package near finds what somebody may have meant who typed a word that there is not.
package near

import (
	"slices"
	"strings"
)

// longest is of how many letters a word may be that is compared with others.
const longest = 64

// Words are those of some words that somebody who typed another one may have meant: the most similar ones, or those
// that begin with it.
func Words(typed string, of []string) (found []string) {
	least := 0
	for _, word := range of {
		if d, near := likeness(word, typed); near && (found == nil || d <= least) {
			if d < least {
				found = nil
			}
			found, least = append(found, word), d
		}
	}
	if found == nil && typed != "" {
		found = slices.DeleteFunc(slices.Clone(of), func(word string) bool { return !strings.HasPrefix(word, typed) })
	}
	return found
}

// Similar reports whether somebody who typed one word may have meant the other: but for case they are the same, or
// differ in at most two letters, and in fewer than half of them. Two letters that changed places are one.
func Similar(a, b string) bool {
	_, near := likeness(a, b)
	return near
}

// likeness is in how many letters two words differ, and whether that makes them similar.
func likeness(a, b string) (letters int, near bool) {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(x) > longest || len(y) > longest {
		return 0, false
	}
	var before []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		next := make([]int, len(y)+1)
		next[0] = i + 1
		for j := range y {
			cost := row[j]
			if x[i] != y[j] {
				cost++
			}
			next[j+1] = min(cost, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	letters = row[len(y)]
	return letters, letters <= min(2, (max(len(x), len(y))-1)/2)
}
