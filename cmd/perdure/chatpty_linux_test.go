package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perdure/perdure/internal/dev/wiretest"
	"github.com/perdure/perdure/tool"
)

// sized gives a terminal a size before the program looks at it.
func (d *desk) sized(columns uint16) {
	d.t.Helper()
	raw, err := d.tty.SyscallConn()
	if err != nil {
		d.t.Fatal(err)
	}
	if bad := raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}); bad != nil || err != nil {
		d.t.Fatal(bad, err)
	}
}

// echoed writes a script that answers what it is told, and returns the flags that name it.
func echoed(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "echo.yaml")
	text := "turns:\n  - sleep: {on: answer}\n  - text: \"you said ${last.result.say}\"\n    repeat: 100\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--store", filepath.Join(dir, "home"), "--advisor", "script:" + script}
}

// said are the texts that people said to an agent, as its memory has them.
func saidTo(t *testing.T, store string) []string {
	t.Helper()
	out := must(t, exitOK, "log", "chat", "--store", store, "--transcript", "--json", "--jq",
		`.[0].who as $me | .[] | select(.what=="says" and .who==$me) | .text | @json`)
	return strings.Split(strings.TrimSpace(out), "\n")
}

func TestCtrlCAtAConfirmationApprovesNothing(t *testing.T) {
	t.Parallel()
	_, args := served(t, "anthropic", wiretest.Turns(said("I write",
		called("c1", "files_write", `{"path":"a.txt","text":"hi"}`)), said("Done")))
	files := t.TempDir()
	must(t, exitOK, "new", "write it", "--name", "writer", "--store", args[1])
	must(t, exitWaiting, append([]string{"run", "writer", "--files", files}, args...)...)
	before := must(t, exitOK, "show", "writer", "--store", args[1], "--jq", ".count")
	d := sit(t, "approve", "writer", "--store", args[1])
	d.sees("approve this? [y/N] ")
	d.types(ctrlC)
	d.sees("perdure: interrupted")
	d.gone(exitInterrupted)
	if got := must(t, exitOK, "show", "writer", "--store", args[1], "--jq", ".count"); got != before {
		t.Errorf("%s entries after the interrupt, %s before", got, before)
	}
	d = sit(t, "approve", "writer", "--store", args[1])
	d.sees("approve this? [y/N] ")
	d.types("y?\n")
	d.sees("nothing was approved")
	d.gone(exitFailure)
}

func TestSecondTerminalSeesTheConversation(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	slow := said("I look into it", called("c1", "files_read", `{"path":"a.txt"}`))
	slow.Hold = hold
	s, args := served(t, "openai", wiretest.Turns(slow, said("It says hello"), said("And welcome")))
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"chat", "--files", files}, args...)
	one := sit(t, args...)
	one.sees("> ")
	two := sit(t, args...)
	two.sees("> ")
	two.types("not yet se") // it stays while the conversation goes on
	one.types("what is in a.txt?\n")
	two.sees("> what is in a.txt?\r\n")
	close(hold)
	for _, d := range []*desk{one, two} {
		d.sees("| I look into it\r\n")
		d.sees("- calls files.read")
		d.sees("- files.read ok")
		d.sees("| It says hello\r\n")
	}
	two.sees("> not yet se")
	two.types("nt\n")
	two.sees("| And welcome")
	one.sees("> not yet sent\r\n")
	one.sees("| And welcome\r\n")
	one.types(ctrlD)
	two.types(ctrlD)
	one.gone(exitOK)
	two.gone(exitOK)
	if got := len(s.Requests()); got != 3 {
		t.Errorf("the model was asked %d times, want 3", got)
	}
	if got := strings.Count(two.seen.String(), "It says hello"); got != 1 {
		t.Errorf("the answer is shown %d times", got)
	}
}

func TestApprovalDecidedElsewhereIsWithdrawn(t *testing.T) {
	t.Parallel()
	_, args := served(t, "gemini", wiretest.Turns(said("I write",
		called("c1", "files_write", `{"path":"a.txt","text":"hi"}`)), said("It is written"), said("Hello again")))
	files := t.TempDir()
	d := sit(t, append([]string{"chat", "--files", files}, args...)...)
	d.sees("> ")
	d.types("write it\n")
	d.sees("approve this? y, n, or n and why: ")
	d.types("next, say hel")
	d.sees("next, say hel")
	must(t, exitOK, "approve", "chat", "--store", args[1])
	d.sees("- told: approves")
	d.sees("| It is written\r\n") // nobody else runs it
	d.sees("> next, say hel")
	d.types("lo\n")
	d.sees("| Hello again")
	d.types(ctrlD)
	d.gone(exitOK)
	if got := saidTo(t, args[1]); len(got) != 2 || got[1] != `"next, say hello"` {
		t.Errorf("it was told %q", got)
	}
}

func TestWhoLeavesAnApprovalOpenIsToldSo(t *testing.T) {
	t.Parallel()
	_, args := served(t, "gemini", wiretest.Turns(said("I write",
		called("c1", "files_write", `{"path":"a.txt","text":"hi"}`)), said("It is written")))
	d := sit(t, append([]string{"chat", "--files", t.TempDir()}, args...)...)
	d.sees("> ")
	d.types("write it\n")
	d.sees("approve this? y, n, or n and why: ")
	d.types(ctrlD)
	d.sees("stays open: perdure chat")
	d.gone(exitOK)
}

func TestFirstChatsAtOnceMakeOneAgent(t *testing.T) {
	t.Parallel()
	args := append([]string{"chat", "--json"}, echoed(t)...)
	must(t, exitOK, "key", "new", "--store", args[3])
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			if _, errs, code := perdureIn(t, fmt.Sprintf("{\"say\":\"hello %d\"}\n", i), args...); code != exitOK {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
	all.Wait()
	if got := must(t, exitOK, "ls", "--store", args[3], "--jq", ".[].name"); got != "chat\n" {
		t.Errorf("agents: %q", got)
	}
	if got := saidTo(t, args[3]); len(got) != 6 {
		t.Errorf("it was told %q", got)
	}
	must(t, exitOK, "verify", "chat", "--store", args[3])
}

func TestLongAndPastedLinesAreOneMessage(t *testing.T) {
	t.Parallel()
	args := echoed(t)
	d := sit(t, append([]string{"chat"}, args...)...)
	d.sized(80)
	d.sees("> ")
	long := strings.Repeat("word ", 2000) + "end"
	d.types(long + "\n")
	d.sees("| you said word")
	d.sees("end\r\n")
	d.sees("> ")
	paste := "docker run \\\n  --rm \\\n\tit\x1b[31m\nüñ漢"
	d.types("\x1b[200~" + strings.ReplaceAll(paste, "\n", "\r") + "\x1b[201~")
	d.sees("üñ漢")
	d.types("\n")
	d.sees("| you said docker")
	d.sees("| üñ漢\r\n> ")
	d.types("helo\x1b[D\x1b[Dl\x1b[C\x1b[C!\x1b[Hsay \x1b[5~\x1bOF\x17yes\n") // a word is cut at the end
	d.sees("| you said say yes\r\n> ")
	d.types("\x1b[A\x1b[A\x1b[B\n") // of what was sent before
	d.sees("| you said say yes\r\n> ")
	d.types("gone")
	d.sees("gone")
	d.types(ctrlC)
	d.sees("\r\n> ")
	d.types("kept")
	d.sees("kept")
	d.types(ctrlD)
	d.sees("this is not sent")
	d.types(ctrlD)
	d.sees("not sent:\r\n  kept")
	d.gone(exitOK)
	got := saidTo(t, args[1])
	want := []string{`"` + long + `"`, `"docker run \\\n  --rm \\\n\tit[31m\nüñ漢"`, `"say yes"`, `"say yes"`}
	if len(got) != len(want) {
		t.Fatalf("it was told %q", got)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("it was told %q, want %q", got[i], want[i])
		}
	}
}

func TestEffectInDoubtIsSettledInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, rules := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "all.cedar")
	begun := filepath.Join(dir, "begun")
	for name, text := range map[string]string{
		script: "turns:\n  - sleep: {on: answer}\n" +
			"  - execute: {tool: shell, args: {command: [sh, -c, ': > begun; exec sleep 600']}}\n" +
			"  - text: so it came to ${last.signal}\n",
		rules: "@id(\"test.all\")\npermit (principal, action, resource);\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"chat", "--store", filepath.Join(dir, "home"), "--advisor", "script:" + script, "--files", dir,
		"--program", "sh", "--policy", rules}
	d := sit(t, args...)
	d.sees("> ")
	d.types("go\n")
	d.sees("- calls shell")
	appears(t, begun) // what has not begun is not in doubt
	d.types(ctrlC)
	d.sees("in-doubt  did it happen? shell")
	d.sees("exec sleep 600")
	d.sees("did it happen? happened, not (not: WHY), or leave: ")
	for _, unclear := range []string{"did it?", "not sure", "not yet known", "happened not"} {
		d.types(unclear + "\n")
		d.sees("leaves it open")
		d.sees("did it happen? happened, not (not: WHY), or leave: ")
	}
	d.types("leave\n")
	d.sees("it waits until it is known whether this happened")
	d.sees("> ")
	d.types(ctrlD)
	d.gone(exitOK)
	d = sit(t, args...)
	d.sees("did it happen? happened, not (not: WHY), or leave: ")
	d.types("not, I looked\n")
	d.sees("| so it came to failed")
	d.types(ctrlD)
	d.gone(exitOK)
}

// appears waits until there is a file.
func appears(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("there is no %s after two minutes", path)
}

// A server that goes on with a call after Ctrl-C keeps it from being settled, in the chat, too, until it has answered.
func TestChatSettlesNothingThatAServerIsAtWorkOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, rules, server := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "all.cedar"), filepath.Join(dir, "server")
	release, store := filepath.Join(dir, "release"), filepath.Join(dir, "home")
	for name, text := range map[string]string{
		script: "turns:\n  - sleep: {on: answer}\n  - execute: {tool: n.write}\n" +
			"  - text: so it came to ${last.signal}\n",
		rules: "@id(\"test.all\")\npermit (principal, action, resource);\n",
		server: `while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*'"initialize"'*)
		info='"capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}'
		says='{"protocolVersion":"2025-06-18",'$info'}' ;;
	*'"tools/list"'*) says='{"tools":[{"name":"write","inputSchema":{"type":"object"}}]}' ;;
	*'"tools/call"'*)
		: >` + release + `.begun
		while [ ! -e ` + release + ` ]; do sleep 0.05; done; says='{"content":[]}' ;;
	*'"server/discover"'*)
		printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"
		continue ;;
	*) continue ;;
	esac
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$says"
done
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := sit(t, "chat", "--store", store, "--advisor", "script:"+script, "--mcp", "n=sh "+server, "--policy", rules)
	d.sees("> ")
	d.types("go\n")
	d.sees("- calls n.write")
	appears(t, release+".begun")
	d.types(ctrlC)
	d.sees("did it happen? happened, not (not: WHY), or leave: ")
	d.types("not\n")
	d.sees("still under way")
	d.sees("did it happen? happened, not (not: WHY), or leave: ")
	key := strings.TrimSpace(must(t, exitOK, "show", "chat", "--store", store, "--jq", ".open[].key"))
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for len(tool.Survivors(key)) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	d.types("not\n")
	d.sees("| so it came to failed")
	d.types(ctrlD)
	d.gone(exitOK)
}

func TestChatSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "s.yaml")
	text := "turns:\n  - sleep: {on: answer}\n  - sleep: {after: 2s}\n  - text: here I am\n  - sleep: {on: parcel}\n" +
		"  - text: it came\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "home")
	d := sit(t, "chat", "--store", store, "--advisor", "script:"+script)
	d.sees("> ")
	d.types("wait a moment\n")
	d.sees("asleep until ")
	d.sees("it goes on by itself")
	d.types("half a ")
	d.sees("| here I am\r\n")
	d.sees("> half a ")
	d.types("word\n")
	d.sees("asleep for event parcel")
	must(t, exitOK, "send", "chat", "parcel", "--store", store)
	d.sees("- told: parcel")
	d.sees("| it came\r\n")
	d.types(ctrlD)
	d.gone(exitOK)
}

// TestCtrlDLeavesWhileTheModelHasNoTime and the turn only waits for it.
func TestCtrlDLeavesWhileTheModelHasNoTime(t *testing.T) {
	t.Parallel()
	_, args := served(t, "anthropic", wiretest.Turns(wiretest.Turn{Status: 429,
		Header: map[string]string{"Retry-After": "60"}, Kind: "rate_limit_error", Message: "slow down"}, said("here")))
	d := sit(t, append([]string{"chat"}, args...)...)
	d.sees("> ")
	d.types("are you there?\n")
	d.sees("Ctrl-C stops waiting")
	d.types(ctrlD)
	d.gone(exitOK)
}

// A first turn that was cut short is one to go on with, as any other.
func TestChatSaysThatItsFirstTurnWasCutShort(t *testing.T) {
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
	d := sit(t, append([]string{"chat"}, args...)...)
	d.sees("it is in the middle of a turn; press Enter to go on")
	d.sees("> ")
	d.types(ctrlD)
	d.gone(exitOK)
}

// TestCtrlCLeavesWhileAnMCPServerStarts that does not answer.
func TestCtrlCLeavesWhileAnMCPServerStarts(t *testing.T) {
	t.Parallel()
	_, args := served(t, "anthropic", wiretest.Turns(said("here")))
	d := sit(t, append([]string{"chat", "--mcp", "mute=sleep 300"}, args...)...)
	d.sees("waiting for MCP server mute")
	d.types(ctrlC)
	d.gone(exitInterrupted)
}

func TestAnswersBreakBetweenWords(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("considerable thoughts about unbreakable words ", 6)
	_, args := served(t, "anthropic", wiretest.Turns(said(text)))
	d := sit(t, append([]string{"chat"}, args...)...)
	d.sized(40)
	d.sees("> ")
	d.types("think\n")
	d.sees("> ")
	d.types(ctrlD)
	d.gone(exitOK)
	seen := onScreen(d.seen.String(), 40)
	words := map[string]bool{"considerable": true, "thoughts": true, "about": true, "unbreakable": true, "words": true}
	n := 0
	for line := range strings.Lines(seen) {
		said, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "| ")
		for _, word := range strings.Fields(said) {
			if n++; is && !words[word] {
				t.Errorf("a word is broken: %q in\n%s", word, seen)
			}
		}
	}
	if n < 30 {
		t.Errorf("the answer is not shown whole:\n%s", seen)
	}
}

// onScreen is what a terminal of so many columns shows after all that was written to it.
func onScreen(out string, columns int) string {
	rows, row, column := [][]rune{nil}, 0, 0
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '\r':
			column = 0
		case c == '\n':
			if row++; row == len(rows) {
				rows = append(rows, nil)
			}
		case c == 0x1b && i+1 < len(out) && out[i+1] == '[':
			end := i + 2
			for end < len(out) && out[end] < 0x40 {
				end++
			}
			n := 0
			_, _ = fmt.Sscanf(out[i+2:end], "%d", &n)
			switch out[end] {
			case 'A':
				row -= max(n, 1)
			case 'C':
				column += max(n, 1)
			case 'D':
				column = max(0, column-max(n, 1))
			case 'J':
				rows = rows[:row+1]
				fallthrough
			case 'K':
				rows[row] = rows[row][:min(column, len(rows[row]))]
			}
			i = end
		default:
			if column == columns {
				column = 0
				if row++; row == len(rows) {
					rows = append(rows, nil)
				}
			}
			for len(rows[row]) <= column {
				rows[row] = append(rows[row], ' ')
			}
			rows[row][column] = rune(c)
			column++
		}
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(string(r), " ") + "\n")
	}
	return b.String()
}

// What an effect started and still runs keeps it from being settled, unless that is said not to matter.
func TestSettleBesideWhatStillRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, rules, store := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "all.cedar"), filepath.Join(dir, "home")
	for name, text := range map[string]string{
		script: "turns:\n  - execute: {tool: shell, args: {command: [sh, -c, 'setsid sleep 600 & wait']}}\n" +
			"  - end: {note: over}\n",
		rules: "@id(\"test.all\")\npermit (principal, action, resource);\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, exitOK, "new", "wait", "--name", "a", "--store", store)
	cmd, _, _, _ := startPerdure(t, "run", "a", "--store", store, "--advisor", "script:"+script, "--files", dir,
		"--program", "sh", "--policy", rules, "--quiet")
	var key string
	var left []int
	for len(left) == 0 {
		key = strings.TrimSpace(must(t, exitOK, "show", "a", "--store", store, "--jq", ".open[]?.key"))
		for _, pid := range tool.Survivors(key) {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "sleep\n" {
				left = append(left, pid)
			}
		}
	}
	t.Cleanup(func() {
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if len(tool.Survivors(key)) == 0 {
		t.Skip("what the command started does not outlive its node here")
	}
	decision := strings.TrimSpace(must(t, exitOK, "show", "a", "--store", store, "--jq", ".open[].decision"))
	settle := []string{"settle", "a", decision, "--signal", "failed", "--store", store}
	_, errs, code := perdureIn(t, "", settle...)
	if code != exitConflict || !strings.Contains(errs, "still under way") ||
		!strings.Contains(errs, "--still-running") {
		t.Errorf("exit %d: %s", code, errs)
	}
	must(t, exitOK, append(settle, "--still-running")...)
}

// Words that people say one after the other reach a model each as its own.
func TestWordsInARowReachTheModel(t *testing.T) {
	for provider := range providersHere {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			hold := make(chan struct{})
			first := said("this takes long")
			first.Hold = hold
			s, args := served(t, provider, wiretest.Turns(first, said("both, then")))
			d := sit(t, append([]string{"chat"}, args...)...)
			d.sees("> ")
			d.types("the first\n")
			d.sees("| this ")
			d.types(ctrlC)
			d.sees("interrupted")
			d.sees("> ")
			d.types("the second\n")
			d.sees("| both, then")
			d.types(ctrlD)
			d.gone(exitOK)
			close(hold)
			last := fmt.Sprint(s.Requests()[1])
			one, two := strings.Index(last, "says] the first"), strings.Index(last, "says] the second")
			if one < 0 || two < one {
				t.Errorf("the model is shown %s", last)
			}
		})
	}
}
