package main

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
)

// verifyFile verifies the memory in a file: a capsule, or entries one after the other.
func verifyFile(c *cobra.Command, h *homeFlag, out *output, name string, o verifying, ids []age.Identity) error {
	is, err := home.IsCapsule(name)
	if err != nil {
		return err
	}
	if !is {
		return verify(c, h, out, 0, fileMemory(c, name), o)
	}
	r, done, err := home.OpenCapsule(name, ids)
	if err != nil {
		return refusal(out, err)
	}
	head := r.Head()
	if err := done(); err != nil {
		return err
	}
	if cut, err := cutShort(c, name, ids, &head); err != nil {
		return err
	} else if cut {
		return verifyCut(c, h, out, name, o)
	}
	o.depth, o.manifest = head.Holds(), new(*capsule.Manifest)
	return verify(c, h, out, 0, capsuleEntries(c, name, ids, func(r *capsule.Reader) { *o.manifest = r.Manifest() }), o)
}

// cutShort reports whether a file is that of a store and has no end: somebody is writing to it, or was stopped, or it was
// copied in the middle of that.
func cutShort(c *cobra.Command, name string, ids []age.Identity, head *capsule.Head) (bool, error) {
	if !head.Grows() {
		return false, nil
	}
	for _, err := range capsuleMemory(c, name, ids) {
		var r *perdure.Rejection
		if errors.As(err, &r) {
			return r.Predicate == capsule.PredComplete, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// verifyCut verifies what is whole of a file of a store.
func verifyCut(c *cobra.Command, h *homeFlag, out *output, name string, o verifying) error {
	s, err := capsule.LookStore(name)
	if err != nil {
		return refusal(out, err)
	}
	ctx := c.Context()
	found, err := home.Candidates(ctx, s, "")
	if err == nil && len(found) != 1 {
		err = perdure.Missing("there is no agent in " + name)
	}
	if err == nil {
		if o.cut = true; s.Torn() {
			note(c, "%s was cut short while it was written: what is whole of it is looked at", name)
		}
		err = verifyStored(ctx, c, h, out, s, found[0].Agent, o)
	}
	return errors.Join(err, s.Close())
}

// capsuleMemory yields the entries of a capsule. It can be ranged over again.
func capsuleMemory(c *cobra.Command, name string, ids []age.Identity) iter.Seq2[*perdure.Entry, error] {
	return capsuleEntries(c, name, ids, nil)
}

// capsuleEntries is capsuleMemory, and shows the reader once all entries have been read.
func capsuleEntries(c *cobra.Command, name string, ids []age.Identity, read func(*capsule.Reader)) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		r, done, err := home.OpenCapsule(name, ids)
		if err != nil {
			yield(nil, err)
			return
		}
		for e, err := range r.Entries() {
			if err == nil {
				err = c.Context().Err()
			}
			if !yield(e, err) || err != nil {
				read = nil
				break
			}
		}
		if read != nil {
			read(r)
		}
		if err := done(); err != nil {
			yield(nil, err)
		}
	}
}

// fileMemory yields the entries of a memory in a file. It can be ranged over again.
func fileMemory(c *cobra.Command, name string) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		err := withInput(c, name, func(r io.Reader) error {
			buffered := bufio.NewReader(r)
			form := formBinary
			if first, err := buffered.Peek(1); err == nil && first[0] == '{' {
				form = formText
			}
			lim := perdure.Limits{Bytes: 2 * perdure.MaxBody}
			for e, err := range readMemory(buffered, form, lim) {
				if err == nil {
					err = c.Context().Err()
				}
				if err != nil || !yield(e, nil) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}
