package home

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/notify"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/webhook"
)

// NotifyConfig is a destination of notifications, as node.yaml names it: one of url, slack, mail and command.
type NotifyConfig struct {
	Name    string   `yaml:"name"`
	URL     string   `yaml:"url"`     // takes CloudEvents; https://…, or a reference, see resolve
	Slack   string   `yaml:"slack"`   // takes texts, as Slack does: the same
	Command []string `yaml:"command"` // is run with the event on its standard input
	Mail    *struct {
		Server   string   `yaml:"server"` // HOST:PORT
		From     string   `yaml:"from"`
		To       []string `yaml:"to"`
		User     string   `yaml:"user"`
		Password string   `yaml:"password"` // a reference
		Plain    bool     `yaml:"plain"`    // not encrypted
	} `yaml:"mail"`

	Secret       string        `yaml:"secret"`  // a reference to the key that signs what goes to url
	Secrets      []string      `yaml:"secrets"` // the same, several: while keys are changed
	Events       []string      `yaml:"events"`
	Scope        string        `yaml:"scope"`
	Content      string        `yaml:"content"` // whole or link, which is what it is without
	Link         string        `yaml:"link"`    // where people look at agents: the id of one is put after it
	Resume       string        `yaml:"resume"`  // where webhooks answer: the same
	AllowPrivate bool          `yaml:"allow-private"`
	Tries        int           `yaml:"tries"`
	Timeout      time.Duration `yaml:"timeout"` // of command
}

// notifyDir is where a home keeps how far each destination has been told.
const notifyDir = "notify"

// Notifier tells the destinations of this home what happens to the agents of a node's store; without destinations it
// tells nobody.
func (h *Home) Notifier(n *perdure.Node, log *slog.Logger) (*notify.Notifier, error) {
	file, err := readNodeFile(h)
	if err != nil || len(file.Notify) == 0 {
		return &notify.Notifier{}, err
	}
	if err := h.Consent(); err != nil {
		return nil, err
	}
	out := &notify.Notifier{Store: n.Store, Dir: filepath.Join(h.Dir, notifyDir), Log: log,
		Derive: (&herald{node: n}).derive}
	for i := range file.Notify {
		d, err := h.destination(&file.Notify[i], file.Secrets)
		if err == nil && slices.ContainsFunc(out.Destinations, func(o notify.Destination) bool {
			return o.Name == d.Name
		}) {
			err = errors.New("another destination has that name")
		}
		if err != nil {
			return nil, perdure.Invalid(fmt.Errorf("%s: notify[%d] %s: %w", filepath.Join(h.Dir, NodeFileName), i,
				file.Notify[i].Name, err))
		}
		if m, ok := d.Sender.(*notify.Mail); ok {
			m.Log = log
		}
		out.Destinations = append(out.Destinations, d)
	}
	return out, nil
}

// notifying has the destinations of this home told what happens until ctx ends, or until what it returns is called,
// which waits for what is under way.
func (h *Home) notifying(ctx context.Context, n *perdure.Node, log *slog.Logger) (func(), error) {
	notifier, err := h.Notifier(n, log)
	if err != nil || len(notifier.Destinations) == 0 {
		return func() {}, err
	}
	if err := notifier.Begin(ctx); err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := notifier.Run(ctx); err != nil {
			log.Error("notify", "err", err)
		}
	}()
	return func() { cancel(); <-done }, nil
}

func (h *Home) destination(c *NotifyConfig, secrets string) (d notify.Destination, err error) {
	if !view.PlainWord(c.Name) || strings.ContainsAny(c.Name, "./:,@+") {
		return d, errors.New("name: want letters, digits, _ and -: it also names files")
	}
	for _, kind := range c.Events {
		if !slices.Contains(notify.Types, kind) {
			return d, fmt.Errorf("events: there is no %s; want some of %s", kind, strings.Join(notify.Types, ", "))
		}
	}
	if c.Content != "" && c.Content != "link" && c.Content != "whole" {
		return d, errors.New("content: want whole or link")
	}
	d = notify.Destination{Name: c.Name, Types: c.Events, Scope: c.Scope, Whole: c.Content == "whole", Link: c.Link,
		Resume: c.Resume, Tries: c.Tries}
	d.Sender, err = h.sender(c, secrets)
	return d, err
}

// sender is what carries events to a destination.
func (h *Home) sender(c *NotifyConfig, secrets string) (notify.Sender, error) {
	kinds := 0
	for _, named := range []bool{c.URL != "", c.Slack != "", c.Mail != nil, len(c.Command) > 0} {
		if named {
			kinds++
		}
	}
	if kinds != 1 {
		return nil, errors.New("want one of url, slack, mail and command")
	}
	if c.URL == "" && (c.Secret != "" || len(c.Secrets) > 0) {
		return nil, errors.New("secret: only what goes to a url is signed")
	}
	switch {
	case len(c.Command) > 0:
		argv := slices.Clone(c.Command)
		argv[0] = programIn(h.Dir, argv[0])
		return &notify.Command{Argv: argv, Timeout: c.Timeout, Dir: h.ground()}, nil
	case c.Mail != nil:
		m := notify.Mail{Server: c.Mail.Server, From: c.Mail.From, To: c.Mail.To, User: c.Mail.User,
			Plain: c.Mail.Plain, Private: c.AllowPrivate}
		if c.Mail.User != "" {
			var err error
			if m.Password, err = h.resolve(c.Mail.Password, secrets); err != nil {
				return nil, fmt.Errorf("password: %w", err)
			}
		}
		return notify.NewMail(m)
	}
	return h.poster(c, secrets)
}

func (h *Home) poster(c *NotifyConfig, secrets string) (notify.Sender, error) {
	to := notify.HTTP{URL: c.URL + c.Slack, Slack: c.Slack != "", Private: c.AllowPrivate}
	if !strings.HasPrefix(to.URL, "https://") && !strings.HasPrefix(to.URL, "http://") {
		var err error
		if to.URL, err = h.resolve(to.URL, secrets); err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
	}
	refs := c.Secrets
	if c.Secret != "" {
		refs = append([]string{c.Secret}, refs...)
	}
	for _, ref := range refs {
		text, err := h.resolve(ref, secrets)
		if err != nil {
			return nil, fmt.Errorf("secret: %w", err)
		}
		k, err := webhook.ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("secret: %w", err)
		}
		to.Keys = append(to.Keys, k)
	}
	return notify.NewHTTP(to)
}
