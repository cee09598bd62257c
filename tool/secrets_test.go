package tool_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

const token = `s3cr3t/"tökén"+=`

// probe is a tool that shows what it got and returns what it is told to.
type probe struct {
	got    perdure.Data
	result func() (perdure.Result, error)
}

func (*probe) Spec() perdure.Spec { return perdure.Spec{Name: "probe", Effect: perdure.Read} }

func (p *probe) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	p.got = c.Args
	if p.result == nil {
		return perdure.Result{}, nil
	}
	return p.result()
}

// reconciling is a probe that can reconcile.
type reconciling struct{ probe }

func (r *reconciling) Reconcile(ctx context.Context, c perdure.Call) (perdure.Result, error) {
	return r.Call(ctx, c)
}

func withSecrets(t *testing.T, tl perdure.Tool) perdure.Tool {
	t.Helper()
	return tool.WithSecrets([]perdure.Tool{tl}, tool.SecretMap{"TOKEN": token, "LONGER": token + token,
		"pin": "123"})[0]
}

func TestReferencesBecomeValuesOnlyInsideTheCall(t *testing.T) {
	p := new(probe)
	args := map[string]any{
		"whole": "secret:TOKEN", "part": "Bearer secret:TOKEN", "json": `{"a":"secret:TOKEN","b":"secret:TOKEN"}`,
		"list": []any{"secret:TOKEN", 1},
		"word": "top-secret:TOKEN nosecret:TOKEN secret: secret:1 a secret", "n": 1.5, "secret:TOKEN": "key",
	}
	sent := data(t, args)
	c := perdure.Call{Args: sent}
	if _, err := withSecrets(t, p).Call(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"whole": token, "part": "Bearer " + token, "json": `{"a":"` + token + `","b":"` + token + `"}`,
		"list": []any{token, int64(1)},
		"word": args["word"], "n": 1.5, token: "key",
	}
	if diff := cmp.Diff(want, p.got.Value()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(data(t, args), sent); diff != "" {
		t.Errorf("the recorded arguments changed: %s", diff)
	}
}

func TestAnUnknownSecretFailsAndCallsNothing(t *testing.T) {
	for ref, hint := range map[string]string{"secret:NONE": "add it to the secrets", "secret:TOKENS": "TOKENS",
		"x secret:pin": "longer", "secret:token": "token"} {
		p := new(probe)
		fails(t, call(t, withSecrets(t, p), map[string]any{"a": []any{ref}}), hint)
		if p.got != nil {
			t.Errorf("%s: the tool was called", ref)
		}
	}
}

func TestValuesAreTakenOutOfEverythingAToolReturns(t *testing.T) {
	forms := []string{
		token, url.QueryEscape(token), url.PathEscape(token), base64.StdEncoding.EncodeToString([]byte(token)),
		base64.RawURLEncoding.EncodeToString([]byte(token)),
		hex.EncodeToString([]byte(token)), `s3cr3t/\"tökén\"+=`,
	}
	for _, form := range forms {
		p := &probe{}
		p.result = func() (perdure.Result, error) {
			return perdure.Result{
				Note: "got " + form,
				Data: data(t, map[string]any{"text": "<" + form + ">", "bytes": []byte(form), "list": []any{form},
					form: 1, "n": 7}),
				Set: map[string]perdure.Data{"v" + form: data(t, form)},
			}, nil
		}
		res := call(t, withSecrets(t, p), map[string]any{"a": 1}) // though this call refers to none
		want := perdure.Result{
			Note: "got secret:TOKEN",
			Data: data(t, map[string]any{"text": "<secret:TOKEN>", "bytes": []byte("secret:TOKEN"),
				"list": []any{"secret:TOKEN"}, "secret:TOKEN": 1, "n": 7}),
			Set: map[string]perdure.Data{"vsecret:TOKEN": data(t, "secret:TOKEN")},
		}
		if diff := cmp.Diff(want, res); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
	_, err := withSecrets(t, &probe{result: func() (perdure.Result, error) {
		return perdure.Result{}, fmt.Errorf("no %s here: %w", token, perdure.ErrIncapable)
	}}).Call(t.Context(), perdure.Call{})
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), token) {
			t.Errorf("got %v", e)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "secret:TOKEN") || !errors.Is(err, perdure.ErrIncapable) {
		t.Errorf("got %v, want it to be incapable still", err)
	}
	res := call(t, withSecrets(t, &probe{result: func() (perdure.Result, error) {
		return perdure.Result{Note: token + token}, nil
	}}), map[string]any{})
	if res.Note != "secret:LONGER" {
		t.Errorf("got %q, want the longer of two", res.Note)
	}
}

// A panic stays one, so that a node logs where it happened, and shows no secret.
func TestAPanicShowsWhereAndNoSecret(t *testing.T) {
	defer func() {
		said, where := fmt.Sprint(recover()), string(debug.Stack())
		if said != "lost secret:TOKEN" || !strings.Contains(where, "losesIt") {
			t.Errorf("got %q at\n%s", said, where)
		}
	}()
	_, err := withSecrets(t, &probe{result: losesIt}).Call(t.Context(), perdure.Call{})
	t.Errorf("got %v", err)
}

func losesIt() (perdure.Result, error) { panic("lost " + token) }

func TestReconcilingSurvivesTheWrapping(t *testing.T) {
	if _, ok := withSecrets(t, new(probe)).(perdure.Reconciler); ok {
		t.Error("a tool that cannot reconcile now says it can")
	}
	p := new(reconciling)
	p.result = func() (perdure.Result, error) { return perdure.Result{Note: token}, nil }
	r, ok := withSecrets(t, p).(perdure.Reconciler)
	if !ok {
		t.Fatal("a tool that can reconcile no longer says so")
	}
	res, err := r.Reconcile(t.Context(), perdure.Call{Args: data(t, "secret:TOKEN")})
	if err != nil || res.Note != "secret:TOKEN" || p.got.Text() != token {
		t.Errorf("got %+v, %v", res, err)
	}
	if _, err := r.Reconcile(t.Context(), perdure.Call{Args: data(t, "secret:NONE")}); err == nil {
		t.Error("a secret that is not there did not leave the effect in doubt")
	}
}

// onlyGet gives secrets out and cannot list them.
type onlyGet struct{ tool.Secrets }

func TestASecretAToolWasGivenIsKeptOutOfTheOthers(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	tools := tool.WithSecrets(tool.Files(root), onlyGet{tool.SecretMap{"TOKEN": token}})
	value(t, call(t, named(t, tools, "files.write"), map[string]any{"path": "conf", "text": "token=secret:TOKEN"}))
	if b, err := root.ReadFile("conf"); err != nil || string(b) != "token="+token {
		t.Errorf("got %q, %v, want the value on disk", b, err)
	}
	if got := value(t, call(t, named(t, tools, "files.read"),
		map[string]any{"path": "conf"}))["text"]; got != "token=secret:TOKEN" {
		t.Errorf("got %q, want the reference", got)
	}
}

func TestAServerThatEchoesASecretDoesNotShowIt(t *testing.T) {
	var got string
	h, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		fmt.Fprintf(w, "you said %s", got)
	})
	tl := tool.WithSecrets([]perdure.Tool{h("get")}, tool.SecretMap{"KEY": "abcd1234"})[0]
	res := call(t, tl, map[string]any{"url": u + "/?k=secret:KEY",
		"headers": map[string]any{"Authorization": "Bearer secret:KEY"}})
	if got != "Bearer abcd1234" {
		t.Errorf("the server got %q", got)
	}
	if strings.Contains(string(res.Data), "abcd1234") || !res.Taint {
		t.Errorf("got %s", res.Data.JSON())
	}
	if v := value(t, res); v["text"] != "you said Bearer secret:KEY" {
		t.Errorf("got %v", v)
	}
}

func TestNoValueIsEverInAResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-z0-9/+"\\ é%]{4,12}`).Draw(t, "value")
		before, after := rapid.String().Draw(t, "before"), rapid.String().Draw(t, "after")
		p := &probe{result: func() (perdure.Result, error) {
			d, err := perdure.DataOf(map[string]any{before: []any{before + value + after}})
			return perdure.Result{Data: d}, err
		}}
		tl := tool.WithSecrets([]perdure.Tool{p}, tool.SecretMap{"S": value})[0]
		res, err := tl.Call(context.Background(), perdure.Call{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains("secret:S", value) && strings.Contains(string(res.Data), value) {
			t.Fatalf("got %s with %q in it", res.Data.JSON(), value)
		}
	})
}

func TestDoubtStaysDoubtWithoutTheSecret(t *testing.T) {
	p := &probe{result: func() (perdure.Result, error) {
		return perdure.Result{}, fmt.Errorf("sent %s, and then nothing: %w", token, perdure.ErrInDoubt)
	}}
	_, err := withSecrets(t, p).Call(t.Context(), perdure.Call{Args: data(t, map[string]any{"a": "secret:TOKEN"})})
	if !errors.Is(err, perdure.ErrInDoubt) || strings.Contains(err.Error(), token) {
		t.Errorf("got %v, want doubt without the value", err)
	}
}
