// Package bound keeps what others say within bounds.
package bound

import (
	"fmt"
	"strings"
	"time"
)

// MaxWait bounds how long an advisor can ask to be left alone, or an agent to sleep for.
const MaxWait = 24 * time.Hour

// Text is s without its middle when it is longer than n bytes, cut between characters.
func Text(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	head, tail := n*2/3, len(s)-n/3
	for head > 0 && s[head]&0xC0 == 0x80 {
		head--
	}
	for tail < len(s) && s[tail]&0xC0 == 0x80 {
		tail++
	}
	return fmt.Sprintf("%s […%d bytes left out…] %s", s[:head], tail-head, s[tail:])
}

// Seconds is seconds as a duration; nonsense is none.
func Seconds(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, MaxWait.Seconds()) * float64(time.Second))
}
