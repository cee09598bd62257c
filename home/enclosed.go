package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/schema"
)

// maxEnclosed bounds the bytes of all policies that agents brought along to a home, and those of all their schemas:
// whoever verifies an agent reads all of these policies, and who runs one all schemas, which takes some seconds. A file
// counts as fileSize more.
const (
	maxEnclosed = 4 << 20
	fileSize    = 1 << 10
)

// Learn keeps in the home what an agent that came from elsewhere brings along: the text of its own policies and of the
// schema of its state, as far as nodes here do not know them. Each is what its hash says. Policies of agents only
// narrow what the home permits. Of one that is held here, whose texts are those of strangers, it keeps nothing.
func (h *Home) Learn(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
	if h.Dir == "" {
		return nil
	}
	a, err := h.Load(ctx, s, id)
	if err != nil {
		return err
	}
	trust, err := h.Trust()
	if err != nil || trust.Counts(a) != nil {
		return err
	}
	wanted, err := h.unknown(a.Fold())
	if err != nil || len(wanted) == 0 {
		return err
	}
	for e, err := range perdure.Memory(ctx, s, id) {
		if err != nil {
			return err
		}
		ev, _ := e.Content().(perdure.Event)
		n, ok := ev.Notice.(perdure.Enclosed)
		i := slices.Index(wanted, n.Of)
		if !ok || i < 0 {
			continue
		}
		wanted = slices.Delete(wanted, i, i+1)
		if err := h.keepEnclosed(&n); err != nil {
			return fmt.Errorf("what agent %s brings along: %w", id.Short(), err)
		}
	}
	return nil
}

// unknown is what an agent names by its hash and the home does not know.
func (h *Home) unknown(f *perdure.Fold) ([]perdure.Hash, error) {
	var wanted []perdure.Hash
	if len(f.Charter.Policies) > 0 {
		set, err := LoadPolicy(h, nil)
		if err != nil {
			return nil, err
		}
		for _, hash := range f.Charter.Policies {
			if set.Under(hash) == nil {
				wanted = append(wanted, hash)
			}
		}
	}
	if id := f.Intent.StateSchema; !id.IsZero() {
		known, err := h.Schemas()
		if err != nil {
			return nil, err
		}
		if _, err := known.Lookup(schema.Hash(id)); err != nil {
			wanted = append(wanted, id)
		}
	}
	return wanted, nil
}

// keepEnclosed keeps one text, if it is what its hash says.
func (h *Home) keepEnclosed(n *perdure.Enclosed) error {
	switch n.Kind {
	case perdure.EnclosedPolicy:
		set, err := policy.FromText(n.Of, n.Text)
		if err != nil {
			return err
		}
		dir := filepath.Join(PolicyDir, knownDir)
		if err := h.room(dir, n.Of, set.Texts()...); err != nil {
			return err
		}
		for i, text := range set.Texts() {
			name := filepath.Join(dir, n.Of.String(), fmt.Sprintf("%d.cedar", i+1))
			if err := h.Keep(name, []byte(text)); err != nil {
				return err
			}
		}
	case perdure.EnclosedSchema:
		sch, err := schema.FromText(n.Of, n.Text)
		if err != nil {
			return err
		}
		if err := h.room(schemaDir, n.Of, string(sch.JSON())); err != nil {
			return err
		}
		return h.Keep(filepath.Join(schemaDir, filepath.Base(sch.Name())+"-"+n.Of.Short()+".lode"), sch.JSON())
	}
	return nil
}

// broughtAlong reports whether a text of a home came with an agent, by the name of its file or folder; if not, its
// owner put it there.
func broughtAlong(name string) bool {
	name = strings.TrimSuffix(name, ".lode")
	return !strings.HasSuffix(name, ownMark) && byHash.MatchString(name[strings.LastIndexByte(name, '-')+1:])
}

// room is nil if a folder of the home has room for more texts that an agent brought along.
func (h *Home) room(dir string, of perdure.Hash, texts ...string) error {
	size := len(texts) * fileSize
	for _, text := range texts {
		size += len(text)
	}
	dir = filepath.Join(h.Dir, dir)
	kept, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, one := range kept {
		if one.Name() == of.String() || !broughtAlong(one.Name()) {
			continue // what came in part is kept again
		}
		err := filepath.WalkDir(filepath.Join(dir, one.Name()), func(_ string, f fs.DirEntry, err error) error {
			if err != nil || f.IsDir() {
				return err
			}
			info, err := f.Info()
			if err == nil {
				size += int(info.Size()) + fileSize
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if size <= maxEnclosed {
		return nil
	}
	return perdure.WithHint(fmt.Errorf("there is no room for the text of %s: agents may bring along %d bytes in all",
		of.Short(), maxEnclosed), "take out of "+dir+" what no agent needs")
}
