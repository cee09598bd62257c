"use strict";
// The secret of a link is behind the #, which browsers send nowhere. It is taken off the address at once, and goes into a header only.
const token = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
const at = id => document.getElementById(id);
const say = text => { at("said").textContent = text; };
const ask = async (path, body) => {
  const r = await fetch(path, { method: body ? "POST" : "GET", headers: { "Authorization": "Bearer " + token, "Content-Type": "application/json" }, body: body && JSON.stringify(body), referrerPolicy: "no-referrer" });
  const v = await r.json();
  if (r.status === 401) throw new Error("This link is not good any more: it has expired, or was taken back. Ask whoever sent it for another.");
  if (!r.ok) throw new Error(v.detail + (v.hint ? " (" + v.hint + ")" : ""));
  return v;
};
const begin = async () => {
  if (!token) { say("This address lacks the part behind the #. Open the whole link."); return; }
  const me = await ask("v1/whoami");
  const base = "v1/agents/" + me.agent;
  const q = await ask(base + "/votes/prepare", { approve: true, digest: me.digest, key: me.key, name: me.name });
  at("who").textContent = "for " + me.name;
  at("head").textContent = "agent " + (q.about.name || "") + " " + me.agent + "\n" + (q.about.head || "");
  at("sheet").textContent = (q.about.sheet || []).map(r => (r.label ? r.label + " " : "") + r.text.join("\n")).join("\n");
  at("form").hidden = false;
  const answer = verb => async () => {
    at("form").hidden = true;
    try { const t = await ask(base + "/" + verb, { digest: me.digest, note: at("note").value }); say(t.what + "; the agent is now " + t.standing + ". This link is used up."); }
    catch (e) { say(e.message); }
  };
  at("yes").addEventListener("click", answer("approve"));
  at("no").addEventListener("click", answer("deny"));
};
begin().catch(e => say(e.message));
