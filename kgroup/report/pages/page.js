// The page: the list of groups, hands and keys.

let shown = DATA.groups, drag = null, later = 0;

// ---- moving ----
function refresh() {
  draw(); tellCursor();
  // Tables follow the view once it rests.
  cancelAnimationFrame(later);
  later = requestAnimationFrame(() => { for (const table of TABLES) if (table.box) fill(table); });
}
function set(time) { at = Math.max(whole[0], Math.min(time, whole[1])); reveal(at); refresh(); }
function step(direction) {
  const begin = at ?? (direction > 0 ? from - 1 : to + 1);
  const next = direction > 0 ? items.find(t => t > begin) : items.findLast(t => t < begin);
  if (next != null) set(next);
}
function jump(time) {
  if (to - from > (whole[1] - whole[0]) / 8) { const half = (whole[1] - whole[0]) / 16; show(time - half, time + half); }
  set(time);
}
function chooseLane(direction) {
  if (!h.lanes.length) return;
  lane = Math.max(0, Math.min(lane < 0 && direction < 0 ? h.lanes.length - 1 : lane + direction, h.lanes.length - 1));
  const y = lane * laneHeight(), box = $("lanes");
  if (y < box.scrollTop || y + laneHeight() > box.scrollTop + box.clientHeight) box.scrollTop = y - box.clientHeight / 2;
  if (at == null) at = (from + to) / 2;
  refresh();
}
function key(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const length = to - from, keys = {
    ArrowRight: () => e.shiftKey ? show(from + length / 4, to + length / 4) : step(1),
    ArrowLeft: () => e.shiftKey ? show(from - length / 4, to - length / 4) : step(-1),
    ArrowDown: () => chooseLane(1), ArrowUp: () => chooseLane(-1),
    Home: () => items.length && set(items[0]), End: () => items.length && set(items[items.length - 1]),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => { [from, to] = whole; },
    g: () => $("time").focus(), Escape: () => { at = null; lane = -1; },
  };
  if (!keys[e.key]) return;
  e.preventDefault(); keys[e.key](); refresh();
}
function jumpTyped(e) {
  e.preventDefault();
  const typed = $("time").value, time = typedTime(typed, ...whole);
  if (time == null) $("said").textContent = typed + ": no time; 12:43, 12:43:10 or 2026-11-20T12:43Z";
  else if (time < whole[0] || time > whole[1]) $("said").textContent = clock(time) + " is not on this page: it shows " + clock(Math.round(whole[0])) + " to " + clock(Math.round(whole[1]));
  else { jump(time); $("view").focus(); }
}
const inPlotX = e => e.clientX - $("view").getBoundingClientRect().left;
const laneOf = e => e.target === $("cells") ? Math.floor((e.clientY - $("cells").getBoundingClientRect().top) / laneHeight()) : -1;
function tip(e) {
  const box = $("tip"), time = timeAt(inPlotX(e));
  hover = inPlotX(e) < labelWidth() || time > to ? null : time;
  draw();
  if (e.pointerType === "touch" || hover == null && laneOf(e) < 0) { box.style.display = "none"; return; }
  const named = h.lanes[laneOf(e)];
  if (hover == null && !named) { box.style.display = "none"; return; }
  box.replaceChildren(hover == null ? el("div", onHost(named) + "; " + named[3].join(", ")) : describe(hover, laneOf(e)));
  box.style.display = "block";
  const r = box.getBoundingClientRect();
  box.style.left = Math.max(6, Math.min(e.clientX + 14, innerWidth - r.width - 8)) + "px";
  box.style.top = (e.clientY + 18 + r.height > innerHeight ? Math.max(6, e.clientY - r.height - 14) : e.clientY + 18) + "px";
}
for (const canvas of [$("top"), $("cells")]) {
  canvas.addEventListener("pointermove", e => {
    if (!drag) { tip(e); return; }
    const moved = (drag.x - e.clientX) / plot() * (drag.to - drag.from);
    drag.moved ||= Math.abs(e.clientX - drag.x) > 4;
    if (drag.moved) { show(drag.from + moved, drag.to + moved); refresh(); }
  });
  canvas.addEventListener("pointerleave", () => { hover = null; $("tip").style.display = "none"; draw(); });
  canvas.addEventListener("pointerdown", e => { drag = {x: e.clientX, from, to, moved: false}; canvas.setPointerCapture(e.pointerId); $("tip").style.display = "none"; });
  canvas.addEventListener("pointerup", e => {
    const was = drag;
    drag = null;
    if (!was || was.moved) return;
    lane = laneOf(e);
    if (inPlotX(e) >= labelWidth()) set(timeAt(inPlotX(e))); else refresh();
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("wheel", e => {
    if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, timeAt(inPlotX(e))); refresh(); }
    else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); const by = e.deltaX / plot() * (to - from); show(from + by, to + by); refresh(); }
  }, {passive: false});
}
$("view").addEventListener("keydown", key);
$("jump").addEventListener("submit", jumpTyped);
$("in").onclick = () => { zoom(0.5); refresh(); };
$("out").onclick = () => { zoom(2); refresh(); };
$("fit").onclick = () => { [from, to] = whole; refresh(); };
$("parts").onchange = () => { legend(); refresh(); };

// ---- groups ----
const last = line => line.lags.findLast(lag => lag != null) ?? null;
const now = x => x.now ?? (x.lag ? last(x.lag.total) : null);
const troubles = x => x.findings.filter(f => f.severity !== "hygiene").length;
function growth(x) {
  const known = x.lag ? x.lag.total.lags.filter(lag => lag != null) : [];
  return known.length < 2 ? 0 : known[known.length - 1] - known[Math.floor(known.length * 2 / 3)];
}
const ORDERS = {trouble: x => [-troubles(x), -(now(x) ?? -1)], now: x => [-(now(x) ?? -1), 0], peak: x => [-(x.lag?.highest ?? -1), 0], growth: x => [-growth(x), 0], name: () => [0, 0]};
function list() {
  const wanted = $("search").value.toLowerCase(), order = ORDERS[$("sort").value];
  shown = DATA.groups.filter(x => x.group.toLowerCase().includes(wanted)).map((x, i) => [...order(x), i, x]).sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]).map(x => x[3]);
  $("list").replaceChildren(...shown.map(listed));
  if (!shown.length) $("list").append(el("p", DATA.groups.length ? "No group has that in its name." : "No group has committed anything.", "soft"));
}
function listed(x) {
  const b = el("button"), name = el("span", x.group, "name"), lag = el("span", now(x) == null ? "?" : short(now(x)), "lag"), spark = el("canvas");
  lag.title = "last lag " + number(now(x)); spark.setAttribute("aria-hidden", "true");
  b.setAttribute("aria-pressed", String(x === g)); b.dataset.group = x.group;
  if (troubles(x)) name.append(el("div", many(troubles(x), "finding"), "bad"));
  b.append(name, spark, lag);
  b.onclick = () => choose(x);
  requestAnimationFrame(() => sparkline(spark, x));
  return b;
}
function sparkline(canvas, x) {
  if (!x.lag) return;
  const c = prepare(canvas, 84, 24), most = Math.max(x.lag.highest ?? 0, 1), wide = 82 / Math.max(AXIS.count - 1, 1);
  const grown = growth(x) / most;
  c.strokeStyle = grown > 0.05 ? colours.lost : grown < -0.05 ? colours.come : colours.soft; c.lineWidth = 1.4; c.beginPath();
  x.lag.total.lags.forEach((lag, i) => {
    if (lag == null) return;
    const y = 22 - 20 * lag / most, left = 1 + i * wide;
    if (i && x.lag.total.lags[i - 1] != null) c.lineTo(left, y); else { c.moveTo(left, y); c.lineTo(left + 1, y); }
  });
  c.stroke();
}
function choose(x) {
  take(x);
  for (const b of $("list").children) b.setAttribute?.("aria-pressed", String(b.dataset.group === x.group));
  tellGroup(); legend(); draw(); tellCursor(); tables();
}
$("search").oninput = list; $("sort").onchange = list;

// ---- light, dark and paper ----
function recolour() { readColours(); if (DATA.groups.length > 1) list(); if (g) { legend(); draw(); } }
$("theme").onclick = () => {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  recolour();
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
matchMedia("print").addEventListener("change", recolour);
addEventListener("beforeprint", () => { document.querySelectorAll("#tables details").forEach(each => { each.open = true; }); });
new ResizeObserver(() => { if (g) draw(); }).observe($("view"));

// ---- begin ----
document.title = DATA.title + (DATA.groups.length === 1 ? ": " + DATA.groups[0].group : "");
$("title").textContent = DATA.title;
if (AXIS) $("span").textContent = (DATA.groups.length === 1 ? "" : many(DATA.groups.length, "group") + ", ") + clock(AXIS.start) + " to " + clock(AXIS.end) + " UTC, lag every " + span(AXIS.step);
else $("span").textContent = DATA.groups.length === 1 ? "" : many(DATA.groups.length, "group");
const asked = new URLSearchParams(location.hash.slice(1));
if (asked.get("theme")) document.documentElement.dataset.theme = asked.get("theme");
readColours();
$("search").closest("nav").hidden = DATA.groups.length === 1;
document.querySelector("main").classList.toggle("many", DATA.groups.length !== 1);
if (DATA.groups.length !== 1) list();
const first = DATA.groups.find(x => x.group === asked.get("group")) ?? shown[0];
if (first) choose(first);
else { $("group").textContent = "Nothing to show"; for (const id of ["view", "jump"]) $(id).hidden = true; document.querySelector(".bar").hidden = true; }
if (first && asked.get("generation")) { const x = h.generations.find(x => String(x.n) === asked.get("generation")); if (x) set(x.at); }
if (first && asked.get("at")) { const time = typedTime(asked.get("at"), ...whole); if (time != null) jump(time); }
document.documentElement.dataset.ready = "yes";
