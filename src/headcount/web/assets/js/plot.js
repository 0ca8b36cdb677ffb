// Small figures in SVG: lines and stems over linear or logarithmic axes, with their numbers beside
// them as a table, so that nothing is told by a picture alone.

import { h, number, replace, table } from "./dom.js";

const LEAST_LEFT = 48, RIGHT = 14, TOP = 10, BOTTOM = 36, LETTER = 7.2;
const DASH = { line: null, dash: "6 4", dot: "2 3", long: "12 5" };

function ticks(low, high, log, room, whole = false) {
  if (log) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / Math.max(2, room)));
    const made = [];
    for (let d = first; d <= last; d += step) made.push(10 ** d);
    if (made.length >= 3) return made;
    const fine = [];
    for (let d = first - 1; d <= last + 1; d++) for (const m of [1, 2, 5]) fine.push(m * 10 ** d);
    const inside = fine.filter((v) => v >= low * 0.999 && v <= high * 1.001);
    return inside.length >= 2 ? inside : ticks(low, high, false, room).filter((v) => v > 0); // less than a decade
  }
  const raw = Math.max((high - low) / Math.max(2, room), whole ? 1 : 0);
  const scale = 10 ** Math.floor(Math.log10(raw));
  const steps = [1, 2, 5, 10].map((m) => m * scale);
  let step = steps.find((s) => s >= raw * (1 - 1e-9));
  const count = (s) => Math.floor(high / s + 1e-9) - Math.ceil(low / s - 1e-9) + 1;
  while (count(step) < 2 && !(whole && step <= 1)) step /= 2; // one mark alone tells no scale
  const made = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) made.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return made;
}

const tick = (v, log) => {
  if (log && (v >= 1e4 || v < 1e-2) && Math.abs(Math.log10(v) % 1) < 1e-9) return `1e${Math.round(Math.log10(v))}`;
  return number(v, 3).replace(/\.?0+e/, "e");
};

function extent(values, log, pad) {
  const good = values.filter((v) => v !== null && Number.isFinite(v) && (!log || v > 0));
  if (!good.length) return log ? [0.1, 1] : [0, 1];
  let low = Math.min(...good), high = Math.max(...good);
  if (log) {
    if (low === high) { low /= 3; high *= 3; }
    return pad ? [low / 1.3, high * 1.3] : [low, high];
  }
  if (low === high) { low -= 0.5; high += 0.5; }
  const more = pad ? (high - low) * 0.06 : 0;
  return [low - more, high + more];
}

/**
 * figure({title, x, y, series, height}): axes {label, log, from}; a series is
 * {name, color, kind: "line" | "dash" | "dot" | "long" | "stem" | "points", x, y}.
 */
export function figure(options) {
  const frame = h("div", { class: "plot" });
  const legend = h("ul", { class: "legend" }), readout = h("div", { class: "readout" });
  const held = h("div", {});
  const caption = h("figcaption", {}, options.title);
  const made = h("figure", {}, caption, legend, frame, readout,
    h("details", {}, h("summary", {}, "Numbers"), held));
  const state = { options };
  const draw = () => render(state, frame, legend, readout, held);
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.round(frame.clientWidth);
    if (now && now !== width) { width = now; draw(); }
  }).observe(frame);
  made.redraw = (more) => { state.options = { ...state.options, ...more }; caption.textContent = state.options.title; if (width) draw(); };
  return made;
}

function render({ options }, frame, legend, readout, held) {
  const { x, y, series, height = 240 } = options;
  const width = Math.max(260, frame.clientWidth);
  const shown = series.filter((s) => s.y.some((v) => v !== null && v !== undefined)); // no name without a mark
  const xs = extent(shown.flatMap((s) => s.x), x.log, shown.some((s) => s.kind === "points" || s.dots));
  const stems = shown.some((s) => s.kind === "stem");
  let ys = y.range ?? extent([...shown.flatMap((s) => s.y), ...(stems && !y.log ? [0] : [])], y.log, true);
  const depth = y.depth ?? 1e12; // no axis of more decades: what is below stands on it
  const deep = y.log && ys[1] / ys[0] > depth;
  if (deep) ys = [ys[1] / depth, ys[1]];
  const yticks = ticks(...ys, y.log, Math.floor(height / 45));
  const left = Math.max(LEAST_LEFT, 28 + LETTER * Math.max(...yticks.map((v) => tick(v, y.log).length), 0));
  const at = (v, [low, high], log) => log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
  const px = (v) => left + at(v, xs, x.log) * (width - left - RIGHT);
  const py = (v) => height - BOTTOM - at(y.log ? Math.max(v, ys[0]) : v, ys, y.log) * (height - TOP - BOTTOM);
  const told = `${options.title}. ${y.label} by ${x.label}. ` + shown.map((s) => {
    const last = s.y.length - 1;
    return `${s.name}: ${number(s.y[0])} at ${number(s.x[0])}, ${number(s.y[last])} at ${number(s.x[last])}.`;
  }).join(" ");
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": told });
  for (const v of yticks) {
    svg.append(h("line", { class: "gridline", x1: left, x2: width - RIGHT, y1: py(v), y2: py(v) }),
      h("text", { x: left - 6, y: py(v) + 4, "text-anchor": "end" }, tick(v, y.log)));
  }
  for (const v of ticks(...xs, x.log, Math.floor((width - left) / 56), true)) {
    svg.append(h("line", { class: "axis", x1: px(v), x2: px(v), y1: height - BOTTOM, y2: height - BOTTOM + 4 }),
      h("text", { x: px(v), y: height - BOTTOM + 17, "text-anchor": "middle" }, tick(v, x.log)));
  }
  svg.append(h("line", { class: "axis", x1: left, x2: width - RIGHT, y1: height - BOTTOM, y2: height - BOTTOM }),
    h("text", { x: (left + width - RIGHT) / 2, y: height - 4, "text-anchor": "middle" }, x.label),
    h("text", { x: 12, y: TOP + (height - TOP - BOTTOM) / 2, "text-anchor": "middle",
      transform: `rotate(-90 12 ${TOP + (height - TOP - BOTTOM) / 2})` }, y.label));
  const taken = []; // by names beside points
  for (const s of shown) svg.append(...marks(s, px, py, x, y, ys, width, taken));
  replace(frame, svg, deep ? h("p", { class: "hint" }, "What stands on the axis is below it; see the numbers.") : null);
  replace(legend, shown.filter((s) => s.name && !s.unnamed).map((s) => h("li", {}, sample(s), s.name)));
  follow(svg, shown, px, readout, x, width);
  const places = [...new Set(shown.flatMap((s) => s.x))].sort((a, b) => a - b).slice(0, 200);
  replace(held, table([x.label, ...shown.map((s) => s.name)],
    places.map((v) => [v, ...shown.map((s) => s.y[s.x.indexOf(v)] ?? null)]), { caption: `Numbers of: ${options.title}` }));
}

function sample(s) {
  const line = { stroke: s.color, "stroke-width": 2.2, "stroke-dasharray": DASH[s.kind] };
  return h("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, s.kind === "stem" || s.kind === "points"
    ? h("circle", { cx: 13, cy: 5, r: 3.5, fill: s.color }) : h("line", { x1: 1, x2: 25, y1: 5, y2: 5, ...line }));
}

function marks(s, px, py, x, y, ys, edge, taken) {
  const points = s.x.map((v, i) => [v, s.y[i]])
    .filter(([a, b]) => b !== null && b !== undefined && (!x.log || a > 0) && (!y.log || b > 0));
  if (s.kind === "stem" || s.kind === "points") {
    return points.flatMap(([a, b]) => [
      s.kind === "stem" ? h("line", { x1: px(a), x2: px(a), y1: py(y.log ? ys[0] : 0), y2: py(b), stroke: s.color, "stroke-width": 1.4 }) : null,
      h("circle", { cx: px(a), cy: py(b), r: points.length > 60 ? 1.8 : s.size ?? 3, fill: s.color }),
    ]).filter(Boolean).concat(labels(s, px, py, edge, taken));
  }
  if (!points.length) return [];
  const d = points.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
  const dots = points.length <= 24 && s.dots ? points.map(([a, b]) => h("circle", { cx: px(a), cy: py(b), r: 3, fill: s.color })) : [];
  return [h("path", { d, fill: "none", stroke: s.color, "stroke-width": s.width ?? 2, "stroke-dasharray": DASH[s.kind] }), ...dots];
}

/** Names beside points, inside the frame; one that would lie on an earlier name goes above it. */
function labels(s, px, py, edge, taken) {
  return (s.labels ?? []).map((text, i) => {
    const wide = LETTER * text.length, x = Math.min(px(s.x[i]) + 9, edge - wide);
    let y = py(s.y[i]) - 9;
    if (taken.some((t) => t.text === text && Math.abs(t.x - x) < 4 && Math.abs(t.from - y) < 4)) return null;
    const from = y;
    while (taken.some((t) => Math.abs(t.y - y) < 13 && x < t.x + t.wide && t.x < x + wide)) y -= 14;
    taken.push({ x, y, wide, text, from });
    return h("text", { class: "ink", x, y }, text);
  }).filter(Boolean);
}

function follow(svg, shown, px, readout, x, width) {
  const places = [...new Set(shown.flatMap((s) => s.x))].sort((a, b) => a - b);
  if (!places.length) return;
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const here = (event.clientX - box.left) * width / box.width;
    const near = places.reduce((a, b) => Math.abs(px(b) - here) < Math.abs(px(a) - here) ? b : a);
    readout.textContent = `${x.label} ${number(near)}: ` + shown.slice(0, 8)
      .map((s) => [s.name, s.y[s.x.indexOf(near)]]).filter(([, v]) => v !== undefined)
      .map(([name, v]) => `${name} ${number(v)}`).join(" · ");
  });
  svg.addEventListener("pointerleave", () => { readout.textContent = ""; });
}

/** The tokens as dots, and an arc from the reading position to each token it reads: `reads` are
 * (lag, weight, colour?) with weights up to 1. */
export function arcs(title, x, position, reads, note, { colour = "var(--c1)", width: wished = 360 } = {}) {
  const width = Math.min(wished, Math.max(280, innerWidth - 70)); // drawn smaller, marks and words would shrink too
  const n = x.length, labelled = n <= width / 15 && x.every((v) => number(v).length <= 3), base = 74, t = position - 1;
  const height = labelled ? 118 : 104;
  const px = (i) => n === 1 ? width / 2 : 10 + i * (width - 20) / (n - 1);
  const top = Math.max(...x.map(Math.abs), 1e-9);
  const told = reads.slice(0, 12).map(([lag, w]) => `lag ${lag}${w < 1 ? ` with weight ${number(w)}` : ""}`).join(", ");
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, style: { maxWidth: `${width}px` }, role: "img", "aria-label": `Position ${position} reads ${told || "nothing"}` });
  for (const [lag, w, own] of reads) {
    const from = px(t), to = px(t - lag), stroke = own ?? colour, faint = Math.max(0.12, Math.sqrt(w));
    svg.append(lag === 0 ? h("circle", { cx: from, cy: base, r: 9, fill: "none", stroke, "stroke-width": 2, "stroke-opacity": faint })
      : h("path", { d: `M${from} ${base}C${from} ${base - 34 - Math.min(56, (from - to) * 0.35)} ${to} ${base - 34 - Math.min(56, (from - to) * 0.35)} ${to} ${base}`, fill: "none", stroke, "stroke-width": 2.4, "stroke-opacity": faint }));
  }
  x.forEach((v, i) => svg.append(h("circle", { cx: px(i), cy: base, r: Math.max(1.5, 4.4 * Math.abs(v) / top), fill: v > 0 ? "var(--c0)" : v < 0 ? "var(--c3)" : "var(--c6)" }, h("title", {}, `x_${i + 1} = ${number(v)}`)),
    labelled ? h("text", { class: i === t ? "ink" : null, x: px(i), y: base + 27, "text-anchor": "middle" }, number(v)) : ""));
  svg.append(h("path", { d: `M${px(t)} ${base + 7}l5 8h-10z`, fill: "var(--ink)" }),
    h("text", { x: 4, y: height - 4 }, "older"), h("text", { class: "ink", x: width - 4, y: height - 4, "text-anchor": "end" }, note));
  return h("figure", {}, h("figcaption", {}, title), svg);
}

/** The four numbers on one logarithmic line: points and intervals, each with its name. One that is `vacuous` is
 * no point, or the axis would be about it: an arrow says where it is. */
export function numberLine(title, entries) {
  const frame = h("div", {});
  const made = h("figure", {}, h("figcaption", {}, title), frame);
  let width = 0;
  const draw = () => {
    const values = entries.filter((e) => !e.vacuous).flatMap((e) => [e.low, e.value]).filter((v) => v > 0);
    if (!values.length) { // nothing to put on a logarithmic axis
      replace(frame, h("ul", { class: "muted" }, entries.map((e) => h("li", {}, `${e.name}: ${e.told}`))));
      return;
    }
    let low = Math.min(...values) / 2, high = Math.max(...values) * 2;
    const clipped = high / low > 1e12;
    if (clipped) low = high / 1e12;
    const wide = Math.max(260, frame.clientWidth), narrow = wide < 480; // there, words stand above their line
    const left = narrow ? 8 : 150, right = narrow ? 12 : 30 + 7 * Math.max(...entries.map((e) => e.value > 0 && !e.vacuous ? e.told.length : 0));
    const row = narrow ? 42 : 32, height = entries.length * row + 30;
    const px = (v) => left + Math.log(Math.min(Math.max(v, low), high) / low) / Math.log(high / low) * (wide - left - right);
    const svg = h("svg", { viewBox: `0 0 ${wide} ${height}`, height, role: "img",
      "aria-label": `${title}: ` + entries.map((e) => `${e.name} ${e.told}`).join("; ") });
    for (const v of ticks(low, high, true, Math.floor((wide - left) / 80))) {
      svg.append(h("line", { class: "gridline", x1: px(v), x2: px(v), y1: 4, y2: height - 24 }),
        h("text", { x: px(v), y: height - 8, "text-anchor": "middle" }, tick(v, true)));
    }
    entries.forEach((e, i) => {
      const mid = i * row + (narrow ? 30 : 18);
      svg.append(h("text", { class: "ink", x: 0, y: narrow ? mid - 14 : mid + 4 }, narrow ? `${e.name}: ${e.told}` : e.name));
      if (e.vacuous) {
        const end = wide - (narrow ? 12 : 16);
        svg.append(h("path", { d: `M${left} ${mid}H${end - 9}m-3 -5l12 5l-12 5z`, stroke: e.color, "stroke-width": 1.6, "stroke-dasharray": "2 4", fill: e.color }));
        if (!narrow) svg.append(h("text", { class: "ink", x: end - 20, y: mid - 6, "text-anchor": "end" }, e.told));
        return;
      }
      if (!(e.value > 0)) { if (!narrow) svg.append(h("text", { x: left, y: mid + 4 }, e.told)); return; }
      if (e.low !== undefined) {
        const from = e.low > 0 ? px(e.low) : left;
        svg.append(h("rect", { x: from, y: mid - 5, width: Math.max(px(e.value) - from, 2), height: 10, fill: e.color, opacity: 0.35 }));
        if (e.low > 0) svg.append(h("line", { x1: from, x2: from, y1: mid - 9, y2: mid + 9, stroke: e.color, "stroke-width": 3 }));
      }
      svg.append(h("circle", { cx: px(e.value), cy: mid, r: 6, fill: e.color }));
      if (!narrow) svg.append(h("text", { class: "ink", x: px(e.value) + 11, y: mid + 4 }, e.told));
    });
    replace(frame, svg);
  };
  new ResizeObserver(() => { if (frame.clientWidth && frame.clientWidth !== width) { width = frame.clientWidth; draw(); } }).observe(frame);
  return made;
}

/** A matrix as squares, with a title on every square and its extremes told. */
export function heat(title, matrix, { rows = [], columns = [], color = "var(--c0)", note = "" } = {}) {
  const flat = matrix.flat().filter((v) => v !== null).map(Math.abs);
  const top = Math.max(...flat, 1e-300), n = matrix[0]?.length ?? 0;
  const size = Math.max(6, Math.min(22, Math.floor(520 / Math.max(n, 1)))), left = rows.length ? Math.max(24, 12 + LETTER * Math.max(...rows.map((r) => String(r).length))) : 4;
  const svg = h("svg", { viewBox: `0 0 ${left + n * size + 4} ${matrix.length * size + (columns.length ? 20 : 4)}`,
    style: { maxWidth: `${left + n * size + 4}px`, minWidth: `${Math.min(left + n * size + 4, Math.max(280, left + 11 * n))}px` }, role: "img",
    "aria-label": `${title}: ${matrix.length} rows, ${n} columns, largest ${number(top)}` });
  matrix.forEach((row, i) => {
    if (rows[i]) svg.append(h("text", { x: left - 6, y: i * size + size / 2 + 4, "text-anchor": "end" }, rows[i]));
    row.forEach((v, j) => svg.append(h("rect", { x: left + j * size, y: i * size, width: size - 1, height: size - 1,
      fill: v < 0 ? "var(--c1)" : color, "fill-opacity": v === null ? 0 : Math.max(0.06, Math.abs(v) / top) },
    h("title", {}, `${rows[i] ?? `row ${i}`}, ${columns[j] ?? j}: ${number(v)}`))));
  });
  columns.forEach((c, j) => { if (j % Math.ceil(n / 12) === 0) svg.append(h("text", { x: left + j * size + size / 2, y: matrix.length * size + 14, "text-anchor": "middle" }, String(c))); });
  return h("figure", {}, h("figcaption", {}, title), note ? h("p", { class: "hint" }, note) : null,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, svg));
}
