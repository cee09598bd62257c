package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

func nodeCommand() *cobra.Command {
	c := command("node", cobra.NoArgs)
	h, p := storeFlag(c), powerFlags(c)
	f := newStanding(c, "how long effects under way may continue after a stop")
	accept := c.Flags().Bool("accept", false, "show and accept the home found here, and run nothing")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *accept {
			return h.accept(c.OutOrStdout())
		}
		log, err := f.begin(h, "a store in memory has no agents and is gone when the command ends")
		if err != nil {
			return err
		}
		return h.use(!h.Fresh, func(ctx context.Context, s perdure.Store) error {
			n, err := p.Node(ctx, h.Home, s, log)
			if err != nil {
				return err
			}
			n.Concurrency, n.Grace = f.concurrency, f.grace
			return stopped(ctx, log, errors.Join(h.RunNode(ctx, n, version, log), p.Close()))
		})
	}
	return c
}

func serveCommand() *cobra.Command {
	c := command("serve", cobra.NoArgs)
	h := storeFlag(c)
	s := &server.Service{Home: h.Home, Powers: powerFlags(c), Version: version}
	f := c.Flags()
	f.StringSliceVar(&s.Conf.Listen, "listen", nil,
		"listen here: HOST:PORT, or unix:PATH; may be repeated (default "+home.DefaultListen+")")
	f.StringVar(&s.Conf.URL, "url", "", "where it is reached from outside, for links (default: as requests say)")
	f.StringSliceVar(&s.Conf.Hosts, "allow-host", nil, "a name it is reached by; may be repeated")
	f.StringSliceVar(&s.Conf.Origins, "allow-origin", nil, "an origin whose web pages may use it; may be repeated")
	f.BoolVar(&s.Conf.TLS.Own, "tls", false, "TLS with a certificate over this home's key, which clients pin")
	f.StringVar(&s.Conf.TLS.Cert, "tls-cert", "", "TLS with the certificate in this file")
	f.StringVar(&s.Conf.TLS.Key, "tls-key", "", "the key of --tls-cert")
	f.BoolVar(&s.Conf.Plain, "plain", false, "no TLS although others can reach it: something in front of it does that")
	f.BoolVar(&s.Open, "insecure", false, "ask nobody for a token; on loopback only")
	f.BoolVar(&s.Alone, "no-node", false, "only serve; do not run agents")
	stays := newStanding(c, "how long effects and requests under way may continue after a stop")
	c.RunE = func(*cobra.Command, []string) (err error) {
		if s.Log, err = stays.begin(h, "a store in memory is gone when the server ends"); err != nil {
			return err
		}
		if err := errors.Join(s.Conf.Fill(h.Home), server.Free(c.Context(), s.Conf.Listen)); err != nil {
			return err
		}
		s.Concurrency, s.Grace = stays.concurrency, stays.grace
		return h.use(true, func(ctx context.Context, store perdure.Store) error {
			return stopped(ctx, s.Log, s.Run(ctx, store))
		})
	}
	return c
}

// standing is the flags of commands that run until they are stopped.
type standing struct {
	c           *cobra.Command
	concurrency int
	grace       time.Duration
	logger      func() (*slog.Logger, error)
}

func newStanding(c *cobra.Command, graceful string) *standing {
	f := &standing{c: c, logger: logFlags(c)}
	c.Flags().IntVar(&f.concurrency, "concurrency", 0, "agents run at once (default 64)")
	c.Flags().DurationVar(&f.grace, "grace", 10*time.Second, graceful)
	return f
}

// begin checks the flags and the home, and is the log that they ask for. Gone is why a store in memory will not do.
func (f *standing) begin(h *homeFlag, gone string) (*slog.Logger, error) {
	if f.concurrency < 0 || f.c.Flags().Changed("concurrency") && f.concurrency == 0 {
		return nil, perdure.Invalid(errors.New("--concurrency: want at least 1"))
	}
	if f.grace <= 0 {
		return nil, perdure.Invalid(errors.New("--grace: want more than zero"))
	}
	log, err := f.logger()
	if err != nil {
		return nil, err
	}
	h.Patient = true
	return log, h.lasting(gone)
}

// lasting finds the home, for a command that acts, and refuses a store that is gone with the process.
func (h *homeFlag) lasting(gone string) error {
	if err := h.acting().Locate(); err != nil {
		return err
	}
	if h.Scheme == "mem" {
		return perdure.Invalid(errors.New(gone + "; name another with --store"))
	}
	return nil
}

// stopped is how a command ends that ran until it was stopped: whoever sent SIGTERM wanted it to end, and it did.
func stopped(ctx context.Context, log *slog.Logger, err error) error {
	if err != nil {
		return err
	}
	if log.Info("stopped"); errors.Is(context.Cause(ctx), errTerminated) {
		return nil
	}
	return ctx.Err()
}
