package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"
)

func main() {
	p := Params{}
	flag.IntVar(&p.Agents, "agents", 100_000_000, "agents of the fleet")
	flag.IntVar(&p.Nodes, "nodes", 10_000, "nodes of the fleet")
	flag.IntVar(&p.Engines, "engines", 200, "engines they are spread over")
	flag.DurationVar(&p.Period, "period", 24*time.Hour, "within which every agent wakes once")
	flag.Float64Var(&p.Storm, "storm", 0.01, "the share of all agents that wakes at once in a storm")
	flag.IntVar(&p.Steps, "steps", 4, "steps of a wake-up")
	flag.IntVar(&p.Width, "width", 16, "requests an engine performs at once")
	flag.DurationVar(&p.Look, "look", time.Millisecond, "what an engine takes for a page of due agents")
	flag.DurationVar(&p.Claim, "claim", 500*time.Microsecond, "what an engine takes for a claim or a release")
	flag.DurationVar(&p.Commit, "commit", 2*time.Millisecond, "what an engine takes for a commit")
	flag.DurationVar(&p.CPU, "cpu", 250*time.Microsecond, "what a node computes per step")
	flag.DurationVar(&p.Tool, "tool", 2*time.Second, "what a tool or model takes, on average")
	flag.Float64Var(&p.Cores, "cores", 2, "processors of a node")
	flag.IntVar(&p.Slots, "slots", 64, "agents a node has under way at once")
	flag.IntVar(&p.Page, "page", 256, "due agents a node reads at once")
	flag.DurationVar(&p.Lease, "lease", 10*time.Second, "how long a claim lasts that is not renewed")
	flag.DurationVar(&p.Failover, "failover", 30*time.Second,
		"how long an engine answers nothing when its region is lost")
	flag.BoolVar(&p.Spread, "spread", true, "nodes that are refused an agent pass over some others")
	flag.Uint64Var(&p.Seed, "seed", 1, "where everything random comes from")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if flag.NArg() > 0 || p.Engines < 1 || p.Nodes < p.Engines || p.Width < 1 || p.Slots < 1 || p.Page < 1 {
		fmt.Fprintln(os.Stderr, "scale: takes flags only, and at least one node per engine; see -help")
		os.Exit(2)
	}
	var all []Result
	for _, run := range []func() Result{p.steady, p.storm, p.region} {
		all = append(all, run())
	}
	if *asJSON {
		_ = json.NewEncoder(os.Stdout).Encode(all)
		return
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tWOKEN\tDONE\tWAIT P50 s\tP99 s\tLONGEST s\tCLAIMS/WAKE\tENGINE "+
		"BUSY\tREQUESTS/s\tINTERRUPTED\tDONE AFTER s")
	for _, r := range all {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f%%\t%.0f\t%d\t%.0f\n", r.Name, r.Woken, r.Done, r.P50,
			r.P99, r.Longest, r.Claims, 100*r.Busy, r.Requests, r.Resumed, r.Took)
	}
	_ = w.Flush()
}
