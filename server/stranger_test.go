package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/webhook"
)

// tooLong is longer than a stranger may keep a connection, and shorter than a server waits for somebody it knows.
const tooLong = 25 * time.Second

// TestStrangersAreNotWaitedFor sends requests whose bodies never come, of nobody who is known: each is answered at
// once, and its connection ends.
func TestStrangersAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *server.Server) {
		s.Webhooks = s.Desk.Hooked(webhook.Hook{Name: "ci"})
	})
	ln := w.serveOn(server.Listening{Address: "127.0.0.1:0"})
	few := "Authorization: Bearer " + w.token("", home.VerbRead) + "\r\n"
	signed := "Webhook-Id: x\r\nWebhook-Timestamp: 1\r\nWebhook-Signature: v1,x\r\n"
	for _, x := range []struct {
		begin, headers string
		want           int
	}{
		{"POST /v1/agents", "Host: localhost\r\n", 401},
		{"POST /v1/agents", "Host: localhost\r\nAuthorization: Bearer x\r\n", 401},
		{"POST /v1/agents", "Host: localhost\r\n" + few, 403},
		{"POST /v1/agents", "Host: evil.example\r\n", 403},
		{"GET /v1/health", "Host: localhost\r\n", 200},
		{"POST /webhook/resume/x", "Host: localhost\r\n" + signed, 400},
	} {
		t.Run(x.begin+" "+fmt.Sprint(x.want), func(t *testing.T) {
			t.Parallel()
			c, err := new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(tooLong))
			part := x.begin + " HTTP/1.1\r\n" + x.headers + "Content-Length: 1000\r\n\r\n{"
			if _, err := io.WriteString(c, part); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(c)
			answer, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != x.want {
				t.Errorf("got %d, want %d", answer.StatusCode, x.want)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Error(err)
			}
			if _, err := r.ReadByte(); err == nil || isTimeout(err) {
				t.Errorf("its connection is still there: %v", err)
			}
		})
	}
}

func isTimeout(err error) bool {
	late, ok := err.(net.Error)
	return ok && late.Timeout()
}

// TestOneAddressLeavesConnectionsToOthers opens as many connections as there may be from one address: somebody at
// another is served.
func TestOneAddressLeavesConnectionsToOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there a machine has many addresses of its own")
	}
	t.Parallel()
	w := newWorld(t)
	ln := w.serveOn(server.Listening{Address: "127.0.0.1:0", Conns: 12})
	held := "POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + w.token("", home.VerbCreate) +
		"\r\nContent-Length: 1000\r\n\r\n{" // for as long as who is known has to send it
	for range 20 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, held) // those that are too many have ended
	}
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	other := &http.Client{Transport: &http.Transport{DialContext: from.DialContext}}
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	defer cancel()
	if _, err := (&client.Client{URL: "http://" + ln.Addr().String(), HTTP: other}).Health(ctx); err != nil {
		t.Error(err)
	}
}
