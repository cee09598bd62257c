package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
)

// The variables of the environment for commands that go through a server.
const (
	serverEnv    = "PERDURE_SERVER"
	serverKeyEnv = "PERDURE_SERVER_KEY"
)

// remoteKey is the annotation of commands that can go through a server.
const remoteKey = "server"

// remoteFlags adds the flags that have a command go through a server.
func remoteFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.String("server", "", "do it through this server: http://HOST:PORT, https://HOST:PORT or unix:PATH (default: $"+
		serverEnv+"; the token is in $"+home.TokenEnv+")")
	f.String("server-key", "", "the key of that server, which shows a certificate over it (default: $"+serverKeyEnv+")")
	f.String("token-file", "", "a file that holds the token (default: $"+home.TokenEnv+")")
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

// unserved says that a command works on a store, although a server is named in the environment, and refuses where only
// the user's data folder is left: nobody who named a server means that. Keys are always kept here.
func unserved(c *cobra.Command) error {
	store := c.Flags().Lookup("store")
	if url := os.Getenv(serverEnv); url == "" || c.Annotations[remoteKey] != "" || store == nil || store.Changed {
		return nil
	}
	words := strings.Join(path(c), " ")
	if path(c)[0] != "key" && (&home.Home{}).Unnamed() {
		return perdure.WithHint(perdure.Invalid(fmt.Errorf("%s is set, and %s does not go through a server", serverEnv,
			words)), "to work on a store here, name it with --store, or unset "+serverEnv)
	}
	note(c, "%s is set, and %s does not go through a server: it works on the store here", serverEnv, words)
	return nil
}

// forServers are the flags of commands that can go through a server.
var forServers = []string{"server", "server-key", "token-file"}

// agentsOf is where the agents of a command are: behind a server, or in its home, as those in files are.
func agentsOf(h *homeFlag, files ...string) (home.Agents, error) {
	if slices.ContainsFunc(files, func(arg string) bool { name, _ := home.SplitRef(arg); return view.IsPath(name) }) {
		return home.Near{Home: h.Home}, nil
	}
	away, err := through(h.c)
	if away != nil || err != nil {
		return away, err
	}
	return home.Near{Home: h.Home}, nil
}

// flagOr is what a flag says or, if it was not given, a variable of the environment.
func flagOr(c *cobra.Command, name, env string) string {
	if v, err := c.Flags().GetString(name); err == nil && v != "" {
		return v
	}
	return os.Getenv(env)
}

// through is the server that a command is to go through; nil: it is to use a store.
func through(c *cobra.Command) (*home.Away, error) {
	url := flagOr(c, "server", serverEnv)
	if url == "" {
		return nil, nil
	}
	if f := c.Flags().Lookup("store"); f != nil && f.Changed {
		if c.Flags().Changed("server") {
			return nil, perdure.Invalid(
				errors.New("--store and --server both say where agents are; use one of them"))
		}
		return nil, nil // what was typed comes before the environment
	}
	tell := func(text string) { note(c, "%s", text) }
	away := &home.Away{Client: &client.Client{URL: url, Token: os.Getenv(home.TokenEnv)}, Note: tell, OwnKey: func() (
		*perdure.Signer, error) {
		h := &home.Home{Looks: true, Note: tell}
		if err := h.Locate(); err != nil {
			return nil, err
		}
		return h.Key()
	}}
	inForce.server, inForce.home = "", nil
	for _, name := range forServers {
		if f := c.Flags().Lookup(name); f.Changed {
			inForce.server += " --" + name + " " + view.Pasted(f.Value.String())
		}
	}
	return away, away.Identify(flagOr(c, "token-file", ""), flagOr(c, "server-key", serverKeyEnv))
}

// away is tail of agents behind a server.
func (t *tailed) away(r *home.Away, args []string) error {
	return r.Follow(t.out.c.Context(), args, t.Choice, t.last, func(one view.AgentLine) error {
		label := view.CalledBy(one.Name, one.Agent)
		return t.line(label, one.Line, one.Line)
	})
}

// verifyAway has a server verify a memory.
func verifyAway(out *output, r *home.Away, args []string, f *verifyFlag) error {
	if len(args) > 1 || f.trusted || f.policy || f.attest || f.shallow || f.parent != "" || len(f.heads) > 0 {
		return perdure.Invalid(errors.New("a server verifies every link, hash and signature, and nothing else; " +
			"export the agent and verify the file with the other flags"))
	}
	v, err := r.Verify(out.c.Context(), args[0])
	if err != nil {
		return err
	}
	return out.print(v, func(w io.Writer) error { return show.Checked(w, v.Rows, v.OK) })
}

// exportAway writes an agent behind a server as a capsule.
func exportAway(out *output, r *home.Away, agent string, e *exporting) error {
	if e.set != "" || e.Detached || e.Move || len(e.Recipients) > 0 || e.Schema {
		return perdure.Invalid(errors.New("through a server an agent is exported whole, with its signatures inside; " +
			"leave out --set, --detached, --move, --to and --schema"))
	}
	if !out.c.Flags().Changed("depth") {
		e.depth = ""
	}
	if e.toStdout {
		_, err := r.Export(out.c.Context(), e.Out, agent, e.form.value, e.depth)
		return err
	}
	file, n, err := r.ExportFile(out.c.Context(), e.File, agent, e.form.value, e.depth, e.Replace)
	if err != nil {
		return err
	}
	return out.say(map[string]any{"file": file, "bytes": n}, "%s: %d bytes\n", file, n)
}

// importAway has a server take an agent in.
func importAway(out *output, r *home.Away, src io.Reader, older bool) error {
	a, err := r.Import(out.c.Context(), src, older)
	if err != nil {
		return err
	}
	return out.say(a, "%s\n", here(strings.Join(a.Text, "\n")))
}
