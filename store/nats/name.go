package nats

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
)

// Name is a store as a URL names it.
type Name struct {
	Label  string // what tells it from others, for people: without a password
	Shown  string // the same, with what is needed to reach it
	Unsafe bool   // servers that do not sync always are accepted

	plain    string // of the store, in the names of its streams
	servers  []string
	user     string
	password string
	creds    string // a file
	ca       string // a file
	domain   string
	monitors []string // where servers answer over HTTP
	replicas int      // of new streams; zero: three in a cluster, else one
}

// DefaultName is the name of a store whose URL names none.
const DefaultName = "perdure"

// errURL is what is wrong with a URL, without the URL, which may hold a password.
var errURL = errors.New("want nats://HOST[,HOST…][/NAME][?replicas=3&monitor=URL&creds=FILE]; " +
	"a password belongs in NATS_PASSWORD or a credentials file")

// errAt is what is wrong with a URL of which nobody can tell where its password ends.
var errAt = errors.New("want the user once, before the first host, and @, /, ? and # in a password as %40, %2F, %3F " +
	"and %23; a password belongs in NATS_PASSWORD or a credentials file")

// plainName is what a store may be called.
var plainName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// Parse reads nats://HOST:PORT,HOST:PORT/NAME, or tls:// for servers that want TLS. The parameters:
//
//	replicas=3   how many servers keep a copy of a new store; three in a cluster, else one
//	monitor=URL  where servers answer over HTTP whether they sync always; may be given several times
//	unsafe=1     accept servers that do not say so: what they acknowledge may be lost by a power cut
//	creds=FILE   credentials; else NATS_CREDS, or NATS_USER and NATS_PASSWORD
//	ca=FILE      whom to trust to sign certificates; else NATS_CA
//	domain=NAME  the JetStream domain
//
// Its errors never hold a password.
func Parse(text string) (*Name, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Opaque != "" || u.Host == "" || u.Fragment != "" {
		return nil, badName(errURL)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, badName(fmt.Errorf("its parameters cannot be read: %w", errURL))
	}
	n := &Name{plain: DefaultName, user: os.Getenv("NATS_USER"), password: os.Getenv("NATS_PASSWORD"),
		creds: os.Getenv("NATS_CREDS"), ca: os.Getenv("NATS_CA")}
	if path := strings.Trim(u.Path, "/"); path != "" {
		n.plain = path
	}
	if before, _, _ := strings.Cut(text, "?"); strings.Count(before, "@") > 1 || strings.Contains(u.Path, "@") {
		return nil, badName(errAt)
	}
	if !plainName.MatchString(n.plain) {
		return nil, badName(fmt.Errorf("%.40q: want up to 32 small letters, digits, - and _", n.plain))
	}
	if u.User != nil {
		n.user = u.User.Username()
		if p, ok := u.User.Password(); ok {
			n.password = p
		}
	}
	for host := range strings.SplitSeq(u.Host, ",") {
		if host == "" {
			return nil, badName(errURL)
		}
		n.servers = append(n.servers, u.Scheme+"://"+host)
	}
	if err := n.parameters(values); err != nil {
		return nil, badName(err)
	}
	n.Label, n.Shown = n.label(u)
	return n, nil
}

func badName(err error) error { return perdure.Invalid(fmt.Errorf("name of a NATS store: %w", err)) }

// parameters reads what stands behind the question mark.
func (n *Name) parameters(values url.Values) error {
	for key, all := range values {
		one := all[len(all)-1]
		switch key {
		case "replicas":
			r, err := strconv.Atoi(one)
			if err != nil || r < 1 || r > 5 {
				return fmt.Errorf("replicas=%.20s: want 1, 3 or 5", one)
			}
			n.replicas = r
		case "monitor":
			for _, m := range all {
				at, err := url.Parse(m)
				if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
					return errors.New("monitor: want http://HOST:PORT without a password")
				}
			}
			n.monitors = all
		case "unsafe":
			is, err := strconv.ParseBool(one)
			if err != nil {
				return fmt.Errorf("unsafe=%.20s: want 1 or 0", one)
			}
			n.Unsafe = is
		case "creds":
			n.creds = one
		case "ca":
			n.ca = one
		case "domain":
			if one == "" || strings.ContainsAny(one, ".*> \t") {
				return errors.New("domain: want one word")
			}
			n.domain = one
		default:
			if strings.Contains(key, "@") {
				return errAt
			}
			return fmt.Errorf("it has no parameter %.40q: %w", key, errURL)
		}
	}
	return nil
}

// label is the URL without its password, and with only what tells the store from others; shown has the rest, too.
func (n *Name) label(u *url.URL) (label, shown string) {
	out := *u
	if u.User != nil {
		out.User = url.User(u.User.Username())
	}
	out.Path = "/" + n.plain
	shown = out.String()
	out.RawQuery = ""
	if n.domain != "" {
		out.RawQuery = "domain=" + url.QueryEscape(n.domain)
	}
	return out.String(), shown
}
