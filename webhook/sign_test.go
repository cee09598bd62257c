package webhook_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/webhook"
)

func mustKey(t *testing.T, text string) webhook.Key {
	t.Helper()
	k, err := webhook.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// seconds is the time of the example of the specification.
var seconds = time.Unix(1614265330, 0)

// TestTheExampleOfTheSpecificationVerifies holds against what other libraries sign: the example that the libraries of
// Standard Webhooks are tested with.
func TestTheExampleOfTheSpecificationVerifies(t *testing.T) {
	k := mustKey(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	h := http.Header{}
	h.Set(webhook.HeaderID, "msg_p5jXN8AQM9LWM0D4loKWxJek")
	h.Set(webhook.HeaderTimestamp, "1614265330")
	h.Set(webhook.HeaderSignature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	body := []byte(`{"test": 2432232314}`)
	m, err := webhook.Verify(h, body, seconds, k)
	if err != nil || m.ID != "msg_p5jXN8AQM9LWM0D4loKWxJek" {
		t.Fatalf("the example: %v, %v", m, err)
	}
	signed := http.Header{}
	if err := webhook.Sign(signed, m.ID, seconds, body, k); err != nil {
		t.Fatal(err)
	}
	if got, want := signed.Get(webhook.HeaderSignature), h.Get(webhook.HeaderSignature); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

func TestOnlyWhatAKeySignedIsTaken(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	secret := mustKey(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	other := mustKey(t, "whsec_"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32))))
	pair := mustKey(t, "whsk_"+base64.StdEncoding.EncodeToString(private.Seed()))
	whole := mustKey(t, "whsk_"+base64.StdEncoding.EncodeToString(private))
	half := mustKey(t, "whpk_"+base64.StdEncoding.EncodeToString(public))
	body := []byte(`{"approved":true}`)
	sign := func(keys ...webhook.Key) http.Header {
		h := http.Header{}
		if err := webhook.Sign(h, "msg_1", seconds, body, keys...); err != nil {
			t.Fatal(err)
		}
		return h
	}
	for name, c := range map[string]struct {
		h    http.Header
		keys []webhook.Key
		body string
		at   time.Time
		want error
	}{
		"by the secret":             {h: sign(secret), keys: []webhook.Key{secret}},
		"by a key pair":             {h: sign(pair), keys: []webhook.Key{half}},
		"by a key pair given whole": {h: sign(whole), keys: []webhook.Key{half}},
		"by the old of two keys":    {h: sign(secret), keys: []webhook.Key{other, secret}},
		"by both while keys change": {h: sign(secret, other), keys: []webhook.Key{other}},
		"by both kinds":             {h: sign(secret, pair), keys: []webhook.Key{half}},
		"just in time": {h: sign(secret), keys: []webhook.Key{secret},
			at: seconds.Add(webhook.Window)},
		"by another secret":             {h: sign(other), keys: []webhook.Key{secret}, want: webhook.ErrUnsigned},
		"by a secret, for a public key": {h: sign(secret), keys: []webhook.Key{half}, want: webhook.ErrUnsigned},
		"for another body": {h: sign(secret), keys: []webhook.Key{secret}, body: `{"approved":false}`,
			want: webhook.ErrUnsigned},
		"for nobody": {h: sign(secret), want: webhook.ErrUnsigned},
		"too late": {h: sign(secret), keys: []webhook.Key{secret},
			at: seconds.Add(webhook.Window + time.Second), want: webhook.ErrReplayed},
		"too early": {h: sign(secret), keys: []webhook.Key{secret},
			at: seconds.Add(-webhook.Window - time.Second), want: webhook.ErrReplayed},
		"too late and by another": {h: sign(other), keys: []webhook.Key{secret}, at: seconds.Add(time.Hour),
			want: webhook.ErrUnsigned},
		"under another id": {h: with(sign(secret), webhook.HeaderID, "msg_2"),
			keys: []webhook.Key{secret}, want: webhook.ErrUnsigned},
		"at another time": {h: with(sign(secret), webhook.HeaderTimestamp, "1614265331"),
			keys: []webhook.Key{secret}, want: webhook.ErrUnsigned},
		"without an id": {h: with(sign(secret), webhook.HeaderID, ""), keys: []webhook.Key{secret},
			want: webhook.ErrMalformed},
		"an id with a dot": {h: with(sign(secret), webhook.HeaderID, "a.b"),
			keys: []webhook.Key{secret}, want: webhook.ErrMalformed},
		"a time with a sign": {h: with(sign(secret), webhook.HeaderTimestamp, "+1614265330"),
			keys: []webhook.Key{secret}, want: webhook.ErrMalformed},
		"a time that is none": {h: with(sign(secret), webhook.HeaderTimestamp, "now"),
			keys: []webhook.Key{secret}, want: webhook.ErrMalformed},
		"an unknown version": {h: with(sign(secret), webhook.HeaderSignature, "v2,AAAA"),
			keys: []webhook.Key{secret}, want: webhook.ErrUnsigned},
		"a signature that is not base64": {h: with(sign(secret), webhook.HeaderSignature, "v1,???"),
			keys: []webhook.Key{secret}, want: webhook.ErrUnsigned},
		"an empty signature": {h: with(sign(secret), webhook.HeaderSignature, "v1,"),
			keys: []webhook.Key{secret}, want: webhook.ErrUnsigned},
		"a good one after seventeen bad": {h: with(sign(secret), webhook.HeaderSignature,
			strings.Repeat("v1,AAAA ", 17)+sign(secret).Get(webhook.HeaderSignature)), keys: []webhook.Key{secret},
			want: webhook.ErrUnsigned},
		"a v1 signature under the name v1a": {h: with(sign(secret), webhook.HeaderSignature,
			strings.Replace(sign(secret).Get(webhook.HeaderSignature), "v1,", "v1a,", 1)),
			keys: []webhook.Key{secret, half}, want: webhook.ErrUnsigned},
	} {
		t.Run(name, func(t *testing.T) {
			b, at := body, seconds
			if c.body != "" {
				b = []byte(c.body)
			}
			if !c.at.IsZero() {
				at = c.at
			}
			if _, err := webhook.Verify(c.h, b, at, c.keys...); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	twice := sign(secret)
	twice.Add(webhook.HeaderID, "msg_2")
	if _, err := webhook.Verify(twice, body, seconds, secret); !errors.Is(err, webhook.ErrMalformed) {
		t.Errorf("two ids: %v", err)
	}
}

func with(h http.Header, name, value string) http.Header {
	h = h.Clone()
	h.Set(name, value)
	return h
}

func TestBadKeysAreRefusedWithoutQuotingThem(t *testing.T) {
	for _, text := range []string{"", "hunter2hunter2", "whsec_", "whsec_c2hvcnQ=", "whsec_???", "whpk_AAAA",
		"whsk_AAAA", "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"whsk_" + base64.StdEncoding.EncodeToString(make([]byte, 64))} {
		_, err := webhook.ParseKey(text)
		if err == nil {
			t.Errorf("%q was taken for a key", text)
		} else if _, rest, _ := strings.Cut(text, "_"); len(rest) > 3 && strings.Contains(err.Error(), rest) {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
	if k := mustKey(t, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"); strings.Contains(k.String(), "MfKQ") {
		t.Errorf("a secret prints as %s", k)
	}
	if err := webhook.Sign(http.Header{}, "x", seconds, nil,
		mustKey(t, "whpk_"+base64.StdEncoding.EncodeToString(make([]byte, 32)))); err == nil {
		t.Error("a public key signed")
	}
}
