package mcp

import (
	"errors"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
)

// openedSessions are the sessions of memory that connections opened, the last of each. A client that names none closes
// this one: the last that the role has open may be another client's. The zero value is ready.
type openedSessions struct {
	mu sync.Mutex
	at map[*sdk.ServerSession]string
}

// note remembers what a connection opened, until it ends.
func (o *openedSessions) note(by *sdk.ServerSession, path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at == nil {
		o.at = map[*sdk.ServerSession]string{}
	}
	if _, known := o.at[by]; !known {
		go func() {
			_ = by.Wait() // however it ends
			o.mu.Lock()
			defer o.mu.Unlock()
			delete(o.at, by)
		}()
	}
	o.at[by] = path
}

// closed forgets what a connection opened, once it is closed.
func (o *openedSessions) closed(by *sdk.ServerSession, path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.at[by] == path {
		o.at[by] = ""
	}
}

// by is what a connection opened and has not closed.
func (o *openedSessions) by(by *sdk.ServerSession) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if path := o.at[by]; path != "" {
		return path, nil
	}
	return "", perdure.WithHint(perdure.Invalid(errors.New("this client has opened no session that is still open")),
		"call session_open, or give as session the one that session_open named")
}
