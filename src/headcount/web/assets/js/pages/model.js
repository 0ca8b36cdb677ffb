// Model: one model at work on one sequence, layer by layer.

import { ask, isStatic, look } from "../api.js";
import { chips, field, h, number, replace, select, table, term, wanted } from "../dom.js";
import { sentence } from "../formula.js";
import { panel } from "../panel.js";
import { arcs, figure, heat } from "../plot.js";
import { EXAMPLES, read, limits } from "./plan.js";

export const title = "Model";
export const defaults = { folder: "", memory: "fixed:lags=1", tol: "0.2", bias: "", theorem: "", normaliser: "", length: "16", sequence: "", seed: "0", step: "" };
const COLOURS = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];

export function show(main, state, context, outer) {
  const parts = panel(), result = h("div", {});
  const folder = h("select", { onchange: () => { made.hidden = folder.value !== ""; } }, h("option", { value: "" }, "a model built for a memory"));
  const inputs = {
    memory: h("input", { type: "text", value: state.memory, spellcheck: "false", list: "memories" }), tol: h("input", { type: "number", step: "any", value: state.tol }),
    bias: select([["", "as Plan recommends"], ...["lin", "log", "log1p", "peak", "table", "rope", "none"].map((b) => [b, b])], state.bias, () => { inputs.theorem.value = ""; }),
    theorem: h("input", { type: "text", value: state.theorem, spellcheck: "false" }),
    length: h("input", { type: "number", min: 1, max: 1024, value: state.length }),
    sequence: h("input", { type: "text", value: state.sequence, spellcheck: "false", placeholder: "1 -1 1 1 -1" }),
    seed: h("input", { type: "number", min: 0, value: state.seed }),
  };
  const made = h("div", { hidden: state.folder !== "" }, field("Memory", inputs.memory, "As on the Plan page"), field("Bias", inputs.bias),
    h("details", {}, h("summary", {}, "How it is built"), field("Largest error allowed", inputs.tol), field("Construction", inputs.theorem, "Empty: the first that applies; with a bias only"), field("Longest sequence", inputs.length)),
    h("datalist", { id: "memories" }, EXAMPLES.map(([value, text]) => h("option", { value }, text))));
  if (!isStatic()) look("found").then(({ models }) => { folder.append(...[...new Set([...models, state.folder].filter(Boolean))].map((m) => h("option", { value: m }, m))); folder.value = state.folder; }).catch(() => {});
  const form = h("form", { class: "card controls", onsubmit: (e) => {
    e.preventDefault();
    for (const [key, input] of Object.entries(inputs)) state[key] = input.value.trim();
    state.folder = folder.value;
    state.step = "";
    context.update(state);
    follow(state, parts, result, context);
  } }, field("Open", folder, "Or a model folder below the opened folder (--root)"), made,
  isStatic() ? h("p", { class: "hint apart" }, "This static copy holds the models that Plan recommends for its examples: choose one there, and watch it at work. Run headcount serve to watch any.") : null,
  field("Sequence", inputs.sequence, "Type tokens with spaces between them, and watch; empty draws one"), field("Sequence number", inputs.seed, "another draws another sequence"), h("button", {}, "Watch"));
  if (isStatic()) for (const control of form.elements) control.disabled = true;
  replace(main, h("h1", {}, "Watch a model at work"),
    h("p", { class: "lead" }, "Open a saved model, or let one be built by formula for a memory. See where every head looks, what it writes, and what the parts of the residual stream hold, token by token."),
    h("div", { class: "split" }, form, h("div", {}, parts.error, parts.status, result)));
  follow(state, parts, result, context);
  outer.addEventListener("leave", () => parts.run(() => Promise.resolve(null)), { once: true });
}

async function follow(state, parts, result, context) {
  const found = await parts.run(async (signal) => {
    const asked = { seed: wanted(state.seed, "Sequence number", { whole: true, least: 0, most: 2147483647, none: 0 }) };
    if (state.sequence) {
      asked.sequence = state.sequence.split(/[\s,;]+/).filter(Boolean).map(Number);
      if (asked.sequence.some((v) => !Number.isFinite(v))) throw new Error(`Sequence "${state.sequence}": expected numbers with spaces between them.`);
    }
    if (state.folder) asked.folder = state.folder;
    else asked.build = state.bias ? { ...wished(state), bias: state.bias, theorem: state.theorem || null, normaliser: state.normaliser || null } : await recommended(state, signal);
    return ask("model", asked, signal);
  });
  if (found) draw(result, found, state, context);
}

const wished = (state) => ({ memory: read(state.memory), ...limits(state) });

/** What Plan would build: bias, construction and normaliser of its first row. */
async function recommended(state, signal) {
  const { recommended: best, length } = await ask("plan", { ...wished(state), dtype: "float32" }, signal);
  if (!best) throw new Error(`No model is known that serves ${state.memory} within ${state.tol}. Plan says what is proved, and what is undecided; or choose a bias.`);
  return { ...wished(state), length, bias: best.bias, theorem: best.construction, normaliser: best.normaliser };
}

/** Why this model and not a smaller one: who chose it, and what else there is. */
function chosen(found, state, context) {
  if (state.folder) return null;
  const plan = h("a", { href: context.link("plan", { memory: state.memory, tol: state.tol, length: state.length }) }, "Plan compares all");
  const other = (name) => h("a", { href: context.link("model", { ...state, theorem: name, step: "" }) }, name);
  if (!state.bias) return h("p", { class: "hint", id: "chosen" }, "Recommended for this memory: common parts before small size. ", plan, ".");
  return h("p", { class: "hint", id: "chosen" }, state.theorem ? `Built by ${state.theorem} with bias ${state.bias}, as asked` : `The first construction that applies with bias ${state.bias}`,
    found.beside.length ? ["; smaller may be ", found.beside.flatMap((name, i) => [i ? " or " : "", other(name)])] : "", ". ", plan, ".");
}

/** A button that moves the slider from token to token, one a second. */
function player(step, move) {
  let timer = null;
  const button = h("button", { type: "button", class: "quiet", onclick: () => timer ? stop() : play() }, "Play");
  const stop = () => { clearInterval(timer); timer = null; button.textContent = "Play"; };
  const play = () => {
    if (step.value === step.max) step.value = step.min;
    button.textContent = "Pause";
    move(false);
    timer = setInterval(() => {
      if (!button.isConnected || button.closest("[inert]")) { stop(); return; } // another page, or another question
      if (step.value === step.max) { stop(); move(true); return; }
      step.value = Number(step.value) + 1;
      move(false);
    }, 1000);
  };
  return button;
}

function draw(result, found, state, context) {
  const n = found.x.length, spaces = found.subspaces;
  const step = h("input", { type: "range", min: 1, max: n, value: Number(state.step) || n, "aria-label": "position" });
  const watched = h("div", {});
  const layers = found.layers.map((layer, k) => drawLayer(found, layer, k));
  const paint = () => {
    replace(watched, moment(found, Number(step.value)));
    for (const layer of layers) layer.at(Number(step.value));
  };
  const move = (done) => {
    state.step = step.value === step.max ? "" : step.value;
    context.update(state, done);
    paint();
  };
  step.addEventListener("input", () => move(false));
  step.addEventListener("change", () => move("rest"));
  replace(result,
    h("div", { class: "card", id: "answer" }, h("p", { class: "answer" }, h("b", {}, `${counted(found.layers_count, "layer")} with ${found.heads_per_layer.join(" + ")} head${found.heads_per_layer.join() === "1" ? "" : "s"}, ${counted(found.parameters, "parameter")}`), ", a ", term("stream"),
      ` of ${counted(found.stream_width, "number")} per position; bias ${found.bias}, attention `, found.attention === "dp-free" ? term("dp-free") : found.attention, `, normaliser ${found.normaliser}.`), chosen(found, state, context),
    spaces.length ? table(["layer", "after", "subspace", "coordinates", "promise"], spaces.map((s) => [String(s.layer), s.part, s.name, s.stop - s.start === 1 ? `${s.start}` : `${s.start} to ${s.stop - 1}`, sentence(s.why)]), { caption: "Named parts of the residual stream", cards: true })
      : h("p", { class: "hint" }, "This folder has no names for the parts of its stream: coordinates are shown by number."),
    reach(found, state)),
    h("div", { class: "card" }, h("h2", {}, "Token by token"),
      h("div", { class: "row" }, h("div", { class: "grow" }, field("Position", step)), player(step, move)), watched),
    layers.map((layer) => layer.element),
    h("div", { class: "card" }, figure({ title: "Answers", x: { label: "position" }, y: { label: "y" }, height: 170,
      series: (found.y[0] ?? []).slice(0, 7).map((_, j) => ({ name: `output ${j + 1}`, unnamed: found.y[0].length === 1, kind: "stem", color: COLOURS[j], x: found.y.map((_, i) => i + 1), y: found.y.map((row) => row[j]) })) })));
  paint();
}

/** Up to how many tokens the answers are promised, and a warning where there are more. */
function reach(found, state) {
  const n = found.x.length;
  if (found.longest !== null && n > found.longest) return h("p", { class: "note", id: "too-long" }, `This sequence has ${counted(n, "token")}, and the model is promised for up to ${found.longest}: beyond them its answers may be anything.`);
  if (found.longest !== null) return h("p", { class: "hint", id: "longest" }, `Promised for sequences of up to ${counted(found.longest, "token")}.`);
  return state.folder && found.subspaces.length ? h("p", { class: "hint", id: "longest" }, "This folder does not say up to how many tokens its model is promised; its README.md may.") : null;
}

/** What happens at one position: the token, where each head looks most, what arrives. */
function moment(found, position) {
  const t = position - 1, early = position < (found.first_position ?? 1), token = [found.x[t]].flat().map((v) => number(v)).join(", ");
  const rows = found.layers.flatMap((layer, k) => layer.weights.map((head, i) => {
    const row = head[t].slice(0, t + 1), top = Math.max(...row.map(Math.abs)), at = row.findIndex((v) => Math.abs(v) === top);
    return [String(k + 1), `head ${i + 1}`, top > 0 ? `lag ${t - at}` : "nothing", top, serves(layer, i)];
  }));
  const held = (found.exact ?? []).map((e) => {
    const space = spaceOf(found, e.layer, e.name), owed = promised(e.values[t]);
    return [String(e.layer), e.name, space?.values ? meant(found, space.values[t]) : "not shown", owed ? meant(found, e.values[t]) : "not promised at this position", early || !owed ? "not promised here" : e.allowed];
  });
  const size = sizes(found), read = readings(found, t);
  const drawn = read.map(([name, row], i) => arcs(`What arrives in ${name}`, size, position, row.map(([lag, w]) => [lag, Math.abs(w)]), `position ${position}`, { colour: COLOURS[i % 7], width: 640 }));
  return [h("p", { id: "moment" }, h("b", {}, `Token ${position}: ${token}. `), `Answer: ${meant(found, found.y[t])}.`),
    early ? h("p", { class: "note", id: "early" }, `The promise of this model holds from position ${found.first_position} on. Here, before it, what it holds may be anything.`) : null,
    h("ol", { id: "steps" }, steps(found, t, read)),
    drawn,
    held.length ? table(["layer", "subspace", "holds", "should hold", `may be off by (in ${found.precision})`], held, { caption: "Memories at this position", cards: true }) : null,
    h("details", {}, h("summary", {}, rows.length === 1 ? "The head at this position" : `Each of the ${rows.length} heads at this position`),
      table(["layer", "head", "looks most at", "weight", "serves (writes to)"], rows, { caption: "Heads at this position", cards: true, most: 24 }))];
}

const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
/** One number per token: itself, or the length of a vector. */
const sizes = (found) => found.x.map((v) => Array.isArray(v) ? v.length === 1 ? v[0] : Math.hypot(...v) : v);
const written = (v) => [v].flat().map((w) => number(tidy(w))).join(", ");
const NOTHING = 1e-12; // what adding and taking away leaves of 0 in float64
const tidy = (v) => v !== null && Math.abs(v) < NOTHING ? 0 : v;
const promised = (values) => values.every((v) => v !== null);
const spaceOf = (found, layer, name) => found.layers[layer - 1]?.spaces.find((s) => s.name === name);
const MANY = 8, NEAR = 1e-6;

/** A vector in words: the token that it is the unit vector of, its numbers where they are few, else its largest. */
function meant(found, values) {
  const word = values.length === found.vocabulary ? "token" : "entry", top = values.reduce((b, v, i) => v > values[b] ? i : b, 0);
  if (values.length > 1 && word === "token" && values.every((v, i) => Math.abs(v - (i === top ? 1 : 0)) < NEAR)) return `token ${top}`;
  if (values.length <= MANY) return written(values);
  const loud = values.map((v, i) => [i, tidy(v)]).filter(([, v]) => v !== 0).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  return loud.length ? loud.slice(0, 4).map(([i, v]) => `${number(v)} × ${word} ${i}`).join(" + ") + (loud.length > 4 ? " + …" : "") : "0 everywhere";
}

/** The retrieval in sentences: what comes in, what is fetched from where, what goes out. */
function steps(found, t, read) {
  const fetched = read.slice(0, 8).map(([name, row, layer]) => {
    const shown = [...row].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).filter(([, w]) => Math.abs(w) > 0.05).slice(0, 3);
    const source = ([lag]) => layer > 1 ? `position ${t + 1 - lag} (lag ${lag})` : `token ${written(found.x[t - lag])} at lag ${lag}`;
    const exact = found.exact?.find((e) => e.name === name && e.layer === layer);
    const space = spaceOf(found, layer, name), holds = space?.values?.[t];
    return h("li", {}, `Layer ${layer}${read.length && space ? found.layers[layer - 1].heads === 1 ? `: its head puts into ${name}: ` : `: its heads together put into ${name}: ` : `, ${name}: `}`, shown.length ? shown.map(source).join(" and ") : "nothing",
      row.length > shown.length ? `, and ${row.length - shown.length} more with less weight` : "", holds ? `. It holds ${meant(found, holds)}` : "", exact ? promised(exact.values[t]) ? ` (exactly: ${meant(found, exact.values[t])})` : " (not promised at this position)" : "", ".");
  });
  return [h("li", {}, `In comes token ${written(found.x[t])} at position ${t + 1}.`), fetched, h("li", {}, `Out goes ${meant(found, found.y[t])}.`)];
}

/** What each named memory, or each head where nothing is named, takes from the tokens up to t:
 * (lag, share of the largest weight), and its layer. All heads of a layer add up, so their sum is what is read. */
function readings(found, t) {
  const shares = (row) => {
    const top = Math.max(...row.map(Math.abs));
    return top > 0 ? row.map((w, j) => [t - j, w / top]).filter(([, w]) => Math.abs(w) > 0.02) : [];
  };
  const spaces = found.subspaces.filter((s) => s.part === "attention").slice(0, 6);
  const sums = spaces.map((s) => {
    const { weights, heads } = found.layers[s.layer - 1], space = spaceOf(found, s.layer, s.name);
    if (weights.length < heads || !space) return [s.name, [], s.layer]; // not all heads are shown: no sum
    return [s.name, shares(weights[0][t].slice(0, t + 1).map((_, j) => weights.reduce((sum, head, hd) => sum + head[t][j] * space.largest[hd], 0))), s.layer];
  }).filter(([, row]) => row.length);
  if (sums.length) return sums;
  return found.layers.flatMap((layer, k) => layer.weights.slice(0, 4).map((head, i) => [`head ${i + 1}`, shares(head[t].slice(0, t + 1)), k + 1]));
}

/** The named subspace that a head writes to most. */
function serves(layer, head) {
  const own = layer.spaces.map((s) => [s.name, s.writes[head] ?? 0]).sort((a, b) => b[1] - a[1]);
  if (own.length && own[0][1] > 0) return own[0][0];
  const top = layer.strongest[head];
  return top === null || top === undefined ? "nothing" : `coordinate ${top}`;
}

/** Pictures of a layer; `at` moves those of one position. */
function drawLayer(found, layer, k) {
  const n = found.x.length, all = layer.weights.length === layer.heads; // of many heads only the last position is known
  const curves = (position) => (all ? layer.weights.map((head) => head[position - 1].slice(0, position).reverse()) : layer.by_lag).slice(0, 14);
  const series = (position) => curves(position).map((row, i) => ({ name: `head ${i + 1}`, unnamed: layer.heads > 8, kind: ["line", "dash", "dot", "long"][i % 4], color: COLOURS[i % 7], x: row.map((_, s) => s), y: row }));
  const title = (position) => `Attention by lag at ${all ? `position ${position}` : "the last position"}`;
  const looks = figure({ title: title(n), x: { label: "lag" }, y: { label: "weight" }, height: 190, series: series(n) });
  const lags = layer.by_lag[0].map((_, s) => s);
  const realised = layer.content_free ? layer.spaces.map((s, i) => ({
    name: s.name, kind: "line", dots: true, color: COLOURS[i % 7], x: lags,
    y: lags.map((lag) => layer.by_lag.reduce((sum, head, hd) => sum + head[lag] * (s.first[hd] ?? 0), 0)) })) : [];
  const coordinates = layer.after_attention[0].length;
  const named = Array.from({ length: coordinates }, (_, i) => found.subspaces.find((s) => s.layer === k + 1 && s.start <= i && i < s.stop)?.name ?? `coord. ${i}`);
  const places = found.x.map((_, i) => i + 1);
  const element = h("section", { class: "card" }, h("h2", {}, `Layer ${k + 1}`),
    h("p", { class: "hint" }, `bias ${layer.bias}, attention ${layer.attention}, normaliser ${layer.normaliser}, ${counted(layer.heads, "head")}`),
    h("div", { class: "two" }, looks,
      realised.length ? figure({ title: "Kernel that all heads realise together", x: { label: "lag" }, y: { label: "value" }, height: 190, series: realised }) : oneHead(layer, places)),
    heat("Residual stream after attention, by position", transpose(layer.after_attention), { rows: named, columns: places, note: `Columns are positions. Blue is positive, orange negative; stronger is larger.${found.stream_cut ? ` The first ${coordinates} of ${found.stream_width} coordinates.` : ""}` }));
  return { element, at: (position) => { if (all) looks.redraw({ title: title(position), series: series(position) }); } };
}

/** Where one head looks, position by position; which head can be chosen. */
function oneHead(layer, places) {
  const held = h("div", {});
  const paint = (i) => replace(held, heat(`Attention of head ${i + 1}`, layer.weights[i], { rows: places.map(String), columns: places, note: "A row is the position that reads, a column the position that is read." }));
  paint(0);
  const many = layer.weights.length > 1;
  return h("div", {}, many ? chips("Head", layer.weights.map((_, i) => [String(i), String(i + 1)]), "0", (i) => paint(Number(i))) : null, held);
}

const transpose = (m) => m[0].map((_, j) => m.map((row) => row[j]));
