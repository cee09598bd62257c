package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
)

// exportSet writes agents into a set.
func (e *exporting) exportSet(dir string, agents []string, manifest bool) error {
	return e.h.use(false, func(ctx context.Context, s perdure.Store) error {
		var ids []perdure.AgentID
		for _, agent := range agents {
			id, err := home.Find(ctx, s, agent)
			if err != nil {
				return err
			}
			ids = append(ids, id)
			if err := e.begin(ctx, s, id); err != nil {
				return err
			}
		}
		o := capsule.SetOptions{Options: e.o}
		switch {
		case e.detached:
			o.Binding = capsule.Detached
		case manifest:
			var err error
			if o.Sign, err = e.h.Signer(ctx); err != nil {
				return err
			}
			o.Binding = capsule.WithManifest
		}
		set, err := capsule.OpenSet(dir)
		if err != nil {
			return err
		}
		names, err := set.Export(ctx, s, o, ids...)
		if err = errors.Join(err, set.Close()); err != nil {
			return err
		}
		var text strings.Builder
		values := make([]any, len(names))
		for i, name := range names {
			file := filepath.Join(dir, name)
			values[i] = map[string]any{"agent": ids[i], "file": file, "form": e.o.Form.String(), "depth": e.o.Depth.String(), "binding": o.Binding.String()}
			fmt.Fprintf(&text, "%s: depth %s, signatures %s\n", file, e.o.Depth, o.Binding)
		}
		return list(e.out, values, func(w io.Writer) error {
			_, err := io.WriteString(w, text.String())
			return err
		})
	})
}

// takeInSet imports every capsule of a set. Names that are none are refused before anything is taken in.
func takeInSet(ctx context.Context, c *cobra.Command, h *homeFlag, out *output, s perdure.Store, dir string, o capsule.ImportOptions) error {
	set, err := capsule.OpenSet(dir)
	if err != nil {
		return err
	}
	defer func() { _ = set.Close() }() // it was only read
	var names []string
	for name, err := range set.Names() {
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return perdure.Missing("there is no capsule in " + dir)
	}
	var values []any
	var text strings.Builder
	var errs []error
	for i, name := range names {
		h.Progressed("import agents", int64(i), int64(len(names)))
		r, err := h.TakeIn(ctx, s, new(home.Meter), o, func(o capsule.ImportOptions) (*capsule.Arrival, error) { return set.Import(ctx, s, name, o) })
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		values = append(values, r)
		text.WriteString(arrivedText(r))
	}
	err = list(out, values, func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
	return errors.Join(append(errs, err)...)
}

// collectSet removes the chunks of a set that no capsule in it refers to.
func collectSet(c *cobra.Command, out *output, dir string, dry bool) error {
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return perdure.Invalid(fmt.Errorf("--set %s: want a folder that perdure export --set wrote", dir))
	}
	set, err := capsule.OpenSet(dir)
	if err != nil {
		return err
	}
	got, err := set.Collect(c.Context(), dry)
	if err = errors.Join(err, set.Close()); err != nil {
		return err
	}
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	r := struct {
		Set    string `json:"set"`
		Chunks int    `json:"chunks"`
		Bytes  int64  `json:"bytes"`
		Kept   int    `json:"kept"`
		Dry    bool   `json:"dry_run"`
	}{dir, got.Chunks, got.Bytes, got.Kept, dry}
	return out.say(r, "%s: %s %d chunks of %d bytes, %d are referred to\n", dir, verb, got.Chunks, got.Bytes, got.Kept)
}
