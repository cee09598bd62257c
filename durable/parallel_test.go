package durable_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// countingStore counts how often memories are read.
type countingStore struct {
	perdure.Store
	reads atomic.Int64
}

func (s *countingStore) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	s.reads.Add(1)
	return s.Store.Entries(ctx, id, after)
}

func (s *countingStore) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	s.reads.Add(1)
	return s.Store.Snapshots(ctx, id)
}

func TestStepsBegunTogetherAreDoneSideBySide(t *testing.T) {
	n := newNode(t, new(perdure.MemStore))
	n.Parallel = 5
	var meet sync.WaitGroup
	meet.Add(5)
	durable.Handle(n, "job", func(r *durable.Run, _ any) ([]int, error) {
		var all []*durable.Pending[int]
		for i := range 5 {
			all = append(all, durable.Go(r, "part", func(context.Context) (int, error) {
				meet.Done()
				meet.Wait() // each needs all the others
				return i * i, nil
			}))
		}
		var got []int
		for _, p := range all {
			v, err := p.Wait()
			if err != nil {
				return nil, err
			}
			got = append(got, v)
		}
		return got, nil
	})
	id := start(t, n, "job", nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got, err := result[[]int](t, n.Store, id); err != nil || !slices.Equal(got, []int{0, 1, 4, 9, 16}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// A process that died left four steps open: the next one does them as the first did.
func TestStepsLeftOpenAreDoneSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, after := new(perdure.MemStore), new(perdure.MemStore)
		var now, most atomic.Int64
		died := false
		handle := func(n *perdure.Node) {
			n.Parallel = 5
			durable.Handle(n, "job", func(r *durable.Run, _ any) (string, error) {
				for i := range 5 {
					durable.Go(r, "part", func(context.Context) (int, error) {
						if i == 0 {
							return i, nil // so that what is decided is on record
						}
						if died {
							most.Store(max(most.Load(), now.Add(1)))
							defer now.Add(-1)
						}
						time.Sleep(time.Minute)
						return i, nil
					})
				}
				return "done", durable.Sleep(r, time.Second)
			})
		}
		n := newNode(t, store)
		handle(n)
		id := start(t, n, "job", nil)
		first := make(chan error, 1)
		go func() {
			_, err := n.RunAgent(t.Context(), id)
			first <- err
		}()
		time.Sleep(30 * time.Second)
		var entries []*perdure.Entry
		for e, err := range perdure.Memory(t.Context(), store, id) {
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		if err := after.Put(t.Context(), id, entries...); err != nil {
			t.Fatal(err)
		}
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		died = true
		n = newNode(t, after)
		handle(n)
		during(t, n, time.Hour)
		if got, err := result[string](t, after, id); err != nil || got != "done" || most.Load() != 4 {
			t.Errorf("got %q, %v; %d steps at once, want all 4 that were open", got, err, most.Load())
		}
	})
}

func TestParallelStepsReplayTheSameWhateverOrderTheyEndIn(t *testing.T) {
	for _, slow := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			store := new(perdure.MemStore)
			var seen []string // by each life
			calls := map[string]int{}
			var mu sync.Mutex
			handle := func(n *perdure.Node) {
				durable.Handle(n, "job", func(r *durable.Run, _ any) (string, error) {
					var all []*durable.Pending[string]
					for i := range 3 {
						all = append(all, durable.Go(r, "part", func(context.Context) (string, error) {
							mu.Lock()
							calls[fmt.Sprint(i)]++
							mu.Unlock()
							if i == slow {
								time.Sleep(time.Minute)
							}
							if i == 1 {
								return "", errors.New("no luck")
							}
							return fmt.Sprint("part ", i), nil
						}))
					}
					said := ""
					for _, p := range all {
						v, err := p.Wait()
						said += fmt.Sprint(v, err, ";")
					}
					seen = append(seen, said)
					return said, durable.Sleep(r, time.Hour)
				})
			}
			n := newNode(t, store)
			handle(n)
			id := start(t, n, "job", nil)
			during(t, n, 10*time.Minute)
			n = newNode(t, store)
			handle(n)
			during(t, n, 2*time.Hour)
			got, err := result[string](t, store, id)
			if err != nil || len(seen) != 2 || seen[0] != seen[1] || got != seen[0] {
				t.Errorf("got %q, %v, lives saw %q", got, err, seen)
			}
			for i, n := range calls {
				if n != 1 {
					t.Errorf("part %s was done %d times", i, n)
				}
			}
		})
	}
}

func TestWhatWasBegunIsDoneThoughNobodyWaits(t *testing.T) {
	n := newNode(t, new(perdure.MemStore))
	var done atomic.Int64
	durable.Handle(n, "job", func(r *durable.Run, _ any) (int, error) {
		durable.Go(r, "one", func(context.Context) (int, error) { done.Add(1); return 1, nil })
		durable.GoOnce(r, "two", func(context.Context) (int, error) { done.Add(1); return 2, nil })
		return 3, nil
	})
	id := start(t, n, "job", nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got, err := result[int](t, n.Store, id); err != nil || got != 3 || done.Load() != 2 {
		t.Errorf("got %d, %v, %d done", got, err, done.Load())
	}
}

func TestMoreStepsThanGoAtOnceGoInRounds(t *testing.T) {
	n := newNode(t, new(perdure.MemStore))
	durable.Handle(n, "job", func(r *durable.Run, many int) (int, error) {
		var all []*durable.Pending[int]
		for i := range many {
			all = append(all, durable.Go(r, "part", func(context.Context) (int, error) { return i, nil }))
		}
		sum := 0
		for _, p := range all {
			v, err := p.Wait()
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum, nil
	})
	id := start(t, n, "job", 600)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got, err := result[int](t, n.Store, id); err != nil || got != 600*599/2 {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestAStepIsTriedAgainAlsoInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		begun := time.Now()
		var at []time.Duration
		keys := map[string]int{}
		handle := func(n *perdure.Node) {
			durable.Handle(n, "job", func(r *durable.Run, _ any) (int, error) {
				return durable.Step(r, "call", func(ctx context.Context) (int, error) {
					at = append(at, time.Since(begun).Round(time.Second))
					if keys[durable.Key(ctx)]++; len(at) < 4 {
						return 0, errors.New("busy")
					}
					return len(at), nil
				}, durable.Try{Times: 4, Wait: time.Minute, MaxWait: 3 * time.Minute})
			})
		}
		n := newNode(t, store)
		handle(n)
		id := start(t, n, "job", nil)
		during(t, n, 90*time.Second)
		n = newNode(t, store)
		handle(n)
		during(t, n, time.Hour)
		if got, err := result[int](t, store, id); err != nil || got != 4 {
			t.Errorf("got %d, %v, want the fourth attempt", got, err)
		}
		want := []time.Duration{0, time.Minute, 3 * time.Minute, 6 * time.Minute}
		if !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
		if len(keys) != 1 || keys[""] != 0 {
			t.Errorf("got keys %v, want one", keys)
		}
	})
}

func TestOnlyErrorsWorthItAreTriedAgain(t *testing.T) {
	errFinal := errors.New("card refused")
	for _, c := range []struct {
		name  string
		try   durable.Try
		errs  []error
		calls int
	}{
		{"without a Try once", durable.Try{}, []error{errFinal}, 1},
		{"until it is not worth it", durable.Try{Times: 9, Wait: -1, If: func(err error) bool {
			return !errors.Is(err, errFinal)
		}},
			[]error{errors.New("busy"), errFinal}, 2},
		{"as often as said", durable.Try{Times: 3, Wait: -1}, []error{errFinal, errFinal, errFinal}, 3},
	} {
		for _, do := range []string{"step", "once"} {
			t.Run(c.name+" "+do, func(t *testing.T) {
				n := newNode(t, new(perdure.MemStore))
				calls := 0
				durable.Handle(n, "job", func(r *durable.Run, _ any) (int, error) {
					fn := func(context.Context) (int, error) { calls++; return 0, c.errs[calls-1] }
					if do == "once" {
						return durable.Once(r, "pay", fn, c.try)
					}
					return durable.Step(r, "pay", fn, c.try)
				})
				id := start(t, n, "job", nil)
				if _, err := n.RunAgent(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				_, err := result[int](t, n.Store, id)
				var failed *durable.Error
				if !errors.As(err, &failed) || failed.Note != "step pay#0: failed: card refused" || calls != c.calls {
					t.Errorf("got %v after %d calls, want card refused after %d", err, calls, c.calls)
				}
			})
		}
	}
}

func TestATimeoutEndsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, new(perdure.MemStore))
		calls := 0
		durable.Handle(n, "job", func(r *durable.Run, _ any) (int, error) {
			return durable.Step(r, "slow", func(ctx context.Context) (int, error) {
				if calls++; calls < 3 {
					<-ctx.Done()
					return 0, ctx.Err()
				}
				return calls, nil
			}, durable.Try{Times: 3, Timeout: 10 * time.Minute})
		})
		id := start(t, n, "job", nil)
		begun := time.Now()
		if _, err := n.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 10*time.Minute {
			t.Errorf("the first attempt took %v", took)
		}
		during(t, n, time.Hour)
		if got, err := result[int](t, n.Store, id); err != nil || got != 3 {
			t.Errorf("got %d, %v, want the third attempt", got, err)
		}
	})
}

func TestAOnceThatTakesTooLongIsInDoubtAndNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, new(perdure.MemStore))
		calls := 0
		durable.Handle(n, "job", func(r *durable.Run, _ any) (int, error) {
			beside := durable.Go(r, "beside", func(context.Context) (int, error) { return 1, nil })
			paid := durable.GoOnce(r, "pay", func(ctx context.Context) (int, error) {
				calls++
				<-ctx.Done()
				return 0, ctx.Err()
			}, durable.Try{Times: 3, Timeout: time.Minute})
			a, _ := beside.Wait()
			b, err := paid.Wait()
			return a + b, err
		})
		id := start(t, n, "job", nil)
		during(t, n, time.Hour)
		a, err := perdure.Load(t.Context(), n.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		if open := a.Fold().Open; calls != 1 || len(open) != 1 {
			t.Fatalf("%d calls, open %+v, want one call whose outcome nobody knows", calls, open)
		}
		data, err := perdure.DataOf(41)
		if err != nil {
			t.Fatal(err)
		}
		settled := perdure.Settle{Decision: a.Fold().Open[0].Decision, Signal: perdure.OK, Result: data}
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "settled", Notice: settled}); err != nil {
			t.Fatal(err)
		}
		during(t, n, time.Hour)
		if got, err := result[int](t, n.Store, id); err != nil || got != 42 || calls != 1 {
			t.Errorf("got %d, %v after %d calls, want what was settled", got, err, calls)
		}
	})
}

func TestALiveStepAndARecordedOneReturnTheSame(t *testing.T) {
	for _, text := range []string{"", "plain", "a\"<b>\u2028", "e\u0301", "\x00", "bad \xff utf-8"} {
		synctest.Test(t, func(t *testing.T) {
			store := new(perdure.MemStore)
			var seen []string
			handle := func(n *perdure.Node) {
				durable.Handle(n, "job", func(r *durable.Run, _ any) (string, error) {
					v, err := durable.Step(r, "say", func(context.Context) (string, error) { return text, nil })
					if err != nil {
						v = err.Error()
					}
					seen = append(seen, v)
					return v, durable.Sleep(r, time.Hour)
				})
			}
			n := newNode(t, store)
			handle(n)
			start(t, n, "job", nil)
			during(t, n, time.Minute)
			n = newNode(t, store)
			handle(n)
			during(t, n, 2*time.Hour)
			if len(seen) != 2 || seen[0] != seen[1] {
				t.Errorf("%q: lives saw %q", text, seen)
			}
			t.Logf("%q: %q", text, seen)
		})
	}
}

// A function that fails, times out and waits over and over says itself how often: it does not go in circles.
func TestAFunctionTriesAsOftenAsItSays(t *testing.T) {
	const often = 40
	bad := func(context.Context) (int, error) { return 0, errors.New("connection refused") }
	for name, fn := range map[string]func(r *durable.Run, _ any) (int, error){
		"steps that fail": func(r *durable.Run, _ any) (n int, _ error) {
			for range often {
				if _, err := durable.Step(r, "call", bad); err != nil {
					n++
				}
			}
			return n, nil
		},
		"attempts without a wait": func(r *durable.Run, _ any) (int, error) {
			if _, err := durable.Step(r, "call", bad, durable.Try{Times: often, Wait: -1}); err == nil {
				return 0, nil
			}
			return often, nil
		},
		"waits that end in vain": func(r *durable.Run, _ any) (n int, _ error) {
			for range often {
				if _, err := durable.WaitFor[int](r, "paid", 500*time.Millisecond); err != nil {
					n++
				}
			}
			return n, nil
		},
		"short sleeps": func(r *durable.Run, _ any) (n int, _ error) {
			for range often {
				if err := durable.Sleep(r, 500*time.Millisecond); err == nil {
					n++
				}
			}
			return n, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t, new(perdure.MemStore))
				durable.Handle(n, "job", fn)
				id := start(t, n, "job", nil)
				during(t, n, time.Minute)
				if got, err := result[int](t, n.Store, id); err != nil || got != often {
					t.Errorf("got %d, %v, want %d", got, err, often)
				}
			})
		})
	}
}
