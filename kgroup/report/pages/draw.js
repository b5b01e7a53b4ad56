// The timeline on its two canvases: what stands above the lanes, and the lanes.

const NAMES = ["bg", "fg", "soft", "line", "panel", "accent", "pick", "none", "l0", "l1", "l2", "l3", "l4", "l5", ...Object.keys(CLASSES)];
function readColours() {
  const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue("--" + name).trim();
  colours = {few: value("few").split(",").map(Number), many: value("many").split(",").map(Number)};
  for (const name of NAMES) colours[name] = value(name);
}
function shade(owned) {
  if (!owned) return colours.none;
  const share = h.most > 1 ? Math.max(owned - 1, 0) / (h.most - 1) : 1;
  return "rgb(" + colours.few.map((low, i) => Math.round(low + (colours.many[i] - low) * share)).join() + ")";
}
const isStrong = owned => owned > 0 && (h.most < 2 || (owned - 1) / (h.most - 1) > 0.5);
function prepare(canvas, w, high) {
  const r = window.devicePixelRatio || 1;
  canvas.width = Math.round(w * r); canvas.height = Math.round(high * r);
  canvas.style.width = w + "px"; canvas.style.height = high + "px";
  const c = canvas.getContext("2d");
  c.setTransform(r, 0, 0, r, 0, 0); c.clearRect(0, 0, w, high);
  c.font = "11px system-ui, sans-serif"; c.textBaseline = "middle";
  return c;
}
function box(c, x, y, w, high, colour) { c.fillStyle = colour; c.fillRect(x, y, w, high); }
function text(c, said, x, y, colour, align) { c.fillStyle = colour; c.textAlign = align ?? "left"; c.fillText(said, x, y); }
function label(c, said, y, colour) {
  text(c, fitted(said, labelWidth() - 14, t => c.measureText(t).width), 8, y, colour ?? colours.soft);
}
// Hatches an area within a box.
function hatch(c, area, x, y, w, high) {
  c.save(); c.clip(area);
  c.strokeStyle = colours.soft; c.globalAlpha = 0.35; c.lineWidth = 1; c.beginPath();
  for (let k = Math.floor((x - high) / 8) * 8; k < x + w; k += 8) { c.moveTo(k, y + high); c.lineTo(k + high, y); }
  c.stroke(); c.restore();
}
function inPlot(c, high, drawn) {
  c.save(); c.beginPath(); c.rect(labelWidth(), 0, plot() + (to < whole[1] ? 0 : RIGHT), high); c.clip(); drawn(); c.restore();
}

function draw() {
  if (!g) return;
  const r = rows(), c = prepare($("top"), width(), r.high), ticks = timeTicks(DATA.steps, from, to, Math.max(2, Math.floor(plot() / 84)));
  drawAxis(c, r.axis, ticks, r.high);
  drawLag(c, r.lag);
  if (r.why) drawWhy(c, r.why);
  if (r.events) drawEvents(c, r.events);
  if (r.findings) drawFindings(c, r.findings);
  if (r.none) text(c, "members: not known" + (g.whyNoHistory ? ": " + g.whyNoHistory : ""), 8, r.none.y + 12, colours.soft);
  drawCuts(c, r.axis.high, r.high);
  marks(c, r.axis.high - 6, r.high);
  const high = g.history ? Math.max(h.lanes.length * laneHeight(), 30) + 4 : 1, cells = prepare($("cells"), width(), high);
  if (g.history) drawLanes(cells, ticks, high);
  $("said").textContent = clock(Math.round(from)) + " to " + clock(Math.round(to)) + " UTC";
}
function drawAxis(c, row, ticks, high) {
  text(c, "UTC", 8, row.y + 10, colours.soft);
  for (const [tick, said, date] of ticks) {
    const x = Math.round(xOf(tick)) + 0.5, room = x < labelWidth() + 4 ? "left" : x > width() - 34 ? "right" : "center";
    c.strokeStyle = colours.line; c.lineWidth = 1; c.beginPath(); c.moveTo(x, row.y + row.high - 6); c.lineTo(x, high); c.stroke();
    text(c, said, x, row.y + 8, colours.soft, room);
    if (date) text(c, date, x, row.y + (said ? 20 : 8), colours.fg, room);
  }
}

// ---- lag ----
const ofPartitions = () => $("parts").checked && g.lag && g.lag.partitions.length > 1 ? g.lag.lines : [];
function lagScale(row) {
  const seen = [g.lag.total.lags.reduce((most, lag, i) => when(i) >= from && begins(i) <= to ? Math.max(most, lag ?? 0) : most, 0), 1];
  if (g.now != null && AXIS.end <= to && AXIS.end >= from) seen.push(g.now);
  const most = Math.max(...seen);
  return {most, y: lag => row.y + row.high - 8 - (row.high - 22) * lag / most};
}
function drawLag(c, row) {
  if (!g.lag) {
    const strip = new Path2D();
    strip.rect(labelWidth(), row.y + 3, plot(), row.high - 6);
    hatch(c, strip, labelWidth(), row.y + 3, plot(), row.high - 6);
    label(c, "lag", row.y + row.high / 2);
    const said = fitted("unknown" + (g.whyNoLag ? ": " + g.whyNoLag : ""), plot() - 20, t => c.measureText(t).width);
    box(c, labelWidth() + 6, row.y + 4, c.measureText(said).width + 8, row.high - 8, colours.bg);
    text(c, said, labelWidth() + 10, row.y + row.high / 2, colours.soft);
    return;
  }
  const {most, y} = lagScale(row);
  text(c, "lag", 8, row.y + 12, colours.fg);
  if (labelWidth() > 120) text(c, "records", 8, row.y + 26, colours.soft);
  for (const tick of numberTicks(most, 4)) {
    const at = Math.round(y(tick)) + 0.5;
    c.strokeStyle = colours.line; c.beginPath(); c.moveTo(labelWidth(), at); c.lineTo(labelWidth() + plot(), at); c.stroke();
    text(c, short(tick), labelWidth() - 6, at, colours.soft, "right");
  }
  inPlot(c, row.y + row.high, () => {
    // It may have been anything from the bound on.
    for (const [first, last] of unknownStretches(g.lag.total)) {
      const bound = i => y(g.lag.total.lags[i] ?? 0), area = new Path2D();
      area.moveTo(xOf(begins(first)), y(most)); area.lineTo(xOf(begins(first)), bound(first));
      for (let i = first; i <= last; i++) area.lineTo(xOf(when(i)), bound(i));
      area.lineTo(xOf(when(last)), y(most)); area.closePath();
      hatch(c, area, labelWidth(), y(most), plot(), y(0) - y(most));
    }
    ofPartitions().forEach((line, k) => trace(c, line, y, 1.3, colours["l" + k]));
    trace(c, g.lag.total, y, 2.2, colours.fg);
    if (g.now != null) { c.fillStyle = colours.accent; c.beginPath(); c.arc(xOf(AXIS.end), y(g.now), 4, 0, 7); c.fill(); }
  });
}
// Known and at-least stretches are drawn apart; a single point is a short dash. A bound of 0 says nothing.
function trace(c, line, y, thick, colour) {
  for (const dotted of [false, true]) {
    c.beginPath(); c.strokeStyle = colour; c.lineWidth = thick; c.lineJoin = "round";
    c.setLineDash(dotted ? [1.5, 4] : []); c.lineCap = dotted ? "round" : "butt";
    let goesOn = false;
    for (let i = 0; i < AXIS.count; i++) {
      const lag = line.lags[i], before = i > 0 ? line.lags[i - 1] : null;
      const is = lag != null && (line.least[i] === "1") === dotted && !(dotted && !lag && !before);
      if (!is) { goesOn = false; continue; }
      const x = xOf(when(i));
      if (before == null) { c.moveTo(x - 2, y(lag)); c.lineTo(x + 2, y(lag)); goesOn = false; continue; }
      // One path for what goes on, as dashes begin anew with each.
      if (!goesOn) c.moveTo(xOf(when(i - 1)), y(before));
      c.lineTo(x, y(lag));
      goesOn = true;
    }
    c.stroke();
  }
  c.setLineDash([]); c.lineCap = "butt";
}

// ---- rebalances: one by one where there is room, else how many of each cause in a round time ----
const causeOf = x => x.causes.length ? x.causes[0][0] : "open";
function drawWhy(c, row) {
  label(c, "rebalances", row.y + 14);
  const seen = h.generations.filter(x => x.at >= from && x.at <= to);
  const step = timeStep(DATA.steps, from, to, Math.max(4, Math.floor(plot() / 6))), first = Math.floor(from / step) * step;
  const bins = Math.ceil((to - first) / step), counts = binned(seen.map(x => x.at), seen.map(causeOf), first, first + bins * step, bins);
  const most = Math.max(1, ...counts.map(bin => Object.values(bin).reduce((sum, n) => sum + n, 0)));
  const close = seen.some((x, i) => i && xOf(x.at) - xOf(seen[i - 1].at) < 9);
  inPlot(c, row.y + row.high, () => {
    if (!close) {
      for (const x of seen) drawCauses(c, row, x);
      return;
    }
    counts.forEach((bin, i) => {
      let y = row.y + row.high - 4;
      for (const kind of Object.keys(CLASSES)) if (bin[kind]) {
        const high = (row.high - 10) * bin[kind] / most;
        y -= high;
        box(c, xOf(first + i * step), y, Math.max(xOf(first + (i + 1) * step) - xOf(first + i * step) - 1, 1), high, colours[kind]);
      }
    });
  });
  label(c, close ? "up to " + most + " per " + span(step) : many(seen.length, "generation"), row.y + 30);
}
function drawCauses(c, row, x) {
  const causes = x.causes.slice(0, 3), left = xOf(x.at), high = 18 / Math.max(causes.length, 1);
  causes.forEach((cause, k) => { c.globalAlpha = cause[2] === "unknown" ? 0.6 : 1; box(c, left, row.y + 6 + k * high, 8, Math.max(high - 0.5, 1), colours[cause[0]]); c.globalAlpha = 1; });
  const next = starts[placeAt(starts, x.at) + 1] ?? to, room = xOf(next) - left;
  if (causes.length === 1 && room > 22) text(c, LETTER[causes[0][0]], left + 11, row.y + 15, colours.fg);
  if (room > 8 + c.measureText(String(x.n)).width) text(c, String(x.n), left, row.y + 34, colours.soft);
}
function drawEvents(c, row) {
  label(c, many(h.events.length, "event"), row.y + 10);
  inPlot(c, row.y + row.high, () => {
    for (const event of h.events) if (event.t != null && event.t >= from && event.t <= to) {
      const x = xOf(event.t), y = row.y + 4;
      c.fillStyle = colours[event.cause[0]]; c.beginPath(); c.moveTo(x - 5, y); c.lineTo(x + 5, y); c.lineTo(x, y + 11); c.fill();
    }
  });
}
function drawFindings(c, row) {
  label(c, "findings", row.y + 10);
  inPlot(c, row.y + row.high, () => kinds.slice(0, FINDING_ROWS).forEach((found, k) => drawKind(c, found, row.y + 2 + 15 * k)));
  if (kinds.length > FINDING_ROWS) label(c, "and " + (kinds.length - FINDING_ROWS) + " kinds more below", row.y + 24);
}
function drawKind(c, found, y) {
  const seen = found.filter(f => inView(ofFinding(f))), colour = found[0].severity === "hygiene" ? colours.go : colours.lost;
  for (const finding of seen) {
    const {from: begin, to: end} = ofFinding(finding), left = Math.max(xOf(begin), labelWidth());
    c.globalAlpha = 0.3; box(c, left, y, Math.max(xOf(end) - left, 2), 13, colour); c.globalAlpha = 1;
    if (finding.from != null) box(c, xOf(begin), y, Math.min(3, Math.max(xOf(end) - xOf(begin), 1)), 13, colour);
  }
  if (!seen.length) return;
  const said = found[0].name + (found.length > 1 ? " ×" + found.length : found[0].where ? " " + found[0].where : "");
  const wide = c.measureText(said).width, first = Math.min(...seen.map(f => xOf(ofFinding(f).from)));
  const left = Math.max(labelWidth() + 6, Math.min(first + 7, width() - RIGHT - wide - 2));
  if (seen.length > 1) { c.globalAlpha = 0.8; box(c, left - 2, y + 1, wide + 4, 11, colours.bg); c.globalAlpha = 1; }
  text(c, said, left, y + 7, colours.fg);
}
function drawCuts(c, top, high) {
  for (const x of h.generations) if (x.cut && x.at >= from && x.at <= to) for (let y = top; y < high; y += 6) box(c, xOf(x.at) - 0.5, y, 1, 3, colours.fg);
}

// ---- lanes ----
function drawLanes(c, ticks, high) {
  const lh = laneHeight(), left = labelWidth(), columns = Math.round(plot());
  c.font = Math.min(12, lh - 1) + "px system-ui, sans-serif";
  h.lanes.forEach((each, i) => {
    box(c, 0, i * lh, width(), lh, i === lane ? colours.pick : i % 2 ? colours.bg : colours.panel);
    label(c, each[0] + (each[3].length > 1 ? " ×" + each[3].length : ""), i * lh + lh / 2 + 0.5, colours.fg);
  });
  inPlot(c, high, () => {
    for (const [tick] of ticks) box(c, Math.round(xOf(tick)), 0, 1, high, colours.line);
    h.lanes.forEach((_, i) => drawLane(c, i, i * lh + 1, lh - 2, left, columns));
    const foot = Math.max(2, Math.round(lh / 8));
    for (const [i, begin, end] of h.pauses) if (inView({from: begin, to: end})) box(c, xOf(begin), i * lh + lh - 1 - foot, Math.max(xOf(end) - xOf(begin), 1), foot, colours.lost);
    c.setLineDash([3, 3]); c.lineWidth = foot; c.strokeStyle = colours.fg;
    for (const [i, , begin, end] of h.waits) if (inView({from: begin, to: end})) {
      const y = i * lh + 1 + foot / 2;
      c.beginPath(); c.moveTo(xOf(begin), y); c.lineTo(Math.max(xOf(end), xOf(begin) + 3), y); c.stroke();
    }
    c.setLineDash([]);
    for (const one of leads) if (inView(one)) box(c, xOf(one.from), one.lane * lh + 1, Math.max(xOf(one.to) - xOf(one.from), 1), 2, colours.go);
  });
  marks(c, 0, high);
}
function drawLane(c, i, y, high, left, columns) {
  const seen = stays[i].filter(inView);
  for (const [first, last, owned, there] of columnsOf(seen.map(s => [s.from, s.to, s.owned]), from, to, columns)) {
    c.globalAlpha = there; box(c, left + first, y, last - first + 1, high, shade(owned));
  }
  c.globalAlpha = 1;
  for (const s of seen) {
    const x = Math.max(xOf(s.from), left), wide = Math.min(xOf(s.to), left + plot()) - x;
    if (wide >= 14 && s.from >= from) box(c, x, y, 1, high, colours.bg);
    if (wide < 22 || high < 12) continue;
    const colour = isStrong(s.owned) ? colours.bg : s.owned ? colours.fg : colours.soft, named = h.sets[s.set][1];
    const said = named && c.measureText(named).width < wide - 10 ? named : String(s.owned);
    text(c, said, x + wide / 2, y + high / 2 + 0.5, colour, "center");
  }
}
function marks(c, top, high) {
  for (const [time, colour] of [[hover, colours.soft], [at, colours.accent]]) if (time != null && time >= from && time <= to) box(c, Math.round(xOf(time)) - 0.5, top, 1.5, high - top, colour);
}
