package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// node is a node with a store in memory; sqlite.Open makes one that outlives the process.
func node() *perdure.Node {
	key, err := perdure.GenerateSigner("shop") // a program that is started again reads its key with keyfile.Read
	if err != nil {
		log.Fatal(err)
	}
	return &perdure.Node{Store: new(perdure.MemStore), Key: key, Policy: durable.AllowAll}
}

// run runs a node until stop is called.
func run(n *perdure.Node) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			log.Fatal(err)
		}
	}
}

func Example() {
	n := node()
	durable.Handle(n, "greet", func(r *durable.Run, name string) (string, error) {
		return durable.Step(r, "say", func(context.Context) (string, error) { return "hello " + name, nil })
	})
	stop := run(n)
	defer stop()
	ctx := context.Background()
	id, err := durable.Start(ctx, n, "greet", "Ada")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(durable.Await[string](ctx, n, id))
	// Output: hello Ada <nil>
}

// A run under an id exists once, however often it is started.
func ExampleStartAs() {
	n := node()
	durable.Handle(n, "order", func(_ *durable.Run, item string) (string, error) { return "one " + item, nil })
	stop := run(n)
	defer stop()
	ctx := context.Background()
	first, err := durable.StartAs(ctx, n, "order", "order-17", "book")
	if err != nil {
		log.Fatal(err)
	}
	again, err := durable.StartAs(ctx, n, "order", "order-17", "book")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first == again)
	fmt.Println(durable.Await[string](ctx, n, again))
	// Output:
	// true
	// one book <nil>
}

// Steps begun by Go are done side by side. The function goes on when all have ended.
func ExampleGo() {
	n := node()
	durable.Handle(n, "quote", func(r *durable.Run, item string) (string, error) {
		price := durable.Go(r, "price", func(context.Context) (int, error) { return 12, nil })
		stock := durable.Go(r, "stock", func(context.Context) (int, error) { return 3, nil })
		cents, err := price.Wait()
		if err != nil {
			return "", err
		}
		left, err := stock.Wait()
		return fmt.Sprintf("%s: %d, %d left", item, cents, left), err
	})
	stop := run(n)
	defer stop()
	ctx := context.Background()
	id, err := durable.Start(ctx, n, "quote", "book")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(durable.Await[string](ctx, n, id))
	// Output: book: 12, 3 left <nil>
}

// A Try says how often and how long a step is tried, and which errors are worth it.
func ExampleTry() {
	errBusy := errors.New("busy")
	n := node()
	calls := 0
	durable.Handle(n, "fetch", func(r *durable.Run, _ string) (int, error) {
		return durable.Step(r, "get", func(context.Context) (int, error) {
			if calls++; calls < 3 {
				return 0, errBusy
			}
			return calls, nil
		}, durable.Try{Times: 5, Wait: time.Millisecond, Timeout: time.Minute, If: func(err error) bool {
			return errors.Is(err, errBusy)
		}})
	})
	stop := run(n)
	defer stop()
	ctx := context.Background()
	id, err := durable.Start(ctx, n, "fetch", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(durable.Await[int](ctx, n, id))
	// Output: 3 <nil>
}
