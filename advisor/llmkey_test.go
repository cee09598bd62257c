package advisor_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/anthropic"
	"github.com/perdure/perdure/advisor/gemini"
	"github.com/perdure/perdure/advisor/openai"
	"github.com/perdure/perdure/internal/dev/wiretest"
)

func TestKeyIsNotCarriedElsewhere(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	key := func() (string, error) { return wiretest.Key, nil }
	for _, m := range []advisor.Model{
		anthropic.New("m", advisor.Endpoint{URL: first.URL, Key: key}),
		openai.New("m", advisor.Endpoint{URL: first.URL, Key: key}),
		gemini.New("m", advisor.Endpoint{URL: first.URL, Key: key}),
	} {
		_, err := m.Ask(t.Context(), &advisor.Prompt{Messages: []advisor.Message{{Parts: []advisor.Part{advisor.Text(
			"hi")}}}}, nil)
		var fail *advisor.Failure
		if !errors.As(err, &fail) || fail.Signal != perdure.Incapable {
			t.Errorf("%s: %v, want a failure", m.Family(), err)
		}
	}
	if elsewhere != 0 {
		t.Errorf("%d requests followed the redirect", elsewhere)
	}
}

// TestKeysOfTheEnvironmentStayAtHome: a server at another URL gets the key that was named for it, or none.
func TestKeysOfTheEnvironmentStayAtHome(t *testing.T) {
	const secret = "sk-not-for-others"
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY",
		"OPENAI_API_KEY"} {
		t.Setenv(name, secret)
	}
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer s.Close()
	for _, p := range providers {
		for _, key := range []advisor.KeyFunc{nil, func() (string, error) { return "sk-of-this-one", nil }} {
			header = nil
			_, err := p.model(s.URL, key).
				Ask(t.Context(), &advisor.Prompt{Messages: []advisor.Message{{Parts: []advisor.Part{advisor.Text(
					"hi")}}}}, nil)
			if err == nil || header == nil {
				t.Fatalf("%s: got %v, want to be asked and to refuse", p.name, err)
			}
			sent := fmt.Sprint(header)
			if strings.Contains(sent, secret) || strings.Contains(sent, "sk-of-this-one") != (key != nil) {
				t.Errorf("%s: sent %s", p.name, sent)
			}
		}
	}
}
