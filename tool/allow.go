package tool

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// origin is one entry of an allow-list: a scheme, a host and a port.
type origin struct {
	scheme, host, port string
	below              bool // the hosts below host, not host itself
	any                bool // every host
}

// parseOrigins reads an allow-list.
func parseOrigins(allow []string) ([]origin, error) {
	list := make([]origin, 0, len(allow))
	for _, entry := range allow {
		o, err := parseOrigin(entry)
		if err != nil {
			return nil, fmt.Errorf("allowed host %q: %w; want api.example.com, *.example.com, host:port, http://host "+
				"or *", entry, err)
		}
		list = append(list, o)
	}
	return list, nil
}

func parseOrigin(entry string) (origin, error) {
	o := origin{scheme: "https"}
	rest := entry
	if scheme, after, ok := strings.Cut(entry, "://"); ok {
		o.scheme, rest = scheme, after
	}
	if o.scheme != "http" && o.scheme != "https" {
		return o, fmt.Errorf("scheme %q is not http or https", o.scheme)
	}
	if after, ok := strings.CutPrefix(rest, "*."); ok {
		o.below, rest = true, after
	}
	if !o.below && (rest == "*" || strings.HasPrefix(rest, "*:")) {
		o.any, rest = true, "any"+rest[1:]
	}
	u, err := url.Parse(o.scheme + "://" + rest)
	if err != nil {
		return o, err
	}
	if u.Host != rest || u.Hostname() == "" || strings.ContainsAny(u.Hostname(), "*") {
		return o, fmt.Errorf("%q is not a host", rest)
	}
	o.host, o.port = hostOf(u), portOf(u)
	return o, nil
}

// check says whether a URL may be asked for, as an error that says why not.
func check(u *url.URL, allow []origin) error {
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("field url: %q is neither https nor http", clip(u.Redacted()))
	case u.Opaque != "" || u.Hostname() == "":
		return fmt.Errorf("field url: %q has no host", clip(u.Redacted()))
	case u.User != nil:
		return fmt.Errorf("field url: a name or password does not belong in it; use a header, such as Authorization")
	}
	host, port := hostOf(u), portOf(u)
	var near []origin // of this host
	for _, o := range allow {
		if !o.any && (o.below || host != o.host) && (!o.below || !strings.HasSuffix(host, "."+o.host)) {
			continue
		}
		if o.scheme == u.Scheme && o.port == port {
			return nil
		}
		near = append(near, o)
	}
	// The list may name hosts that are nobody's business who does not know them: this goes to the model, and with the
	// agent wherever it goes.
	why := "which hosts are is set in node.yaml"
	if len(near) > 0 {
		why = fmt.Sprintf("of this host is %v", near[:min(len(near), maxNear)])
	}
	return fmt.Errorf("field url: %s://%s is not allowed here; %s", u.Scheme, clip(net.JoinHostPort(host, port)), why)
}

// maxNear bounds how many entries of an allow-list are named of the host that is asked for.
const maxNear = 4

// String is the origin in the form of an error: always with its scheme and port, which an entry may leave out.
func (o origin) String() string {
	switch {
	case o.any:
		o.host = "*"
	case o.below:
		o.host = "*." + o.host
	}
	return o.scheme + "://" + net.JoinHostPort(o.host, o.port)
}

// hostOf is the host of a URL in the one spelling that is compared.
func hostOf(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}
