package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
)

// scripted is one call of the program in a script: what it is given, and which exit code the script wants; -1: any but
// 0.
type scripted struct {
	args []string
	exit string
}

// scriptedCalls are the calls of the program in all scripts, by line.
func scriptedCalls(t *testing.T) []scripted {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	call := regexp.MustCompile(`^(?:\[[^\]]*\] *)?(! exec|exec|exits (\d+)) +(?:sh -c ')?perdure +(.*)$`)
	var all []scripted
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			m := call.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			exit := map[string]string{"exec": "0", "! exec": "-1"}[m[1]]
			if exit == "" {
				exit = m[2]
			}
			all = append(all, scripted{strings.Fields(m[3]), exit})
		}
	}
	return all
}

// noScript are the commands that need no script of their own, each with the reason.
var noScript = map[string]string{
	"perdure completion":            "cobra's own",
	"perdure completion bash":       "cobra's own",
	"perdure completion fish":       "cobra's own",
	"perdure completion powershell": "cobra's own",
	"perdure completion zsh":        "cobra's own",
	"perdure help":                  "cobra's own, with our text: usage.txt",
}

// A command without a script is a command nobody has tried: each must be seen to succeed, to refuse a wrong command
// line with 2, and to print JSON if it has anything to print.
func TestEveryCommandHasItsScript(t *testing.T) {
	calls := scriptedCalls(t)
	root := newRoot()
	of := map[string][]scripted{}
	for _, c := range calls {
		at, _, err := root.Find(c.args)
		if err == nil {
			of[at.CommandPath()] = append(of[at.CommandPath()], c)
		}
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if _, fine := noScript[c.CommandPath()]; fine || c.HasSubCommands() || !c.IsAvailableCommand() {
			return
		}
		tried := of[c.CommandPath()]
		has := func(what string, fits func(scripted) bool) {
			if !slices.ContainsFunc(tried, fits) {
				t.Errorf("no script shows %s %s", c.CommandPath(), what)
			}
		}
		has("doing what it is for", func(s scripted) bool { return s.exit == "0" })
		has("refusing a wrong command line", func(s scripted) bool { return s.exit == "2" })
		if codes := strings.Fields(c.Annotations[exitsKey]); slices.Contains(codes, "3") &&
			!strings.HasPrefix(c.CommandPath(), "perdure bench") {
			has("with something that is not there", func(s scripted) bool { return s.exit == "3" })
		}
		if c.Flags().Lookup("jq") == nil {
			return
		}
		for _, format := range []string{"--json|-o json|-ojson|--jq", "-o yaml|-o jsonl", "--jq"} {
			has("with "+strings.ReplaceAll(format, "|", " or "), func(s scripted) bool {
				line := strings.Join(s.args, " ")
				return slices.ContainsFunc(strings.Split(format, "|"), func(f string) bool {
					return strings.Contains(line, f)
				})
			})
		}
	}
	visit(root)
}

// Whatever a command prints, it prints in one way: flags that ask for two are refused before anything is touched.
func TestEveryCommandRefusesFormatsThatContradict(t *testing.T) {
	t.Setenv(home.StoreEnv, filepath.Join(t.TempDir(), "home"))
	tried := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Flags().Lookup("jq") == nil {
			return
		}
		for flags, want := range map[string]string{
			"--json -o yaml":     "--json and -o yaml contradict each other; use one of them",
			"--jq . -o table":    "--jq works on JSON; leave -o table out",
			"--jq .[":            "--jq: ",
			"-o toml":            "it is one of table, json, jsonl, yaml",
			"--jq nosuch(1)":     "--jq: ",
			"--json -o table":    "--json and -o table contradict each other",
			"--json --nosuch":    "unknown flag: --nosuch",
			"--json=yes -o yaml": "invalid argument",
		} {
			tried++
			var out, errs bytes.Buffer
			args := slices.Concat(path(c), strings.Fields(flags), wants(c))
			code := run(args, strings.NewReader(""), &out, &errs)
			if code != exitUsage || !strings.Contains(errs.String(), want) || out.Len() > 0 {
				t.Errorf("perdure %s: exit %d, %s%s; want exit 2 and %q", strings.Join(args, " "), code, out.String(),
					errs.String(), want)
			}
		}
	}
	visit(newRoot())
	if tried == 0 {
		t.Error("no command prints anything")
	}
	if _, err := os.Stat(os.Getenv(home.StoreEnv)); err == nil {
		t.Error("a refused command made the store")
	}
}

// wants is as many arguments as a command must have.
func wants(c *cobra.Command) []string {
	for n := range 4 {
		args := slices.Repeat([]string{"x"}, n)
		if c.Args == nil || c.Args(c, args) == nil {
			return args
		}
	}
	return nil
}

// A text nobody is shown is a text nobody keeps right.
func TestEveryHelpFileIsOfACommand(t *testing.T) {
	files, err := helpFiles.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	for _, f := range files {
		words := strings.Split(strings.TrimSuffix(f.Name(), ".txt"), "-")
		if words[0] == "perdure" {
			continue
		}
		words = append(words[:1], strings.Join(words[1:], "-"))
		if words[1] == "" {
			words = words[:1]
		}
		if c, rest, err := root.Find(words); err != nil || len(rest) > 0 || c.Short == "" || c.Use == "" {
			t.Errorf("help/%s is of no command: %v", f.Name(), err)
		}
	}
}
