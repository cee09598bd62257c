// Drives an agent from its creation to its end, with a client that was made from /openapi.json alone.
import createClient from "openapi-fetch";
import type { paths, components } from "./api.js";

const [url, program, person] = process.argv.slice(2) as [string, string, string];
const as = (token: string) => createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
const client = as(program);
const fail = (what: string, why: unknown): never => { throw new Error(`${what}: ${JSON.stringify(why)}`); };

const approver = (await as(person).GET("/v1/whoami")).data?.key ?? fail("whoami", person.length);
const made = await client.POST("/v1/agents", { body: { goal: "write hello", name: "ts", labels: { from: "typescript" }, approvers: [approver] } });
const agent: string = made.data?.agent ?? fail("create", made.error);
const path = { agent };

const sent = await client.POST("/v1/agents/{agent}/events", { params: { path }, body: { name: "go", id: "go-1", data: { colour: "blue" } } });
if (!sent.data) fail("event", sent.error);
const again = await client.POST("/v1/agents/{agent}/events", { params: { path }, body: { name: "go", id: "go-1" } });
if (!again.data?.before) fail("the same event again", again);

let wait: components["schemas"]["Wait"] | undefined;
for (let i = 0; i < 600 && !wait; i++) {
  const waits = await client.GET("/v1/agents/{agent}/waits", { params: { path } });
  wait = waits.data?.waits.find((w) => w.kind === "approval");
  if (!wait) await new Promise((done) => setTimeout(done, 50));
}
const digest = wait?.digest ?? fail("nothing waits for a person", {});

const denied = await client.POST("/v1/agents/{agent}/approve", { params: { path }, body: { digest } });
if (denied.response.status !== 403 || denied.error?.kind !== "denied") fail("a program approved", denied.data);
const approved = await as(person).POST("/v1/agents/{agent}/approve", { params: { path }, body: { digest, note: "from TypeScript" } });
if (!approved.data?.what.startsWith("approves")) fail("approve", approved.error);
const twice = await as(person).POST("/v1/agents/{agent}/approve", { params: { path }, body: { digest } });
if (twice.response.status !== 409) fail("approved twice", twice.data);

const tail = await client.GET("/v1/agents/{agent}/tail", { params: { path, query: { after: "start" } }, parseAs: "stream" });
const stream: ReadableStream<Uint8Array> = tail.data ?? fail("tail", tail.error);
const kinds: string[] = [];
let text = "", ended = false;
for await (const part of stream as unknown as AsyncIterable<Uint8Array>) {
  text += new TextDecoder().decode(part);
  for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
    const event = text.slice(0, end);
    if (event.includes("event: ended")) ended = true;
    const data = event.split("\n").find((l) => l.startsWith("data: "));
    if (event.includes("event: entry") && data) kinds.push((JSON.parse(data.slice(6)) as components["schemas"]["Line"]).kind);
  }
  if (ended) break;
}
const shown = await client.GET("/v1/agents/{agent}", { params: { path } });
console.log(JSON.stringify({ standing: shown.data?.standing, signal: shown.data?.ended?.signal, first: kinds[0], entries: kinds.length === shown.data?.entries }));
process.exit(0);
