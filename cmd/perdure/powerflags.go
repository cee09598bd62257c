package main

import (
	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/dev/demo"
)

// powerFlags are the flags that say what a node can do.
func powerFlags(c *cobra.Command) *home.Powers {
	p := &home.Powers{Shop: demo.Tools}
	f := c.Flags()
	policyFlag(c, &p.Policies)
	f.StringArrayVar(&p.Advisors, "advisor", nil,
		"an advisor, [NAME=]SOURCE: anthropic:MODEL, gemini:MODEL or openai:MODEL, each with [@URL[#KEY]], "+
			"script:FILE or the URL of a remote one; without NAME it advises agents that name no advisor; may be "+
			"repeated")
	f.StringVar(&p.Files, "files", "", "give agents the tools files.* in this folder")
	f.StringSliceVar(&p.Programs, "program", nil,
		"let the tool shell run this program, in the folder of --files; may be repeated")
	f.StringSliceVar(&p.Hosts, "host", nil,
		"let the tools http.* reach this host over https; http://HOST is without TLS; may be repeated")
	f.StringSliceVar(&p.Trusted, "trusted", nil,
		"trust the results of this tool, such as files.*; other text from outside taints the agent, and policy can "+
			"ask because of it; may be repeated")
	f.StringVar(&p.Secrets, "secrets", "",
		"a file of NAME=value lines that tools use as secret:NAME; only its owner may be able to read it")
	f.StringArrayVar(&p.Servers, "mcp", nil,
		"give agents the tools of an MCP server, NAME=COMMAND or NAME=URL; may be repeated")
	f.StringArrayVar(&p.Effects, "effect", nil,
		"the class of a tool of an MCP server, NAME.TOOL=read, idempotent or once (default: once, whatever the "+
			"server says); NAME.* covers the rest, and NAME.*=hints believes the server; may be repeated")
	f.StringVar(&p.Prices, "prices", "",
		`a JSON file of model prices in US dollars per million tokens: {"MODEL": {"in": 3, "out": 15, "cached": 0.3}}; overrides the built-in prices`)
	f.StringSliceVar(&p.Scopes, "serves", nil,
		"work only on agents of this scope and below, and leave others to other nodes; may be repeated (default: "+
			"scopes in node.yaml, else any)")
	f.StringVar(&p.Demo, "demo", "", "give agents the shop of perdure demo, in this folder")
	return p
}

// policyFlag adds --policy to a command.
func policyFlag(c *cobra.Command, to *[]string) {
	c.Flags().StringSliceVar(to, "policy", nil,
		"a policy file, or a folder of .cedar files; may be repeated (default: "+home.PolicyDir+
			"/ beside the store, else the built-in policy)")
}
