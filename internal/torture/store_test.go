//go:build unix

package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure/capsule"
)

// cutStates is at how many states of the disk after a power cut a round looks, and faultRuns how many times it does the
// workload with a fault.
const cutStates, faultRuns = 100, 8

// storeParts cut the power of the disk under a store after any operation, and make any operation fail.
func storeParts() (all []part) {
	for _, name := range []string{"sqlite", "dir", "dir binary"} {
		k := kinds[name]
		all = append(all,
			part{name: name + ": power cuts", round: func(r *round) {
				cuts(r, k)
			}, sabotage: "a sync left out", tries: 4},
			part{name: name + ": failing disk", round: func(r *round) {
				faults(r, k)
			}, sabotage: "an error taken for an acknowledgement", tries: 3})
	}
	return all
}

// forgotten are syncs a store must not leave out.
func (k kind) forgotten() []func(Op) bool {
	if k.sqlite {
		return []func(Op) bool{
			func(o Op) bool { return o.Kind == Sync && strings.HasSuffix(o.Path, "-wal") },
			func(o Op) bool { return o.Kind == Sync && o.Path == storeFile },
			func(o Op) bool { return o.Kind == Sync && strings.Contains(o.Path, "-blobs/") },
			func(o Op) bool { return o.Kind == SyncDir && strings.HasSuffix(o.Path, "-blobs") },
			func(o Op) bool { return o.Kind == SyncDir && o.Path == "." },
		}
	}
	return []func(Op) bool{
		func(o Op) bool { return o.Kind == Sync && strings.HasSuffix(o.Path, capsule.Ext) },
		func(o Op) bool { return o.Kind == SyncDir && filepath.Base(o.Path) == folderName },
	}
}

// cuts does the workload, and then looks at what the disk can hold had the power gone meanwhile.
func cuts(r *round, k kind) {
	d := newDisk(r.t)
	most := cutStates
	if r.sabotaged {
		d.Forget = one(r, k.forgotten()...)
		most *= 4
	}
	w := newWorkload(d, k)
	for i, step := range w.course() {
		if err := step(r.t.Context()); err != nil {
			r.t.Fatalf("step %d: %v", i, err)
		}
	}
	states, found := explore(r.t, r.rng, d.Trace(), most, func(dir string, c Crash) error {
		return w.check(dir, c.Marks)
	})
	r.faults += states
	r.checked += states * len(w.commits)
	for _, f := range found {
		r.Lost("%s", f)
	}
}

// faults does the workload again and again, each time on a disk that fails in another way.
func faults(r *round, k kind) {
	d := newDisk(r.t)
	w := newWorkload(d, k)
	for _, step := range w.course() {
		r.must(step(r.t.Context()))
	}
	_, operations := d.Fired()
	for range faultRuns {
		f := Fault{At: 1 + r.rng.IntN(operations), Flaw: one(r, Broken, Full, Short, FailedSync),
			Sticky: r.rng.IntN(2) == 0}
		fired, checked, err := faulty(memoryDir(r.t), k, f, r.sabotaged)
		r.faults += max(fired, 0)
		r.checked += checked
		if err != nil {
			r.Lost("%v at operation %d, sticky %t: %v", f.Flaw, f.At, f.Sticky, err)
		}
	}
}

// faulty does the workload on a disk with a fault and checks that everything acknowledged is there: on the disk as it
// is afterwards, and as it is if then the power goes. It returns how many operations failed; negative when the fault
// lay beyond the end.
func faulty(dir string, k kind, f Fault, hasty bool) (fired, checked int, err error) {
	d, err := NewDisk(dir)
	if err != nil {
		return 0, 0, err
	}
	defer d.Close()
	d.Quick = true
	d.SetFault(f)
	w := newWorkload(d, k)
	w.hasty = hasty
	var said []error
	for _, step := range w.course() {
		if err := step(context.Background()); err != nil {
			said = append(said, err)
		}
		if w.s == nil {
			break
		}
	}
	fired, of := d.Fired()
	if of < f.At {
		fired = -1
	}
	d.SetFault(Fault{})
	if w.s != nil {
		_ = w.s.Close() // it may say again what went wrong
	}
	checked = len(w.commits)
	if fired <= 0 && len(said) > 0 {
		return fired, checked, fmt.Errorf("nothing failed, and the store said: %w", errors.Join(said...))
	}
	if len(w.wrong) > 0 {
		return fired, checked, errors.New(strings.Join(w.wrong, "; "))
	}
	worst := d.Trace().Worst()
	if err := w.check(d.Root(), worst.Marks); err != nil {
		return fired, checked, fmt.Errorf("%w (it said: %v)", err, errors.Join(said...))
	}
	after := dir + "-after"
	defer func() { err = errors.Join(err, os.RemoveAll(after)) }()
	if err := errors.Join(os.Mkdir(after, 0o755), worst.WriteTo(after)); err != nil {
		return fired, checked, err
	}
	if err := quickly(after, func() error { return w.check(after, worst.Marks) }); err != nil {
		return fired, checked, fmt.Errorf("when the power goes: %w (it said: %v)", err, errors.Join(said...))
	}
	return fired, checked, nil
}
