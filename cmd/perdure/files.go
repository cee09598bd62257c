package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
	"github.com/perdure/perdure/workspace/files"
)

func filesCommand() *cobra.Command {
	c := command("files", nil)
	c.AddCommand(filesSyncCommand(), filesWatchCommand(), filesStatusCommand())
	return c
}

// folderFlags are what commands about a folder share.
type folderFlags struct {
	*memoryFlags
	home.Folder
}

func newFolder(c *cobra.Command) *folderFlags {
	f := &folderFlags{memoryFlags: newMemory(c)}
	c.Flags().Lookup("role").Usage = "whose memory it is (default: $" + roleEnv + ", else " + defaultRole + ")"
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return f
}

// changing adds the flags of commands that change something.
func (f *folderFlags) changing() *folderFlags {
	fl := f.c.Flags()
	fl.BoolVar(&f.Adopt, "adopt", false, "use a folder that has other files in it: they become documents")
	fl.BoolVar(&f.Git, "git", false, "commit to the git repository that the folder is in; it is made if there is none")
	fl.BoolVar(&f.Revert, "revert", false, "have memory say what the files say, although git put them back to an "+
		"earlier commit")
	fl.StringVar(&f.Folder.Key, "key", "", "the file of the key that signs what you changed (default: the home's)")
	return f
}

// use calls do with the folder that the arguments name.
func (f *folderFlags) use(args []string, create bool, do func(context.Context, *files.Folder) error) error {
	f.Folder.Role = cmp.Or(*f.role, os.Getenv(roleEnv), defaultRole)
	if f.Dir = home.FolderName; len(args) > 0 {
		f.Dir = args[0]
	}
	return f.h.UseWorkspace(f.c.Context(), create, func(ctx context.Context, w *workspace.Workspace) error {
		return f.h.UseFolder(ctx, w, &f.Folder, do)
	})
}

func filesSyncCommand() *cobra.Command {
	c := command("files sync", cobra.MaximumNArgs(1))
	f := newFolder(c).changing()
	c.Flags().BoolVar(&f.Delete, "delete", false, "remove documents whose files were removed; without it such files "+
		"are put back")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return f.use(args, true, func(ctx context.Context, d *files.Folder) error {
			r, err := d.Sync(ctx)
			if err != nil {
				return err
			}
			return f.print(r, "in step")
		})
	}
	return c
}

func filesStatusCommand() *cobra.Command {
	c := command("files status", cobra.MaximumNArgs(1))
	f := newFolder(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		return f.use(args, false, func(ctx context.Context, d *files.Folder) error {
			r, err := d.Status(ctx)
			if err != nil {
				return err
			}
			return f.print(r, "nothing to sync")
		})
	}
	return c
}

func filesWatchCommand() *cobra.Command {
	c := command("files watch", cobra.MaximumNArgs(1))
	f := newFolder(c).changing()
	c.RunE = func(_ *cobra.Command, args []string) error {
		return f.use(args, true, func(ctx context.Context, d *files.Folder) error {
			var broken error
			ctx, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			err := d.Watch(ctx, func(r *files.Report) {
				if err := f.print(r, "in step; watching, Ctrl-C ends it"); err != nil {
					broken = err
					stop(err)
				}
			})
			if broken != nil {
				return broken
			}
			if errors.Is(err, context.Canceled) {
				return context.Cause(ctx)
			}
			return err
		})
	}
	return c
}

// print says what a sync did, or would do; else that all is as still says.
func (f *folderFlags) print(r *files.Report, still string) error {
	return f.out.print(r, func(w io.Writer) error {
		for _, text := range r.Notes {
			note(f.c, "%s", text)
		}
		for _, x := range r.Changes {
			line := fmt.Sprintf("%-9s %s", x.Status, view.InLine(x.File))
			if x.Why != "" {
				line += ": " + view.OneLine(x.Why, 200)
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
		text := fmt.Sprintf("%s: %d files of %s", view.InLine(r.Dir), r.Files, r.Role)
		if len(r.Changes) == 0 {
			text += ", " + still
		}
		if r.Commit != "" {
			text += ", committed as " + r.Commit
		}
		_, err := fmt.Fprintln(w, text)
		return err
	})
}
