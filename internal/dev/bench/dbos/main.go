//go:build unix

// Command dbos measures durable steps of DBOS Transact for Go on SQLite, for `perdure bench durable --peer`. It is a
// module of its own, so that nothing of it comes into the program:
//
//	cd internal/dev/bench/dbos && CGO_ENABLED=0 go build -o /tmp/dbos . && perdure bench durable --peer /tmp/dbos
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

var (
	agents = flag.Int("agents", 1, "workflows at once")
	steps  = flag.Int("steps", 2000, "steps of each")
	size   = flag.Int("payload", 1024, "bytes each step returns")
	level  = flag.String("sync", "normal", "synchronous of SQLite: full or normal, which is its default")
	folder = flag.String("store", os.TempDir(), "make the database in a new folder below this one")
	_      = flag.Bool("json", true, "print JSON, which it does anyway")

	payload string
)

// figures are what `perdure bench` prints with --json.
type figures struct {
	Workload  string         `json:"workload"`
	Store     string         `json:"store"`
	Durable   string         `json:"durable"`
	Settings  map[string]any `json:"settings"`
	Count     int            `json:"count"`
	Unit      string         `json:"unit"`
	Seconds   float64        `json:"seconds"`
	PerSecond float64        `json:"per_second"`
	P50       float64        `json:"p50_ms"`
	P99       float64        `json:"p99_ms"`
	CPU       float64        `json:"cpu_us_per_unit"`
}

// laps are the times between the steps of each workflow.
var laps struct {
	sync.Mutex
	all []time.Duration
}

// work is the workflow: steps, one after the other.
func work(ctx dbos.Context, n int) (int, error) {
	last := time.Time{}
	for i := range n {
		_, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) {
			now := time.Now()
			laps.Lock()
			defer laps.Unlock()
			if i > 0 {
				laps.all = append(laps.all, now.Sub(last))
			}
			last = now
			return payload, nil
		})
		if err != nil {
			return i, err
		}
	}
	return n, nil
}

func main() {
	flag.Parse()
	f, err := measure()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode([]figures{f})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dbos:", err)
		os.Exit(1)
	}
}

func measure() (f figures, err error) {
	raw := make([]byte, (*size+1)/2)
	if _, err := rand.Read(raw); err != nil {
		return f, err
	}
	payload = hex.EncodeToString(raw)[:*size]
	dir, err := os.MkdirTemp(*folder, "dbos-bench-")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// As DBOS opens a database itself, but for synchronous.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "dbos.db")+
		"?_txlock=immediate&_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)"+
		"&_pragma=synchronous("+*level+")&_pragma=busy_timeout(5000)")
	if err != nil {
		return f, err
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{AppName: "bench", SQLiteSystemDB: db,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return f, err
	}
	dbos.RegisterWorkflow(ctx, work)
	if err := dbos.Launch(ctx); err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, dbos.Shutdown(ctx, time.Minute), db.Close()) }()
	begun, before := time.Now(), cpu()
	if err := run(ctx); err != nil {
		return f, err
	}
	took, count := time.Since(begun).Seconds(), *agents**steps
	used := cpu() - before
	slices.Sort(laps.all)
	at := func(p float64) float64 {
		return float64(laps.all[min(int(p*float64(len(laps.all))), len(laps.all)-1)]) / float64(time.Millisecond)
	}
	return figures{
		P50: at(0.5), P99: at(0.99), CPU: float64(used.Microseconds()) / float64(count),
		Workload: "dbos", Store: "sqlite", Durable: "SQLite in WAL mode, synchronous=" + *level, Unit: "step",
		Count: count, Seconds: took,
		PerSecond: float64(count) / took, Settings: map[string]any{"agents": *agents, "steps": *steps,
			"payload": *size},
	}, nil
}

// cpu is the processor time this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// run starts the workflows and waits for their results.
func run(ctx dbos.Context) error {
	handles := make([]dbos.WorkflowHandle[int], *agents)
	for i := range handles {
		var err error
		if handles[i], err = dbos.RunWorkflow(ctx, work, *steps); err != nil {
			return err
		}
	}
	for _, h := range handles {
		if n, err := h.GetResult(); err != nil || n != *steps {
			return fmt.Errorf("got %d steps, want %d: %w", n, *steps, err)
		}
	}
	return nil
}
