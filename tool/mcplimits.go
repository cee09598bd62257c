package tool

import "time"

const (
	// maxServerTools bounds the tools of one MCP server: more is no use to a model.
	maxServerTools = 1000
	// maxServerListed bounds the tools a server may list before those to use are chosen: a list can go on for ever.
	maxServerListed = 10_000
	// maxServerSchemas bounds the schemas of all tools of one server together: each is shown to the model.
	maxServerSchemas = 4 << 20
	// maxServerSchema bounds the schema of one tool's arguments.
	maxServerSchema = 256 << 10
	// maxMessage bounds one message of an MCP server, so that it holds the largest result that is kept, in base64, and
	// no server fills memory.
	maxMessage = 32 << 20
	// maxContent bounds how many parts of a result are kept.
	maxContent = 256
	// maxStderr bounds what is kept of what an MCP server writes to its standard error, to be shown when it does not
	// start.
	maxStderr = 2 << 10
	// endGrace is how long an MCP server has to end after its input was closed, and again after it was told to.
	endGrace = 2 * time.Second
	// maxRemembered bounds one value of an agent's state: the state is part of every fold and is shown to the model.
	maxRemembered = 64 << 10
	// maxStateName bounds the name of a value of an agent's state.
	maxStateName = 128
)

// signOfLife is how long an MCP server that let a call run out of time has to answer before it is started again. Tests
// shorten it.
var signOfLife = 5 * time.Second
