// Package imports reads what other programs remember, as documents: transcripts of Claude Code, conversations in the
// format of OpenAI's chat API or of a ChatGPT export, the knowledge graph of the MCP memory server, a prd.json, and
// folders of Markdown. It writes nothing: a workspace takes in what it finds.
//
// A line that cannot be read is skipped and named by file and line; the rest counts. The same file always gives the
// same documents, byte for byte, so that importing it again changes nothing.
package imports
