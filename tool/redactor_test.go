package tool_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

const cutSecret = "hunter2-correct-horse-battery"

// the end of one is the beginning of the other
var cutSecrets = tool.SecretMap{"TOKEN": cutSecret, "OTHER": "battery-staple-xyz"}

// shows checks that nothing of a result is a piece of the secret.
func shows(t *testing.T, what string, res perdure.Result, err error) {
	t.Helper()
	text := string(res.Data) + res.Note
	if err != nil {
		text += err.Error()
	}
	for _, form := range []string{cutSecret, base64.StdEncoding.EncodeToString([]byte(cutSecret)),
		cutSecrets["OTHER"]} {
		const least = 4 // shorter pieces stand in texts by chance
		for i := 0; i+least <= len(form); i++ {
			if piece := form[i : i+least]; strings.Contains(text, piece) {
				t.Errorf("%s: got %q, which holds %q of the secret", what, text, piece)
				return
			}
		}
	}
}

func TestNoOffsetOrLimitCutsASecretOutOfAFile(t *testing.T) {
	f, dir := fileTools(t)
	b64 := base64.StdEncoding.EncodeToString([]byte(cutSecret))
	text := "A: " + cutSecret + " B: " + b64 + " C: " + cutSecret + "-staple-xyz D\n"
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read := tool.WithSecrets([]perdure.Tool{f("read")}, cutSecrets)[0]
	for offset := range len(text) + 2 {
		for _, limit := range []int{0, 1, 2, 5, 20, len(cutSecret), len(text)} {
			res := call(t, read, map[string]any{"path": "x", "offset": offset, "limit": limit})
			if res.Signal != 0 {
				t.Fatal(res.Note)
			}
			shows(t, fmt.Sprint(offset, limit), res, nil)
			if limit == 1 && offset < len(text) && strings.Contains("A:BCD", text[offset:offset+1]) &&
				!strings.Contains(b64+cutSecret, text[offset:offset+1]) {
				if got := value(t, res)["text"]; got != text[offset:offset+1] {
					t.Errorf("at %d: got %q, want %q as it is", offset, got, text[offset:offset+1])
				}
			}
		}
	}
	if got := value(t, call(t, read, map[string]any{"path": "x", "offset": 3,
		"limit": 3}))["text"]; got != "secret:TOKEN" {
		t.Errorf("got %q, want the reference in the place of a piece", got)
	}
	if got := value(t, call(t, read, map[string]any{"path": "x", "limit": 5})); got["text"] != "A: secret:TOKEN" ||
		got["truncated"] != true {
		t.Errorf("got %v", got)
	}
}

func TestNoLimitCutsASecretOutOfOutput(t *testing.T) {
	for pad := range 70 {
		s := tool.Shell{Dir: t.TempDir(), Allow: []string{"sh"}, OutputLimit: 80}
		sh := tool.WithSecrets([]perdure.Tool{s}, cutSecrets)[0]
		long := strings.Repeat(".", pad) + cutSecret + strings.Repeat(".", 200-pad) + cutSecret +
			strings.Repeat(".", pad)
		if pad%2 == 1 { // little is left out: the margins hold all of it
			long = strings.Repeat(".", pad) + cutSecret + strings.Repeat(".", pad)
		}
		res := call(t, sh, map[string]any{"script": "printf %s '" + long + "'; printf %s '" + long + "' >&2"})
		shows(t, fmt.Sprint(pad), res, nil)
		if v := fields(t, res); len(v["stdout"].(string)) > 200 {
			t.Errorf("got %d bytes", len(v["stdout"].(string)))
		}
	}
	s := tool.Shell{Dir: t.TempDir(), Allow: []string{"sh"}, OutputLimit: 100 << 10}
	killed := tool.WithSecrets([]perdure.Tool{s}, cutSecrets)[0]
	for _, pad := range []int{1980, 1990, 2000, 2005, 2010, 2020} {
		res, err := killed.Call(t.Context(), perdure.Call{Args: data(t,
			map[string]any{"script": "printf %s '" + strings.Repeat(".", pad) + cutSecret + "'; kill -9 $$"})})
		shows(t, fmt.Sprint("killed ", pad), res, err)
	}
}

func TestNoLimitCutsASecretOutOfAnAnswer(t *testing.T) {
	var body string
	_, u := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	for _, pad := range []int{30, 60, 71, 72, 80, 90, 98, 99, 100, 101} {
		body = strings.Repeat(".", pad) + cutSecret + strings.Repeat(".", 300)
		tools, err := tool.HTTP{Allow: []string{u}, Loopback: true, ResponseLimit: 100}.Tools()
		if err != nil {
			t.Fatal(err)
		}
		res := call(t, named(t, tool.WithSecrets(tools, cutSecrets), "http.get"), map[string]any{"url": u + "/"})
		shows(t, fmt.Sprint(pad), res, nil)
		if v := cut(t, res); v["truncated"] != true || !strings.HasPrefix(v["text"].(string), "....") {
			t.Errorf("got %v", v)
		}
	}
}

func TestNoLimitCutsASecretOutOfAServersResult(t *testing.T) {
	for _, failed := range []bool{false, true} {
		var text string
		srv := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		mcp.AddTool(srv, &mcp.Tool{Name: "say"}, func(context.Context, *mcp.CallToolRequest,
			struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: failed}, nil, nil
		})
		tools := tool.WithSecrets(connected(t, &tool.MCP{Name: "t", Transport: inProcess(srv), Limit: 3000}),
			cutSecrets)
		for _, pad := range []int{2020, 2030, 2040, 2044, 2975, 2980, 2990, 2996, 2999} {
			text = strings.Repeat(".", pad) + cutSecret + strings.Repeat(".", 3000)
			shows(t, fmt.Sprint(pad, failed), call(t, tools[0], nil), nil)
		}
	}
}

// Half of a secret in a row, or more, is taken for it wherever it stands.
func TestHalfOfASecretIsNotShown(t *testing.T) {
	t.Parallel()
	const token = "s3cr3t/VALUE+abcdef12345"
	var text string
	p := &probe{result: func() (perdure.Result, error) {
		return perdure.Result{Data: data(t, map[string]any{"text": text})}, nil
	}}
	guarded := tool.WithSecrets([]perdure.Tool{p}, tool.SecretMap{"TOKEN": token})[0]
	for _, form := range []string{token, base64.StdEncoding.EncodeToString([]byte(token)), url.QueryEscape(token),
		hex.EncodeToString([]byte(token))} {
		half := (len(form) + 1) / 2
		for from := range len(form) - half + 1 {
			for to := from + half; to <= len(form); to++ {
				for _, around := range []string{"%s", "the token: %s", "%s\n", "<%s>"} {
					text = fmt.Sprintf(around, form[from:to])
					want := fmt.Sprintf(around, "secret:TOKEN")
					if got := fields(t, call(t, guarded, nil))["text"]; got != want {
						t.Fatalf("%q is shown as %q, want %q", text, got, want)
					}
				}
			}
		}
	}
	for _, text = range []string{token[:7], token[:11], token[12:23], "it begins with " + token[:11] + "…"} {
		if got := fields(t, call(t, guarded, nil))["text"]; got != text {
			t.Errorf("%q, less than half of it, is shown as %q", text, got)
		}
	}
}

// Where a server's answer is cut, it does not end in the beginning of a secret whose rest is another part.
func TestLimitBetweenPartsShowsNoBeginningOfASecret(t *testing.T) {
	t.Parallel()
	srv := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "say"}, func(context.Context, *mcp.CallToolRequest,
		struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "it is " + cutSecret[:10]},
			&mcp.TextContent{Text: cutSecret[10:] + " and more"}}}, nil, nil
	})
	for limit := range 50 {
		m := &tool.MCP{Name: "t", Transport: inProcess(srv), Limit: limit + 1}
		res := call(t, tool.WithSecrets(connected(t, m), cutSecrets)[0], nil)
		if text := string(res.Data); strings.Contains(text, cutSecret[:8]) {
			t.Errorf("limit %d: %q holds %q of the secret", limit+1, text, cutSecret[:8])
		}
	}
}
