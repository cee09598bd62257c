package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/dev/wiretest"
)

// providersHere start servers that speak the protocol of a provider.
var providersHere = map[string]func(func(int, map[string]any) wiretest.Turn) (*wiretest.Server, error){
	"anthropic": wiretest.Anthropic, "openai": wiretest.OpenAI, "gemini": wiretest.Gemini,
}

// said is an answer of a model in two pieces.
func said(text string, calls ...wiretest.Call) wiretest.Turn {
	return wiretest.Turn{Text: []string{text[:len(text)/2], text[len(text)/2:]}, Calls: calls, In: 10, Out: 2}
}

func called(id, name, args string) wiretest.Call {
	return wiretest.Call{ID: id, Name: name, Args: []string{args}}
}

// conversation is a program that talks by way of perdure chat --json.
type conversation struct {
	t    *testing.T
	args []string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *strings.Builder
}

// served starts a provider and returns the arguments that name it.
func served(t *testing.T, provider string, say func(int, map[string]any) wiretest.Turn) (*wiretest.Server, []string) {
	t.Helper()
	s, err := providersHere[provider](say)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	secrets := filepath.Join(dir, "secrets")
	if err := os.WriteFile(secrets, []byte("K="+wiretest.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := s.URL
	if provider == "openai" {
		url += "/v1"
	}
	return s, []string{"--store", filepath.Join(dir, "home"), "--advisor", provider + ":local@" + url + "#K",
		"--secrets", secrets}
}

func converse(t *testing.T, args ...string) *conversation {
	t.Helper()
	c := &conversation{t: t, args: append([]string{"chat", "--json"}, args...)}
	c.cmd, c.in, c.out, c.errs = startPerdure(t, c.args...)
	return c
}

func (c *conversation) send(text string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, text); err != nil {
		c.t.Fatal(err)
	}
}

// until reads values until one of a type, and returns them all.
func (c *conversation) until(kind string) (all []map[string]any) {
	c.t.Helper()
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatalf("%v before %q came; so far %v\n%s", err, kind, all, c.errs)
		}
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			c.t.Fatalf("%v: %s", err, line)
		}
		if all = append(all, v); v["type"] == kind {
			return all
		}
	}
}

// leave ends the input and the conversation with it.
func (c *conversation) leave() {
	c.t.Helper()
	if err := c.in.Close(); err != nil {
		c.t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c.out); err != nil {
		c.t.Fatal(err)
	}
	if code := exitOf(c.t, c.cmd.Wait()); code != exitOK {
		c.t.Errorf("it exits with %d: %s", code, c.errs)
	}
}

// spokenTexts are the texts of one type, in order.
func spokenTexts(all []map[string]any, kind string) (out []string) {
	for _, v := range all {
		if v["type"] == kind {
			text, _ := v["text"].(string)
			out = append(out, text)
		}
	}
	return out
}

func TestChatWithEveryProvider(t *testing.T) {
	for provider := range providersHere {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			s, args := served(t, provider, wiretest.Turns(
				said("I look into it", called("c1", "files_read", `{"path":"a.txt"}`)),
				said("It says hello"), said("You are welcome")))
			files := t.TempDir()
			if err := os.WriteFile(filepath.Join(files, "a.txt"), []byte("hello"), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, "--files", files)
			c := converse(t, args...)
			c.until("rest")
			c.send(`{"say":"what is in a.txt?"}`)
			all := c.until("rest")
			var kinds []string
			for _, v := range all {
				kinds = append(kinds, fmt.Sprint(v["type"]))
			}
			want := strings.Fields("person delta delta text call result delta delta answer rest")
			if !slices.Equal(kinds, want) {
				t.Errorf("got %v, want %v", kinds, want)
			}
			if got := strings.Join(spokenTexts(all, "delta"), ""); got != "I look into itIt says hello" {
				t.Errorf("streamed %q", got)
			}
			c.send(`{"say":"thanks"}`)
			if got := spokenTexts(c.until("rest"), "answer"); !slices.Equal(got, []string{"You are welcome"}) {
				t.Errorf("got %q", got)
			}
			c.leave()
			last := fmt.Sprint(s.Requests()[2])
			for _, want := range []string{"says] what is in a.txt?", "It says hello", "says] thanks"} {
				if !strings.Contains(last, want) {
					t.Errorf("the model is not shown %q: %s", want, last)
				}
			}
		})
	}
}

// What keeps the provider from answering is shown, and the turn can be tried again: by itself where that is a
// matter of time.
func TestChatTriesAgainWhatTheProviderRefused(t *testing.T) {
	for provider := range providersHere {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			_, args := served(t, provider, wiretest.Turns(
				wiretest.Turn{Status: 429, Header: map[string]string{"Retry-After": "1"}, Kind: "rate_limit_error",
					Message: "slow down"}, said("here I am"),
				wiretest.Turn{Status: 400, Kind: "invalid_request_error", Message: "not like this"}, said("and again")))
			c := converse(t, args...)
			c.until("rest")
			c.send(`{"say":"are you there?"}`)
			all := c.until("rest")
			if got, problems := spokenTexts(all, "answer"), spokenTexts(all, "error"); !slices.Equal(got,
				[]string{"here I am"}) || len(problems) != 1 || !strings.Contains(problems[0], "slow down") {
				t.Errorf("answers %q, errors %q", got, problems)
			}
			c.send(`{"say":"still?"}`)
			all = c.until("rest")
			if problems := spokenTexts(all, "error"); len(problems) != 1 ||
				!strings.Contains(problems[0], "not like this") || len(spokenTexts(all, "answer")) != 0 {
				t.Errorf("it goes on after an error that time does not heal: %v", all)
			}
			c.send(`{"go":true}`)
			if got := spokenTexts(c.until("rest"), "answer"); !slices.Equal(got, []string{"and again"}) {
				t.Errorf("tried again: got %q", got)
			}
			c.leave()
		})
	}
}

// held is a provider that holds its first answer back after the first piece.
func held(t *testing.T) (release func(), args []string) {
	release, _, args = heldAsked(t)
	return release, args
}

// heldAsked is held; asked is closed when the first answer is held back.
func heldAsked(t *testing.T) (release func(), asked chan struct{}, args []string) {
	hold := make(chan struct{})
	release, asked = func() { close(hold) }, make(chan struct{})
	first := said("this takes long")
	first.Hold = hold
	_, args = served(t, "anthropic", func(n int, _ map[string]any) wiretest.Turn {
		if n == 0 {
			close(asked)
			return first
		}
		return said("back again")
	})
	return release, asked, args
}

func TestChatIsInterruptedInItsTurnAndGoesOn(t *testing.T) {
	for _, by := range []string{"signal", "input"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			_, args := held(t)
			c := converse(t, args...)
			c.until("rest")
			c.send(`{"say":"think"}`)
			c.until("delta")
			if by == "input" {
				c.send(`{"interrupt":true}`)
			} else if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			all := c.until("rest")
			if notes := spokenTexts(all, "note"); !slices.Equal(notes, []string{"interrupted"}) ||
				all[len(all)-1]["standing"] == "terminated" || len(spokenTexts(all, "answer")) > 0 {
				t.Errorf("after an interrupt: %v", all)
			}
			c.send(`{"say":"never mind"}`)
			if got := spokenTexts(c.until("rest"), "answer"); !slices.Equal(got, []string{"back again"}) {
				t.Errorf("after the interrupt it answers %q", got)
			}
			if err := c.cmd.Process.Signal(os.Interrupt); err != nil { // where there is no turn it leaves
				t.Fatal(err)
			}
			if code := exitOf(t, c.cmd.Wait()); code != exitOK {
				t.Errorf("it exits with %d: %s", code, c.errs)
			}
			must(t, exitOK, "verify", "chat", "--store", args[1])
		})
	}
}

// A program that quits does not wait for a model that has no time, and may still interrupt one that is at work.
func TestChatQuitsInATurn(t *testing.T) {
	t.Parallel()
	t.Run("waiting", func(t *testing.T) {
		t.Parallel()
		_, args := served(t, "anthropic", func(int, map[string]any) wiretest.Turn {
			return wiretest.Turn{Status: 429, Header: map[string]string{"Retry-After": "60"}, Kind: "rate_limit_error",
				Message: "slow down"}
		})
		c := converse(t, args...)
		c.until("rest")
		c.send(`{"say":"are you there?"}`)
		c.send(`{"say":"and still?"}`)
		c.send(`{"quit":true}`)
		all := append(c.until("rest"), c.until("rest")...)
		if got := spokenTexts(all, "person"); !slices.Equal(got, []string{"are you there?", "and still?"}) {
			t.Errorf("it was told %q", got)
		}
		if code := exitOf(t, c.cmd.Wait()); code != exitFailure {
			t.Errorf("it exits with %d: %s", code, c.errs)
		}
	})
	t.Run("at work", func(t *testing.T) {
		t.Parallel()
		_, args := held(t)
		c := converse(t, args...)
		c.until("rest")
		c.send(`{"say":"think"}`)
		c.until("delta")
		c.send(`{"quit":true}`)
		c.send(`{"interrupt":true}`)
		if notes := spokenTexts(c.until("rest"), "note"); !slices.Equal(notes, []string{"interrupted"}) {
			t.Errorf("got the notes %q", notes)
		}
		if code := exitOf(t, c.cmd.Wait()); code != exitOK {
			t.Errorf("it exits with %d: %s", code, c.errs)
		}
	})
}

func TestChatComesBackAfterAKill(t *testing.T) {
	t.Parallel()
	_, args := held(t)
	c := converse(t, args...)
	c.until("rest")
	c.send(`{"say":"think"}`)
	c.until("delta")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // it was killed
	c = converse(t, args...)
	all := c.until("rest")
	if got, last := spokenTexts(all, "person"), all[len(all)-1]; !slices.Equal(got, []string{"think"}) ||
		last["standing"] != "ready" {
		t.Errorf("it comes back to %v", all)
	}
	c.send(`{"go":true}`)
	if got := spokenTexts(c.until("rest"), "answer"); !slices.Equal(got, []string{"back again"}) {
		t.Errorf("it goes on with %q", got)
	}
	c.leave()
	must(t, exitOK, "verify", "chat", "--store", args[1])
}

// While another process runs the agent, chat tells it what is said and follows what it does.
func TestChatBesideANode(t *testing.T) {
	t.Parallel()
	release, asked, args := heldAsked(t)
	c := converse(t, append(args, "--follow")...)
	c.until("rest")
	node, _, _, _ := startPerdure(t, append([]string{"node"}, args...)...)
	c.send(`{"say":"hello"}`)
	<-asked
	beside := converse(t, args...)
	beside.until("rest")
	beside.send(`{"say":"me too"}`)
	if got := spokenTexts(beside.until("note"), "note"); !strings.Contains(got[0], "another process is at work") {
		t.Errorf("beside a node: %q", got)
	}
	release()
	for _, one := range []*conversation{c, beside} {
		if got := spokenTexts(one.until("rest"), "answer"); len(got) == 0 || got[len(got)-1] != "back again" {
			t.Errorf("followed: %q", got)
		}
		one.leave()
	}
	interrupt(t, node)
}
