//go:build unix

package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// faultStride is how many operations lie from one that fails to the next.
var faultStride = amount{short: 24, usual: 6, long: 1}

func TestFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	stride := faultStride.of(t)
	jobs := make(chan Fault)
	var mu sync.Mutex
	var wg sync.WaitGroup
	runs, struck, over := 0, 0, map[string]bool{}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for f := range jobs {
				fired, err := faulty(memoryDir(t), f)
				mu.Lock()
				if runs++; fired > 0 {
					struck++
				}
				over[f.course()] = over[f.course()] || fired < 0
				mu.Unlock()
				if err != nil {
					t.Errorf("%v at operation %d, sticky %t: %v", f.Flaw, f.At, f.Sticky, err)
				}
			}
		})
	}
	for _, flaw := range []Flaw{Broken, Full, Short, FailedSync} {
		for _, sticky := range []bool{false, true} {
			for n := 1 + int(seed()%uint64(stride)); ; n += stride {
				f := Fault{At: n, Flaw: flaw, Sticky: sticky}
				mu.Lock()
				done := over[f.course()]
				mu.Unlock()
				if done || t.Failed() {
					break
				}
				jobs <- f
			}
		}
	}
	close(jobs)
	wg.Wait()
	t.Logf("%d runs, a fault struck in %d of them", runs, struck)
}

// course names faults that differ in where they strike alone.
func (f Fault) course() string { return fmt.Sprint(f.Flaw, f.Sticky) }

// faulty does the workload on a disk with a fault and checks that everything acknowledged is there: on the disk as it is afterwards, and as
// it is if then the power goes. It returns how many operations failed; negative when the fault lay beyond the end.
func faulty(dir string, f Fault) (fired int, err error) {
	d, err := NewDisk(dir)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	d.Quick = true
	d.SetFault(f)
	w := newWorkload(d)
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
	if fired <= 0 && len(said) > 0 {
		return fired, fmt.Errorf("nothing failed, and the store said: %w", errors.Join(said...))
	}
	if len(w.wrong) > 0 {
		return fired, errors.New(strings.Join(w.wrong, "; "))
	}
	worst := d.Trace().Worst()
	if err := w.check(d.Root(), worst.Marks); err != nil {
		return fired, fmt.Errorf("%w (it said: %v)", err, errors.Join(said...))
	}
	after := dir + "-after"
	defer func() { err = errors.Join(err, os.RemoveAll(after)) }()
	if err := errors.Join(os.Mkdir(after, 0o755), worst.WriteTo(after)); err != nil {
		return fired, err
	}
	if err := quickly(after, func() error { return w.check(after, worst.Marks) }); err != nil {
		return fired, fmt.Errorf("when the power goes: %w (it said: %v)", err, errors.Join(said...))
	}
	return fired, nil
}
