package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
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
	f := &folderFlags{memoryFlags: newMemory(c).of(workspace.DefaultRole)}
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
	f.Folder.Role = f.roleOr(workspace.DefaultRole)
	if f.Dir = home.FolderName; len(args) > 0 {
		f.Dir = args[0]
	}
	return f.open(create, func(ctx context.Context, w *workspace.Workspace) error {
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
			return errors.Join(f.print("in step")(r, err), r.Err())
		})
	}
	return c
}

func filesStatusCommand() *cobra.Command {
	c := command("files status", cobra.MaximumNArgs(1))
	f := newFolder(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		return f.use(args, false, func(ctx context.Context, d *files.Folder) error {
			return f.print("nothing to sync")(d.Status(ctx))
		})
	}
	return c
}

func filesWatchCommand() *cobra.Command {
	c := command("files watch", cobra.MaximumNArgs(1))
	f := newFolder(c).changing()
	c.RunE = func(_ *cobra.Command, args []string) error {
		return f.use(args, true, func(ctx context.Context, d *files.Folder) error {
			err := d.Watch(ctx, func(r *files.Report) error {
				return f.print("in step; watching, Ctrl-C ends it")(r, nil)
			})
			if errors.Is(err, context.Canceled) {
				return context.Cause(ctx)
			}
			return err
		})
	}
	return c
}

// print says what a sync did, or would do; else that all is as still says.
func (f *folderFlags) print(still string) func(*files.Report, error) error {
	return answer(f.out, func(w io.Writer, r *files.Report) error { return show.Synced(w, r, still, f.h.Note) })
}
