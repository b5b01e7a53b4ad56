// Pure layout, the same as ticks.py and density.py have it: a page zooms without Python.
// Times are epoch ms. Tests put one table of truths to both.

const DAY = 86400e3;

function iso(ms) {
  const date = new Date(ms);
  return isNaN(date) ? String(ms) : date.toISOString();
}

// For people: `2026-11-20 12:43:10`, with ms where there are some.
function clock(ms) {
  return ms == null ? "-" : iso(ms).replace("T", " ").replace(/(\.000)?Z$/, "");
}

function span(ms) {
  if (ms < 1000) return ms ? ms + "ms" : "0s";
  if (ms < 60e3) return +(ms / 1000).toFixed(ms < 10e3 ? 2 : 1) + "s";
  const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60);
  if (h >= 24) return Math.floor(h / 24) + "d " + (h % 24) + "h";
  return h ? h + "h " + (m % 60) + "m" : m + "m " + (s % 60) + "s";
}

function timeStep(steps, from, to, most) {
  const fitting = steps.find(step => Math.floor((to - from) / step) + 1 <= most);
  return fitting ?? Math.max(steps[steps.length - 1], to - from);
}

// [time, label, date where it differs from the tick before, else null]
function timeTicks(steps, from, to, most) {
  const step = timeStep(steps, from, to, most), ticks = [];
  let day = null;
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const text = iso(at), its = Math.floor(at / DAY);
    const label = step >= DAY ? "" : text.slice(11, step < 1000 ? 23 : step < 60e3 ? 19 : 16);
    ticks.push([at, label, its === day ? null : text.slice(0, 10)]);
    day = its;
  }
  return ticks;
}

function numberTicks(largest, most) {
  for (let power = 1; ; power *= 10) for (const digit of [1, 2, 5]) {
    const step = digit * power;
    if (Math.floor(largest / step) > most) continue;
    return Array.from({length: Math.floor(largest / step) + 1}, (_, i) => i * step);
  }
}

// Counts of each kind in each of `bins` of equal length.
function binned(times, kinds, from, to, bins) {
  const counted = Array.from({length: bins}, () => ({}));
  times.forEach((at, i) => {
    if (at < from || at > to) return;
    const bin = counted[Math.min(Math.floor((at - from) * bins / (to - from)), bins - 1)];
    bin[kinds[i]] = (bin[kinds[i]] ?? 0) + 1;
  });
  return counted;
}

const SEEN_MIN = 0.25;
const rounded = x => Math.round(x * 100) / 100;

// [first, last, mean of owned, share of time there] of a lane's stays [from, to, owned] in columns.
function columnsOf(stays, from, to, columns) {
  const width = (to - from) / columns, weight = new Float64Array(columns), there = new Float64Array(columns);
  for (const [begins, ends, owned] of stays) {
    if (ends < from || begins > to) continue;
    const begin = (Math.max(begins, from) - from) / width, end = (Math.min(ends, to) - from) / width;
    const first = Math.min(Math.floor(begin), columns - 1);
    for (let c = first; c < Math.min(Math.max(Math.ceil(end), first + 1), columns); c++) {
      const covered = Math.max(Math.min(end, c + 1) - Math.max(begin, c), 1e-6);
      there[c] += covered;
      weight[c] += covered * owned;
    }
  }
  const seen = [];
  for (let c = 0; c < columns; c++) {
    if (!there[c]) continue;
    const mean = rounded(weight[c] / there[c]), share = rounded(Math.min(Math.max(there[c], SEEN_MIN), 1));
    const last = seen[seen.length - 1];
    if (last && last[1] === c - 1 && last[2] === mean && last[3] === share) last[1] = c;
    else seen.push([c, c, mean, share]);
  }
  return seen;
}

// The place of the last of rising times that is not after `at`; -1 before the first.
function placeAt(times, at) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= at) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// What somebody typed as a time of a page that goes from `from` to `to`: ISO (UTC if it does not say), epoch
// ms, or a time of day, which is that of the first day that has it. Null if it is none of these.
function typedTime(text, from, to) {
  text = text.trim();
  if (/^\d{11,}$/.test(text)) return Number(text);
  const time = /^(\d{1,2}):(\d\d)(?::(\d\d)(\.\d{1,3})?)?Z?$/.exec(text);
  if (time) {
    const [hours, minutes, seconds] = [time[1], time[2], time[3] ?? 0].map(Number);
    if (hours > 23 || minutes > 59 || seconds > 59) return null;
    const ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + Math.round(Number(time[4] ?? 0) * 1000);
    const first = Math.floor(from / DAY) * DAY + ms;
    return first < from && first + DAY <= to ? first + DAY : first;
  }
  if (!/^\d{4}-\d\d-\d\d([T ]\d{1,2}:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/.test(text)) return null;
  const said = Date.parse(text.replace(" ", "T") + (/Z$|[+-]\d\d:\d\d$/.test(text) || text.length < 11 ? "" : "Z"));
  return isNaN(said) ? null : said;
}

// A text no wider than `width` by `measure`: it loses its beginning, as names differ at their end.
function fitted(text, width, measure) {
  if (measure(text) <= width) return text;
  let cut = 1;
  while (cut < text.length && measure("…" + text.slice(cut)) > width) cut++;
  return "…" + text.slice(cut);
}

