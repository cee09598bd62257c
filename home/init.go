package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/workspace"
)

// scriptDir is the folder of a home with the scripts that node.yaml names.
const scriptDir = "scripts"

// firstScript and firstPolicy are what a home begins with, with slashes.
const (
	firstScript = scriptDir + "/first.yaml"
	firstPolicy = PolicyDir + "/first.cedar"

	memoryPolicy = PolicyDir + "/memory.cedar"
)

// Setup is how a home begins.
type Setup struct {
	Advisor string // the SOURCE of agents that name none; empty: the one that can be had here
	Files   string // the folder of the tools files.*, which is made if it is not there; empty: none
	Name    string // of the key; empty: the name of whoever runs this
	Memory  bool   // documents and search: what roles and agents keep across sessions
}

// Begun is a home that Init has seen to.
type Begun struct {
	Home    string      `json:"home"`
	Key     perdure.Key `json:"key"`
	Advisor string      `json:"advisor"`           // who proposes what agents do that name no advisor
	Script  bool        `json:"script"`            // it is the script that a home begins with, and no model
	Because string      `json:"because,omitempty"` // why this one; empty if node.yaml was there
	Made    []string    `json:"made"`              // files of the home, with slashes
	Kept    []string    `json:"kept"`              // that were there and stay as they are
}

// Unmade reports whether nobody has made a home for this folder, or named one: what is made without one goes to the
// folder of the user.
func (h *Home) Unmade() bool {
	return h.URL == "" && os.Getenv(StoreEnv) == "" && h.Find() == nil && h.Fresh && !h.Found
}

// Begin says where a home that is to be made is: in the folder named, else where the environment says, else here, not
// above.
func (h *Home) Begin(dir string) error {
	if dir != "" && filepath.Clean(dir) != HomeName { // else it is as if it had not been named
		h.URL = dir
	}
	if h.URL == "" && os.Getenv(StoreEnv) == "" {
		err := os.Mkdir(HomeName, 0o700)
		h.begun = err == nil
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return nil
}

// Init makes what a home lacks: the folder, its key, the store, a node.yaml and a first policy, all of them with
// comments. What is there stays as it is, so that a second call changes nothing. What was asked for is checked first:
// if it cannot be had, nothing is made.
func (h *Home) Init(ctx context.Context, set Setup) (*Begun, error) {
	b, err := h.init(ctx, set)
	if err != nil && h.begun {
		_ = os.Remove(h.Dir) // unless something is in it
	}
	return b, err
}

func (h *Home) init(ctx context.Context, set Setup) (*Begun, error) {
	if h.Loose || h.Scheme == "mem" {
		return nil, perdure.Invalid(errors.New("a home is a folder; name one that is there, or is to be made"))
	}
	if _, err := newSigner(cmp.Or(set.Name, keyName())); err != nil {
		return nil, perdure.Invalid(err)
	}
	p, err := h.plan(ctx, set)
	if err != nil {
		return nil, err
	}
	keyed, err := h.Key()
	if err != nil {
		return nil, err
	}
	if keyed != nil && set.Name != "" && set.Name != keyed.Name {
		return nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("the key that is here is named %s, and keeps its name",
			keyed.Name)), "leave --name out; a home that is new has the name you give")
	}
	if keyed == nil && set.Name != "" && h.Fresh {
		if _, err := h.makeKey(set.Name); err != nil {
			return nil, err
		}
	}
	if dir := h.hides(); dir != "" {
		h.note("agents made here before there was a %s are in %s: perdure ls --store %s", HomeName, dir, dir)
	}
	b := &Begun{Home: h.Dir}
	b.note(KeyFile, keyed == nil)
	err = h.Use(ctx, true, func(ctx context.Context, store perdure.Store) error {
		s, err := h.Signer(ctx)
		if err != nil {
			return err
		}
		b.Key = s.Key()
		if err := h.change(func() error { return h.furnish(p, b) }); err != nil || !set.Memory {
			return err
		}
		return h.change(func() error { return h.beginMemory(ctx, store, b) })
	})
	if err != nil {
		return nil, err
	}
	n, err := readNodeFile(h)
	b.Advisor, b.Script = n.Advisor, n.Advisor == "script:"+filepath.Join(h.Dir, filepath.FromSlash(firstScript))
	return b, err
}

// hides is the user's data folder, if a home that was begun here is used from now on in its place.
func (h *Home) hides() string {
	dir, err := userHome()
	if err != nil || !h.begun {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, StoreFile)); err != nil {
		return ""
	}
	return dir
}

// plan is what a new node.yaml is to say; nil: there is one.
type plan struct{ source, because, files string }

// plan finds out what can be had, and makes nothing but the folder of files.
func (h *Home) plan(ctx context.Context, set Setup) (p *plan, err error) {
	if _, err := os.Lstat(filepath.Join(h.Dir, NodeFileName)); err == nil {
		return nil, nil
	}
	p = new(plan)
	if p.source, p.because, err = h.firstAdvisor(ctx, set.Advisor); err != nil {
		return nil, err
	}
	if set.Files != "" {
		if p.files, err = h.firstFolder(set.Files); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// note remembers whether a file was made.
func (b *Begun) note(name string, made bool) {
	if made {
		b.Made = append(b.Made, name)
	} else {
		b.Kept = append(b.Kept, name)
	}
}

// furnish writes the files that are not there.
func (h *Home) furnish(p *plan, b *Begun) error {
	if err := h.begin(".gitignore", gitignoreText, b); err != nil {
		return err
	}
	if err := h.beginPolicy(b); err != nil {
		return err
	}
	if p == nil {
		b.note(NodeFileName, false)
		return nil
	}
	files, writes := "# files: ../work", ""
	if p.files != "" {
		files, writes = "files: "+yamlWord(p.files), firstWriteText
	}
	if p.source == "script:"+firstScript {
		if err := h.begin(firstScript, strings.Replace(firstScriptText, "WRITES\n", writes, 1), b); err != nil {
			return err
		}
	}
	b.Because = p.because
	text := strings.NewReplacer("ADVISOR", yamlWord(p.source), "BECAUSE", p.because, "FILES", files)
	return h.begin(NodeFileName, text.Replace(nodeFileText), b)
}

// begin writes a file of the home, unless it is there.
func (h *Home) begin(name, text string, b *Begun) error {
	path := filepath.Join(h.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err := disk.WriteNew(path, []byte(text), 0o600)
	b.note(name, err == nil)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// beginPolicy writes the first policy, unless the home has one: rules that permit would be added to those of somebody
// who has thought about them.
func (h *Home) beginPolicy(b *Begun) error {
	found, err := disk.Files(filepath.Join(h.Dir, PolicyDir), ".cedar")
	if err != nil {
		return fmt.Errorf("look for policies: %w", err)
	}
	for _, path := range found {
		b.note(PolicyDir+"/"+filepath.Base(path), false)
	}
	if len(found) > 0 {
		return nil
	}
	return h.begin(firstPolicy, policyHeadText+policy.DefaultText()+policyMoreText, b)
}

// beginMemory makes the search index, and sees to it that policy says something about documents: a home whose policy is
// older has no rule that permits them.
func (h *Home) beginMemory(ctx context.Context, s perdure.Store, b *Begun) error {
	if err := h.useMemory(); err != nil {
		return err
	}
	_, err := os.Lstat(h.indexFile())
	ix, openErr := workspace.OpenIndex(ctx, h.indexFile())
	if openErr != nil {
		return openErr
	}
	b.note(filepath.Base(h.indexFile()), errors.Is(err, fs.ErrNotExist))
	if err := errors.Join(ix.Ready(ctx, s), ix.Close()); err != nil {
		return err
	}
	set, err := LoadPolicy(h, nil)
	if err != nil {
		return err
	}
	for _, text := range set.Texts() {
		if strings.Contains(text, "document.read") {
			return nil
		}
	}
	return h.begin(memoryPolicy, memoryPolicyText, b)
}

// firstAdvisor is the source of the advisor to begin with, as node.yaml has it, and why it is this one.
func (h *Home) firstAdvisor(ctx context.Context, asked string) (source, because string, err error) {
	if asked == "" {
		source, because = advisorHere(ctx)
		return source, because, nil
	}
	if _, err := new(Powers).thinker(asked, new(perdure.MemStore)); err != nil {
		return "", "", perdure.Invalid(fmt.Errorf("advisor: %w", err))
	}
	if file, is := strings.CutPrefix(asked, "script:"); is {
		if file, err = h.fromHome(file); err != nil {
			return "", "", err
		}
		asked = "script:" + file
	}
	return asked, "you asked for it", nil
}

// firstFolder makes the folder of files, unless it is in the home, and returns it as node.yaml has it.
func (h *Home) firstFolder(folder string) (string, error) {
	at, err := h.fromHome(folder)
	if err != nil {
		return "", fmt.Errorf("files: %w", err)
	}
	if !filepath.IsAbs(at) && at != ".." && !strings.HasPrefix(at, "../") {
		return "", fmt.Errorf("files: %w", h.inside(folder))
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("files: %w", err)
	}
	if err := h.apart(folder); err != nil {
		return "", fmt.Errorf("files: %w", err)
	}
	return at, nil
}

// fromHome is a path as a file of the home names it.
func (h *Home) fromHome(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(h.Dir)
	if err != nil {
		return "", err
	}
	if near, err := filepath.Rel(dir, path); err == nil {
		return filepath.ToSlash(near), nil
	}
	return path, nil // another drive
}

// yamlWord is a text as a value in YAML, in quotes.
func yamlWord(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
