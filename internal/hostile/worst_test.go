package hostile

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// busy is how much of a processor a command may use for a memory of up to a megabyte or two. Honest ones of that size
// take a tenth.
const busy = 1500 * time.Millisecond

// spent is the processor time that a command uses. A command is ended when it takes far too long.
func (p *place) spent(args ...string) time.Duration {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := p.command(ctx, args...)
	var errs bytes.Buffer
	c.Stderr = &errs
	_ = c.Run() // that it is refused is as good as that it is not
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

// repeat is a commit of n times the same.
func (a *attack) repeat(n int, body func(i int) perdure.Body) *attack {
	a.t.Helper()
	const most = 50 // at a time: writing must not be what takes long
	for i := 0; i < n; i += most {
		bodies := make([]perdure.Body, min(most, n-i))
		for j := range bodies {
			bodies[j] = body(i + j)
		}
		a.write(bodies...)
	}
	return a
}

func TestWorstMemoriesKeepNoCommandBusy(t *testing.T) {
	t.Parallel()
	key := func(i int) perdure.Key {
		return have(perdure.GenerateSigner(fmt.Sprint("k", i)))(t).Key()
	}
	for name, make := range map[string]func(a *attack) *attack{
		"key changes": func(a *attack) *attack {
			return a.repeat(1000, func(i int) perdure.Body {
				return perdure.Event{Name: "key", Notice: perdure.KeyChange{Revoke: key(i)}}
			})
		},
		"questions": func(a *attack) *attack {
			return a.repeat(2000, func(int) perdure.Body {
				return perdure.Decision{Action: pay(a.t), Verdict: perdure.Verdict{Answer: perdure.Ask,
					Asked: []string{"owner"}}, Effect: perdure.Once}
			})
		},
		"open decisions": func(a *attack) *attack {
			return a.repeat(2000, func(int) perdure.Body {
				return perdure.Decision{
					Action: pay(a.t), Verdict: allowed, Effect: perdure.Once,
					Deadline: perdure.TimeOf(time.Now().Add(time.Hour)),
				}
			})
		},
		"triggers": func(a *attack) *attack {
			var of []perdure.Trigger
			for i := range 60 { // more are refused
				of = append(of, perdure.When{Condition: fmt.Sprintf("inbox.exists(m, m.name == 'x%d')", i)})
			}
			a.write(perdure.Decision{Action: perdure.Sleep{Trigger: perdure.Any{Of: of}}, Verdict: allowed})
			return a.repeat(50, func(i int) perdure.Body { return perdure.Event{Name: fmt.Sprint("y", i)} })
		},
		"messages": func(a *attack) *attack {
			return a.repeat(5000, func(i int) perdure.Body { return perdure.Event{Name: "hello", ID: fmt.Sprint(i)} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			a := weather(t, stranger(t))
			a.t = t
			file := make(a).capsule(p, "weather.agent")
			for _, args := range [][]string{
				{"verify", file}, {"import", "--ready", file}, {"show", "weather"}, {"inbox"},
				append([]string{"run", "weather"}, powers("forbid", "end")...),
			} {
				if took := p.spent(args...); took > busy {
					t.Errorf("perdure %s: used %v of a processor, want %v at most",
						strings.Join(args[:min(3, len(args))], " "), took, busy)
				}
			}
		})
	}
}

func TestCapsuleThatUnpacksToADiskIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	data := have(perdure.DataOf(make([]byte, 16<<20)))(t) // the same in each entry, so that a capsule holds it once
	a := weather(t, stranger(t))
	for range 12 {
		a.write(perdure.Event{Name: "hello", Data: data})
	}
	a.file(p.path("bomb.agent"), capsule.Options{})
	size := have(os.Stat(p.path("bomb.agent")))(t).Size()
	if size > 2<<20 {
		t.Fatalf("the bomb has %d bytes: it is none", size)
	}
	for _, args := range [][]string{{"import", "bomb.agent"}, {"verify", "./bomb.agent"}, {"run", "./bomb.agent"}} {
		if g := p.exits(5, args...); !g.says("capsule.unpacked") {
			t.Errorf("%v: want a refusal for what it unpacks to, got %v", args, g)
		}
	}
	var disk int64
	must(t, filepath.WalkDir(p.dir, func(_ string, d fs.DirEntry, err error) error {
		must(t, err)
		disk += have(d.Info())(t).Size()
		return nil
	}))
	if disk > size+(8<<20) {
		t.Errorf("%d bytes became %d on disk", size, disk)
	}
}

// everybodys is a key of small order, and a signature that verifies for it whatever was signed.
var everybodys = append([]byte{1}, bytes.Repeat([]byte{0}, 31)...)

func TestKeyOfSmallOrderIsNobodys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := stranger(t)
	key := s.Key()
	e := weather(t, s).entries[0]
	body := bytes.ReplaceAll(e.BodyBytes(), key[:], everybodys)
	header := bytes.ReplaceAll(e.HeaderBytes(), key[:], everybodys)
	old, now := perdure.HashOf(e.BodyBytes()), perdure.HashOf(body)
	header = bytes.ReplaceAll(header, old[:], now[:])
	honest := have(e.MarshalBinary())(t)
	forged := bytes.Replace(honest, e.HeaderBytes(), header, 1)
	forged = bytes.Replace(forged, e.BodyBytes(), body, 1)
	forged = bytes.Replace(forged, e.Signature, append(bytes.Clone(everybodys), make([]byte, 32)...), 1)
	must(t, os.WriteFile(p.path("honest.memory"), honest, 0o600))
	must(t, os.WriteFile(p.path("forged.memory"), forged, 0o600))
	p.ok("verify", "./honest.memory")
	p.exits(5, "verify", "./forged.memory")
	if g := p.perdure("key", "trust", hex.EncodeToString(everybodys), "--rights", "own", "--scope", "*"); g.code == 0 {
		t.Errorf("a key that is everybody's is trusted: %v", g)
	}
}
