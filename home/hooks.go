package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/webhook"
)

// HookConfig is somebody who may post to agents here, as node.yaml names them.
type HookConfig struct {
	Name    string   `yaml:"name"`
	Secret  string   `yaml:"secret"`  // a reference to the key that signs, see resolve
	Secrets []string `yaml:"secrets"` // the same, several: while keys are changed
	Scope   string   `yaml:"scope"`   // of the agents it may post to; none: all

	// Approver is the person in whose name it approves and answers, and Key the file of their key, which signs the
	// votes.
	Approver string `yaml:"approver"`
	Key      string `yaml:"key"`
}

// Webhooks is what answers posts that hooks of this home signed, at a desk; nil: there are no hooks.
func (h *Home) Webhooks(ctx context.Context, d *Desk) (*webhook.Handler, error) {
	file, err := readNodeFile(h)
	if err != nil || len(file.Hooks) == 0 {
		return nil, err
	}
	if err := h.Consent(); err != nil {
		return nil, err
	}
	hooks, err := h.hooks(&file)
	if err != nil {
		return nil, err
	}
	return d.Hooked(hooks...), ctx.Err()
}

// hooks reads the hooks of a file, with their secrets.
func (h *Home) hooks(file *NodeFile) (all []webhook.Hook, err error) {
	for i, c := range file.Hooks {
		hook, err := h.hook(&c, file.Secrets)
		if err != nil {
			return nil, fmt.Errorf("%s: hooks[%d] %s: %w", filepath.Join(h.Dir, NodeFileName), i, c.Name, err)
		}
		for _, other := range all {
			if err := apart(&hook, &other); err != nil {
				return nil, fmt.Errorf("%s: hooks[%d] %s: %w", filepath.Join(h.Dir, NodeFileName), i, c.Name, err)
			}
		}
		all = append(all, hook)
	}
	return all, nil
}

// apart refuses two hooks that could not be told apart.
func apart(a, b *webhook.Hook) error {
	if a.Name == b.Name {
		return errors.New("another hook has that name")
	}
	for _, x := range a.Keys {
		for _, y := range b.Keys {
			if x.Equal(y) {
				return fmt.Errorf("%s has the same secret: whose post it is could not be told", b.Name)
			}
		}
	}
	return nil
}

func (h *Home) hook(c *HookConfig, secrets string) (webhook.Hook, error) {
	out := webhook.Hook{Name: c.Name, Scope: c.Scope}
	refs := c.Secrets
	if c.Secret != "" {
		refs = append([]string{c.Secret}, refs...)
	}
	if c.Name == "" || len(refs) == 0 {
		return out, errors.New("want a name and a secret")
	}
	if err := cmp.Or(perdure.CheckName("a hook", c.Name), perdure.CheckName("an approver", c.Approver)); err != nil {
		return out, err
	}
	for _, ref := range refs {
		text, err := h.resolve(ref, secrets)
		if err != nil {
			return out, err
		}
		k, err := webhook.ParseKey(text)
		if err != nil {
			return out, err
		}
		out.Keys = append(out.Keys, k)
	}
	if (c.Approver == "") != (c.Key == "") {
		return out, errors.New("approver and key belong together: the name of a person, and the file of their key")
	}
	if c.Key == "" {
		return out, nil
	}
	var err error
	out.Person, err = h.person(c)
	return out, err
}

// person is the key of a person. It is not that of the home: a node that can sign for the people it asks asks nobody.
func (h *Home) person(c *HookConfig) (*perdure.Signer, error) {
	s, err := keyfile.Read(c.Key)
	if err != nil {
		return nil, err
	}
	own, err := h.Key()
	if err != nil {
		return nil, err
	}
	if own != nil && own.Key() == s.Key() {
		return nil, perdure.WithHint(errors.New("its key is the key of this home, whose nodes could then approve "+
			"what they propose themselves"),
			"make a key for "+c.Approver+": perdure key new --name "+c.Approver+
				" in a home of theirs, and perdure key trust KEY --rights approve here")
	}
	if s.Name != c.Approver {
		return nil, fmt.Errorf("the key is that of %s, and the approver is %s", s.Name, c.Approver)
	}
	return s, nil
}
