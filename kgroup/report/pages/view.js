// What is shown: a group, a time of it, and where that is on the screen.

const $ = id => document.getElementById(id);
const CLASSES = {come: "joined", go: "left", lost: "timed out", static: "static restart", change: "changed", open: "not known"};
const LETTER = {come: "J", go: "L", lost: "T", static: "S", change: "C", open: "?"};
const AXIS = DATA.axis, STRIDE = 7, SPAN_MIN = 20, FINDING_ROWS = 6, RIGHT = 10;
let g = null, whole = [0, 1], from = 0, to = 1, at = null, lane = -1, hover = null, colours = {};
const NO_HISTORY = {from: 0, to: 0, commits: 0, most: 0, begin: "", end: "", lanes: [], sets: [], stays: [], pauses: [], waits: [], generations: [], events: []};
let h = NO_HISTORY, stays = [], starts = [], leads = [], items = [], kinds = [];

function el(tag, text, cls) {
  const e = document.createElement(tag);
  if (text != null) e.textContent = text;
  if (cls) e.className = cls;
  return e;
}
const number = n => n == null ? "unknown" : n.toLocaleString("en-US");
const many = (n, noun) => number(n) + " " + noun + (n === 1 ? "" : "s");
function short(n) {
  for (const [size, unit] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (n >= size) return +(n / size).toPrecision(3) + unit;
  return String(n);
}

// ---- lag by windows ----
const when = i => Math.min(AXIS.start + (i + 1) * AXIS.step, AXIS.end);
const begins = i => AXIS.start + i * AXIS.step;
function windowAt(time) {
  return AXIS && time >= AXIS.start && time <= AXIS.end ? Math.min(Math.floor((time - AXIS.start) / AXIS.step), AXIS.count - 1) : -1;
}
// A lag as it was when the window ended; that it was at least 0 goes without saying.
function told(lag, least) { return least && !lag ? "unknown" : lag == null ? "no commit" : (least ? "at least " : "") + number(lag); }
const amount = (line, i) => told(line.lags[i], line.least[i] === "1");
// [first, last] window of each stretch in which a lag is unknown, or no more than a bound is known.
function unknownStretches(line) {
  const found = [];
  for (let i = 0; i < AXIS.count; i++) if (line.least[i] === "1") {
    const last = found[found.length - 1];
    if (last && last[1] === i - 1) last[1] = i; else found.push([i, i]);
  }
  return found;
}

// ---- a group ----
function take(group) {
  g = group; h = group.history ?? NO_HISTORY; at = hover = null; lane = -1;
  starts = h.generations.map(x => x.at);
  stays = h.lanes.map(() => []);
  for (let k = 0; k < h.stays.length; k += STRIDE) {
    const [inLane, member, first, last, begin, end, set] = h.stays.slice(k, k + STRIDE);
    stays[inLane].push({lane: inLane, member, first, last, from: h.from + begin, to: h.from + end, set, owned: h.sets[set][0]});
  }
  leads = [];
  h.generations.forEach((x, i) => {
    const end = starts[i + 1] ?? h.to, last = leads[leads.length - 1];
    if (x.leader == null) return;
    if (last && last.lane === x.leader && last.to === x.at) last.to = end;
    else leads.push({lane: x.leader, from: x.at, to: end});
  });
  const ends = [...(group.history && !(AXIS && DATA.isPart) ? [h.from, h.to] : []), ...(AXIS ? [AXIS.start, AXIS.end] : [])];
  const first = ends.length ? Math.min(...ends) : 0, last = Math.max(...ends, first + 1000);
  whole = [first, last];
  [from, to] = whole;
  // A short life in a long log begins in view.
  if (group.history && starts.length && h.from >= first && h.told <= last && h.told - h.from < (last - first) / 20) {
    const more = Math.max((h.told - h.from) * 0.1, 500);
    [from, to] = [Math.max(first, h.from - more), Math.min(last, h.told + more)];
  }
  // Findings of a kind share a row: there may be a hundred.
  kinds = [...new Set(g.findings.map(f => f.name))].map(name => g.findings.filter(f => f.name === name));
  const times = [...starts, ...h.events.map(e => e.t), ...g.findings.map(f => f.from)];
  items = [...new Set(times.filter(t => t != null && t >= whole[0] && t <= whole[1]))].sort((a, b) => a - b);
}
const stayAt = (inLane, time) => (stays[inLane] ?? []).find(s => s.from <= time && (time < s.to || time === h.to && s.to === h.to));
const inView = x => x.to >= from && x.from <= to;
const ofFinding = f => ({from: f.from ?? whole[0], to: f.to ?? whole[1]});

// ---- where on the screen ----
const width = () => $("view").clientWidth;
const labelWidth = () => Math.min(180, Math.round(width() * 0.3));
const plot = () => Math.max(width() - labelWidth() - RIGHT, 40);
const xOf = time => labelWidth() + (time - from) / (to - from) * plot();
const timeAt = x => from + (x - labelWidth()) / plot() * (to - from);
const laneHeight = () => h.lanes.length > 40 ? 12 : h.lanes.length > 12 ? 16 : 22;

// The rows above the lanes: what each shows, where it begins and how high it is.
function rows() {
  const shown = [["axis", 32], ["lag", g.lag ? 104 : 24]];
  if (g.history) shown.push(["why", 46]);
  if (h.events.length) shown.push(["events", 20]);
  if (kinds.length) shown.push(["findings", 4 + 15 * Math.min(kinds.length, FINDING_ROWS)]);
  if (!g.history) shown.push(["none", 24]);
  let y = 0;
  const places = {};
  for (const [name, high] of shown) { places[name] = {y, high}; y += high; }
  places.high = y + 4;
  return places;
}

// ---- moves ----
function show(begin, end) {
  const length = Math.min(Math.max(end - begin, SPAN_MIN), whole[1] - whole[0]);
  const middle = (begin + end) / 2;
  from = Math.max(whole[0], Math.min(middle - length / 2, whole[1] - length));
  to = from + length;
}
function zoom(factor, centre) {
  const middle = centre ?? at ?? (from + to) / 2, share = Math.min(Math.max((middle - from) / (to - from), 0), 1);
  const length = Math.min(Math.max((to - from) * factor, SPAN_MIN), whole[1] - whole[0]);
  show(middle - share * length, middle + (1 - share) * length);
}
function reveal(time) {
  const length = to - from;
  if (time < from || time > to) show(time - length / 2, time + length / 2);
}
