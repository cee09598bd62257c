package home

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

const (
	// DefaultListen is where perdure serve listens if nobody says.
	DefaultListen = "127.0.0.1:7433"
	// SocketFile is the socket of a home for its owner.
	SocketFile = "serve.sock"
)

// The variables of the environment that say what the serve section of node.yaml does. They come before it, and flags
// before them.
const (
	listenEnv  = "PERDURE_LISTEN"  // addresses, joined by commas
	urlEnv     = "PERDURE_URL"     // where it is reached
	hostsEnv   = "PERDURE_HOSTS"   // names, joined by commas
	originsEnv = "PERDURE_ORIGINS" // origins, joined by commas
	certEnv    = "PERDURE_TLS_CERT"
	keyEnv     = "PERDURE_TLS_KEY"
)

// ServeConfig is how a home is served, as node.yaml says it under serve.
type ServeConfig struct {
	Listen  []string  `yaml:"listen"`  // HOST:PORT, or unix:PATH
	URL     string    `yaml:"url"`     // where it is reached from outside
	Hosts   []string  `yaml:"hosts"`   // the names it is reached by
	Origins []string  `yaml:"origins"` // of pages that may use it
	Plain   bool      `yaml:"plain"`   // something in front of it does TLS
	TLS     TLSConfig `yaml:"tls"`
}

// TLSConfig is what a server shows of itself.
type TLSConfig struct {
	Own  bool   `yaml:"own"`  // a certificate over the home's key
	Cert string `yaml:"cert"` // or that in this file
	Key  string `yaml:"key"`
}

// Fill takes what was not said by flags from the environment, and what that does not say from node.yaml.
func (c *ServeConfig) Fill(h *Home) error {
	file, err := readNodeFile(h)
	if err != nil {
		return err
	}
	list := func(to *[]string, env string, from []string) {
		if len(*to) == 0 {
			*to = words(os.Getenv(env))
		}
		if len(*to) == 0 {
			*to = from
		}
	}
	list(&c.Listen, listenEnv, file.Serve.Listen)
	list(&c.Hosts, hostsEnv, file.Serve.Hosts)
	list(&c.Origins, originsEnv, file.Serve.Origins)
	c.URL = cmp.Or(c.URL, os.Getenv(urlEnv), file.Serve.URL)
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.User != nil ||
		u.Scheme != "http" && u.Scheme != "https") {
		return perdure.WithHint(perdure.Invalid(errors.New("the url of the server: want http://HOST or https://HOST")),
			"it is where others reach it, such as https://agents.example.com; leave it out to use what requests say")
	}
	c.Plain = c.Plain || file.Serve.Plain
	if !c.TLS.Own && c.TLS.Cert == "" && c.TLS.Key == "" {
		if c.TLS = file.Serve.TLS; os.Getenv(certEnv) != "" || os.Getenv(keyEnv) != "" {
			c.TLS = TLSConfig{Cert: os.Getenv(certEnv), Key: os.Getenv(keyEnv)}
		}
	}
	if len(c.Listen) == 0 {
		c.Listen = []string{DefaultListen}
	}
	for i, host := range c.Hosts {
		c.Hosts[i] = strings.ToLower(host)
	}
	return nil
}

// words are those of a list joined by commas.
func words(text string) []string {
	all := strings.Split(text, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(w string) bool { return w == "" })
}

// ServeTLS is what a server of this home shows of itself; nil: nothing, it speaks in the clear. It asks who comes for
// their certificate, and takes any: it is the key in it that the trust file names, or does not.
func (h *Home) ServeTLS(c *ServeConfig) (*tls.Config, error) {
	var cert tls.Certificate
	var err error
	switch {
	case c.TLS.Own && c.TLS.Cert != "":
		return nil, perdure.Invalid(errors.New("--tls and --tls-cert both say what the server shows; use one of them"))
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return nil, perdure.Invalid(errors.New("--tls-cert and --tls-key belong together"))
	case c.TLS.Own:
		var s *perdure.Signer
		if s, err = h.Key(); err == nil && s == nil {
			err = perdure.Missing("this home has no key")
		}
		if err == nil {
			cert, err = Certificate(s)
		}
	case c.TLS.Cert != "":
		cert, err = tls.LoadX509KeyPair(c.TLS.Cert, c.TLS.Key)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		MinVersion:   tls.VersionTLS13,
		ClientAuth:   tls.RequestClientCert,
		NextProtos:   []string{"http/1.1"},
	}, nil
}
