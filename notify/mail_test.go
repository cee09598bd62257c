package notify

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// postOffice is a mail server that takes messages over TLS from one user, or refuses as told.
type postOffice struct {
	t       *testing.T
	address string
	tls     *tls.Config // nil: it offers no encryption
	roots   *x509.CertPool
	refuse  string // what it answers to a recipient
	only    string // whom it refuses; empty: everybody
	got     chan letterIn
}

type letterIn struct {
	from, auth string
	to         []string
	secure     bool
	message    string
}

func openPostOffice(t *testing.T, encrypted bool, refuse string) *postOffice {
	t.Helper()
	p := &postOffice{t: t, refuse: refuse, got: make(chan letterIn, 10)}
	if encrypted {
		p.certify()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.serve(conn)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return p
}

// certify makes a certificate of its own.
func (p *postOffice) certify() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		p.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		p.t.Fatal(err)
	}
	p.roots = x509.NewCertPool()
	p.roots.AddCert(made)
	p.tls = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func (p *postOffice) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	r := bufio.NewReader(conn)
	say := func(s string) { _, _ = io.WriteString(conn, s+"\r\n") }
	var in letterIn
	say("220 office")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		switch verb := strings.ToUpper(strings.SplitN(line, " ", 2)[0]); {
		case verb == "EHLO" && p.tls != nil && !in.secure:
			say("250-office\r\n250 STARTTLS")
		case verb == "EHLO" && in.secure:
			say("250-office\r\n250 AUTH PLAIN")
		case verb == "EHLO":
			say("250 office")
		case verb == "STARTTLS":
			say("220 go on")
			secure := tls.Server(conn, p.tls)
			if secure.Handshake() != nil {
				return
			}
			conn, r, in.secure = secure, bufio.NewReader(secure), true
		case verb == "AUTH":
			in.auth = line
			say("235 yes")
		case strings.HasPrefix(line, "MAIL FROM:"):
			in.from = line
			say("250 yes")
		case strings.HasPrefix(line, "RCPT TO:") && p.refuse != "" && strings.Contains(line, p.only):
			say(p.refuse)
		case strings.HasPrefix(line, "RCPT TO:"):
			in.to = append(in.to, line)
			say("250 yes")
		case verb == "DATA":
			say("354 go on")
			var b strings.Builder
			for line, err := r.ReadString('\n'); err == nil && line != ".\r\n"; line, err = r.ReadString('\n') {
				b.WriteString(line)
			}
			in.message = b.String()
			say("250 taken")
			p.got <- in
		case verb == "QUIT":
			say("221 bye")
			return
		default:
			say("502 what")
		}
	}
}

func (p *postOffice) mail(m Mail) (*Mail, error) {
	m.Server, m.From, m.To, m.Private = p.address, "Perdure <perdure@example.com>",
		[]string{"ana@example.com", "Bob <bob@example.com>"}, true
	if p.roots != nil {
		m.TLS = &tls.Config{RootCAs: p.roots}
	}
	return NewMail(m)
}

func TestMailIsSentEncryptedAndNothingInItBecomesAHeader(t *testing.T) {
	p := openPostOffice(t, true, "")
	m, err := p.mail(Mail{User: "perdure", Password: "pw"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	got := <-p.got
	if !got.secure || got.auth == "" || len(got.to) != 2 || !strings.Contains(got.from, "<perdure@example.com>") {
		t.Errorf("got %+v", got)
	}
	msg, err := mail.ReadMessage(strings.NewReader(got.message))
	if err != nil {
		t.Fatal(err)
	}
	if msg.Header.Get("Bcc") != "" {
		t.Error("an agent's words became a header")
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	if err != nil || subject != "shop asks <!channel> whether Bcc: x" {
		t.Errorf("subject %q, %v", subject, err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
	if err != nil || !strings.Contains(string(body), `pay 5 € to "Ann"`) {
		t.Errorf("body %q, %v", body, err)
	}
}

func TestMailIsNotSentInTheClear(t *testing.T) {
	p := openPostOffice(t, false, "")
	m, err := p.mail(Mail{})
	if err != nil {
		t.Fatal(err)
	}
	var f *Failure
	if err := m.Send(t.Context(), sample()); !errors.As(err, &f) || !f.Final ||
		!strings.Contains(err.Error(), "no encryption") {
		t.Errorf("a server without encryption: %v", err)
	}
	plain, err := p.mail(Mail{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Send(t.Context(), sample()); err != nil {
		t.Errorf("a relay on this machine: %v", err)
	}
	if _, err := p.mail(Mail{Plain: true, User: "x"}); err == nil {
		t.Error("a password may be sent in the clear")
	}
	other := openPostOffice(t, true, "")
	stranger, err := NewMail(Mail{Server: other.address, From: "a@example.com", To: []string{"b@example.com"},
		Private: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.Send(t.Context(), sample()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate nobody knows: %v", err)
	}
}

func TestMailServersThatRefuseForGoodAreNotAskedAgain(t *testing.T) {
	for answer, final := range map[string]bool{"550 no such user": true, "451 later": false} {
		m, err := openPostOffice(t, true, answer).mail(Mail{})
		if err != nil {
			t.Fatal(err)
		}
		var f *Failure
		err = m.Send(t.Context(), sample())
		if got := errors.As(err, &f) && f.Final; err == nil || got != final {
			t.Errorf("%s: %v, final %v", answer, err, got)
		}
	}
	public, err := NewMail(Mail{Server: "127.0.0.1:1", From: "a@example.com", To: []string{"b@example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := public.Send(t.Context(), sample()); err == nil || !strings.Contains(err.Error(), "not public") {
		t.Errorf("a private address: %v", err)
	}
}

// A mailbox that is gone keeps nobody else from being told, and is named in the log.
func TestOneMailboxThatIsGoneKeepsNobodyElseFromBeingTold(t *testing.T) {
	p := openPostOffice(t, true, "550 no such user")
	p.only = "ana@"
	var said strings.Builder
	m, err := p.mail(Mail{Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Send(t.Context(), sample()); err != nil {
		t.Fatalf("bob was told nothing: %v", err)
	}
	if got := (<-p.got).to; len(got) != 1 || !strings.Contains(got[0], "bob@") {
		t.Errorf("it went to %v", got)
	}
	if !strings.Contains(said.String(), "ana@example.com") {
		t.Errorf("whom it did not go to is not said: %s", said.String())
	}
}

func TestACommandGetsTheEventAndNoSecrets(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	out := filepath.Join(t.TempDir(), "out")
	c := &Command{Argv: []string{"sh", "-c", `cat > "$1"; env >> "$1"`, "sh", out}}
	if err := c.Send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	got := readFile(t, out)
	if !strings.Contains(got, `"specversion":"1.0"`) || strings.Contains(got, "sk-secret") {
		t.Errorf("got %s", got)
	}
	for _, argv := range [][]string{{"sh", "-c", "echo no >&2; exit 3"}, {"perdure-no-such-program"}} {
		if err := (&Command{Argv: argv}).Send(t.Context(), sample()); err == nil {
			t.Errorf("%v worked", argv)
		}
	}
	begun := time.Now()
	slow := &Command{Argv: []string{"sh", "-c", "sleep 600 & wait"}, Timeout: 50 * time.Millisecond}
	if err := slow.Send(t.Context(), sample()); err == nil || time.Since(begun) > 2*time.Minute {
		t.Errorf("a command that hangs: %v after %s", err, time.Since(begun))
	}
}
