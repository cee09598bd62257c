package client

import "time"

// Hurried is a client that waits for servers for moments.
func Hurried(url string, idle, grace time.Duration, rate int64) *Client {
	return &Client{URL: url, patience: &patience{idle: idle, grace: grace, rate: rate}}
}
