package demo

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
)

// The shop of the demonstration: a price list and a ledger in a folder. What its tools do is real: they write to the
// ledger.
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
	return perdure.Spec{Name: t.name, Description: t.verb + " at the shop of the demonstration", Effect: perdure.Once,
		Deadline: shopLimit}
}

// Call does it, and then takes its time to say so.
func (t *shopTool) Call(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	f, err := os.OpenFile(filepath.Join(t.dir, shopLedger), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return perdure.Result{}, err
	}
	_, err = fmt.Fprintf(f, "%s %s %s\n", t.verb, c.Key, c.Args.JSON())
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

// Tools are the tools of the shop in a folder.
func Tools(dir string) []perdure.Tool {
	return []perdure.Tool{&shopTool{dir: dir, name: "shop.reserve", verb: "reserved", slow: shopSlow},
		&shopTool{dir: dir, name: "shop.pay", verb: "paid"}}
}

// script is what the advisor of the demonstration proposes, turn by turn.
const script = `turns:
  - execute: {tool: files.read, args: {path: prices.json}}
    text: first the price
  - execute: {tool: shop.reserve, args: {item: tea, kilos: 1}}
    text: one kilo, before it is gone
  - execute: {tool: shop.pay, args: {cents: 1200}}
    as: payment
    text: now it has to be paid
  - when: results.payment.signal != "ok"
    end: {signal: failed, note: "not paid: ${results.payment.note}"}
  - sleep: {on: delivered, note: until the tea is here}
    text: nothing to do before it is here
  - end: {signal: ok, result: {tea: 1 kg}, note: the tea is here}
    text: all done
`

// nodeYAML says what the nodes of the demonstration can do.
const nodeYAML = `advisors: {buyer: "script:../buyer.yaml"}
files: ..
demo: ..
`

// policy is the policy of the demonstration.
const policy = `@id("shop.look")
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
