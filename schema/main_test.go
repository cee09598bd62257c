package schema

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Each law is held to this many random schemas. For a long run say -rapid.checks=100000.
const lawChecks = "500"

// TestMain fails a whole run in which some predicate refused nothing.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["rapid.checks"] && os.Getenv("RAPID_CHECKS") == "" {
		if err := flag.Set("rapid.checks", lawChecks); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	partial := given["test.run"] || given["test.skip"] || given["test.list"] || given["test.fuzz"] ||
		given["test.fuzzworker"]
	if code == 0 && !partial {
		for _, p := range Predicates {
			if _, ok := refused.Load(p.Name); !ok {
				fmt.Printf("FAIL: no test in which %s refuses something\n", p.Name)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// refused holds the names of the predicates that refused something in this run.
var refused sync.Map

func saw(predicate string) { refused.Store(predicate, true) }
