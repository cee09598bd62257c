// Package durable writes agents as plain Go functions. What a step returned is recorded; when the process dies, or the
// agent sleeps for a month, the function runs again from its beginning on any machine, and every step that has a record
// returns it without being done again.
//
//	type Order struct{ Item string }
//
//	durable.Handle(node, "order", func(r *durable.Run, o Order) (string, error) {
//		id, err := durable.Step(r, "reserve", func(ctx context.Context) (string, error) { return warehouse.Reserve(ctx, o.Item) })
//		if err != nil {
//			return "", err
//		}
//		if err := durable.Sleep(r, 24*time.Hour); err != nil {
//			return "", err
//		}
//		return durable.Once(r, "charge", func(ctx context.Context) (string, error) { return bank.Charge(ctx, id, durable.Key(ctx)) })
//	})
//	agent, err := durable.StartAs(ctx, node, "order", "order-17", Order{Item: "book"}) // once, however often it is called
//	receipt, err := durable.Await[string](ctx, node, agent)
//
// A node that runs (Node.Run) does the work, in this process or another. Go begins steps that are done side by side,
// and a Try says how often and how long a step is tried.
//
// Spawn delegates to children, which go on by themselves; Gather waits for All of them, Any, a Quorum or the
// FirstFailure, and Cancel ends the rest.
//
// Steps are matched by name and occurrence, not by their place in the code, so code may change while agents are under
// way: a step that is new is done, one that is gone is left alone. A record that no longer fits the type a step asks
// for is an error of that step.
//
// The function must reach the same steps when it runs again: what it decides on comes from its input, from steps, or
// from events. It must not keep its goroutine locked to a thread (runtime.LockOSThread) from one step to the next; a
// step itself may.
package durable
