package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

func backupCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Copy the store while it is in use",
		Long: `Backup writes a copy of the store to FILE, as it is at one moment, while nodes go on working. Bodies that are files of their own are copied to
FILE-blobs, which goes wherever FILE goes. A store that is a folder is copied to a folder. Nothing is overwritten.

The copy has the agents and nothing else. Keep the key, the trust file and the policies of the home with it: without the key nobody can go on
with these agents.

The copy is a store of its own: perdure ls --store FILE looks into it, and nothing in it acts twice, since it lacks the seat of its agents. To
restore it where the store is lost, put it in a home (FILE as store.db, FILE-blobs as store.db-blobs) and take the seats: perdure seat take
AGENT --why TEXT. Put over the store.db of the home it comes from, it has the seat; agents that had gone on since are then known to be older
copies, and wait until you say so: perdure resume AGENT --older.`,
		Example: `  perdure backup agents-$(date +%F).db
  perdure backup /media/disk/agents.db --json`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			b, err := h.Backup(ctx, s, args[0])
			if err != nil {
				return err
			}
			return out.print(b, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s: %s, %s\n", view.InLine(b.Path), view.Several(b.Agents, "agent"), bytesText(b.Bytes))
				return err
			})
		})
	}
	return c
}
