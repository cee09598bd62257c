// Package tool holds tools an agent can be given, and the means to make one of a Go function.
//
//	type Args struct {
//		City string `json:"city" jsonschema:"the city to look up"`
//	}
//	weather := tool.Func("weather", "the weather of a city", perdure.Read,
//		func(ctx context.Context, call perdure.Call, a Args) (Forecast, error) { return lookup(ctx, a.City) })
//
// Func, Shell, Files and HTTP check their arguments against a JSON Schema before anything happens: bad arguments are a
// failed outcome that names the field. What a tool may reach is said when it is made and denied by default: Shell runs
// the programs it lists, Files stays below its root, HTTP talks to the hosts it lists and to no private address.
//
// Secrets are never in memory. An argument says secret:NAME; WithSecrets puts the value in its place when the tool is
// called, and the reference back in the place of the value in what the tool returns. Guard refuses whatever else would
// bring one into a memory.
//
// What Shell, Files, HTTP and MCP read out of the world is marked as text from somebody not trusted, unless Trust says
// otherwise. An effect that was begun and of which nobody knows whether it happened is an error that wraps
// perdure.ErrInDoubt: it is never repeated blindly.
package tool
