package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// The shop of the demonstration: a price list and a ledger in a folder. What its tools do is real: they write to the ledger.
const (
	shopPrices = "prices.json"
	shopLedger = "ledger.txt"
	shopSlow   = 30 * time.Second // how long the shop takes to answer: long enough to be killed meanwhile
	shopLimit  = 3 * time.Second  // how long the agent waits before it finds out what happened
)

// shopTool writes a line with its key to the ledger. It is done once, and the ledger tells whether it was.
type shopTool struct {
	dir  string
	name string
	verb string
	slow time.Duration // between doing it and answering
}

func (t *shopTool) Spec() perdure.Spec {
	return perdure.Spec{Name: t.name, Description: t.verb + " at the shop of the demonstration", Effect: perdure.Once, Deadline: shopLimit}
}

// Call does it, and then takes its time to say so.
func (t *shopTool) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	f, err := os.OpenFile(filepath.Join(t.dir, shopLedger), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return perdure.Result{}, err
	}
	_, err = fmt.Fprintf(f, "%s %s %s\n", t.verb, c.Key, dataText(c.Args))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return perdure.Result{}, err
	}
	select {
	case <-ctx.Done():
		return perdure.Result{}, ctx.Err()
	case <-time.After(t.slow):
	}
	return t.done()
}

// Reconcile looks into the ledger for the key of the call.
func (t *shopTool) Reconcile(_ context.Context, c perdure.Call) (perdure.Result, error) {
	b, err := os.ReadFile(filepath.Join(t.dir, shopLedger))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return perdure.Result{}, err
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte(t.verb+" "+c.Key+" ")) {
			return t.done()
		}
	}
	return perdure.Result{Signal: perdure.Failed, Note: "the ledger has no line with its key"}, lines.Err()
}

func (t *shopTool) done() (perdure.Result, error) {
	d, err := perdure.DataOf(map[string]any{t.verb: true})
	return perdure.Result{Data: d, Set: map[string]perdure.Data{t.verb: d}}, err
}

// demoTools are the tools of the demonstration in a folder.
func demoTools(dir string) ([]perdure.Tool, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return append(tool.Files(root), &shopTool{dir: dir, name: "shop.reserve", verb: "reserved", slow: shopSlow}, &shopTool{dir: dir, name: "shop.pay", verb: "paid"}), nil
}

// demoAdvisor proposes one thing a turn: look at the prices, reserve, pay, wait for the delivery, end.
func demoAdvisor(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	args := func(v map[string]any) perdure.Data {
		d, err := perdure.DataOf(v)
		if err != nil {
			panic(err) // these are constants
		}
		return d
	}
	script := []struct {
		text string
		act  perdure.Action
	}{
		{"first the price", perdure.Execute{Tool: "files.read", Args: args(map[string]any{"path": shopPrices})}},
		{"one kilo, before it is gone", perdure.Execute{Tool: "shop.reserve", Args: args(map[string]any{"item": "tea", "kilos": 1})}},
		{"now it has to be paid", perdure.Execute{Tool: "shop.pay", Args: args(map[string]any{"cents": 1200})}},
		{"nothing to do before it is here", perdure.Sleep{Trigger: perdure.On{Event: "delivered"}, Note: "until the tea is here"}},
		{"all done", perdure.End{Signal: perdure.OK, Result: args(map[string]any{"tea": "1 kg"}), Note: "the tea is here"}},
	}
	turn := a.Fold().Turns
	if turn >= int64(len(script)) {
		return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.Failed, Note: "not as planned"}}}, nil
	}
	return perdure.Advice{Text: script[turn].text, Actions: []perdure.Action{script[turn].act}}, nil
}

// demoPolicy is the policy of the demonstration.
const demoPolicy = `@id("shop.look")
@reason("reading changes nothing")
permit (principal, action == Action::"execute", resource)
when { context.effect == Effect::"read" };

@id("shop.use")
permit (principal, action == Action::"execute", resource)
when { resource == Tool::"shop.reserve" || resource == Tool::"shop.pay" };

@id("shop.pay-asks")
@reason("money leaves the house")
@obligation("approval:owner;expires=1h")
forbid (principal, action == Action::"execute", resource == Tool::"shop.pay");

@id("shop.rest")
permit (principal, action in [Action::"sleep", Action::"wake", Action::"end"], resource);
`
