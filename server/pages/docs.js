"use strict";
const el = (tag, text, cls) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; };
const add = (to, ...more) => { to.append(...more); return to; };
fetch("openapi.json").then(r => r.json()).then(doc => {
  const root = document.getElementById("api");
  document.getElementById("version").textContent = doc.info.version;
  document.getElementById("about").textContent = doc.info.description;
  const named = ref => ref.split("/").pop();
  const typeOf = s => {
    if (!s) return "";
    if (s.$ref) return named(s.$ref);
    const t = Array.isArray(s.type) ? s.type.filter(x => x !== "null").join(" or ") : s.type;
    if (t === "array") return "list of " + typeOf(s.items);
    if (s.enum) return s.enum.join(" | ");
    return (t || "any") + (s.format ? " (" + s.format + ")" : "");
  };
  const link = s => {
    while (s && !s.$ref && s.items) s = s.items;
    const a = el("a", ""); if (s && s.$ref) a.href = "#" + named(s.$ref); return a;
  };
  const cell = s => { const td = el("td"); const a = link(s); a.textContent = typeOf(s); return add(td, a.href ? a : typeOf(s)); };
  for (const tag of doc.tags) {
    add(root, el("h2", tag.name), el("p", tag.description, "dim"));
    for (const [path, item] of Object.entries(doc.paths)) for (const [method, op] of Object.entries(item)) {
      if (!op.tags || op.tags[0] !== tag.name) continue;
      const d = el("details"); d.id = op.operationId;
      add(d, add(el("summary"), el("span", method.toUpperCase(), "verb"), el("code", path), el("span", op.summary)));
      if (op.description) add(d, el("p", op.description));
      const t = el("table");
      for (const p of op.parameters || []) add(t, add(el("tr"), add(el("td"), el("code", p.name)), el("td", p.in + (p.required ? ", required" : "")), cell(p.schema), el("td", p.description || p.schema.description || "")));
      const bodies = op.requestBody ? Object.entries(op.requestBody.content) : [];
      for (const [type, c] of bodies) add(t, add(el("tr"), add(el("td"), el("code", "body")), el("td", type), cell(c.schema), el("td", "")));
      for (const [code, r] of Object.entries(op.responses)) for (const [type, c] of Object.entries(r.content || {}))
        if (code < "300") add(t, add(el("tr"), add(el("td"), el("code", code)), el("td", type), cell(c.schema), el("td", r.description || "")));
      add(root, add(d, t));
    }
  }
  add(root, el("h2", "values"));
  for (const [name, s] of Object.entries(doc.components.schemas)) {
    const d = el("details"); d.id = name; add(d, add(el("summary"), el("code", name)));
    const t = el("table");
    for (const [field, f] of Object.entries(s.properties || {})) add(t, add(el("tr"), add(el("td"), el("code", field)), el("td", (s.required || []).includes(field) ? "always" : ""), cell(f), el("td", f.description || "")));
    add(root, add(d, t));
  }
  const open = () => { const d = document.getElementById(location.hash.slice(1)); if (d) { d.open = true; d.scrollIntoView(); } };
  addEventListener("hashchange", open); open();
});
