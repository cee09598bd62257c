package webhook_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/webhook"
)

// TestWhatThePageSignsVerifies runs the script of docs/webhooks.md with a curl that says how it was called.
func TestWhatThePageSignsVerifies(t *testing.T) {
	for _, name := range []string{"sh", "openssl", "od"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s", name)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```sh post.sh\n(.*?)\n```").FindSubmatch(page)
	if m == nil {
		t.Fatal("the page has no post.sh")
	}
	dir := t.TempDir()
	script, fake := filepath.Join(dir, "post.sh"), filepath.Join(dir, "fake")
	for path, text := range map[string]string{script: string(m[1]), fake: "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"approved": true, "feedback": "it's fine"}`
	cmd := exec.Command("sh", script, "https://x.example/webhook/resume/shop", body)
	cmd.Env = append(os.Environ(), "SECRET="+secret, "CURL="+fake)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	h := http.Header{}
	for line := range strings.Lines(string(out)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(name, "webhook-") {
			h.Set(name, value)
		}
	}
	if _, err := webhook.Verify(h, []byte(body), time.Now(), mustKey(t, secret)); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "\n"+body+"\n") || !strings.HasSuffix(strings.TrimSpace(string(out)),
		"/webhook/resume/shop") {
		t.Errorf("what is posted: %s", out)
	}
}
