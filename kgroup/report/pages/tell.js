// The same in words: what is at a time, findings, the legend, and the tables.

const ROWS = 200;

function causeNode(cause) {
  const d = el("span"), name = el("strong", cause[1]);
  name.style.color = "var(--" + cause[0] + ")";
  d.append(name, " ", el("span", cause[2], "grade"), " " + cause[3]);
  if (cause[4].length) d.append(el("span", " (" + cause[4].join(" or ") + "?)", "soft"));
  if (cause[5]) d.append(el("div", "Try: " + cause[5], "soft"));
  return d;
}
function causeNodes(causes) {
  const d = el("span");
  causes.forEach((cause, i) => { if (i) d.append(el("br")); d.append(causeNode(cause)); });
  return d;
}
const onHost = each => each[1] + (each[2] && !each[1].endsWith(each[2]) ? " on " + each[2] : "");

// What is known of a moment; `inLane` is the member to name.
function describe(time, inLane) {
  const d = el("div"), i = windowAt(time), place = placeAt(starts, time), x = h.generations[place];
  const head = el("div", clock(Math.round(time)) + " UTC");
  head.style.fontWeight = "600";
  if (g.lag && i >= 0) head.append(el("span", ": lag " + amount(g.lag.total, i)));
  d.append(head);
  if (g.lag && i >= 0 && ofPartitions().length) d.append(el("div", ofPartitions().map(line => line.name + ": " + amount(line, i)).join(" · "), "soft"));
  if (x) describeGeneration(d, x, place);
  if (inLane >= 0 && h.lanes[inLane]) {
    const stay = stayAt(inLane, time), who = onHost(h.lanes[inLane]);
    d.append(el("div", who + ": " + (stay ? owned(stay) + (x && x.leader === inLane ? "; leads" : "") : "not in the group")));
  }
  for (const wait of waitsIn(inLane)) if (time >= wait.from && time <= wait.to) d.append(el("div", "waits for " + wait.holder + ", from " + clock(wait.from) + " for " + span(wait.to - wait.from) + ": " + wait.partitions + " (" + wait.ended + ")"));
  const close = (to - from) / plot() * 5;
  for (const event of h.events) if (event.t != null && Math.abs(event.t - time) <= close) {
    const line = el("div", clock(event.t).slice(11) + " ");
    line.append(causeNode(event.cause));
    d.append(line);
  }
  for (const finding of g.findings) if (finding.from != null && Math.abs(finding.from - time) <= close) d.append(el("div", "since then: " + finding.name + (finding.where ? " " + finding.where : "")));
  return d;
}
function owned(stay) { const [count, named] = h.sets[stay.set]; return many(count, "partition") + (named ? ": " + named : ""); }
// Who waited for whom, all or those of a lane.
const waitsIn = inLane => h.waits.map(([i, holder, begin, end, ended, set]) => ({i, holder: h.lanes[holder][1], from: begin, to: end, ended, partitions: h.sets[set][1]})).filter(wait => inLane == null || wait.i === inLane);
function describeGeneration(d, x, place) {
  const ended = place === h.generations.length - 1 ? "" : ", for " + span(starts[place + 1] - x.at);
  d.append(el("div", "Generation " + x.n + " from " + clock(x.t) + ended + (x.since != null ? ", " + span(x.since) + " after the one before" : "")));
  const list = el("ul");
  for (const cause of x.causes) { const li = el("li"); li.append(causeNode(cause)); list.append(li); }
  d.append(list, el("div", many(x.members, "member") + "; " + many(x.moved, "partition") + " moved, " + x.kept + " stayed; " + many(x.commits, "commit") + "; longest commit gap "
    + (x.gap ? span(x.gap) : "-") + (x.usual ? " (usually " + span(x.usual) + ")" : "") + (x.protocol ? "; " + x.protocol : ""), "soft"));
  if (x.cut) d.append(el("div", "Records before this are missing from the log.", "soft"));
  if (x.skipped) d.append(el("div", many(x.skipped, "generation number") + " before it never got an assignment.", "soft"));
}
function tellCursor() {
  if (at != null) { $("detail").replaceChildren(describe(at, lane)); return; }
  const dot = g.now != null ? " The dot at the end is the lag at the time of the report." : "";
  $("detail").replaceChildren(el("span", "Point at the timeline, tap it, or use the arrow keys to see what happened at a given time." + dot, "soft"));
}

// ---- the group ----
function tellGroup() {
  $("group").textContent = g.group;
  const parts = [[g.kind, g.state].filter(Boolean).join(", ")];
  if (g.lag) {
    const now = g.now != null ? "lag now " + number(g.now) : "lag at the end " + amount(g.lag.total, AXIS.count - 1);
    parts.push(now + (g.unknown ? " (" + many(g.unknown, "partition") + " unknown)" : "") + ", highest seen " + number(g.lag.highest));
  }
  else if (g.now != null) parts.push("lag now " + number(g.now));
  if (!g.judged) parts.push(g.history ? "checked for rebalance patterns only" : "not checked for findings");
  if (g.history) parts.push((starts.length ? many(starts.length, "generation") : "no generations") + ", " + many(h.lanes.length, "lane") + ", " + many(h.commits, "commit"));
  $("parts").parentElement.hidden = !g.lag || g.lag.partitions.length < 2;
  $("about").textContent = parts.filter(Boolean).join("; ");
  $("findings").replaceChildren(...kinds.map(found => findingNode(found[0], found.length - 1)));
  const common = (h.begin ? " begins with " + h.begin : "") + (h.begin && h.end ? " and" : "") + (h.end ? " ends with " + h.end : "");
  $("common").textContent = common ? "Each member's name" + common : "";
}
function findingNode(finding, more) {
  const d = el("div", null, "finding " + finding.severity), begun = finding.from == null ? "" : " " + clock(finding.from) + (finding.to != null ? " to " + clock(finding.to) : " until the end");
  d.append(el("strong", finding.name), el("span", (finding.where ? " " + finding.where : "") + begun + " "), el("span", finding.grade, "grade"), " " + finding.evidence);
  if (finding.try) d.append(el("p", "Try: " + finding.try, "soft"));
  if (more) d.append(el("p", "And " + more + " more of these, in the table of findings.", "soft"));
  return d;
}
function legend() {
  const items = [], add = (text, colour, cls) => { const s = el("span"), i = el("i", null, cls); if (colour) i.style.background = colour; s.append(i, text); items.push(s); };
  if (g.lag) {
    add("all partitions", "var(--fg)", "thin");
    ofPartitions().forEach((line, k) => add(line.name, "var(--l" + k + ")", "thin"));
    const more = g.lag.partitions.length - ofPartitions().length;
    if (ofPartitions().length && more > 0) items.push(el("span", "and " + many(more, "partition") + " more in the table"));
  }
  if (!g.lag || g.lag.total.least.includes("1")) add(g.lag ? "unknown; dotted: at least this much" : "unknown", null, "hatch");
  if (h.generations.length) {
    for (const [kind, said] of Object.entries(CLASSES)) add(LETTER[kind] + " " + said, "var(--" + kind + ")");
    for (const n of new Set([0, 1, h.most])) add(many(n, "partition"), shade(n));
    add("leads", "var(--go)", "thin");
    add("a partition without a commit for long", "var(--lost)", "thin");
    if (h.waits.length) items.push(el("span", "dashes on top: waits for partitions another member has not given up"));
    items.push(el("span", "paler: present only part of the time"));
    if (h.generations.some(x => x.cut)) items.push(el("span", "dotted line: earlier records are missing"));
  }
  $("legend").replaceChildren(...items);
}

// ---- tables: of the time in view, made when they are opened ----
function goTo(time, said) {
  const b = el("button", said ?? clock(time));
  b.title = "Go there"; b.dataset.at = time;
  b.onclick = () => { jump(time); $("view").focus(); };
  return time == null ? "-" : b;
}
const within = time => time == null || time >= from && time <= to;
const TABLES = [
  {name: "Findings", of: () => g.findings.filter(f => inView(ofFinding(f))), heads: ["finding", "where", "from", "to", "grade", "evidence", "try"],
    cells: f => [f.name, f.where || "-", goTo(f.from), f.to == null ? "-" : goTo(f.to), f.grade, f.evidence, f.try ?? "-"]},
  {name: "Rebalances", of: () => h.generations.filter((x, i) => inView({from: x.at, to: starts[i + 1] ?? h.to})),
    heads: ["generation", "time", "members", "moved", "commits", "longest gap", "who", "why"], numbers: [0, 2, 3, 4],
    cells: x => [x.n, x.t == null ? "not logged" : goTo(x.at, clock(x.t)), x.members, x.moved, x.commits, x.gap ? span(x.gap) : "-",
      [...new Set(x.causes.map(cause => cause[6]).filter(Boolean))].join("; ") || "-", causeNodes(x.causes)]},
  {name: "Members and what they owned", of: () => stays.flat().filter(inView).sort((a, b) => a.from - b.from || a.lane - b.lane),
    heads: ["member", "host", "from", "until", "generations", "number", "partitions", "member id"], numbers: [5],
    cells: s => [h.lanes[s.lane][1], h.lanes[s.lane][2] || "-", goTo(s.from), goTo(s.to),
      h.generations[s.first].n + (s.last > s.first ? " to " + h.generations[s.last].n : ""), s.owned, h.sets[s.set][1] || "-", h.lanes[s.lane][3][s.member]]},
  {name: "Long times without a commit", of: () => h.pauses.map(([i, begin, end, partition]) => ({i, from: begin, to: end, partition})).filter(inView),
    heads: ["partition", "member", "from", "to", "lasting"], cells: p => [p.partition, h.lanes[p.i][1], goTo(p.from), goTo(p.to), span(p.to - p.from)]},
  {name: "Waits for another member", of: () => waitsIn().filter(inView), heads: ["member", "waits for", "partitions", "from", "to", "lasting", "then"],
    cells: w => [h.lanes[w.i][1], w.holder, w.partitions, goTo(w.from), goTo(w.to), span(w.to - w.from), w.ended]},
  {name: "Events", of: () => h.events.filter(e => within(e.t)), heads: ["time", "generation", "who", "what and why", "partitions"], numbers: [1],
    cells: e => [e.t == null ? "not logged" : goTo(e.t), e.n ?? "-", e.cause[6] || "-", causeNode(e.cause), e.partitions || "-"]},
  {name: "Lag over time", of: () => g.lag ? g.lag.total.lags.map((_, i) => i).filter(i => within(when(i))) : [], heads: () => ["time", "all", ...(g.lag?.lines ?? []).map(line => line.name)],
    numbers: [1, 2, 3, 4, 5, 6, 7], cells: i => [goTo(when(i)), ...[g.lag.total, ...g.lag.lines].map(line => amount(line, i))]},
  {name: "Lag by partition", whole: true, of: () => g.lag?.partitions ?? [], heads: ["topic", "partition", "highest", "last in the curve", "now"], numbers: [1, 2, 3, 4],
    cells: p => [p[0], p[1], number(p[2]), told(p[3], p[5]), g.now == null ? "-" : number(p[4])]},
];
function tables() {
  $("tables").replaceChildren(...TABLES.filter(table => table.all = tableOf(table, true)).map(table => table.box));
  for (const table of TABLES) if (table.box) fill(table);
}
// The table's box, if there is anything in the group for it.
function tableOf(table) {
  const kept = [from, to];
  [from, to] = whole;
  const there = table.of().length;
  [from, to] = kept;
  table.limit = ROWS;
  if (!there) { table.box = null; return 0; }
  const was = table.box?.open ?? false;
  table.box = el("details"); table.box.open = was;
  table.summary = el("summary"); table.inner = el("div", null, "scroll");
  table.inner.tabIndex = 0; table.inner.setAttribute("role", "region"); table.inner.setAttribute("aria-label", table.name);
  table.box.append(table.summary, table.inner);
  table.box.ontoggle = () => fill(table);
  return there;
}
function fill(table) {
  const found = table.of();
  table.summary.textContent = table.name + " (" + (table.whole || found.length === table.all ? number(found.length) : number(found.length) + " in view, of " + number(table.all)) + ")";
  if (!table.box.open) { table.inner.replaceChildren(); return; }
  const t = el("table"), head = el("tr"), heads = typeof table.heads === "function" ? table.heads() : table.heads;
  t.append(el("caption", table.whole ? table.name : table.name + ", " + $("said").textContent));
  heads.forEach((name, k) => { const th = el("th", name, table.numbers?.includes(k) ? "n" : ""); th.scope = "col"; head.append(th); });
  t.append(head);
  for (const one of found.slice(0, table.limit)) {
    const tr = el("tr");
    table.cells(one).forEach((cell, k) => { const td = el("td", null, table.numbers?.includes(k) ? "n" : ""); td.append(cell instanceof Node ? cell : String(cell)); tr.append(td); });
    t.append(tr);
  }
  table.inner.replaceChildren(t);
  if (found.length > table.limit) {
    const more = el("button", "Show " + Math.min(ROWS, found.length - table.limit) + " more of " + number(found.length - table.limit));
    more.onclick = () => { table.limit += ROWS; fill(table); };
    table.inner.append(more);
  }
}
