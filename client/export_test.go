package client

import "time"

// Hurried is a client that waits for servers for moments.
func Hurried(url string, idle, grace time.Duration, rate int64) *Client {
	return &Client{URL: url, patience: &patience{idle: idle, grace: grace, rate: rate}}
}

// Answered is a client that waits so long for an answer to begin.
func Answered(url string, begin time.Duration) *Client {
	p := usual
	p.begin = begin
	return &Client{URL: url, patience: &p}
}
