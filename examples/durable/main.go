// Command durable is an order as a plain Go function. The process is replaced twice in the middle of it, and no step is
// done again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
	"github.com/perdure/perdure/store/sqlite"
)

// Order is what the function is given.
type Order struct {
	Item  string
	Cents int
}

func main() {
	file := flag.String("store", "", "keep the agents in this SQLite file (default: in memory)")
	day := flag.Duration("day", 2*time.Second, "how long a day takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	store, err := open(ctx, *file)
	if err == nil {
		err = errors.Join(run(ctx, store, os.Stdout, *day), store.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// open opens the store in a file, or one in memory if there is no file.
func open(ctx context.Context, file string) (perdure.Store, error) {
	if file == "" {
		return new(perdure.MemStore), nil
	}
	return sqlite.Open(ctx, file, sqlite.Options{})
}

func run(ctx context.Context, store perdure.Store, out io.Writer, day time.Duration) error {
	key, err := perdure.GenerateSigner("shop")
	if err != nil {
		return err
	}
	// The id keeps an order that is sent twice from being two.
	id, err := durable.StartAs(ctx, newNode(store, key, out, day), "order", "order-17",
		Order{Item: "book", Cents: 1200})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "the first process")
	if _, err := newNode(store, key, out, day).RunAgent(ctx, id); err != nil { // until it rests
		return err
	}
	fmt.Fprintln(out, "the second process, in which the payment arrives")
	paid, err := perdure.DataOf(map[string]any{"Card": "visa"})
	if err != nil {
		return err
	}
	second := newNode(store, key, out, day)
	event := perdure.Event{Name: "paid", By: "the web shop", ID: "payment-1", Data: paid}
	if _, err := second.Tell(ctx, id, event); err != nil {
		return err
	}
	if _, err := second.RunAgent(ctx, id); err != nil {
		return err
	}
	fmt.Fprintln(out, "the third process, a day later")
	a, err := finish(ctx, newNode(store, key, out, day), id)
	if err != nil {
		return err
	}
	receipt, err := durable.Result[string](a)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, receipt)
	return nil
}

// newNode is all there is in a process.
func newNode(store perdure.Store, key *perdure.Signer, out io.Writer, day time.Duration) *perdure.Node {
	node := &perdure.Node{Store: store, Key: key, Policy: durable.AllowAll}
	durable.Handle(node, "order", func(r *durable.Run, o Order) (string, error) { return order(r, o, out, day) })
	return node
}

// order is the function. It begins again in each process, and each step that has a record returns it.
func order(r *durable.Run, o Order, out io.Writer, day time.Duration) (string, error) {
	shelf, err := durable.Step(r, "reserve", func(context.Context) (string, error) {
		fmt.Fprintf(out, "  reserve a %s\n", o.Item)
		return "shelf 7", nil
	})
	if err != nil {
		return "", err
	}
	payment, err := durable.WaitFor[struct{ Card string }](r, "paid", 7*day)
	if err != nil {
		return "", err
	}
	charge, err := durable.Once(r, "charge", func(context.Context) (string, error) {
		fmt.Fprintf(out, "  charge %d cents to %s\n", o.Cents, payment.Card)
		return "charge 41", nil
	})
	if err != nil {
		return "", err
	}
	if err := durable.Sleep(r, day); err != nil {
		return "", err
	}
	return durable.Step(r, "ship", func(context.Context) (string, error) {
		fmt.Fprintf(out, "  ship the %s from %s\n", o.Item, shelf)
		return fmt.Sprintf("a %s from %s, paid with %s", o.Item, shelf, charge), nil
	}, durable.Try{Times: 3, Timeout: time.Minute})
}

// finish runs a node until an agent has ended. A service would call Node.Run alone, which runs any number of agents.
func finish(ctx context.Context, node *perdure.Node, id perdure.AgentID) (*perdure.Agent, error) {
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() {
		defer stop()
		stopped <- node.Run(ctx)
	}()
	a, err := node.Ended(ctx, id)
	stop()
	return a, errors.Join(err, <-stopped)
}
