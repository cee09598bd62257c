package hostile

// serveArg makes this test program an MCP server.
const serveArg = "serve-mcp"

func serve(string) error { return nil }
