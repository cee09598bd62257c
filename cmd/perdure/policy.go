package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

func policyCommand() *cobra.Command {
	c := command("policy", nil)
	c.AddCommand(policyCheckCommand(), policyExplainCommand(), policyTestCommand(), policySchemaCommand(),
		policyDefaultCommand())
	return c
}

func policyCheckCommand() *cobra.Command {
	c := command("policy check", nil)
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := h.Locate(); err != nil {
			return err
		}
		set, err := home.LoadPolicy(h.Home, args)
		if faults := policy.Faults(err); len(faults) > 0 {
			return reportFaults(out, faults, err)
		}
		if err != nil {
			return err
		}
		r := struct {
			OK    bool         `json:"ok"`
			Hash  perdure.Hash `json:"hash"`
			Rules []string     `json:"rules"`
			Notes []string     `json:"notes,omitempty"`
		}{true, set.Hash(), set.Rules(), set.Idle()}
		return out.print(r, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "ok: %d rules, set %s\n%s\n", len(r.Rules), r.Hash,
				strings.Join(view.InLines(r.Rules), "\n"))
			for _, n := range r.Notes {
				if err == nil {
					_, err = fmt.Fprintf(w, "note: %s\n", view.OneLine(n, 0))
				}
			}
			return err
		})
	}
	return c
}

// reportFaults prints what is wrong with policy files, a line each.
func reportFaults(out *output, faults []*policy.Fault, err error) error {
	v := struct {
		OK     bool            `json:"ok"`
		Faults []*policy.Fault `json:"faults"`
	}{false, faults}
	return errors.Join(&answered{err}, out.print(v, func(w io.Writer) error {
		s := term.StyleOf(w)
		for _, f := range faults {
			what := f.What
			if f.Rule != "" {
				what = "rule " + f.Rule + ": " + what
			}
			if _, err := fmt.Fprintf(w, "%s %s\n", s.Head(fmt.Sprintf("%s:%d:%d:", view.InLine(f.File), f.Line,
				f.Column)), view.OneLine(what, 0)); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "%s\n", s.Bad(fmt.Sprintf("wrong: %d", len(faults))))
		return err
	}))
}

func policySchemaCommand() *cobra.Command {
	c := command("policy schema", cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		_, err := io.WriteString(c.OutOrStdout(), strings.TrimRight(policy.Schema(), "\n")+"\n")
		return err
	}
	return c
}

func policyTestCommand() *cobra.Command {
	c := command("policy test", cobra.ExactArgs(1))
	h, out := lookFlag(c), outputFlags(c)
	p := new(home.Powers)
	policyFlag(c, &p.Policies)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := h.Locate(); err != nil {
			return err
		}
		set, err := p.Policy(h.Home)
		if err != nil {
			return err
		}
		var results []policy.CaseResult
		err = withInput(c, args[0], func(r io.Reader) (err error) {
			results, err = set.RunTests(r)
			return err
		})
		if err != nil {
			return fmt.Errorf("cases %s: %w", args[0], err)
		}
		return reportCases(out, results)
	}
	return c
}

// reportCases prints what came of each case.
func reportCases(out *output, results []policy.CaseResult) error {
	wrong := 0
	var reports []policy.CaseReport
	for _, r := range results {
		reports = append(reports, r.Report())
		if r.Wrong != "" {
			wrong++
		}
	}
	err := list(out, reports, func(w io.Writer) error {
		s := term.StyleOf(w)
		for _, r := range reports {
			text := s.Good("ok   ") + "  " + view.InLine(r.Name)
			if !r.OK {
				text = s.Bad("wrong") + "  " + view.InLine(r.Name) + ": " + view.OneLine(r.Wrong, 0)
			}
			if _, err := fmt.Fprintln(w, text); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "%d cases, %d wrong\n", len(results), wrong)
		return err
	})
	if err == nil && wrong > 0 {
		err = &answered{fmt.Errorf("%d of %d cases do not hold", wrong, len(results))}
	}
	return err
}

func policyDefaultCommand() *cobra.Command {
	c := command("policy default", cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if jsonFlag(c) {
			return term.WriteJSON(c.OutOrStdout(), map[string]any{"hash": policy.Default().Hash(),
				"text": policy.DefaultText()})
		}
		_, err := io.WriteString(c.OutOrStdout(), policy.DefaultText())
		return err
	}
	return c
}
