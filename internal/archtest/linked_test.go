package archtest

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sdks are the clients of model providers. A program links the ones it uses and no other.
var sdks = map[string]string{
	"advisor/anthropic": "github.com/anthropics/anthropic-sdk-go",
	"advisor/gemini":    "google.golang.org/genai",
	"advisor/openai":    "github.com/openai/openai-go/v3",
}

// heavy is what a program with agents in a file does not carry unless it asks for it.
var heavy = []string{
	"github.com/cedar-policy", "github.com/danielgtaylor/huma", "github.com/klauspost/compress",
	"github.com/modelcontextprotocol", "github.com/spf13/cobra", "go.opentelemetry.io", "net/http",
}

// unlinked names what must not be linked into a program that imports the packages.
var unlinked = []struct{ of, not []string }{
	{[]string{"", "durable", "keyfile", "store/sqlite"}, append(allSDKs(), heavy...)},
	{[]string{"advisor", "advisor/remote", "advisor/script"}, allSDKs()},
	{[]string{"advisor/anthropic"}, allSDKs("advisor/anthropic")},
	{[]string{"advisor/gemini"}, allSDKs("advisor/gemini")},
	{[]string{"advisor/openai"}, allSDKs("advisor/openai")},
	{[]string{"capsule", "policy", "schema", "store/dir", "tool"}, append(allSDKs(), "github.com/spf13/cobra")},
}

func allSDKs(but ...string) (paths []string) {
	for by, path := range sdks {
		if !slices.Contains(but, by) {
			paths = append(paths, path)
		}
	}
	return paths
}

// linked lists everything that a program which imports the packages links.
func linked(t *testing.T, pkgs []string) []string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"list", "-deps"}
	for _, p := range pkgs {
		args = append(args, strings.TrimSuffix(module+"/"+p, "/"))
	}
	list := exec.Command("go", args...)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return strings.Fields(string(out))
}

// tooMuch returns those of the packages that are below one of the paths.
func tooMuch(linked, not []string) (found []string) {
	for _, p := range linked {
		if under(p, not...) {
			found = append(found, p)
		}
	}
	return found
}

func TestProgramsLinkOnlyWhatTheyAskFor(t *testing.T) {
	packages(t) // so that the test cache sees changes
	for _, c := range unlinked {
		t.Run(fmt.Sprintf("%q", c.of), func(t *testing.T) {
			for _, p := range tooMuch(linked(t, c.of), c.not) {
				t.Errorf("it links %s", p)
			}
		})
	}
	for by, path := range sdks { // the rules above are about paths that exist
		if len(tooMuch(linked(t, []string{by}), []string{path})) == 0 {
			t.Errorf("%s does not link %s", by, path)
		}
	}
}

func TestWhatIsLinkedByMistakeIsFound(t *testing.T) {
	got := tooMuch([]string{"a", "a/b", "ab", "c"}, []string{"a"})
	if diff := cmp.Diff([]string{"a", "a/b"}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}
