package policy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/perdure/perdure/policy"
)

func parse(t testing.TB, text string) *policy.Set {
	t.Helper()
	s, err := policy.Parse(policy.File{Name: "test.cedar", Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWrongPoliciesAreRefusedAtTheirPlace(t *testing.T) {
	const head = "@id(\"x\")\nforbid (principal, action == Action::\"execute\", resource)\nwhen { "
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "@id(\"x\")\npermit (principal action, resource);", "test.cedar:2:19: got action, want \",\""},
		{"empty file", "// nothing\n", "test.cedar:1:1: no rule in this file"},
		{"no id", "permit (principal, action, resource);", "test.cedar:1:1: a rule needs an @id"},
		{"reserved id", "@id(\"runtime.wake\") permit (principal, action, resource);",
			"test.cedar:1:1: rule runtime.wake: @id"},
		{"unknown annotation", "@id(\"x\") @oblgation(\"approval:\") forbid (principal, action, resource);",
			"annotation @oblgation: want"},
		{"same id", "@id(\"x\") permit (principal, action, resource);\n@id(\"x\") forbid (principal, action, " +
			"resource);", "test.cedar:2:1: rule x: its @id is that of the rule at test.cedar:1:1"},
		{"unknown action", "@id(\"x\") permit (principal, action == Action::\"exec\", resource);",
			"unrecognized action"},
		{"unknown entity", "@id(\"x\") permit (principal is User, action, resource);",
			"unrecognized entity type `User`"},
		{"unknown attribute", head + "context.spend.cost > 5 };",
			"test.cedar:3:16: rule x: there is no fact `spend` of execute"},
		{"unknown attribute after has", head + "context has spend && context.spend.cost > 5 };",
			"test.cedar:3:20: rule x: context has no attribute `spend`, ever"},
		{"unknown nested has", head + "context.left has csot };",
			"test.cedar:3:25: rule x: context.left has no attribute `csot`, ever"},
		{"missing has", head + "context.left.cost < 5 };",
			"test.cedar:3:21: rule x: `left.cost` may be absent: say `context.left has cost &&` before it is read"},
		{"wrong type", head + "context.spent.cost > \"5\" };", "test.cedar:1:1: rule x: unexpected type"},
		{"wrong effect", head + "context.effect == Effect::\"raed\" };",
			"test.cedar:3:26: rule x: `Effect::\"raed\"`: want one of"},
		{"not a bool", head + "context.turns };", "unexpected type: expected Bool but saw Long"},
		{"budget forbids sleep", "@id(\"x\")\nforbid (principal, action, resource)\nwhen { context.spent.cost > 5 };",
			"test.cedar:3:16: rule x: there is no fact `spent` of document.read, document.write, end, mutate, " +
				"sleep, wake: name the actions the rule is about, or say `context has spent &&`"},
		{"budget behind has forbids end",
			"@id(\"x\")\nforbid (principal, action == Action::\"end\", resource)\nwhen { context has spent };",
			"test.cedar:3:20: rule x: context has no attribute `spent`, ever"},
		{"argument without has", head + "context.args.path like \"/etc/*\" };",
			"test.cedar:3:21: rule x: `args.path` may be absent: say `context.args has path &&` before it is read"},
		{"argument of two types", head + "context.args has n && context.args.n > 5 && context.args.n like \"5\" };",
			"context.args.n is used as Long and as String"},
		{"argument of no type",
			head + "context.args has n && context.args has m && context.args.n == context.args.m };",
			"nothing says what type it is"},
		{"argument as value and record", head + "context.args has n && context.args.n has m && context.args.n > 5 };",
			"used as Long and as a record"},
		{"arguments as a whole", head + "context.args == {} };", "can only be asked for its attributes"},
		{"argument in ip", head + "context.args has host && ip(context.args.host).isLoopback() };", "rule x: "},
		{"arguments of sleep",
			"@id(\"x\") forbid (principal, action == Action::\"sleep\", resource) when { context.args has n };",
			"rule x: "},
		{"too nested", head + strings.Repeat("(", 100_000) + "true" + strings.Repeat(")", 100_000) + " };",
			"test.cedar:3:1: rule x: brackets nest deeper than 64"},
		{"too long", head + strings.Repeat("context.tainted && ", 5000) + "true };", "split it into several rules"},
		{"too long a pattern", head + "context.args has p && context.args.p like \"*" + strings.Repeat("a", 50<<10) +
			"\" };", "test.cedar:3:1: rule x: a text in quotes of more than 4096 bytes"},
		{"too long a pattern, after quotes", "// isn't \" a text\n" + head + "context.tainted && \"\\\"\" like \"*" +
			strings.Repeat("a", 5<<10) + "\" };", "test.cedar:4:1: rule x: a text in quotes"},
		{"too long a list", head + "[" + strings.Repeat("1, ", 5000) + "1].isEmpty() };",
			"test.cedar:3:1: rule x: more than 2000 parts"},
		{"lists of lists", head + "context.args has l && context.args.l.contains([1, 2]) };",
			"context.args.l is used as Set<Set<Long>>"},
		{"too large", "//" + strings.Repeat(" ", 1<<20), "bytes: want at most"},
		{"obligation on permit", "@id(\"x\") @obligation(\"approval:\") permit (principal, action, resource);",
			"stands on a forbid"},
		{"unknown obligation", "@id(\"x\") @obligation(\"mail:ops\") forbid (principal, action, resource);",
			"want approval:"},
		{"no quorum", "@id(\"x\") @obligation(\"approval:;quorum=0\") forbid (principal, action, resource);",
			"quorum \"0\": want 1 to"},
		{"bad expiry", "@id(\"x\") @obligation(\"approval:;expires=soon\") forbid (principal, action, resource);",
			"expires \"soon\""},
		{"unknown condition of an obligation",
			"@id(\"x\") @obligation(\"approval:ops;quorm=2\") forbid (principal, action, resource);",
			"want quorum=N, expires=DURATION or escalate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := policy.Parse(policy.File{Name: "test.cedar", Text: []byte(c.text)})
			if err == nil {
				t.Fatalf("loaded, want an error with %q", c.want)
			}
			var fault *policy.Fault
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 {
				t.Errorf("%v: want a Fault with a place", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	fsys := fstest.MapFS{
		"a.cedar": {Data: []byte("permit (principal, action, resource);\n@id(\"b\") forbid (principal, action, " +
			"resource) when { context.nwo > context.now };")},
		"b.cedar": {Data: []byte("@id(\"c\") permit (principal, action, resource")},
	}
	_, err := policy.Load(fsys)
	for _, want := range []string{"a.cedar:1:1: ", "a.cedar:2:", "b.cedar:1:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a fault at %s", err, want)
		}
	}
	if faults := policy.Faults(fmt.Errorf("load: %w", err)); len(faults) != 3 || faults[1].Rule != "b" ||
		faults[1].Line != 2 ||
		faults[1].What != "there is no fact `nwo` of admit, delegate, document.read, document.write, end, execute, "+
			"mutate, sleep, wake" {
		t.Errorf("got %v, want three faults, the second of rule b", faults)
	}
	if faults := policy.Faults(fs.ErrNotExist); faults != nil {
		t.Errorf("got %v for what is no fault", faults)
	}
}

func TestMissingPolicyFilesAreAnError(t *testing.T) {
	if _, err := policy.Load(fstest.MapFS{}); err == nil {
		t.Error("an empty folder loaded")
	}
	if _, err := policy.Load(fstest.MapFS{"a.cedar": {Data: []byte(
		"@id(\"a\") permit (principal, action, resource);")}}, "a.cedar", "forbids.cedar"); err == nil {
		t.Error("a missing file was passed over")
	}
	if _, err := policy.LoadPaths(t.TempDir()); err == nil {
		t.Error("an empty folder loaded by its path")
	}
}

func TestHashNamesTheTextAndNotTheFiles(t *testing.T) {
	a := policy.File{Name: "a.cedar", Text: []byte("@id(\"a\") permit (principal, action, resource);")}
	b := policy.File{Name: "b.cedar", Text: []byte(
		"@id(\"b\") forbid (principal, action == Action::\"end\", resource);")}
	hash := func(files ...policy.File) string {
		s, err := policy.Parse(files...)
		if err != nil {
			t.Fatal(err)
		}
		return s.Hash().String()
	}
	renamed := policy.File{Name: "z.cedar", Text: a.Text}
	if hash(a, b) != hash(b, renamed) {
		t.Error("the order or the names of the files change the hash")
	}
	if hash(a) == hash(a, b) || hash(a) == hash(policy.File{Name: a.Name, Text: append([]byte("// \n"), a.Text...)}) {
		t.Error("another text has the same hash")
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add(guarded)
	f.Add(strictText())
	f.Add("@id(\"x\") permit (principal, action, resource) when { context.args[\"a\"] == -(-9223372036854775808) };")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := policy.Parse(policy.File{Name: "fuzz.cedar", Text: []byte(text)})
		if err != nil {
			return
		}
		for _, action := range actions {
			s.DecideFacts(full(action))
		}
	})
}
