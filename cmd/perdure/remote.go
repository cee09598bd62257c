package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/view"
)

// The variables of the environment for commands that go through a server.
const (
	serverEnv    = "PERDURE_SERVER"
	serverKeyEnv = "PERDURE_SERVER_KEY"
	tokenEnv     = "PERDURE_TOKEN"
)

// remoteKey is the annotation of commands that can go through a server.
const remoteKey = "server"

// remoteFlags adds the flags that have a command go through a server.
func remoteFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.String("server", "", "do it through this server: http://HOST:PORT, https://HOST:PORT or unix:PATH (default: $"+
		serverEnv+"; the token is in $"+tokenEnv+")")
	f.String("server-key", "", "the key of that server, which shows a certificate over it (default: $"+serverKeyEnv+")")
	f.String("token-file", "", "a file that holds the token (default: $"+tokenEnv+")")
}

// remotely marks a command as one that can go through a server.
func remotely(c *cobra.Command) *cobra.Command {
	c.Annotations[remoteKey] = "yes"
	return c
}

// refuseServer refuses a server that a command cannot go through.
func refuseServer(c *cobra.Command) error {
	url, err := c.Flags().GetString("server")
	if err != nil || url == "" || c.Annotations[remoteKey] != "" {
		return nil
	}
	return fmt.Errorf("%s works on a store, not through a server; leave --server out", strings.Join(path(c), " "))
}

// unserved says that a command works on a store, although a server is named in the environment.
func unserved(c *cobra.Command) {
	store := c.Flags().Lookup("store")
	if url := os.Getenv(serverEnv); url == "" || c.Annotations[remoteKey] != "" || store == nil || store.Changed {
		return
	}
	note(c, "%s is set, and %s does not go through a server: it works on the store here", serverEnv,
		strings.Join(path(c), " "))
}

// forServers are the flags of commands that can go through a server.
var forServers = []string{"server", "server-key", "token-file"}

// remote is a server that a command goes through.
type remote struct {
	*client.Client
	c   *cobra.Command
	out *output
}

// through is the server that a command is to go through; on is false if it is to use a store.
func through(c *cobra.Command, out *output) (r *remote, on bool, err error) {
	flag := func(name, env string) string {
		if v, err := c.Flags().GetString(name); err == nil && v != "" {
			return v
		}
		return os.Getenv(env)
	}
	url := flag("server", serverEnv)
	if url == "" {
		return nil, false, nil
	}
	if f := c.Flags().Lookup("store"); f != nil && f.Changed {
		if c.Flags().Changed("server") {
			return nil, true, perdure.Invalid(
				errors.New("--store and --server both say where agents are; use one of them"),
			)
		}
		return nil, false, nil // what was typed comes before the environment
	}
	r = &remote{&client.Client{URL: url, Token: os.Getenv(tokenEnv)}, c, out}
	if file := flag("token-file", ""); file != "" {
		b, err := disk.ReadFile(file, 4<<10)
		if err != nil {
			return nil, true, err
		}
		r.Token = strings.TrimSpace(string(b))
	}
	if err := r.keys(flag("server-key", serverKeyEnv)); err != nil {
		return nil, true, err
	}
	inForce.server, inForce.home = url, nil
	if !c.Flags().Changed("server") {
		inForce.server = ""
	}
	return r, true, nil
}

// keys pins the key of the server. Without a token, this home's key says who asks.
func (r *remote) keys(pin string) (err error) {
	if pin != "" {
		if r.Pin, _, err = perdure.ParseKey(pin); err != nil {
			return perdure.Invalid(fmt.Errorf("--server-key: %w", err))
		}
	}
	if r.Token != "" || !strings.HasPrefix(r.URL, "https:") {
		return nil
	}
	s, err := r.ownKey()
	if s == nil || err != nil {
		return err
	}
	cert, err := home.Certificate(s)
	r.Certificate = &cert
	return err
}

// ownKey is the key of the home this command would use without a server; nil: there is none.
func (r *remote) ownKey() (*perdure.Signer, error) {
	h := &home.Home{Looks: true, Note: func(text string) { note(r.c, "%s", text) }}
	if err := h.Locate(); err != nil {
		return nil, err
	}
	return h.Key()
}

// get reads a value as the server sends it.
func (r *remote) get(path string) (raw json.RawMessage, err error) {
	_, err = r.Do(r.c.Context(), "GET", path, nil, &raw)
	return raw, err
}

// print prints a value of the server: as text for people, or in the format asked for.
func (r *remote) print(raw json.RawMessage, text func(io.Writer) error) error {
	format, err := r.out.check()
	if err != nil {
		return err
	}
	if format == formatTable {
		return text(r.c.OutOrStdout())
	}
	return r.value(format, raw)
}

// value prints a value of the server in a format for programs.
func (r *remote) value(format string, raw json.RawMessage) error {
	if format != formatYAML {
		return r.out.value(r.c.OutOrStdout(), format, raw)
	}
	d, err := perdure.DataFromJSON(raw)
	if err != nil {
		return err
	}
	return r.out.value(r.c.OutOrStdout(), format, d.Value())
}

// values prints values of the server: as a table, or in the format asked for.
func (r *remote) values(raw []json.RawMessage, table func(io.Writer) error) error {
	format, err := r.out.check()
	switch {
	case err != nil:
		return err
	case format == formatTable:
		return table(r.c.OutOrStdout())
	case format == formatLines:
		for _, one := range raw {
			if err := r.value(format, one); err != nil {
				return err
			}
		}
		return nil
	}
	if raw == nil {
		raw = []json.RawMessage{}
	}
	all, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	return r.value(format, all)
}

// timeOf reads a time of a server; "never" and nothing are none.
func timeOf(text string) perdure.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0
	}
	return perdure.TimeOf(t)
}

// lineFrom is a line of a server as one of a store is.
func lineFrom(l *client.Line, much int) view.Line {
	out := view.Line{Seq: l.Seq, Entry: l.Entry, Time: timeOf(l.Time), Origin: l.Origin, What: l.What, Tool: l.Tool,
		Parent: l.Parent, Much: much}
	if k, err := view.ParseName[perdure.Kind]("kind", l.Kind); err == nil {
		out.Kind = k
	}
	if g, err := view.ParseName[perdure.Signal]("signal", l.Signal); err == nil && l.Signal != "" {
		out.Signal = g
	}
	switch out.Kind { // of these more is said
	case perdure.KindAdvice:
		out.Body = perdure.Advice{}
	case perdure.KindDecision:
		out.Body = perdure.Decision{}
	}
	return out
}

// sheetOf is what a person answers for, as the server puts it.
func sheetOf(w *client.Wait) *view.Wait {
	if w == nil {
		return nil
	}
	rows := make([]view.Row, 0, len(w.Sheet))
	for _, r := range w.Sheet {
		rows = append(rows, view.Row{Label: r.Label, Text: r.Text})
	}
	return &view.Wait{Agent: w.Agent, Name: w.Name, Kind: w.Kind, Decision: w.Decision, Digest: w.Digest, Tool: w.Tool,
		What: w.What, Why: w.Why, Asked: w.Asked, Quorum: w.Quorum, Approved: w.Approved, Since: timeOf(w.Since),
		Expires: timeOf(w.Expires), Answer: here(w.Answer), Others: w.Others, Given: rows, GivenHead: w.Head}
}
