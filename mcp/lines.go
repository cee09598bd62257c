package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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

// refusal is the answer to a line that is no message; empty: it is one, or several.
func refusal(line []byte) string {
	if !utf8.Valid(line) || !json.Valid(line) { // json would put another letter in the place of what is not UTF-8
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not JSON in UTF-8"}}` + "\n"
	}
	var several []json.RawMessage
	if json.Unmarshal(line, &several) != nil || len(several) == 0 {
		several = []json.RawMessage{line}
	}
	for _, one := range several {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			return `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is no JSON-RPC message"}}` +
				"\n"
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
