package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Mail sends events as e-mail by SMTP. The connection is encrypted (STARTTLS, or TLS from the start on port 465),
// unless Plain says otherwise.
type Mail struct {
	Server         string // HOST:PORT
	From           string
	To             []string
	User, Password string // none: no authentication
	Private        bool   // addresses that are not public are allowed
	Plain          bool   // do not encrypt: for a relay on the same machine

	TLS *tls.Config  // nil: the system's certificates
	Log *slog.Logger // nil: nothing is logged

	from *mail.Address
	to   []*mail.Address
	host string
	tls  *tls.Config
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewMail checks whom to write to.
func NewMail(m Mail) (*Mail, error) {
	host, _, err := net.SplitHostPort(m.Server)
	if err != nil || host == "" {
		return nil, errors.New("server: want HOST:PORT")
	}
	if m.from, err = mail.ParseAddress(m.From); err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	for _, text := range m.To {
		to, err := mail.ParseAddress(text)
		if err != nil {
			return nil, fmt.Errorf("to: %w", err)
		}
		m.to = append(m.to, to)
	}
	if len(m.to) == 0 {
		return nil, errors.New("to: want at least one address")
	}
	if m.Plain && (m.User != "" || !m.Private) {
		return nil, errors.New("plain: only with allow-private, and without a password")
	}
	m.host, m.dial, m.tls = host, guarded(m.Private).DialContext, &tls.Config{}
	if m.TLS != nil {
		m.tls = m.TLS.Clone()
	}
	m.tls.ServerName, m.tls.MinVersion = host, tls.VersionTLS12
	return &m, nil
}

// Send implements Sender.
func (m *Mail) Send(ctx context.Context, e *Event) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	conn, err := m.dial(ctx, "tcp", m.Server)
	if err != nil {
		return (&HTTP{}).unsent(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if strings.HasSuffix(m.Server, ":465") {
		conn = tls.Client(conn, m.tls)
	}
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	defer func() { _ = c.Close() }() // after Quit it is closed
	return refused(m.talk(c, e))
}

// talk sends one message.
func (m *Mail) talk(c *smtp.Client, e *Event) error {
	if err := c.Hello("localhost"); err != nil {
		return err
	}
	if _, secure := c.TLSConnectionState(); !secure && !m.Plain {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return &Failure{Err: errors.New("the mail server offers no encryption, so nothing was sent"), Final: true}
		}
		if err := c.StartTLS(m.tls); err != nil {
			return err
		}
	}
	if m.User != "" {
		if err := c.Auth(smtp.PlainAuth("", m.User, m.Password, m.host)); err != nil {
			return err
		}
	}
	if err := c.Mail(m.from.Address); err != nil {
		return err
	}
	if err := m.address(c); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.message(e)); err != nil {
		return err
	}
	if err := w.Close(); err != nil { // it is accepted now, whatever Quit says
		return err
	}
	_ = c.Quit()
	return nil
}

// address names those who are written to. A mailbox that is gone keeps nobody else from being told; only where the
// server takes none of them is that an error.
func (m *Mail) address(c *smtp.Client) error {
	var gone error
	taken := 0
	for _, to := range m.to {
		err := c.Rcpt(to.Address)
		switch {
		case err == nil:
			taken++
		case !isFinal(err):
			return err // nothing was sent yet: all of it is tried again
		default:
			gone = err
			m.log().Warn("mail: the server takes nothing for an address", "to", to.Address, "err", err)
		}
	}
	if taken > 0 {
		return nil
	}
	return gone
}

func (m *Mail) log() *slog.Logger {
	if m.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return m.Log
}

// isFinal reports whether the mail server says that it takes something never.
func isFinal(err error) bool {
	var code *textproto.Error
	return errors.As(err, &code) && code.Code/100 == 5
}

// refused is an error of the mail server: what begins with 5 it does not take later either.
func refused(err error) error {
	if isFinal(err) {
		return &Failure{Err: fmt.Errorf("the mail server refused it: %w", err), Final: true}
	}
	return err
}

// message is an event as a message. An agent's words are in encoded headers and an encoded body: they cannot become
// headers of their own.
func (m *Mail) message(e *Event) []byte {
	var b strings.Builder
	header := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	var to []string
	for _, a := range m.to {
		to = append(to, a.String())
	}
	header("From", m.from.String())
	header("To", strings.Join(to, ", "))
	header("Subject", mime.QEncoding.Encode("utf-8", clip(e.Title(), 150)))
	header("Date", e.Time.UTC().Format(time.RFC1123Z))
	header("Message-ID", "<"+perdure.HashOf([]byte(e.ID)).String()[:32]+"@perdure>")
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	q := quotedprintable.NewWriter(&b)
	_, _ = q.Write([]byte(strings.ReplaceAll(e.Text(), "\n", "\r\n") + "\r\n")) // a builder takes everything
	_ = q.Close()
	return []byte(b.String())
}
