package home

// gitignoreText keeps a key out of version control.
const gitignoreText = `# The key signs as you and the store is yours: nothing here is for version control, unless you say so.
*
`

// nodeFileText is the node.yaml of a new home, in which ADVISOR, BECAUSE and FILES are replaced.
const nodeFileText = `# What perdure run and perdure node can do in this home. Paths are relative to this folder.
# "perdure help node.yaml" describes every field, "perdure doctor" checks them.

# Who proposes what agents do, if they name no other. It is this one because BECAUSE.
# Others: anthropic:MODEL, openai:MODEL, gemini:MODEL (keys: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY in the
# environment), openai:MODEL@http://127.0.0.1:11434/v1 for a server of your own, script:FILE, or the URL of a program.
advisor: ADVISOR

# Further advisors, by name: perdure new "GOAL" --advisor careful
# advisors:
#   careful: anthropic:MODEL

# A folder in which agents read and write files: the tools files.*
FILES

# Programs that the tool shell runs there, and hosts that the tools http.* talk to
# programs: [git, make]
# hosts: [api.example.com]

# MCP servers, whose tools agents get. A tool counts as once, never to be repeated blindly, unless effects says otherwise.
# mcp:
#   time: {command: [uvx, mcp-server-time]}
# effects:
#   time.get_current_time: read

# A file of NAME=value lines that only you may read: tools find them as secret:NAME
# secrets: ../secrets
`

// policyHeadText and policyMoreText stand around the built-in policy in the first policy of a home.
const policyHeadText = `// The policy of this home: what agents may do, and what a person is asked about. Every .cedar file in this folder counts.
// It begins as the built-in policy. Change it, then run "perdure policy check"; "perdure help policy" says how to write
// rules.
//
// A permit permits. A forbid denies, whatever is permitted; with an @obligation it asks a person instead.

`

const policyMoreText = `
// Examples.
//
// To let agents write files without asking, add to the conditions of default.write-asks above:
//   context.tool like "files.*" ||
//
// To keep agents from the network, take the // away here:
// @id("no-network")
// @reason("nothing leaves this machine")
// forbid (principal, action == Action::"execute", resource)
// when { context.tool like "http.*" };
`

// firstScriptText is the advisor of a home that found no model. WRITES is replaced by firstWriteText, or by nothing.
const firstScriptText = `# An advisor that is no model: it proposes what is written here, one turn each time the agent asks.
# Put a model in its place: write advisor: anthropic:MODEL, openai:MODEL or gemini:MODEL into ../node.yaml and set its key
# in the environment. "perdure help script" says what else a script can do.
turns:
  # In a conversation (perdure chat) it waits for what people say, and answers every line.
  - when: kind == "chat" || "answer" in inbox
    sleep: {on: answer}
    as: heard
  - when: '"heard" in results'
    repeat: 1000000
    text: |-
      You said: ${last.result.say}
      I am a script, so this is all I can answer. To talk to a model, write
        advisor: anthropic:MODEL
      (or openai:MODEL, or gemini:MODEL) into node.yaml of your home, and set ANTHROPIC_API_KEY (or OPENAI_API_KEY,
      or GEMINI_API_KEY). Nothing else changes: this conversation goes on.
  # Else it works on its goal (perdure new, perdure run).
WRITES
  - text: this script does not think; it shows that everything else works
    end:
      result:
        say: |-
          My goal is: ${goal}.
          I am a script, and end here. To have a model work on it, write
            advisor: anthropic:MODEL
          (or openai:MODEL, or gemini:MODEL) into node.yaml of your home, and set ANTHROPIC_API_KEY (or OPENAI_API_KEY,
          or GEMINI_API_KEY).
`

// firstWriteText has the first agent write a file, if it has a folder for it: policy asks a person first.
const firstWriteText = `  - execute: {tool: files.write, args: {path: hello.txt, text: "hello, world"}}
    as: written
  - when: results.written.signal != "ok"
    end: {signal: failed, note: "hello.txt is not written: ${results.written.note}"}
`

// memoryPolicyText is what a home with a policy of its own gets that says nothing about documents.
const memoryPolicyText = `// Which documents roles and agents may read and write, of those they may see at all: their own notes, and what is kept for a scope they
// are in. "perdure help policy" says how to write rules; context has path, kind and tier (private, team, public,
// custom).

@id("memory.read")
@reason("it may see the memory that holds it")
permit (principal, action == Action::"document.read", resource);

@id("memory.write")
@reason("it may see the memory that holds it")
permit (principal, action == Action::"document.write", resource);

@id("memory.public")
@reason("text from somebody not trusted may be speaking, and everybody would read it")
forbid (principal, action == Action::"document.write", resource)
when { context.tier == "public" && context.tainted };
`
