package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perdure/perdure/internal/jsontext"
)

// lines is the input of a client without lines that are no messages, or too long: each is refused, as the protocol
// says, and what comes after it is heard. Otherwise one bad line would end a server that others of the client's calls
// wait for.
type lines struct {
	io.Closer
	in   *bufio.Reader
	out  io.Writer
	max  int    // bytes of a line
	rest []byte // of a line that is good
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, bad, err := l.line()
		if text := bytes.TrimSpace(line); bad == "" && len(text) > 0 {
			if bad = refusal(text); bad == "" {
				l.rest = line
			}
		}
		if bad != "" {
			if _, err := io.WriteString(l.out, bad); err != nil {
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

// line is the next line, with its end; of one that is too long, its refusal.
func (l *lines) line() (line []byte, bad string, err error) {
	var last []byte // of a line that is too long
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line) <= l.max {
			line = append(line, part...)
		} else {
			last = append(last[max(len(last)-longestID, 0):], part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > l.max:
			return nil, refuse(idOfLong(line, append(line, last...)), -32600,
				fmt.Sprintf("it is longer than %d bytes: send less at once", l.max)), err
		default:
			return line, "", err
		}
	}
}

// longestID bounds where idOfLong looks, from either end.
const longestID = 1 << 10

// The id of a message at its begin or at its end, with nothing but other texts of the message itself between: what
// stands in its params cannot be taken for it.
const (
	oneID  = `-?\d+|"[^"\\]*"`
	idText = `"id"\s*:\s*(` + oneID + `)\s*`
)

var (
	// requests are what an answer is waited for: a name of the method stands first, or behind short texts.
	requests = regexp.MustCompile(`^\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:` + oneID + `)\s*,\s*)*"method"\s*:`)
	idFirst  = regexp.MustCompile(`^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*` + idText + `,`)
	idLast   = regexp.MustCompile(`[}\]"]\s*,\s*` + idText + `(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*\}\s*$`)
)

// idOfLong is the id of a message of which only the two ends are looked at; null, if neither shows it.
func idOfLong(first, last []byte) []byte {
	if !requests.Match(first[:min(len(first), longestID)]) {
		return nil
	}
	if m := idFirst.FindSubmatch(first[:min(len(first), longestID)]); m != nil {
		return m[1]
	}
	if m := idLast.FindSubmatch(last[max(len(last)-longestID, 0):]); m != nil {
		return m[1]
	}
	return nil
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
	if !json.Valid(text) {
		return refuse(nil, -32700, "it is not JSON in UTF-8")
	}
	if err := jsontext.Text(text); err != nil {
		return refuse(idOf(text), -32700, err.Error())
	}
	if err := jsontext.Once(text); err != nil {
		return refuse(idOf(text), -32600, err.Error())
	}
	var several []json.RawMessage
	if json.Unmarshal(text, &several) != nil || len(several) == 0 {
		several = []json.RawMessage{text}
	}
	for _, one := range several {
		if _, err := jsonrpc.DecodeMessage(one); err != nil {
			return refuse(idOf(one), -32600, "it is no JSON-RPC message")
		}
	}
	return ""
}

// idOf is the id of what could be a request, so that whoever waits for its answer gets one; nil, if it has none.
func idOf(text []byte) []byte {
	var m struct {
		ID                    json.RawMessage `json:"id"`
		Method, Result, Error json.RawMessage
	}
	if json.Unmarshal(text, &m) != nil || !idAlone.Match(m.ID) {
		return nil
	}
	if m.Method == nil && (m.Result != nil || m.Error != nil) { // the id is that of a request of ours
		return nil
	}
	return m.ID
}

var idAlone = regexp.MustCompile(`^(` + oneID + `)$`)

// refuse is an answer that says what is wrong with a message. Where the id of the message is not known, it is null.
func refuse(id []byte, code int, message string) string {
	if id == nil || !utf8.Valid(id) {
		id = []byte("null")
	}
	text, _ := json.Marshal(message)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, text)
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
