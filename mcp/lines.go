package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perdure/perdure/internal/jsontext"
)

// lines is the input of a client without lines that are no messages: each is refused, as the protocol says, and what
// comes after it is heard. Otherwise one bad line would end a server that others of the client's calls wait for.
type lines struct {
	io.Closer
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of a line that is good
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if bad := refusal(text); bad == "" {
				l.rest = line
			} else if _, err := io.WriteString(l.out, bad); err != nil {
				return 0, err
			}
		}
		if err != nil && len(l.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line is the next line, with its end.
func (l *lines) line() (line []byte, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxRequest {
			return nil, errors.New("a line of the client is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// heard lets only messages through to a handler over HTTP, as lines does.
func heard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
			if err != nil {
				http.Error(w, fmt.Sprintf("the request was cut off, or is longer than %d bytes", maxRequest),
					http.StatusRequestEntityTooLarge)
				return
			}
			if bad := refusal(body); bad != "" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, bad) // who has gone needs no answer
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, r)
	})
}

// refusal is the answer to a text that is no message; empty: it is one, or several.
func refusal(text []byte) string {
	if jsontext.Text(text) != nil || !json.Valid(text) {
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"it is not JSON in UTF-8"}}` + "\n"
	}
	var several []json.RawMessage
	if json.Unmarshal(text, &several) != nil || len(several) == 0 {
		several = []json.RawMessage{text}
	}
	for _, one := range several {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			return `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"it is no JSON-RPC message"}}` + "\n"
		}
	}
	return ""
}

// turned is an output that several write to, one message after the other.
type turned struct {
	io.WriteCloser
	mu sync.Mutex
}

// Write implements io.Writer.
func (t *turned) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.WriteCloser.Write(p)
}
